"""Saves the pairs of a check on disk as they finish, so that an interrupted check can resume.

A journal is a file of lines: a header, then one line for each pair of processes. A line is a
checksum, a space and JSON. It is written and synchronized before the next pair starts, so that a
process that dies loses at most the pair that it was measuring. An incomplete last line is dropped
and reported; any other damage is an error.
"""

import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from perfledger.bundle import LaidOverFiles, Plan
from perfledger.records import Machine, Param
from perfledger.step_work import CountedWork
from perfledger_runners.measuring.measured_pair import MeasuredPair

# 1: first version. 2: the environments. 3: their variables. 4: when the check began. A journal
# lives for days: another version is not read.
JOURNAL_VERSION = 4
# As large as a bundle may be; later pairs are not saved.
MAX_JOURNAL_BYTES = 64 * 2**20
CHECKSUM_DIGITS = 16
SUFFIX = ".journal"


class JournalError(Exception):
    """A journal that cannot be read or is in use; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckIdentity:
    """What a check compares and how; a resumed check must have the same."""

    repository: str  # its top folder
    base: str  # 40 hex digits
    head: str
    workloads: str  # the options that choose them
    laid_over: LaidOverFiles | None
    settings: Mapping[str, Param]
    perfledger: str  # its version


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEnvironments:
    """The interpreter and the variables of both sides, and the packages that each side can import.

    A package is its version, and a digest of its files if its installer has listed them. Of a
    variable only a digest is kept: its value may be a credential.
    """

    interpreter: str = ""  # its path without links
    base: Mapping[str, str] = field(default_factory=dict[str, str])
    head: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # name → digest


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHeader:
    """What was known about a check before its first pair."""

    check: CheckIdentity
    workloads: tuple[str, ...]  # to measure
    machine: Machine
    environments: CheckEnvironments
    plan: Plan
    work: tuple[CountedWork, ...]
    began: float  # by time.time()
    version: int = JOURNAL_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPair:
    """A pair of processes, and its place in the check."""

    measured: MeasuredPair
    remaining: tuple[tuple[str, ...], ...]  # workloads that the round must still measure
    wall_s: float
    spent_s: float  # of the budget, at its end


@dataclass(slots=True, kw_only=True)
class PairJournal:
    """An open journal; it is locked until it is closed or removed."""

    path: Path
    header: JournalHeader
    saved: tuple[SavedPair, ...] = ()  # the pairs in it when it was opened
    has_torn_line: bool = False  # an incomplete last line was dropped
    failure: str = ""  # why pairs are no longer saved
    appended: int = 0
    descriptor: int
    size: int

    @property
    def count(self) -> int:
        """Return how many pairs of processes are saved."""
        return len(self.saved) + self.appended

    def append(self, pair: SavedPair) -> None:
        """Save a pair; one that cannot be saved, and all later ones, are left out."""
        line = _line(msgspec.json.encode(pair))
        if self.failure:
            return
        if self.size + len(line) > MAX_JOURNAL_BYTES:
            self.failure = f"{self.path} would exceed {MAX_JOURNAL_BYTES} bytes"
            return
        try:
            os.ftruncate(self.descriptor, self.size)  # drops the line that the interruption cut
            _write(self.descriptor, line)
        except OSError as error:
            self.failure = f"{self.path}: {error.strerror}"
        else:
            self.size += len(line)
            self.appended += 1

    def remove(self) -> None:
        """Remove the journal of a finished check."""
        with suppress(OSError):
            self.path.unlink()

    def close(self) -> None:
        """Close the journal and unlock it."""
        os.close(self.descriptor)


def start_journal(path: Path, header: JournalHeader) -> PairJournal:
    """Start a journal, in place of an earlier one; raise JournalError."""
    descriptor = _open(path, os.O_CREAT)
    try:
        line = _line(msgspec.json.encode(header))
        os.ftruncate(descriptor, 0)
        _write(descriptor, line)
        _synchronize(path.parent)
    except OSError as error:
        os.close(descriptor)
        msg = f"cannot write {path}: {error.strerror}"
        raise JournalError(msg) from error
    return PairJournal(path=path, header=header, descriptor=descriptor, size=len(line))


def reopen_journal(path: Path) -> PairJournal:
    """Open an interrupted check's journal, to read it and resume; raise JournalError."""
    descriptor = _open(path, 0)
    try:
        header, saved, size = _read(path, descriptor)
        has_torn_line = os.fstat(descriptor).st_size > size
        os.lseek(descriptor, size, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return PairJournal(
        path=path,
        header=header,
        saved=saved,
        has_torn_line=has_torn_line,
        descriptor=descriptor,
        size=size,
    )


def remove_old_journals(folder: Path, *, max_age_s: float, now: float) -> None:
    """Remove the journals not written to for this long; those in use stay."""
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(OSError, JournalError):
            if now - path.stat().st_mtime > max_age_s:
                descriptor = _open(path, 0)
                path.unlink()
                os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    """Open and lock a journal's file."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
        except OSError as error:
            msg = f"cannot open {path}: {error.strerror}"
            raise JournalError(msg) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            msg = f"{path} is in use: another check of these revisions is running; wait for it"
            raise JournalError(msg) from error
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # it was removed before it was locked


def _read(path: Path, descriptor: int) -> tuple[JournalHeader, tuple[SavedPair, ...], int]:
    """Return what a journal holds, and the size of its complete lines."""
    if os.fstat(descriptor).st_size > MAX_JOURNAL_BYTES:
        msg = f"{path} is larger than any journal ({MAX_JOURNAL_BYTES} bytes): remove it"
        raise JournalError(msg)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        *lines, torn = file.read().split(b"\n")
    contents = [_content(line) for line in lines]
    if contents and not torn and contents[-1] is None:
        contents.pop()
    if not contents or None in contents:
        msg = f"{path} is damaged: remove it and check again from the start"
        raise JournalError(msg)
    header_json, *pairs = [content for content in contents if content is not None]
    try:
        header = msgspec.json.decode(header_json, type=JournalHeader)
        saved = tuple(msgspec.json.decode(pair, type=SavedPair) for pair in pairs)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        msg = f"{path} is not a journal of this perfledger ({error}): check again from the start"
        raise JournalError(msg) from error
    if header.version != JOURNAL_VERSION:
        msg = f"{path} was written by another version of perfledger: check again from the start"
        raise JournalError(msg)
    _check(path, header, saved)
    return header, saved, sum(len(line) + 1 for line in lines[: len(contents)])


def _check(path: Path, header: JournalHeader, saved: Sequence[SavedPair]) -> None:
    """Raise JournalError for pairs that a check with this header cannot have written."""
    done = dict.fromkeys(header.workloads, 0)
    processes = 0
    for each in saved:
        measured = each.measured
        workloads = {*measured.workloads, *(name for group in each.remaining for name in group)}
        of_pair = {
            *((run.workload, run.pair) for run in measured.runs),
            *((failure.workload, failure.pair) for failure in measured.failures),
        }
        is_next = workloads <= done.keys() and bool(measured.workloads)
        is_next = is_next and all(done[name] == measured.pair for name in measured.workloads)
        is_of_pair = of_pair <= {(name, measured.pair) for name in measured.workloads}
        is_numbered = all(
            processes <= run.process < processes + measured.processes for run in measured.runs
        )
        is_timed = min(each.wall_s, each.spent_s, *measured.seconds.values(), 0) >= 0
        if not (is_next and is_of_pair and is_numbered and is_timed):
            msg = f"{path} has a pair that does not fit its check: check again from the start"
            raise JournalError(msg)
        processes += measured.processes
        done |= dict.fromkeys(measured.workloads, measured.pair + 1)


def _line(content: bytes) -> bytes:
    return _checksum(content) + b" " + content + b"\n"


def _content(line: bytes) -> bytes | None:
    """Return the JSON of a line, None if it is damaged."""
    checksum, _, content = line.partition(b" ")
    return content if content and checksum == _checksum(content) else None


def _checksum(content: bytes) -> bytes:
    return sha256(content).hexdigest()[:CHECKSUM_DIGITS].encode()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
    os.fsync(descriptor)


def _synchronize(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
