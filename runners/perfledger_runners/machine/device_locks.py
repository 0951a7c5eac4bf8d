"""Lets the checks on one machine measure one after another, by advisory locks on files.

The locks are those of flock(2): the kernel frees them when a process ends, however it ends. Checks
of all users share one folder that everyone may write to, so its files are untrusted: no link is
followed, only an ordinary file with one name is opened, and its content is only displayed.
"""

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from perfledger.records import Device, FindingLevel, HostFinding, Machine
from perfledger.rounding import minutes
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_runners.machine.host_fitness import finding, unknown
from perfledger_runners.proc_files import read_text
from perfledger_runners.safe_text import clean_text

HOST = "host"  # the name of the lock on the cores
POLL_S = 0.5
# Several checks of ten minutes may wait; a lock held for longer is not a check's.
MAX_WAIT_S = float(SECONDS_PER_HOUR)
MAX_BYTES = 1000  # of what a holder writes
MAX_NAME = 100  # characters of a device's name; a UUID has 40
OPEN_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOR_EVERYONE = 0o666  # flock needs no more than an open file, but the holder says who it is
FOLDER_FOR_EVERYONE = 0o1777  # as /tmp: only a file's owner may remove it
NAME = "other checks"
FOLDER_ADVICE = "set lock_folder to a folder that the users of all checks may write to"
KERNEL_LOCKS = Path("/proc/locks")
LOCK_FIELDS = 8  # fields of a line about a held lock; waiting ones have one more
MAX_HOLDERS = 8  # named when several share a lock


@dataclass(slots=True, kw_only=True)
class DeviceLocks:
    """The locks of one check on this machine and its devices.

    A context manager whose end frees them. Before measuring, checks share the cores. Measuring on a
    CPU needs all of them; measuring on other devices needs those devices, and only shares the
    cores.
    """

    folder: str  # "": it takes no locks
    waiting: Callable[[str], None]  # called with the reason each time that a wait begins
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    finding: HostFinding = field(
        default=HostFinding(name=NAME, level=FindingLevel.FINE, detail="none holds these locks")
    )
    _locks: ExitStack = field(default_factory=ExitStack)
    _left_s: float = MAX_WAIT_S  # of the time that this check may wait

    def __enter__(self) -> Self:
        """Share the cores with other checks that do not measure on them."""
        self._lock(HOST, fcntl.LOCK_SH)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Free the locks."""
        self._locks.close()

    def measure_on(self, machine: Machine) -> None:
        """Wait until this check may measure on all devices of the machine.

        All waits of a check take MAX_WAIT_S at most.
        """
        self._locks.close()  # waiting while holding it would make others wait
        for name, kind in _locks_on(machine):
            self._lock(name, kind)

    def _lock(self, name: str, kind: int) -> None:
        if not self.folder:
            self.finding = unknown(NAME, "this check takes no locks: lock_folder is empty")
            return
        began = self.clock()
        try:
            self._wait_for(name, kind, began + self._left_s)
        except OSError as error:
            detail = f"the lock below {self.folder} cannot be used: {error.strerror or error}"
            self.finding = unknown(NAME, detail, FOLDER_ADVICE)
        self._left_s -= self.clock() - began

    def _wait_for(self, name: str, kind: int, until: float) -> None:
        """Take the lock; from `until` on, continue without it and say so. Raises OSError."""
        folder = Path(self.folder)
        _make(folder)
        path, is_told = lock_file(folder, name), False
        while True:
            descriptor = _open(path)
            if _is_locked(descriptor, kind) and _is_at(descriptor, path):
                self._locks.callback(os.close, descriptor)
                _write_holder(descriptor)
                return
            rival = f"another perfledger check{_holder(descriptor)} on {_locked_devices(name)}"
            os.close(descriptor)
            if self.clock() >= until:
                detail = f"{rival} still ran after {minutes(MAX_WAIT_S)}"
                advice = "let one check at a time run on a device"
                self.finding = finding(NAME, FindingLevel.BUSY, detail, advice)
                return
            if not is_told:
                self.waiting(f"waiting for {rival}, for at most {minutes(until - self.clock())}")
                is_told = True
            self.sleep(POLL_S)


def _locks_on(machine: Machine) -> tuple[tuple[str, int], ...]:
    """Return the locks that measuring on a machine's devices needs, as names and kinds.

    Every check takes them in this order, so that no two checks wait for each other. A slice of a
    GPU shares the GPU with other slices. If not all devices are known by name, all devices of their
    kind are locked.
    """
    if machine.device is Device.CPU:
        return ((HOST, fcntl.LOCK_EX),)
    devices = dict.fromkeys(machine.device_names if machine.uuid else (), fcntl.LOCK_EX)
    count = 1 if machine.parent_uuid else machine.count  # CUDA uses one slice in a process
    of_kind = fcntl.LOCK_SH if len(devices) >= count else fcntl.LOCK_EX
    if machine.parent_uuid:
        devices.setdefault(machine.parent_uuid, fcntl.LOCK_SH)
    first = {HOST: fcntl.LOCK_SH, str(machine.device): of_kind}
    return (*first.items(), *sorted(item for item in devices.items() if item[0] not in first))


def _locked_devices(name: str) -> str:
    """Return what a lock is on, as text."""
    if name == HOST:
        return "the cores of this machine"
    return (
        f"the {name} devices of this machine"
        if name in set(Device)
        else clean_text(name[:MAX_NAME])
    )


def lock_file(folder: Path, name: str) -> Path:
    """Return the file of a lock; a device's name is hashed, as it may have any characters."""
    key = name if name == HOST else hashlib.sha256(name.encode()).hexdigest()[:32]
    return folder / f"perfledger-{key}.lock"


def _make(folder: Path) -> None:
    """Make a missing folder, for everyone. Raises OSError.

    A relative one is not made: it would lie in the repository, where the next check would find it.
    """
    if folder.is_absolute():
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            folder.chmod(FOLDER_FOR_EVERYONE)  # regardless of the umask


def _open(path: Path) -> int:
    """Open the lock's file, or create it for everyone. Raises OSError for anything unusual."""
    while True:
        with suppress(FileNotFoundError):
            return _checked_descriptor(_open_there(path), path)
        with suppress(FileExistsError):  # another check was faster, or a link that leads nowhere
            descriptor = os.open(path, OPEN_FLAGS | os.O_CREAT | os.O_EXCL, FOR_EVERYONE)
            os.fchmod(descriptor, FOR_EVERYONE)  # regardless of the umask
            return descriptor


def _open_there(path: Path) -> int:
    """Open an existing file; reading is enough to lock another user's file."""
    try:
        return os.open(path, OPEN_FLAGS)
    except PermissionError:
        return os.open(path, OPEN_FLAGS & ~os.O_RDWR)


def _checked_descriptor(descriptor: int, path: Path) -> int:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        msg = f"{path} is not a regular file, or has several hard links"
        raise OSError(msg)
    return descriptor


def _is_locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether the open file still has its name: the folder may have been cleaned up."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _write_holder(descriptor: int) -> None:
    """Write who holds the lock, for others to display; a file of another user may refuse."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"process": os.getpid(), "since": since}).encode(), 0)


def _holder(descriptor: int) -> str:
    """Return " (process 41, since 10:05 UTC)" if another process has the lock, else "".

    Several may share it, and the file names the last one. The kernel lists all, except those that
    this process cannot see, such as from a container.
    """
    holders = _lock_holders(descriptor) - {os.getpid()}
    try:
        content = json.loads(os.pread(descriptor, MAX_BYTES, 0))
        process, since = int(content["process"]), datetime.fromisoformat(content["since"])
        Path(f"/proc/{process}").lstat()
        is_known = process in holders or (not holders and process != os.getpid())
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        is_known = False
    else:
        if is_known and len(holders) <= 1:
            return f" (process {process}, since {since.astimezone(UTC):%H:%M} UTC)"
    names = ", ".join(map(str, sorted(holders)[:MAX_HOLDERS]))
    return f" (process{'es' * (len(holders) > 1)} {names})" if holders else ""


def _lock_holders(descriptor: int) -> set[int]:
    """Return the processes that hold a lock on the open file (proc_locks(5))."""
    status = os.fstat(descriptor)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    file = f"{device}:{status.st_ino}"
    rows = [line.split() for line in read_text(KERNEL_LOCKS).splitlines()]
    processes = (row[4] for row in rows if len(row) == LOCK_FIELDS and row[5] == file)
    return {int(number) for number in processes if number.isdecimal() and number != "0"}
