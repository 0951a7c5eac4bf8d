"""Stored rows and read files as the values that pages lay out: plain data, nothing behind them.

The pages take them so: `index_page(IndexView)`, `pull_request_page(PullRequestView)`,
`run_page(Report, UploadView)` and `series_page(SeriesView)`, each returning a whole HTML document.
Links: `/{repository}/pull/{number}`, `/runs/{upload.id}`, `/series/{series.id}`, `/static/...`.
Every text in them but ids, status and conclusion comes from an upload: it is not to be trusted.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from perfledger.metrics import Worse
from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_baselines.alarms import AlarmRate
from perfledger_baselines.history.attribution import Series
from perfledger_baselines.history.docket import Alert, Request, Suspicion
from perfledger_baselines.history.events import Happenings
from perfledger_baselines.history.findings import History, Suspect
from perfledger_baselines.verdict import Verdict
from perfledger_profiles.bottleneck import Classification, Recommendation
from perfledger_profiles.cause import Explanation
from perfledger_profiles.roofline import Roofline
from perfledger_profiles.step_figures import StepFigure
from perfledger_profiles.stragglers import Stragglers


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
    uploads_left_out: int = 0  # beyond what one page shows
    series_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSeries:
    """A history as a file tells it: one value per point in order, NaN where there is none.

    `errors` are the values' standard errors, NaN where one is not known, and empty where none is.
    `labels` name the points (commits, dates); they are empty where nothing does. `epochs` are the
    indices at which another machine took over: nothing is found across them. `series` says which
    one it is, where that is known; `environments` then are the states of the machine, by point.
    """

    name: str
    unit: str  # "" where the file does not say
    values: tuple[float, ...]
    errors: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    epochs: tuple[int, ...] = ()
    series: Series | None = None
    environments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchedSeries:
    """A history and all that was found in it."""

    series: MeasuredSeries
    history: History
    suspect: Suspect | None = None  # its end lies off, since too few points to believe it

    @property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Return (first, stop) of what lies between two change points or epochs."""
        changes = (change.index for change in self.history.changes)
        bounds = sorted({0, *changes, *self.series.epochs, len(self.series.values)})
        return tuple(pairwise(bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadView:
    """How much the pairs of one series differ without cause, and what pairs can tell then.

    `sd` is the standard deviation of a pair's difference of logs, None where it is not known:
    `source` then says why. `detectable` is (pairs, relative change), `needed` is (relative change,
    pairs), None where no number of pairs within reason is enough. `steps` a process is None where
    the samples do not tell, and `steps_note` says why.
    """

    name: str
    sd: float | None
    source: str
    detectable: tuple[tuple[int, float], ...] = ()
    needed: tuple[tuple[float, int | None], ...] = ()
    steps: int | None = None
    steps_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerView:
    """What can be detected, at which error rate and with what odds."""

    alpha: float  # shared by all tests
    tests: int
    floor: float  # relative: less is never called a change
    power: float
    spreads: tuple[SpreadView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Two files' runs, compared without pairs: the verdicts, and what they were judged by."""

    base: str  # names of the files
    head: str
    alpha: float
    margin: float
    floor: float
    assumed: str  # what was taken for granted for want of a metric, "" if nothing
    verdicts: tuple[Verdict, ...]
    chosen: tuple[tuple[str, str], ...] = ()  # series, what it is held against and why; of a folder


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceView:
    """What one profiler file says; `name` is the file's."""

    name: str
    profile: Profile
    classification: Classification
    recommendations: tuple[Recommendation, ...] = ()
    roof: Roofline | None = None
    caveats: tuple[str, ...] = ()  # of the device's peaks, or why they are not known


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksView:
    """What the profiler files of one job's ranks say together; ranks in the order of the files."""

    traces: tuple[TraceView, ...]
    stragglers: Stragglers


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDiffView:
    """What changed between two profiler files."""

    base: TraceView
    head: TraceView
    explanation: Explanation
    is_same_device: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresView:
    """The figures of a step, what they rest on, and why some are not known."""

    step_seconds: float
    source: str  # where the step's time is from
    devices: int
    device: str  # its key in the hardware table, "" where it is not known
    dtype: str
    peak_flops_per_second: float | None
    figures: tuple[StepFigure, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedView:
    """An A/B that is asked for, and the suspicions that it is to settle."""

    request: Request
    base_sha: str
    head_sha: str
    suspicions: tuple[Suspicion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertView:
    """A change that an A/B bore out, and the upload of that A/B.

    `device` is the one that the A/B was made on, "" where that has no id.
    """

    alert: Alert
    upload_id: str
    created_at: datetime  # UTC
    device: str = ""

    @property
    def is_elsewhere(self) -> bool | None:
        """Return whether another device than the suspicions' bore it out; None if not known."""
        seen = {device for one in self.alert.changes for device in one.suspicion.devices}
        return self.device not in seen if self.device and seen else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchView:
    """A project's default branch: what is confirmed, suspected, and happened to its series."""

    repository: str
    commits: tuple[str, ...]  # oldest first: places in requests, alerts and events count them
    alerts: tuple[AlertView, ...]  # newest first
    asked: tuple[AskedView, ...]  # the most promising first
    happenings: Happenings
    watched: int  # series
    gate: AlarmRate | None  # None where the gate never saw a check of unchanged code


class ImportKind(StrEnum):
    """What an imported file tells of."""

    USAGE = "usage"  # who held how many devices, from when to when
    ACTIVITY = "activity"  # how busy devices were
    JOBS = "jobs"  # which jobs came when, and what they asked for
    LOAD = "load"  # load curves


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImport:
    """A file about the fleet as it was imported, without its content."""

    id: int
    kind: ImportKind
    source: str  # what it is of: a cluster, an account, a service
    name: str
    sha256: str
    since: datetime | None  # UTC; None where it tells of no time
    until: datetime | None
    summary: str
    unpacked_bytes: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUse:
    """How busy a workload kept its device in the newest check of the default branch.

    Means over readings while its steps were timed; None is what nobody measured or declared.
    """

    repository: str
    workload: str
    device_class: str
    active: float  # SM-active, or of a CPU its cores
    low: float  # of its readings: 5 % are below
    high: float  # 5 % are above
    readings: int
    gpu_busy: float | None  # share of a profiled step in which any kernel ran
    device_hours_per_year: float | None  # of the fleet's entries that it matches
    upload_id: str
    created_at: datetime

    @property
    def hours_apart(self) -> float | None:
        """Return the hours a year that are paid for and in which multiprocessors had no work."""
        hours = self.device_hours_per_year
        return None if hours is None else hours * (1 - self.active)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityView:
    """What the service knows of the fleet: what was imported, and what checks measured."""

    imports: tuple[StoredImport, ...]
    measured: tuple[MeasuredUse, ...]
