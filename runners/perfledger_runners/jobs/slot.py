"""Records on disk which job a runner works on, so that a killed runner resumes it.

A slot is one folder: the lease and the job, the bundle once it is complete, and the child's log. A
restarted runner asks with the same lease, and sends a bundle that was not sent.
"""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from perfledger_runners.jobs.runner_deaths import JobStarts

MAX_KEPT_JOBS = 100  # jobs whose starts are remembered: those of the last days
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class RunnerNameError(Exception):
    """A runner name that is invalid or in use."""


def _new_lease() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotState:
    """A runner's work: its lease, its job ("": none yet), and how often the job was started.

    In all starts but the last, the runner died. `memory_kills` is how many programs the kernel had
    killed for lack of memory when the last start began, None if unknown; in `memory_deaths` of the
    other starts this number rose.
    """

    lease: str = field(default_factory=_new_lease)
    job_id: str = ""
    starts: int = 0
    memory_kills: int | None = None
    memory_deaths: int = 0

    @property
    def submission(self) -> str:
        """Return the name under which a launcher runs the job; the lease itself is a secret.

        A lease may return another job than the one left behind, which is then a different
        submission.
        """
        digest = hashlib.sha256(f"{self.lease} {self.job_id}".encode()).hexdigest()
        return f"perfledger-{digest[:16]}"


_SLOT_STATE_DECODER = msgspec.json.Decoder(SlotState)
_STARTS_DECODER = msgspec.json.Decoder(tuple[JobStarts, ...])


@dataclass(frozen=True, slots=True)
class JobSlot:
    """The folder of one runner's job."""

    folder: Path

    @property
    def bundle(self) -> Path:
        """Return the file of the job's result."""
        return self.folder / "bundle.json"

    @property
    def spreads(self) -> Path:
        """Return the file of the spreads that the service knows."""
        return self.folder / "spreads.json"

    @property
    def log(self) -> Path:
        """Return the file of the output of the job's child process."""
        return self.folder / "job.log"

    def state(self) -> SlotState:
        """Return the lease and the job of the slot; a new lease if it holds no complete one."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _SLOT_STATE_DECODER.decode(self._file.read_bytes())
        return self._save(SlotState())

    def begin(self, job_id: str, *, memory_kills: int | None = None) -> SlotState:
        """Record that a job begins, or begins again if it is already recorded; return the state."""
        state = self.state()
        if state.job_id != job_id:
            self._keep_starts(state, deaths=state.starts)
            state = SlotState(lease=state.lease, job_id=job_id)
        before = state.memory_kills
        has_more_kills = before is not None and memory_kills is not None and memory_kills > before
        return self._save(
            replace(
                state,
                starts=state.starts + 1,
                memory_kills=memory_kills,
                memory_deaths=state.memory_deaths + has_more_kills,
            )
        )

    def survive(self) -> None:
        """Record that the runner survived the last start, though the job is not finished."""
        state = self.state()
        self._save(replace(state, starts=max(0, state.starts - 1), memory_kills=None))

    def clear(self, *, has_died: bool = False) -> None:
        """Forget the job and its files; the log stays until the next job.

        `has_died` is whether the runner died in the last start, too.
        """
        state = self.state()
        self._keep_starts(state, deaths=state.starts - (not has_died))
        for file in (self.spreads, self.bundle, *self.folder.glob(f".{self.bundle.name}.*")):
            file.unlink(missing_ok=True)
        self._file.unlink(missing_ok=True)

    def earlier_starts(self) -> tuple[JobStarts, ...]:
        """Return how often each of the last jobs before this one started, and killed the runner."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _STARTS_DECODER.decode(self._starts_file.read_bytes())
        return ()

    def _keep_starts(self, state: SlotState, *, deaths: int) -> None:
        if state.starts:
            starts = (*self.earlier_starts(), JobStarts(starts=state.starts, deaths=deaths))
            _write(self._starts_file, msgspec.json.encode(starts[-MAX_KEPT_JOBS:]))

    @property
    def _starts_file(self) -> Path:
        return self.folder / "starts.json"

    @property
    def _file(self) -> Path:
        return self.folder / "job.json"

    def _save(self, state: SlotState) -> SlotState:
        _write(self._file, msgspec.json.encode(state))
        return state


@contextmanager
def open_slot(folder: Path, name: str) -> Generator[JobSlot]:
    """Open the slot of the runner with this name below a folder, for this process alone.

    Raises RunnerNameError.
    """
    if not _NAME.fullmatch(name):
        msg = (
            f"{name[:40]!r} is not a valid name of a runner: use up to 100 letters, digits, '-', "
            "'_' and '.'"
        )
        raise RunnerNameError(msg)
    slot = JobSlot(folder / name)
    slot.folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(slot.folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            msg = f"a runner {name!r} runs on this machine already: give this one another --name"
            raise RunnerNameError(msg) from error
        yield slot
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically: complete or unchanged, also after a power cut."""
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
