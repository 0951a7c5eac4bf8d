"""The tables, as SQLModel rows that live and die in the store.

Table models do not validate: what comes in was checked at the door. Texts are bounded and fit both
databases: `read_bundle` refuses others. Blobs are read by name only, never along with their row.
"""

from datetime import date, datetime

from sqlalchemy import BigInteger, ForeignKeyConstraint, Index, MetaData, Text, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from perfledger_service.store.database import UtcTime

# Constraints have names on both databases, so that migrations can speak of them.
_NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Row(SQLModel, registry=registry(metadata=MetaData(naming_convention=_NAMES))):
    """What every table has in common: one set of tables, apart from other users of SQLModel."""


class ProjectRow(Row, table=True):
    """A repository that may upload; GitHub compares names in lower case: `repository_key`."""

    __tablename__ = "project"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    id: int | None = Field(default=None, primary_key=True)
    repository: str
    repository_key: str = Field(unique=True)
    created_at: datetime = Field(sa_type=UtcTime)


class TokenRow(Row, table=True):
    """A project's token: its hash only, and the prefix by which people tell tokens apart."""

    __tablename__ = "token"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id", index=True)
    prefix: str = Field(unique=True)
    sha256: str
    created_at: datetime = Field(sa_type=UtcTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcTime)


class EnvRow(Row, table=True):
    """A machine's whole fingerprint, by the hash of its JSON."""

    __tablename__ = "env"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    hash: str = Field(primary_key=True)
    device_class: str
    machine: str = Field(sa_type=Text)


class BundleRow(Row, table=True):
    """A bundle as it was uploaded, gzipped, by the SHA-256 of its JSON."""

    __tablename__ = "bundle"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    sha256: str = Field(primary_key=True)
    unpacked_bytes: int
    content: bytes


class UploadRow(Row, table=True):
    """One bundle in one project, and what became of it."""

    __tablename__ = "upload"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (UniqueConstraint("project_id", "bundle_sha256"),)

    id: str = Field(primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    bundle_sha256: str = Field(foreign_key="bundle.sha256", index=True)
    env_hash: str = Field(foreign_key="env.hash")
    pull_request: int | None = Field(default=None, index=True)
    base_sha: str
    head_sha: str
    head_subject: str
    status: str = Field(index=True)
    reason: str = ""
    attempt: int = 1
    conclusion: str = ""
    title: str = ""
    headline: str = ""
    created_at: datetime = Field(sa_type=UtcTime, index=True)
    judged_at: datetime | None = Field(default=None, sa_type=UtcTime)


class RevisionRow(Row, table=True):
    """A commit's place in its project: `pos` counts up in the order in which commits were seen.

    `place` counts those of the default branch alone, in the order in which they were seen there;
    NULL for a commit that was only ever the head of a pull request.
    """

    __tablename__ = "revision"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (
        UniqueConstraint("project_id", "sha"),
        UniqueConstraint("project_id", "place"),
    )

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    pos: int = Field(primary_key=True)
    sha: str
    place: int | None = None


class SeriesRow(Row, table=True):
    """One workload's metric on one class of machine; `sample_type` is f4 or f8, little-endian.

    `key` is the SHA-256 of workload, metric and device class: the three of them can be longer than
    PostgreSQL lets an index row be.
    """

    __tablename__ = "series"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (UniqueConstraint("project_id", "key"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    key: str
    workload: str
    metric: str
    unit: str
    worse: str
    device_class: str
    sample_type: str


class ObservationRow(Row, table=True):
    """What one upload measured of one commit for one series, stored in the key's order."""

    __tablename__ = "observation"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = {"sqlite_with_rowid": False}

    series_id: int = Field(foreign_key="series.id", primary_key=True)
    pos: int = Field(primary_key=True)
    upload_id: str = Field(foreign_key="upload.id", primary_key=True, index=True)
    side: str
    processes: int
    center: float
    low: float
    high: float
    samples: bytes


class SpreadRow(Row, table=True):
    """By how much an upload's pairs differed in one series; `id` counts up as uploads are judged.

    `differences` are log head - log base of each pair, as little-endian floats of 4 bytes.
    """

    __tablename__ = "spread"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (UniqueConstraint("upload_id", "series_id"), Index(None, "series_id", "id"))

    id: int | None = Field(default=None, primary_key=True)
    series_id: int = Field(foreign_key="series.id")
    upload_id: str = Field(foreign_key="upload.id")
    differences: bytes


class VerdictRow(Row, table=True):
    """What the judge said, once: rows are added and never changed.

    `spread_*` is the spread from history that it leaned on; NULL where there was none.
    """

    __tablename__ = "verdict"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    upload_id: str = Field(foreign_key="upload.id", primary_key=True)
    place: int = Field(primary_key=True)  # in the report's order
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


class SaidRow(Row, table=True):
    """What was said about one commit: GitHub's ids, so that it is updated and not repeated."""

    __tablename__ = "said"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (
        UniqueConstraint("project_id", "pull_request", "head_sha"),
        ForeignKeyConstraint(["upload_id"], ["upload.id"]),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    upload_id: str
    comment_id: int | None = Field(default=None, sa_type=BigInteger)
    check_run_id: int | None = Field(default=None, sa_type=BigInteger)
    updated_at: datetime = Field(sa_type=UtcTime)


class ApprovalRow(Row, table=True):
    """What somebody entitled to it said of what a commit costs: rows are added and never changed.

    `comment_id` is GitHub's id of the comment that said it; an amount is kept as it was written.
    """

    __tablename__ = "approval"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
    __table_args__ = (
        UniqueConstraint("project_id", "comment_id"),
        Index(None, "project_id", "pull_request", "head_sha"),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    comment_id: int = Field(sa_type=BigInteger)
    login: str
    is_author: bool
    usd_per_year: str
    covers_unpriced: bool
    reason: str = Field(sa_type=Text)
    said_at: datetime = Field(sa_type=UtcTime)
    until: date


class DocketRow(Row, table=True):
    """What is suspected, asked and settled about a project's commits; `content` is MessagePack."""

    __tablename__ = "docket"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    content: bytes


class AlertRow(Row, table=True):
    """A change that an A/B bore out, said when the A/B's upload was judged; rows are only added."""

    __tablename__ = "alert"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id", index=True)
    upload_id: str = Field(foreign_key="upload.id")
    content: bytes


class ImportedRow(Row, table=True):
    """A file about the fleet as it was imported, gzipped, by the SHA-256 of what is in it.

    `source` is what it is of: a cluster, an account, a service. `since` and `until` are NULL where
    a file tells of no time.
    """

    __tablename__ = "imported"  # pyright: ignore[reportAssignmentType] - SQLModel types it as declared_attr
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
    content: bytes  # last: SQLite reads through it to whatever comes behind
