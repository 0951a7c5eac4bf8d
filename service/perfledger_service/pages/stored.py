"""Turns stored verdicts and points of series into rows of figures and words for web pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.metrics import Worse
from perfledger_baselines.verdict import Outcome
from perfledger_service.pages import facts, figures, words
from perfledger_service.views import SeriesPoint, SeriesView, UploadView, VerdictView


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """One stored verdict as it is shown; what was not measured has empty figures."""

    workload: str
    metric: str
    unit: str  # foreign, "" when the figures carry their own
    base: str
    head: str
    change: str
    interval: str
    tone: str
    word: str
    series_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """One point of a series as it is shown."""

    sha: str
    side: str
    center: str
    interval: str
    processes: int
    upload_id: str
    pull_request: int | None
    moment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadHead:
    """What is said of an upload above everything else."""

    headline: str
    tone: str
    base: str
    head: str
    device: str
    moment: str


def upload_head(upload: UploadView) -> UploadHead:
    """Return an upload's headline, with the colour of what became of it."""
    tones = {"success": "improved", "failure": "regressed"}
    tone = tones.get(upload.conclusion, "undecided" if upload.conclusion else "unchanged")
    headline = upload.headline
    if upload.reason:
        tone, headline = "not-measured", f"{str(upload.status).capitalize()}: {upload.reason}"
    return UploadHead(
        headline=headline or f"{str(upload.status).capitalize()}, not judged yet",
        tone=tone,
        base=facts.short_sha(upload.base_sha)[:7],
        head=facts.short_sha(upload.head_sha)[:7],
        device=device(upload.device_class),
        moment=figures.moment(upload.created_at),
    )


def stored_groups(upload: UploadView) -> tuple[tuple[str, tuple[StoredRow, ...]], ...]:
    """Return an upload's verdicts by workload: what needs a reader first, else as stored."""
    rows = [_stored_row(verdict) for verdict in sorted(upload.verdicts, key=_urgency)]
    workloads = dict.fromkeys(row.workload for row in rows)
    return tuple((name, tuple(row for row in rows if row.workload == name)) for name in workloads)


def point_rows(view: SeriesView, points: Sequence[SeriesPoint]) -> tuple[PointRow, ...]:
    """Return a series' points as rows."""
    return tuple(
        PointRow(
            sha=facts.short_sha(point.sha)[:7],
            side=str(point.side),
            center=words.value(point.center, view.unit),
            interval=figures.TO.join(
                words.value(end, view.unit) for end in (point.low, point.high)
            ),
            processes=point.processes,
            upload_id=point.upload_id,
            pull_request=point.pull_request,
            moment=figures.moment(point.created_at),
        )
        for point in points
    )


def device(device_class: str) -> str:
    """Return a class of machines as people say it: "2 x NVIDIA H100 80GB HBM3 (cuda)"."""
    kind, _, rest = device_class.partition(":")
    model, _, many = rest.rpartition(":")
    if not model:
        return device_class
    return f"{model} ({kind})" if many == "1" else f"{many} x {model} ({kind})"


def direction(worse: Worse) -> str:
    """Return which way is worse, in words."""
    match worse:
        case Worse.HIGHER:
            return "higher is worse"
        case Worse.LOWER:
            return "lower is worse"


def _urgency(one: VerdictView) -> int:
    place = words.ORDER.index(Outcome(one.outcome))
    return min(place, words.ORDER.index(Outcome.UNDECIDED)) if one.is_warning else place


def _stored_row(one: VerdictView) -> StoredRow:
    return StoredRow(
        workload=one.workload,
        metric=words.metric_label(one.metric) or one.metric,
        unit="" if one.base is None else words.foreign_unit(one.unit),
        base="" if one.base is None else words.value(one.base, one.unit),
        head="" if one.head is None else words.value(one.head, one.unit),
        change=_change(one)[0],
        interval=_change(one)[1],
        tone=words.tone(one.outcome, is_warning=one.is_warning),
        word=f"{one.outcome}, warning" if one.is_warning else one.outcome,
        series_id=one.series_id,
    )


def _change(one: VerdictView) -> tuple[str, str]:
    if one.change is None or one.low is None or one.high is None:
        return "", ""
    change, interval = figures.change(one.change, one.low, one.high)
    return change, "" if one.low == one.high else interval
