"""Renders the page that compares two checks of a project, and its data."""

from collections.abc import Sequence

from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_service.rendering.check.compare import UNPAIRED_NOTE
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout import number_format, provenance_facts, vocabulary
from perfledger_service.rendering.layout.document import (
    NO_FIGURE,
    Column,
    Document,
    Table,
    display,
    fact,
    facts,
    notes,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.comparison_view import ComparedUpload, UploadComparison

_MAX_METRIC = 40
# Most results on the page; the CSV and the JSON have all of them.
MAX_RESULTS = 500


def compare_page(repository: str, comparison: UploadComparison | None) -> str:
    """Return the page of a comparison; None is the page that asks for the two sides."""
    verdicts = comparison.view.verdicts if comparison is not None else ()
    missing = [one for one in verdicts if one.outcome is Outcome.NOT_MEASURED]
    return render(
        "html/compare.html.j2",
        repository=repository,
        comparison=comparison,
        results=_results(
            [one for one in verdicts if one.outcome is not Outcome.NOT_MEASURED],
            alpha=comparison.view.alpha if comparison is not None else 0.0,
        ),
        missing=[(one.workload, one.reason) for one in missing[:MAX_RESULTS]],
        missing_left_out=max(0, len(missing) - MAX_RESULTS),
        note=UNPAIRED_NOTE,
        short_sha=provenance_facts.short_sha,
        device=stored_verdict_rows.device,
        moment=number_format.moment,
    )


def compare_page_document(comparison: UploadComparison) -> Document:
    """Return the page's data: changes with intervals, and no verdict without pairs."""
    sides = {"a": comparison.base, "b": comparison.head}
    return Document(
        name="perfledger-checks-side-by-side",
        facts={
            "repository": comparison.repository,
            **{name: _side_facts(side) for name, side in sides.items()},
            "is_paired": False,
            "note": UNPAIRED_NOTE,
            "confidence": 1 - comparison.view.alpha,
        },
        blocks=(
            title(f"A {comparison.base.sha}, B {comparison.head.sha}"),
            _results(comparison.view.verdicts, alpha=comparison.view.alpha),
            *notes([UNPAIRED_NOTE]),
        ),
    )


def _results(verdicts: Sequence[Verdict], *, alpha: float) -> Table:
    lacks_estimates = any(one.estimate is None for one in verdicts)
    columns = _columns(
        interval=f"{number_format.margin(1 - alpha)} interval",
        note="Note" if lacks_estimates else None,
    )
    return table(columns, verdicts, key="results", group=lambda one: one.workload, most=MAX_RESULTS)


def _columns(*, interval: str, note: str | None) -> tuple[Column[Verdict], ...]:
    return (
        fact("workload", lambda one: one.workload),
        fact("metric", lambda one: one.metric.name),
        words("", "Metric", _metric),
        *facts("unit", "worse", of="metric"),
        display("A", lambda one: _value(one, one.estimate.base if one.estimate else None)),
        display("B", lambda one: _value(one, one.estimate.head if one.estimate else None)),
        display("Change", lambda one: _change(one.estimate)[0]),
        display(interval, lambda one: _change(one.estimate)[1]),
        fact("a", lambda one: one.estimate and one.estimate.base),
        fact("b", lambda one: one.estimate and one.estimate.head),
        *facts("change", "low", "high", of="estimate"),
        fact("runs", lambda one: one.estimate and one.estimate.pairs),  # of the smaller side
        words("missing", note, lambda one: one.reason if one.estimate is None else ""),
    )


def _side_facts(side: ComparedUpload) -> dict[str, object]:
    return {
        "check": side.upload_id,
        "sha": side.sha,
        "machine_class": side.device_class,
        "pull_request": side.pull_request,
        "measured_at": side.measured_at,
    }


def _metric(verdict: Verdict) -> str:
    return vocabulary.metric_label(verdict.metric.name) or clean(
        verdict.metric.name, limit=_MAX_METRIC
    )


def _value(verdict: Verdict, value: float | None) -> str:
    return NO_FIGURE if value is None else vocabulary.value(value, verdict.metric.unit)


def _change(estimate: EffectEstimate | None) -> tuple[str, str]:
    """Return the change and its interval, which a counted figure has none of."""
    if estimate is None:
        return NO_FIGURE, ""
    return number_format.change_and_bounds(estimate.change, estimate.low, estimate.high)
