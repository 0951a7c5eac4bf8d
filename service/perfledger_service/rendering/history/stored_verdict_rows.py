"""Lists stored verdicts for web pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.metrics import WorseDirection
from perfledger.records import short_sha
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.bundles.check_announcement import ANY_CLASS
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.values.upload_views import UploadStatus, UploadView, VerdictView


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVerdictRow:
    """One stored verdict, as shown; its figures are empty if it was not measured."""

    workload: str
    metric: str
    unit: str  # untrusted; "" if the figures include their unit
    base: str
    head: str
    change: str
    interval: str
    basis: str  # what the figures are of if that is not plain, else ""
    tone: str
    word: str
    series_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadHeadline:
    """The headline of an upload."""

    headline: str
    tone: str
    base: str
    head: str
    device: str
    moment: str


def upload_headline(upload: UploadView) -> UploadHeadline:
    """Return an upload's headline with its result's colour."""
    tones = {"success": "improved", "failure": "regressed"}
    tone = tones.get(upload.conclusion, "undecided" if upload.conclusion else "unchanged")
    headline = upload.headline
    if upload.reason and upload.status is UploadStatus.JUDGED:
        headline = f"{headline}. Not posted yet, {upload.reason}"
    elif upload.reason:
        tone, headline = "not-measured", f"{str(upload.status).capitalize()}: {upload.reason}"
    return UploadHeadline(
        headline=headline or f"{str(upload.status).capitalize()}, not judged yet",
        tone=tone,
        base=short_sha(upload.base_sha),
        head=short_sha(upload.head_sha),
        device=device(upload.machine_class),
        moment=number_format.moment(upload.created_at),
    )


def stored_groups(upload: UploadView) -> tuple[tuple[str, tuple[StoredVerdictRow, ...]], ...]:
    """Return an upload's verdicts by workload: those that need attention first, then as stored."""
    return verdict_groups(upload.verdicts)


def verdict_groups(
    verdicts: Sequence[VerdictView],
) -> tuple[tuple[str, tuple[StoredVerdictRow, ...]], ...]:
    """Return verdicts by workload: those that need attention first, then in their order."""
    groups: dict[str, list[StoredVerdictRow]] = {}
    for row in map(_stored_row, sorted(verdicts, key=_urgency)):
        groups.setdefault(row.workload, []).append(row)
    return tuple((name, tuple(rows)) for name, rows in groups.items())


def device(machine_class: str) -> str:
    """Return the display name of a machine class: "2 x NVIDIA H100 80GB HBM3 (cuda)"."""
    if machine_class == ANY_CLASS:
        return "any machine class"
    kind, _, rest = machine_class.partition(":")
    model, _, many = rest.rpartition(":")
    if not model:
        return machine_class
    return f"{model} ({kind})" if many == "1" else f"{many} x {model} ({kind})"


def direction(worse: WorseDirection) -> str:
    """Return which way is worse, in words."""
    match worse:
        case WorseDirection.HIGHER:
            return "higher is worse"
        case WorseDirection.LOWER:
            return "lower is worse"


def _urgency(view: VerdictView) -> int:
    place = vocabulary.OUTCOME_ORDER.index(Outcome(view.outcome))
    return (
        min(place, vocabulary.OUTCOME_ORDER.index(Outcome.UNDECIDED)) if view.is_warning else place
    )


def _stored_row(view: VerdictView) -> StoredVerdictRow:
    return StoredVerdictRow(
        workload=view.workload,
        metric=vocabulary.metric_label(view.metric) or view.metric,
        unit="" if view.base is None else vocabulary.foreign_unit(view.unit),
        base="" if view.base is None else vocabulary.value(view.base, view.unit),
        head="" if view.head is None else vocabulary.value(view.head, view.unit),
        change=_change(view)[0],
        interval=_change(view)[1],
        basis=_basis(view),
        tone=vocabulary.tone(view.outcome, is_warning=view.is_warning),
        word=f"{view.outcome}, warning" if view.is_warning else view.outcome,
        series_id=view.series_id,
    )


def _basis(view: VerdictView) -> str:
    if view.excludes_waits:
        return vocabulary.WITHOUT_WAITS
    return vocabulary.WITH_WAITS if view.includes_waits else ""


def _change(view: VerdictView) -> tuple[str, str]:
    if view.change is None or view.low is None or view.high is None:
        return "", ""
    return number_format.change_and_bounds(view.change, view.low, view.high)
