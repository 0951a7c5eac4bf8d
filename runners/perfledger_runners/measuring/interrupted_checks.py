"""Keeps the journals of unfinished checks, so that an interrupted one can resume."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path

import msgspec

from perfledger.records import Machine, Side
from perfledger.time_units import SECONDS_PER_WEEK
from perfledger_runners.measuring.pair_journal import (
    SUFFIX,
    CheckEnvironments,
    CheckIdentity,
    JournalError,
    JournalHeader,
    PairJournal,
    remove_old_journals,
    reopen_journal,
    start_journal,
)
from perfledger_runners.user_folders import state_folder

# After a week the code under review has changed.
MAX_AGE_S = float(SECONDS_PER_WEEK)
NAME_DIGITS = 16
MAX_SHOWN = 60  # characters of a value that differs
MAX_PACKAGES = 3  # of one side that are named
MAX_VARIABLES = 5  # that are named
NOT_INSTALLED = "not installed"
# Variables that differ in each job or session and do not change how a step computes: the names of
# the job, folders for temporary files, the address at which ranks meet, and the caller's coverage.
VARYING_VARIABLES = frozenset(
    {
        *("SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_NODEID", "SLURM_TMPDIR"),
        *("TMPDIR", "TEMP", "TMP", "MASTER_ADDR", "MASTER_PORT"),
        *("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE", "COVERAGE_RCFILE"),
    }
)
# Fields of a machine that vary from reading to reading.
VARYING_FACTS = frozenset({"clock_mhz"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptedChecks:
    """The folder of the journals; a journal is named by its repository and its check."""

    folder: Path
    clock: Callable[[], float] = time.time

    def start(self, header: JournalHeader) -> PairJournal:
        """Start the journal of a check, in place of an earlier one of the same check.

        Raises JournalError.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            msg = f"cannot create {self.folder}: {error.strerror}"
            raise JournalError(msg) from error
        remove_old_journals(self.folder, max_age_s=MAX_AGE_S, now=self.clock())
        return start_journal(self._path(header.check), header)

    def reopen(self, check: CheckIdentity) -> PairJournal:
        """Open the journal of this interrupted check.

        Raises JournalError; if the repository has only another check's journal, it says what
        differs.
        """
        path = self._path(check)
        if not path.exists():
            raise JournalError(self._missing_message(check))
        journal = reopen_journal(path)
        if journal.header.check != check:
            journal.close()
            msg = f"{path} belongs to another check: remove it and check again from the start"
            raise JournalError(msg)
        return journal

    def _path(self, check: CheckIdentity) -> Path:
        return self.folder / f"{_repository(check)}-{_digest(asdict(check))}{SUFFIX}"

    def _missing_message(self, check: CheckIdentity) -> str:
        """Return what differs in the newest interrupted check of this repository."""
        paths = self.folder.glob(f"{_repository(check)}-*{SUFFIX}")
        for path in sorted(paths, key=_written_at, reverse=True):
            with suppress(JournalError):
                journal = reopen_journal(path)
                journal.close()
                differences = ", ".join(_differences(check, journal.header.check))
                pairs = "1 pair" if journal.count == 1 else f"{journal.count} pairs"
                return (
                    f"no interrupted check like this one is saved; the one of this repository "
                    f"({pairs}) differs: {differences}. Check out and pass the same, "
                    "or check again from the start without --resume"
                )
        return (
            f"no interrupted check of {check.repository} is saved in {self.folder}: run the check "
            "without --resume"
        )


def machine_differences(header: JournalHeader, machine: Machine) -> tuple[str, ...]:
    """Return how a machine differs from the one on which a check began."""
    return tuple(
        f"{field.name} was {_short_value(before)} and is {_short_value(now)}"
        for field in fields(machine)
        if field.name not in VARYING_FACTS
        and (before := getattr(header.machine, field.name)) != (now := getattr(machine, field.name))
    )


def environment_differences(
    header: JournalHeader, environments: CheckEnvironments
) -> tuple[str, ...]:
    """Return how the environments differ from those in which a check began.

    A few variables are named, and a few packages of each side.
    """
    before, now = header.environments, environments
    interpreter = (
        (f"the interpreter was {before.interpreter} and is {now.interpreter}",)
        if before.interpreter != now.interpreter
        else ()
    )
    common = (*interpreter, *_variable_differences(before.variables, now.variables))
    sides = [
        _package_differences(*each) for each in ((before.base, now.base), (before.head, now.head))
    ]
    if sides[0] == sides[1]:
        return (*common, *sides[0])
    named = (
        f"{difference} on {side}"
        for side, differences in zip(Side, sides, strict=True)
        for difference in differences
    )
    return (*common, *named)


def variable_digests(variables: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each variable that may change how a step computes."""
    return {
        name: _digest([name, value])
        for name, value in variables.items()
        if name not in VARYING_VARIABLES
    }


def interrupted_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the journals. Raises UserFolderError."""
    return state_folder(environment) / "interrupted"


def _differences(check: CheckIdentity, saved: CheckIdentity) -> tuple[str, ...]:
    ours, theirs = (
        asdict(each) | dict(each.settings) | {"settings": ""} for each in (check, saved)
    )
    return tuple(
        f"{name} was {_short_value(theirs.get(name))} and is {_short_value(ours.get(name))}"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    )


def _package_differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return which packages differ, the first few by name."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    named = tuple(
        f"{name} was {before.get(name, NOT_INSTALLED)} and is {now.get(name, NOT_INSTALLED)}"
        for name in names[:MAX_PACKAGES]
    )
    more = len(names) - MAX_PACKAGES
    if more <= 0:
        return named
    return (*named, "1 more package differs" if more == 1 else f"{more} more packages differ")


def _variable_differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return which environment variables differ, the first few by name."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    named = tuple(
        f"the variable {name} {_variable_change(name, before, now)}"
        for name in names[:MAX_VARIABLES]
    )
    more = len(names) - MAX_VARIABLES
    if more <= 0:
        return named
    return (*named, "1 more variable differs" if more == 1 else f"{more} more variables differ")


def _variable_change(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    if name not in before:
        return "was not set"
    return "has another value" if name in now else "is not set any more"


def _short_value(value: object) -> str:
    text = value if isinstance(value, str) and value else repr(value)
    return text[:MAX_SHOWN]


def _repository(check: CheckIdentity) -> str:
    return _digest(check.repository)


def _digest(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:NAME_DIGITS]


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
