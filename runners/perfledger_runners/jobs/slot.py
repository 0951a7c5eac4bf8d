"""Remembers on disk which job a runner works on, so that a runner that is killed goes on with it.

A slot is one folder: the lease and the job, the bundle once it is complete, and the child's log. A
runner that begins again asks with the same lease, and sends the bundle that was not sent.
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

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class RunnerNameError(Exception):
    """A name that no runner may have, or that a running one has."""


def _new_lease() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotState:
    """What a runner was about to do: its lease, its job ("": none yet), how often it began it."""

    lease: str = field(default_factory=_new_lease)
    job_id: str = ""
    starts: int = 0

    @property
    def submission(self) -> str:
        """Return the name under which a launcher runs the job; the lease itself is a secret.

        A lease may bring another job than the one that was left, which is another submission.
        """
        digest = hashlib.sha256(f"{self.lease} {self.job_id}".encode()).hexdigest()
        return f"perfledger-{digest[:16]}"


_SLOT_STATE_DECODER = msgspec.json.Decoder(SlotState)


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
        """Return the file of what the job's child process prints."""
        return self.folder / "job.log"

    def state(self) -> SlotState:
        """Return the lease and the job of the slot; a new lease if there is none, or none whole."""
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _SLOT_STATE_DECODER.decode(self._file.read_bytes())
        return self._save(SlotState())

    def begin(self, job_id: str) -> SlotState:
        """Record that a job begins, and return the state; one that is there begins once more."""
        state = self.state()
        starts = state.starts + 1 if state.job_id == job_id else 1
        return self._save(replace(state, job_id=job_id, starts=starts))

    def clear(self) -> None:
        """Forget the job and its files; the log stays until the next job."""
        for file in (self.spreads, self.bundle, *self.folder.glob(f".{self.bundle.name}.*")):
            file.unlink(missing_ok=True)
        self._file.unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self.folder / "job.json"

    def _save(self, state: SlotState) -> SlotState:
        """Write the state so that it is whole or the one before, also after a power cut."""
        temporary = self.folder / "job.json.new"
        with temporary.open("wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._file)
        return state


@contextmanager
def open_slot(folder: Path, name: str) -> Generator[JobSlot]:
    """Open the slot of the runner of this name below a folder, which no other process has.

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
