"""Presents a comparison of unpaired measurements."""

from collections.abc import Mapping
from dataclasses import asdict

from perfledger_baselines.judging.verdict import EffectEstimate, Verdict
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.document import (
    NO_FIGURE,
    CellKind,
    Column,
    Document,
    TextStyle,
    display,
    fact,
    facts,
    field_names,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.interval_text import interval_text
from perfledger_service.values.comparison_view import ComparisonView

UNPAIRED = (
    "Not measured in pairs: differences between the machines are part of each change, but not "
    "of its interval."
)
UNPAIRED_NOTE = (
    f"{UNPAIRED} For a reliable answer, measure both sides in pairs on one machine: "
    "perfledger check --base REV --head REV."
)
_STYLES = {
    "regressed": TextStyle.WORSE,
    "not-measured": TextStyle.MISSING,
    "undecided": TextStyle.WARNING,
    "warning": TextStyle.WARNING,
    "improved": TextStyle.BETTER,
    "unchanged": TextStyle.PLAIN,
}
# The fields of an estimate, with the smaller side's number of runs instead of pairs.
_ESTIMATE_PARTS = (*(part for part in field_names(EffectEstimate) if part != "pairs"), "runs")


def comparison_document(view: ComparisonView, *, exit_code: int) -> Document:
    """Return each metric's values, its change with interval, and the verdict."""
    names = (view.base, view.head)
    empty = [] if view.verdicts else ["Nothing to compare: neither file has a workload."]
    assumed = [f"{view.assumed}."] if view.assumed else []
    return Document(
        name="perfledger-comparison",
        facts={
            "a": view.base,
            "b": view.head,
            "is_paired": False,
            "note": UNPAIRED_NOTE,
            "assumed": view.assumed,
            "alpha": view.alpha,
            "margin": view.margin,
            "floor": view.floor,
            "exit_code": exit_code,
            "baselines": [
                {"series": series, "reason": reason} for series, reason in view.baselines
            ],
        },
        blocks=(
            title(f"A {view.base}, B {view.head}", names=names),
            table(
                _columns(view.margin),
                view.verdicts,
                key="verdicts",
                group=lambda verdict: verdict.workload,
                style=_style,
            ),
            *sentences(empty),
            *notes(_baselines(view)),
            *notes([UNPAIRED_NOTE, f"{_judged_by(view)} The band is that margin.", *assumed]),
        ),
    )


def _columns(margin: float) -> tuple[Column[Verdict], ...]:
    return (
        fact("workload", lambda verdict: verdict.workload),
        fact("metric", lambda verdict: verdict.metric.name),
        words("", "metric", _metric),
        *facts("unit", "worse", of="metric"),
        display("A", lambda verdict: _figures(verdict)[0]),
        display("B", lambda verdict: _figures(verdict)[1]),
        display("change", lambda verdict: _figures(verdict)[2]),
        display("95 % interval", lambda verdict: _figures(verdict)[3]),
        words("", "verdict", vocabulary.verdict_words),
        *facts("outcome", "is_warning"),
        words("", "why", _reason, kind=CellKind.REMARK),
        *facts("reason", "adjusted_p"),
        fact("estimate", lambda verdict: _estimate(verdict.estimate), parts=_ESTIMATE_PARTS),
        display("", lambda verdict: _picture(verdict, margin), kind=CellKind.PICTURE),
    )


def _style(verdict: Verdict) -> TextStyle:
    return _STYLES[vocabulary.tone(verdict.outcome, is_warning=verdict.is_warning)]


def _picture(verdict: Verdict, margin: float) -> str:
    estimate = verdict.shown_estimate
    return "" if estimate is None else interval_text(estimate, margin=margin)


def _reason(verdict: Verdict) -> str:
    return f"{verdict.reason}{_detectable(verdict)}"


def _baselines(view: ComparisonView) -> tuple[str, ...]:
    """Return the baselines chosen from a folder, each once."""
    reasons = dict.fromkeys(reason for _, reason in view.baselines)
    counts = {reason: sum(other == reason for _, other in view.baselines) for reason in reasons}
    return tuple(
        f"A, for {counts[reason]} of {len(view.baselines)}: {reason}." for reason in reasons
    )


def _figures(verdict: Verdict) -> tuple[str, str, str, str]:
    """Return both values, the change and its interval; a dash for each missing one."""
    estimate = verdict.shown_estimate
    if estimate is None:
        return NO_FIGURE, NO_FIGURE, NO_FIGURE, ""
    unit = verdict.metric.unit
    size, interval = number_format.change(estimate.change, estimate.low, estimate.high)
    if estimate.low == estimate.high:  # counted, not estimated
        interval = ""
    return (
        vocabulary.value(estimate.base, unit),
        vocabulary.value(estimate.head, unit),
        size,
        interval,
    )


def _metric(verdict: Verdict) -> str:
    return vocabulary.metric_title(verdict.metric.name)


def _detectable(verdict: Verdict) -> str:
    estimate = verdict.estimate
    if estimate is None or estimate.low == estimate.high:
        return ""
    return f"; smallest detectable change {number_format.share(estimate.smallest_detectable)}"


def _judged_by(view: ComparisonView) -> str:
    level = number_format.margin(view.alpha)
    within = number_format.margin(view.margin)
    return (
        f"Chance of any false change among all of these tests: {level} (Holm). "
        f"Unchanged means proven to lie within {within}."
    )


def _estimate(estimate: EffectEstimate | None) -> Mapping[str, float] | None:
    if estimate is None:
        return None
    fields = asdict(estimate)
    fields["runs"] = fields.pop("pairs")
    return fields
