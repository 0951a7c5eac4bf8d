"""Holds what pages show of uploads and series."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger.metrics import WorseDirection
from perfledger.records import Side


class UploadStatus(StrEnum):
    """Status of an upload; `judged` is final without a pull request.

    received → judged → posted, or → refused (not the pull request's current head), or → failed.
    """

    RECEIVED = "received"
    JUDGED = "judged"
    POSTED = "posted"
    REFUSED = "refused"
    FAILED = "failed"


class UploadSender(StrEnum):
    """Whose word an upload's bundle is: it decides what of it is believed."""

    RUNNER = "runner"  # the project's own, by its token or because the project trusts it
    BRANCH_RUN = "branch run"  # GitHub attests that the run was of the default branch
    OTHER_RUN = "other run"  # of a pull request or another branch: in no baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictView:
    """One stored verdict: the numbers are None where the outcome is "not measured"."""

    workload: str
    metric: str
    unit: str
    worse: WorseDirection
    outcome: str  # one of the judge's five words
    base: float | None
    head: float | None
    change: float | None  # head / base - 1, and so are the ends of the interval that decided
    low: float | None
    high: float | None
    is_warning: bool
    series_id: int | None  # the series that the head's observation went to


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingClassView:
    """A machine class (a pattern) that has not reported on a pull request's newest head."""

    machine_class: str
    deadline: datetime  # UTC
    is_overdue: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadView:
    """One uploaded bundle with its status."""

    id: str  # 32 hex digits
    repository: str  # owner/name
    pull_request: int | None
    base_sha: str
    head_sha: str
    head_subject: str
    device_class: str  # "cuda:NVIDIA H100 80GB HBM3:1"
    status: UploadStatus
    reason: str  # why it was refused or failed, else ""
    conclusion: str  # in GitHub's terms, "" until judged
    headline: str  # the verdict in one line, "" until judged
    created_at: datetime  # the bundle's, UTC: it may arrive long after
    verdicts: tuple[VerdictView, ...] = ()  # empty on the index


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestView:
    """Uploads of one pull request, newest first, and the classes missing of the newest's head."""

    repository: str
    number: int
    uploads: tuple[UploadView, ...]
    missing_classes: tuple[MissingClassView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """What one upload measured of one commit, in the series' unit.

    `distance` counts the commits of the default branch since the last measured one before; None off
    the branch. `is_unattested`: only a bundle says that the commit is on it.
    """

    position: int  # the commit's place in the order of arrival, 0-based, unique in its repository
    sha: str
    side: Side
    pull_request: int | None
    upload_id: str
    processes: int
    center: float
    low: float
    high: float
    created_at: datetime  # the bundle's, UTC: it may arrive long after
    committed_at: datetime | None = None  # None: its runner did not say
    distance: int | None = None
    is_unattested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    """One workload's metric on one device class over commits, in the order of the branch.

    The head of a pull request stands after its base; commits without a place come first.
    """

    id: int
    repository: str
    workload: str
    metric: str
    unit: str
    worse: WorseDirection
    device_class: str
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSummary:
    """A series on the index: its name and its newest value."""

    id: int
    repository: str
    workload: str
    metric: str
    unit: str
    device_class: str
    points: int
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """The front page: newest uploads first, series by name."""

    repositories: tuple[str, ...]
    uploads: tuple[UploadView, ...]
    series: tuple[SeriesSummary, ...]
    uploads_left_out: int = 0  # beyond what one page shows
    series_left_out: int = 0
