"""Holds how long each class of stored data is kept, and what was removed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


class RetentionClass(StrEnum):
    """A class of stored data with a retention period of its own."""

    BUNDLES = "bundles"  # with their raw samples, profiles and logs
    SAMPLES = "samples"  # raw samples of series; their centers and intervals stay
    PULL_REQUESTS = "pull-requests"  # verdicts and observations of pull requests' checks
    BRANCH = "branch"  # verdicts and observations of the default branch's checks
    EVENTS = "events"
    JOBS = "jobs"
    AUDIT = "audit"
    CANARIES = "canaries"  # of devices; those that a device is compared with stay
    WORKFLOWS = "workflows"  # the workflow engine's records of finished work


# Parts of uploads, of which a project may have periods of its own.
UPLOAD_CLASSES: tuple[RetentionClass, ...] = (
    RetentionClass.BUNDLES,
    RetentionClass.SAMPLES,
    RetentionClass.PULL_REQUESTS,
    RetentionClass.BRANCH,
)
# Those of the store; the engine's records are removed by the service, which runs the engine.
STORE_CLASSES: tuple[RetentionClass, ...] = tuple(
    kind for kind in RetentionClass if kind is not RetentionClass.WORKFLOWS
)


class UploadPart(StrEnum):
    """A part of an upload that is removed as a whole; the upload itself stays for ever."""

    BUNDLE = "bundle"
    SAMPLES = "samples"
    RESULTS = "results"


@dataclass(frozen=True, slots=True)
class Removal:
    """When a part of an upload was removed, and after how many days."""

    part: UploadPart
    removed_at: datetime
    kept_days: int

    @property
    def sentence(self) -> str:
        """Return the removal in words."""
        return removal_words(self.removed_at, self.kept_days)


def removal_words(removed_at: datetime, kept_days: int) -> str:
    """Return when something was removed, and after how many days, in words."""
    return f"removed on {removed_at:%Y-%m-%d} by retention of {kept_days} days"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """For how many days each class is kept; a class that is missing is kept for ever.

    `projects` has the periods that projects have of their own, by the repository's name in lower
    case; None is for ever.
    """

    days: Mapping[RetentionClass, int]
    projects: Mapping[str, Mapping[RetentionClass, int | None]] = field(
        default_factory=dict[str, Mapping[RetentionClass, int | None]]
    )

    @property
    def is_for_ever(self) -> bool:
        """Return whether nothing of any project is ever removed."""
        return not any(one.days for one in self.policies)

    @property
    def policies(self) -> "tuple[RetentionPolicy, ...]":
        """Return the policy of most projects, and that of each with periods of its own."""
        return RetentionPolicy(self.days), *map(self.of, self.projects)

    def of(self, repository: str) -> "RetentionPolicy":
        """Return a project's policy: its own periods, else the general ones."""
        days = dict[RetentionClass, int | None](self.days) | dict(
            self.projects.get(repository.lower(), {})
        )
        return RetentionPolicy({kind: count for kind, count in days.items() if count is not None})

    def cutoff(self, kind: RetentionClass, now: datetime) -> datetime | None:
        """Return the time before which a class is no longer kept, None where it is for ever."""
        days = self.days.get(kind)
        return None if days is None else now - timedelta(days=days)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAmount:
    """Rows with the bytes of their content, and when the oldest of them arrived."""

    rows: int = 0
    bytes: int = 0
    oldest: datetime | None = None

    def without(self, rest: "StoredAmount") -> "StoredAmount":
        """Return what was removed; its oldest is unknown if something equally old is left."""
        rows = self.rows - rest.rows
        oldest = self.oldest if rows and self.oldest != rest.oldest else None
        return StoredAmount(rows=rows, bytes=self.bytes - rest.bytes, oldest=oldest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRow:
    """A class of data: how long it is kept, what is stored, and what is removed of it."""

    kind: RetentionClass
    kept_days: int | None  # None: for ever
    stored: StoredAmount  # before anything is removed
    removed: StoredAmount  # by a dry run: what would be


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPeriod:
    """For how many days a class of one project's data is kept; None: for ever."""

    repository: str
    kind: RetentionClass
    kept_days: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSize:
    """Bytes of a database, and how many of them are free for new rows; None where unknown."""

    bytes: int
    free_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionReport:
    """What is kept of each class, what was removed, or would be, and the database's size."""

    is_dry_run: bool
    rows: tuple[RetentionRow, ...]
    own_periods: tuple[OwnPeriod, ...]  # of projects, which go before those of the rows
    size: DatabaseSize
