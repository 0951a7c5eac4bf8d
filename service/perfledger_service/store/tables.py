"""Defines the tables as SQLModel rows, which never leave the store.

Table models do not validate: input is checked where it enters the service. Texts are bounded and
fit both databases: `read_bundle` refuses others. Blobs are only read by name, never with their row.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import msgspec
from sqlalchemy import BigInteger, ForeignKeyConstraint, Index, MetaData, Text, UniqueConstraint
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import declared_attr, registry
from sqlmodel import Field, Session, SQLModel

from perfledger_service.store.database import UtcTime

Value = TypeVar("Value")

# GitHub numbers pull requests in 32 bits, and so do the tables.
MAX_PULL_REQUEST = 2**31 - 1

# The column is called `device_class` in databases; the code's word is the glossary's.
STORED_MACHINE_CLASS = {"name": "device_class", "key": "machine_class"}

# Constraints have names on both databases, so that migrations can refer to them.
_NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
_WORD_ENDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class StoreRow(SQLModel, registry=registry(metadata=MetaData(naming_convention=_NAMES))):
    """Base of all tables, with metadata of their own, apart from other users of SQLModel."""

    @declared_attr.directive
    def __tablename__(cls) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: N805
        """Return the name of a class's table: `pair_spread` of `PairSpreadRow`."""
        return _WORD_ENDS.sub("_", cls.__name__.removesuffix("Row")).lower()

    def to_value(self, decoder: msgspec.json.Decoder[Value], **other_fields: object) -> Value:
        """Return a dataclass of the columns that its fields name, and of `other_fields`.

        Its decoder was created at import: msgspec crashes where threads create one at once.
        """
        kind = decoder.type
        names = type(self).model_fields.keys() & vars(kind)["__dataclass_fields__"].keys()
        columns = {name: getattr(self, name) for name in names}
        return msgspec.convert(columns | other_fields, kind, from_attributes=True)


def add_if_new(session: Session, row: type[StoreRow], values: Mapping[str, object]) -> None:
    """Insert a row unless its key is already stored, also by a concurrent transaction."""
    match session.get_bind().dialect.name:
        case "sqlite":
            session.exec(sqlite.insert(row).values(**values).on_conflict_do_nothing())
        case _:
            session.exec(postgresql.insert(row).values(**values).on_conflict_do_nothing())


class ProjectRow(StoreRow, table=True):
    """A repository that may upload; `repository_key` is its name in lower case, as on GitHub.

    With `trust_runners` a bundle's word on the default branch's commits is believed. The runs of
    GitHub Actions that may upload are those of `actions_repository_id`, which no renaming changes;
    `actions_branch` is the branch whose runs may enter the baseline.
    """

    id: int | None = Field(default=None, primary_key=True)
    repository: str
    repository_key: str = Field(unique=True)
    created_at: datetime = Field(sa_type=UtcTime)
    trust_runners: bool = False
    actions_repository_id: int | None = Field(default=None, sa_type=BigInteger, unique=True)
    actions_owner_id: int | None = Field(default=None, sa_type=BigInteger)
    actions_branch: str = ""


class PersonRow(StoreRow, table=True):
    """A person who signed in, by the provider's own name for the account; `login` may change."""

    __table_args__ = (UniqueConstraint("provider", "subject"),)

    id: int | None = Field(default=None, primary_key=True)
    provider: str
    subject: str
    login: str = Field(index=True)
    created_at: datetime = Field(sa_type=UtcTime)


class TokenRow(StoreRow, table=True):
    """A project's token: only its hash, and a prefix by which people tell tokens apart.

    `scope` is what it may do; from `expires_at` on it may nothing. A person's own token never does
    more than the person may. `used_at` is when it was last used, to the hour.
    """

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id", index=True)
    prefix: str = Field(unique=True)
    sha256: str
    created_at: datetime = Field(sa_type=UtcTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcTime)
    scope: str = "upload"
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    person_id: int | None = Field(default=None, foreign_key="person.id", index=True)
    used_at: datetime | None = Field(default=None, sa_type=UtcTime)


class ActionsTokenRow(StoreRow, table=True):
    """A token of a GitHub Actions run that a bundle came with; it is kept until the token ends."""

    jti: str = Field(primary_key=True)
    bundle_sha256: str
    expires_at: datetime = Field(sa_type=UtcTime, index=True)


class EnvironmentRow(StoreRow, table=True):
    """A machine's fingerprint, by the hash of its JSON."""

    hash: str = Field(primary_key=True)
    machine_class: str = Field(sa_column_kwargs=STORED_MACHINE_CLASS)
    machine: str = Field(sa_type=Text)


class BundleRow(StoreRow, table=True):
    """An uploaded bundle, gzipped, by the SHA-256 of its JSON."""

    sha256: str = Field(primary_key=True)
    unpacked_bytes: int
    content: bytes


class UploadRow(StoreRow, table=True):
    """One bundle in one project, with its status and its verdict in one line.

    `retry_at` is when a post that failed is attempted again; NULL if nothing waits. `sender` is
    whose word its bundle is.
    """

    __table_args__ = (
        UniqueConstraint("project_id", "bundle_sha256"),
        Index(None, "status", "conclusion"),
        Index("ix_upload_status_pull_request", "status", "pull_request"),
        Index(None, "environment_hash", "status", "conclusion"),
    )

    id: str = Field(primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    bundle_sha256: str = Field(foreign_key="bundle.sha256", index=True)
    environment_hash: str = Field(foreign_key="environment.hash")
    pull_request: int | None = Field(default=None, index=True)
    base_sha: str = Field(index=True)
    head_sha: str = Field(index=True)
    head_subject: str
    status: str
    reason: str = ""
    attempt: int = 1
    conclusion: str = ""
    title: str = ""
    headline: str = ""
    created_at: datetime = Field(sa_type=UtcTime, index=True)
    measured_at: datetime = Field(sa_type=UtcTime, index=True)
    judged_at: datetime | None = Field(default=None, sa_type=UtcTime)
    retry_at: datetime | None = Field(default=None, sa_type=UtcTime, index=True)
    failing_since: datetime | None = Field(default=None, sa_type=UtcTime)
    sender: str = "runner"


class ExpectedClassRow(StoreRow, table=True):
    """A machine class (a pattern) that is to report on a pull request's head until its deadline."""

    __table_args__ = (
        UniqueConstraint(  # PostgreSQL cuts longer names than this
            *("project_id", "pull_request", "head_sha", "machine_class"),
            name="uq_expected_class_of_head",
        ),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    machine_class: str
    deadline: datetime = Field(sa_type=UtcTime, index=True)


class RevisionRow(StoreRow, table=True):
    """A commit of a project; `position` counts up in the order in which commits were first seen.

    `is_claimed` says that a bundle claimed it to be a commit of the default branch. `committed_at`
    is the committer's date by the runner's git: a label, no order.
    """

    __table_args__ = (UniqueConstraint("project_id", "sha"),)

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    position: int = Field(primary_key=True)
    sha: str
    is_claimed: bool = False
    committed_at: datetime | None = Field(default=None, sa_type=UtcTime)


class BranchCommitRow(StoreRow, table=True):
    """A commit of the default branch's first-parent line, and its place there.

    Places count commits: the difference of two is the number of commits from one to the other. Rows
    are by the word of GitHub, of a clone that the operator names, or of trusted runners.
    """

    __table_args__ = (UniqueConstraint("project_id", "sha"),)

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    place: int = Field(primary_key=True)
    sha: str


class SeriesRow(StoreRow, table=True):
    """One workload's metric on one machine class; `sample_type` is f4 or f8, little-endian.

    `key` is the SHA-256 of workload, metric and machine class, because the three can be longer than
    an index row of PostgreSQL.
    """

    __table_args__ = (UniqueConstraint("project_id", "key"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    key: str
    workload: str
    metric: str
    unit: str
    worse: str
    machine_class: str = Field(sa_column_kwargs=STORED_MACHINE_CLASS)
    sample_type: str


class ObservationRow(StoreRow, table=True):
    """What one upload measured of one commit for one series, clustered by the primary key."""

    __table_args__ = {"sqlite_with_rowid": False}

    series_id: int = Field(foreign_key="series.id", primary_key=True)
    position: int = Field(primary_key=True)
    upload_id: str = Field(foreign_key="upload.id", primary_key=True, index=True)
    side: str
    processes: int
    center: float
    low: float
    high: float
    samples: bytes


class PairSpreadRow(StoreRow, table=True):
    """Differences of an upload's pairs in a series: log head - log base, little-endian floats."""

    __table_args__ = (UniqueConstraint("upload_id", "series_id"), Index(None, "series_id", "id"))

    id: int | None = Field(default=None, primary_key=True)
    series_id: int = Field(foreign_key="series.id")
    upload_id: str = Field(foreign_key="upload.id")
    differences: bytes


class VerdictRow(StoreRow, table=True):
    """One metric's verdict: rows are added and never changed.

    `spread_*` is the spread prior that the verdict used; NULL without one.
    """

    upload_id: str = Field(foreign_key="upload.id", primary_key=True)
    position: int = Field(primary_key=True)  # in the report's order
    workload: str
    metric: str
    unit: str
    worse: str
    kind: str
    scale: str
    outcome: str
    base: float | None
    head: float | None
    change: float | None
    low: float | None
    high: float | None
    narrow_low: float | None
    narrow_high: float | None
    pairs: int | None
    p_value: float | None
    smallest_detectable: float | None
    adjusted_p: float
    is_warning: bool
    reason: str = Field(sa_type=Text)
    spread_variance: float | None = None
    spread_degrees: float | None = None
    spread_source: str | None = None
    spread_values: int | None = None
    queued_share: float | None = None
    profiled_pairs: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class GateCheckRow(StoreRow, table=True):
    """What a judged upload tells of its gate, and for how many seconds it held its machine.

    `is_shadow_false_alarm` is NULL where no test was left whose sides could be exchanged. Of the
    gate's newest checks before it, `undecided_before` of `checks_before` were undecided; NULL where
    an older version judged it.
    """

    upload_id: str = Field(foreign_key="upload.id", primary_key=True)
    held_s: float | None = None
    is_shadow_false_alarm: bool | None = None
    undecided_before: int | None = None
    checks_before: int | None = None


class GitHubPostRow(StoreRow, table=True):
    """GitHub's ids of what was posted for one commit, so that it is updated and not repeated.

    `upload_id` is the upload posted last, NULL where a deadline ended before any was.
    """

    __tablename__ = "github_post"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (
        UniqueConstraint("project_id", "pull_request", "head_sha"),
        ForeignKeyConstraint(["upload_id"], ["upload.id"]),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    upload_id: str | None = None
    comment_id: int | None = Field(default=None, sa_type=BigInteger)
    check_run_id: int | None = Field(default=None, sa_type=BigInteger)
    updated_at: datetime = Field(sa_type=UtcTime)


class ConfirmationStateRow(StoreRow, table=True):
    """A project's suspected and confirmed changes; `content` is MessagePack."""

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    content: bytes


class AlertRow(StoreRow, table=True):
    """A change that an A/B run confirmed, after one commit and up to another; rows are only added.

    The numbers of commits in `content` were those of their time; the order may have changed since.
    """

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id", index=True)
    upload_id: str = Field(foreign_key="upload.id")
    content: bytes
    after_sha: str
    last_sha: str


class ImportedFileRow(StoreRow, table=True):
    """An imported file about the fleet, gzipped, by the SHA-256 of its content.

    `source` is a cluster, an account or a service. `since` and `until` are NULL for a file without
    times.
    """

    __table_args__ = (UniqueConstraint("kind", "source", "sha256"),)

    id: int | None = Field(default=None, primary_key=True)
    kind: str
    source: str
    name: str
    sha256: str
    since: datetime | None = Field(default=None, sa_type=UtcTime)
    until: datetime | None = Field(default=None, sa_type=UtcTime)
    summary: str = Field(sa_type=Text)
    unpacked_bytes: int
    created_at: datetime = Field(sa_type=UtcTime)
    content: bytes  # last: SQLite reads through it to reach later columns


class WebhookPollRow(StoreRow, table=True):
    """Until when GitHub's deliveries were read, when the next poll is due, and what was found."""

    id: int = Field(primary_key=True)
    read_until: datetime = Field(sa_type=UtcTime)
    due_at: datetime = Field(sa_type=UtcTime)
    polled_at: datetime | None = Field(default=None, sa_type=UtcTime)
    failures: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    redelivered: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    abandoned: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    problem: str = Field(default="", sa_type=Text)
