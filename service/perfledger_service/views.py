"""Stored rows as the values that pages lay out: plain data, no session and no database behind them.

The pages take them so: `index_page(IndexView)`, `pull_request_page(PullRequestView)`,
`run_page(Report, UploadView)` and `series_page(SeriesView)`, each returning a whole HTML document.
Links: `/{repository}/pull/{number}`, `/runs/{upload.id}`, `/series/{series.id}`, `/static/...`.
Every text in them but ids, status and conclusion comes from an upload: it is not to be trusted.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger.metrics import Worse
from perfledger.records import Side


class UploadStatus(StrEnum):
    """How far an upload has come; `judged` is the end where there is no pull request to say it to.

    received → judged → said, or → refused (not what the pull request is now), or → failed.
    """

    RECEIVED = "received"
    JUDGED = "judged"
    SAID = "said"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictView:
    """One stored verdict: the numbers are None where the outcome is "not measured"."""

    workload: str
    metric: str
    unit: str
    worse: Worse
    outcome: str  # one of the judge's five words
    base: float | None
    head: float | None
    change: float | None  # head / base - 1, and so are low and high
    low: float | None
    high: float | None
    is_warning: bool
    series_id: int | None  # the series that the head's observation went to


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadView:
    """One uploaded bundle and what became of it."""

    id: str  # 32 hex digits
    repository: str  # owner/name
    pull_request: int | None
    base_sha: str
    head_sha: str
    head_subject: str
    device_class: str  # "cuda:NVIDIA H100 80GB HBM3:1"
    status: UploadStatus
    reason: str  # why it was refused or failed, else ""
    conclusion: str  # GitHub's word, "" until judged
    headline: str  # the verdict in one line, "" until judged
    created_at: datetime  # UTC
    verdicts: tuple[VerdictView, ...] = ()  # empty on the index


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestView:
    """Everything uploaded for one pull request, newest first."""

    repository: str
    number: int
    uploads: tuple[UploadView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """What one upload measured of one commit, in the series' unit."""

    pos: int  # the commit's place in the order of arrival, 0-based, unique in its repository
    sha: str
    side: Side
    pull_request: int | None
    upload_id: str
    processes: int
    center: float
    low: float
    high: float
    created_at: datetime  # UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    """One workload's metric on one class of machine over commits; points by `pos`, then by time."""

    id: int
    repository: str
    workload: str
    metric: str
    unit: str
    worse: Worse
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
