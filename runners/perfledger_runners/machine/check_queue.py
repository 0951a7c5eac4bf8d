"""Lets the checks on one machine measure one after another, by advisory locks on files.

The locks are those of flock(2): the kernel frees them when a process ends, however it ends. Checks
of all users meet in one folder that everyone may write to, so its files are foreign: no link is
followed, nothing but an ordinary file with one name is opened, and what it says is only shown.
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
from perfledger_runners.machine.host_fitness import finding, unknown

HOST = "host"  # the name of the lock on the cores
POLL_S = 0.5
# Several checks of ten minutes may stand in line; whoever holds a lock for longer is not one.
MAX_WAIT_S = 3600.0
MAX_BYTES = 1000  # of what a holder writes
OPEN_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOR_EVERYONE = 0o666  # flock needs no more than an open file, but the holder says who it is
NAME = "other checks"


@dataclass(slots=True, kw_only=True)
class CheckQueue:
    """The place of one check in the line for this machine and its devices.

    A context: its end leaves the line. Before measuring, checks share the cores. Measuring on a CPU
    needs all of them; measuring on another device needs that device, and only shares the cores.
    """

    folder: str  # "": it does not queue
    waiting: Callable[[str], None]  # told why it waits, each time that it begins to
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    finding: HostFinding = field(
        default=HostFinding(name=NAME, level=FindingLevel.FINE, detail="none in this queue")
    )
    _locks: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Stand in line, next to others that do not measure on the cores."""
        self._lock(HOST, fcntl.LOCK_SH)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the line."""
        self._locks.close()

    def measure_on(self, machine: Machine) -> None:
        """Wait until this check may measure on the machine's device."""
        device = "" if machine.device is Device.CPU else machine.uuid or str(machine.device)
        self._locks.close()  # never wait for one lock while another one makes others wait
        self._lock(HOST, fcntl.LOCK_SH if device else fcntl.LOCK_EX)
        if device:
            self._lock(device, fcntl.LOCK_EX)

    def _lock(self, name: str, kind: int) -> None:
        if not self.folder:
            self.finding = unknown(NAME, "this check does not queue: lock_folder is empty")
            return
        try:
            self._wait_for(lock_file(Path(self.folder), name), kind)
        except OSError as error:
            self.finding = unknown(
                NAME, f"the lock below {self.folder} cannot be used: {error.strerror or error}"
            )

    def _wait_for(self, path: Path, kind: int) -> None:
        """Take the lock; after MAX_WAIT_S go on without it, and say so. Raises OSError."""
        until, is_told = self.clock() + MAX_WAIT_S, False
        while True:
            descriptor = _open(path)
            if _is_locked(descriptor, kind) and _is_at(descriptor, path):
                self._locks.callback(os.close, descriptor)
                _write_holder(descriptor)
                return
            holder = _holder(descriptor)
            os.close(descriptor)
            if not is_told:
                self.waiting(f"waiting for another perfledger check{holder} on this machine")
                is_told = True
            if self.clock() >= until:
                detail = f"another one{holder} still ran after {MAX_WAIT_S / 60:.0f} minutes"
                advice = "let one check at a time run on this machine"
                self.finding = finding(NAME, FindingLevel.BUSY, detail, advice)
                return
            self.sleep(POLL_S)


def lock_file(folder: Path, name: str) -> Path:
    """Return the file of a lock; a device's name, which may have any characters, is hashed."""
    key = name if name == HOST else hashlib.sha256(name.encode()).hexdigest()[:32]
    return folder / f"perfledger-{key}.lock"


def _open(path: Path) -> int:
    """Open the lock's file, or create it for everyone. Raises OSError for anything unusual."""
    while True:
        with suppress(FileNotFoundError):
            return _checked(_open_there(path), path)
        with suppress(FileExistsError):  # another check was faster, or a link that leads nowhere
            descriptor = os.open(path, OPEN_FLAGS | os.O_CREAT | os.O_EXCL, FOR_EVERYONE)
            os.fchmod(descriptor, FOR_EVERYONE)  # whatever the umask says
            return descriptor


def _open_there(path: Path) -> int:
    """Open an existing file; to lock one that another user made, reading is enough."""
    try:
        return os.open(path, OPEN_FLAGS)
    except PermissionError:
        return os.open(path, OPEN_FLAGS & ~os.O_RDWR)


def _checked(descriptor: int, path: Path) -> int:
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
    """Return whether the open file still has its name: somebody may tidy the folder up."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _write_holder(descriptor: int) -> None:
    """Write who holds the lock, for others to show; a file of another user may refuse."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"process": os.getpid(), "since": since}).encode(), 0)


def _holder(descriptor: int) -> str:
    """Return " (process 41, since 10:05 UTC)" if the file names another live process, else ""."""
    try:
        content = json.loads(os.pread(descriptor, MAX_BYTES, 0))
        process, since = int(content["process"]), datetime.fromisoformat(content["since"])
        Path(f"/proc/{process}").lstat()
        if process == os.getpid():  # this check wrote it when it shared the lock with another one
            return ""
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return ""
    return f" (process {process}, since {since.astimezone(UTC):%H:%M} UTC)"
