"""Holds what pages show about uploads and series."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from perfledger.metrics import WorseDirection
from perfledger.records import Side
from perfledger_service.values.storage.retention import Removal

# Without a word of a runner: eight messages of one that sends them every 15 s.
SILENCE = timedelta(minutes=2)


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
    """The authority behind an upload's bundle, which decides which of its claims are trusted."""

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
    excludes_waits: bool = False  # the figures are of wall time without waits for a core
    includes_waits: bool = False  # the figures are made by waits for a core, as far as is known


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingClassView:
    """A machine class (a pattern) that has not reported on a pull request's newest head."""

    machine_class: str
    deadline: datetime  # UTC
    is_overdue: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedProgress:
    """How far a check is on a machine class, and when its runner said so.

    `workload` is the last one that began, `waiting` the number of workloads that need more pairs;
    `seconds_left` is None before the first pair. It `is_silent` once nothing more has come.
    """

    machine_class: str
    stage: str
    workload: str
    waiting: int
    pairs: int
    max_pairs: int
    seconds_left: float | None
    heard_at: datetime
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadView:
    """One uploaded bundle with its status."""

    id: str  # 32 hex digits
    repository: str  # owner/name
    pull_request: int | None
    base_sha: str
    head_sha: str
    head_subject: str
    machine_class: str  # "cuda:NVIDIA H100 80GB HBM3:1"
    status: UploadStatus
    reason: str  # why it was refused or failed, else ""
    conclusion: str  # in GitHub's terms, "" until judged
    headline: str  # the verdict in one line, "" until judged
    created_at: datetime  # the bundle's, UTC: it may arrive long after
    verdicts: tuple[VerdictView, ...] = ()  # empty on the index
    removals: tuple[Removal, ...] = ()  # parts removed by retention; empty on the index


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestView:
    """A pull request's uploads, newest first, and the classes that the newest head lacks.

    `progress` is what runners that measure said last, each with the head commit.
    """

    repository: str
    number: int
    uploads: tuple[UploadView, ...]
    missing_classes: tuple[MissingClassView, ...] = ()
    progress: tuple[tuple[str, ReportedProgress], ...] = ()


class SeriesPoint(NamedTuple):
    """What one upload measured of one commit, in the series' unit; a tuple, as pages make 5,000.

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
    """One workload's metric on one machine class over commits, in the order of the branch.

    The head of a pull request stands after its base; commits without a place come first.
    """

    id: int
    repository: str
    workload: str
    metric: str
    unit: str
    worse: WorseDirection
    machine_class: str
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSummary:
    """A series in a list: its name and newest value."""

    id: int
    workload: str
    metric: str
    unit: str
    machine_class: str
    points: int
    last: float
    measured_at: datetime  # when the newest value was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadsView:
    """Series of some of a project's workloads, by name; `workloads` counts all that match."""

    repository: str
    text: str  # that the names hold, "" for all
    series: tuple[SeriesSummary, ...]
    workloads: int
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestsView:
    """Newest uploads of some of a project's pull requests, last measured first, and their number.

    Each pull request has the uploads of its newest head: one for each machine class and check.
    """

    repository: str
    uploads: tuple[UploadView, ...]
    pull_requests: int
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """The front page: the projects, and the newest uploads first."""

    repositories: tuple[str, ...]
    uploads: tuple[UploadView, ...]
    uploads_left_out: int = 0  # beyond what one page shows


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesCommit:
    """What all checks together measured of one commit, in the series' unit.

    The center is their centers' mean, weighted by processes; `low` to `high` spans all intervals.
    """

    sha: str
    is_on_branch: bool  # else the head of a pull request, or of unknown place
    pull_request: int | None  # of a head that is not on the branch
    upload_id: str  # of the newest check
    checks: int
    processes: int
    center: float
    low: float
    high: float
    measured_at: datetime  # UTC, by the newest check
    committed_at: datetime | None
    distance: int | None  # commits since the last measured one, None off the branch
    is_unattested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesChange:
    """A change of a series' level: after one commit, and up to another that may have made it.

    `sha` is the most likely one. `change` is after / before - 1, with its 95 % interval.
    `has_new_environment` says that the machine changed at these commits, too.
    """

    sha: str
    after_sha: str
    last_sha: str
    change: float
    low: float
    high: float
    has_new_environment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesTransient:
    """An excursion of a series that came back: its first and last of several measured commits."""

    first_sha: str
    last_sha: str
    commits: int
    change: float  # relative to the commits around it


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesHistory:
    """A series with one point for each commit, in the order of the branch.

    `searched` counts the commits of the default branch that were searched for changes: the newest
    ones that more than a bundle places there. `new_machines` are the first commits measured in
    another environment.
    """

    series: SeriesView
    commits: tuple[SeriesCommit, ...]
    changes: tuple[SeriesChange, ...] = ()  # oldest first
    transients: tuple[SeriesTransient, ...] = ()  # oldest first
    new_machines: tuple[str, ...] = ()
    searched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyChange:
    """A change of a kernel family: `added_s` are the seconds that it added to a step.

    `is_moved` says that other families of the workload lost or took over as much.
    """

    change: SeriesChange
    added_s: float
    is_moved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyHistory:
    """The seconds of one kernel family in a step, at some of a branch's measured commits.

    `places` count all of them.
    """

    series_id: int
    name: str  # untrusted
    places: tuple[int, ...]
    seconds: tuple[float, ...]
    changes: tuple[FamilyChange, ...] = ()  # oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelHistory:
    """The kernel families of a workload on one machine class, the longest first.

    `commits` are those at which any of them was measured, oldest first.
    """

    machine_class: str
    commits: tuple[str, ...]
    families: tuple[FamilyHistory, ...]


def commits_of(points: Sequence[SeriesPoint]) -> tuple[SeriesCommit, ...]:
    """Return one point for each commit, in the order of the given ones.

    What a check measured that is in no baseline stays apart from what others measured.
    """
    by_commit: dict[tuple[str, bool, bool], list[SeriesPoint]] = {}
    for point in points:
        is_on_branch = point.distance is not None or point.side is Side.BASE
        key = point.sha, is_on_branch, point.is_unattested
        by_commit.setdefault(key, []).append(point)
    return tuple(
        _commit(measured, is_on_branch=is_on_branch)
        for (_, is_on_branch, _), measured in by_commit.items()
    )


def _commit(points: Sequence[SeriesPoint], *, is_on_branch: bool) -> SeriesCommit:
    newest, processes, checks = points[0], points[0].processes, 1
    weighted, low, high = newest.center, newest.low, newest.high
    if len(points) > 1:  # most commits have one
        newest = max(points, key=lambda point: point.created_at)
        processes = sum(point.processes for point in points)
        weighted = sum(point.center * (point.processes / processes) for point in points)
        low, high = min(point.low for point in points), max(point.high for point in points)
        checks = len({point.upload_id for point in points})
    return SeriesCommit(
        sha=newest.sha,
        is_on_branch=is_on_branch,
        pull_request=None if is_on_branch else newest.pull_request,
        upload_id=newest.upload_id,
        checks=checks,
        processes=processes,
        center=min(max(weighted, low), high),
        low=low,
        high=high,
        measured_at=newest.created_at,
        committed_at=newest.committed_at,
        distance=newest.distance,
        is_unattested=newest.is_unattested,
    )
