"""Renders the page that compares two checks of a project, and its data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from perfledger.records import Side, short_sha
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_service.rendering.check.compare import UNPAIRED, UNPAIRED_NOTE
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout import number_format, provenance_facts, vocabulary
from perfledger_service.rendering.layout.check_command import command_words
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
from perfledger_service.rendering.trace.cause_rows import ReasonBlock, reason_block
from perfledger_service.rendering.trace.profile_json import explanation_record
from perfledger_service.rendering.trace.step_pictures import (
    MAX_PICTURED,
    StepPictures,
    step_pictures,
)
from perfledger_service.values.comparison_view import (
    ComparedUpload,
    MissingProfile,
    UnprofiledSide,
    UploadComparison,
)

_MAX_CAUSES = 12
_MAX_NAMED = 8  # workloads listed per reason for a missing profile
_SIDES = {Side.BASE: "A", Side.HEAD: "B"}
# Most results on the page; the CSV and the JSON have all of them.
MAX_RESULTS = 500


@dataclass(frozen=True, slots=True)
class MachineDifference:
    """A fact that differs between the machines of two checks; the values are untrusted."""

    name: str
    a: str
    b: str


def compare_page(repository: str, comparison: UploadComparison | None) -> str:
    """Return the page of a comparison; for None, the page that asks for the two sides."""
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
        note=UNPAIRED,  # the page has the command
        machines=machine_differences(comparison) if comparison else (),
        paired=[
            (
                one,
                stored_verdict_rows.upload_headline(one),
                stored_verdict_rows.stored_groups(one),
            )
            for one in (comparison.paired if comparison else ())
        ],
        command=_pairs_command(comparison) if comparison else "",
        blocks=_blocks(comparison) if comparison else (),
        unpictured=max(0, len(comparison.steps.explanations) - MAX_PICTURED) if comparison else 0,
        unprofiled=tuple(_missing_profiles(comparison.steps.unprofiled)) if comparison else (),
        device=stored_verdict_rows.device,
        moment=number_format.moment,
    )


def compare_page_document(comparison: UploadComparison) -> Document:
    """Return the page's data: changes with intervals; verdicts only for pairs."""
    sides = {"a": comparison.base, "b": comparison.head}
    return Document(
        name="perfledger-checks-side-by-side",
        facts={
            "repository": comparison.repository,
            **{name: _side_facts(side) for name, side in sides.items()},
            "is_paired": False,
            "note": UNPAIRED_NOTE,
            "confidence": 1 - comparison.view.alpha,
            "paired_checks": [
                {"check": one.id, "machine_class": one.machine_class} for one in comparison.paired
            ],
            "explanations": [explanation_record(one) for one in comparison.steps.explanations],
            "unprofiled": [
                {"workload": one.workload, "side": _SIDES[one.side], "why": one.why}
                for one in comparison.steps.unprofiled
            ],
        },
        blocks=(
            title(f"A {comparison.base.sha}, B {comparison.head.sha}"),
            _results(comparison.view.verdicts, alpha=comparison.view.alpha),
            *notes([UNPAIRED_NOTE]),
        ),
    )


def machine_differences(comparison: UploadComparison) -> tuple[MachineDifference, ...]:
    """Return the known differences between the machines of the two checks."""
    sides = [
        {
            one.name: ", ".join(filter(None, (one.value, *one.untrusted)))
            for one in provenance_facts.machine_facts(side.machine)
        }
        for side in (comparison.base, comparison.head)
    ]
    return tuple(
        MachineDifference(name, *(side.get(name, "unknown") for side in sides))
        for name in dict.fromkeys([*sides[0], *sides[1]])
        if sides[0].get(name) != sides[1].get(name)
    )


def _blocks(comparison: UploadComparison) -> tuple[tuple[ReasonBlock, StepPictures], ...]:
    """Return why the steps differ, the largest ratio first.

    Without pairs, a difference in time does not mean that a step became slower.
    """
    ordered = sorted(
        comparison.steps.explanations,
        key=lambda one: -one.head_step_seconds / (one.base_step_seconds or 1.0),
    )
    blocks = [
        reason_block(one, max_causes=_MAX_CAUSES, outcome=Outcome.NOT_MEASURED) for one in ordered
    ]
    pictures = step_pictures(ordered, comparison.steps.profiles, roofs=comparison.steps.roofs)
    return tuple(zip(blocks, pictures, strict=True))[:MAX_PICTURED]


def _missing_profiles(
    sides: Sequence[UnprofiledSide],
) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield each reason for a missing profile, some of its workloads, and the number of others."""
    reasons = sorted((_reason(one), one.workload) for one in sides)
    for reason, group in groupby(reasons, key=lambda one: one[0]):
        names = tuple(name for _, name in group)
        yield reason, names[:_MAX_NAMED], max(0, len(names) - _MAX_NAMED)


def _reason(unprofiled: UnprofiledSide) -> str:
    side = _SIDES[unprofiled.side]
    match unprofiled.why:
        case MissingProfile.NOT_MEASURED:
            return f"{side}'s check did not measure it"
        case MissingProfile.NOT_CHANGED:
            return f"{side}'s check has no profile, as nothing changed there against its own base"
        case MissingProfile.FAILED:
            return f"{side}'s check says: {unprofiled.note}"


def _pairs_command(comparison: UploadComparison) -> str:
    """Return the command that measures, judges and profiles both commits in pairs."""
    base, head = (short_sha(one.sha) for one in (comparison.base, comparison.head))
    command = f"perfledger check --base {base} --head {head}"
    return " ".join(command_words(command, comparison.head.options))


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
        "machine_class": side.machine_class,
        "pull_request": side.pull_request,
        "measured_at": side.measured_at,
    }


def _metric(verdict: Verdict) -> str:
    return vocabulary.metric_title(verdict.metric.name)


def _value(verdict: Verdict, value: float | None) -> str:
    return NO_FIGURE if value is None else vocabulary.value(value, verdict.metric.unit)


def _change(estimate: EffectEstimate | None) -> tuple[str, str]:
    """Return the change and its interval; a counted figure has no interval."""
    if estimate is None:
        return NO_FIGURE, ""
    return number_format.change_and_bounds(estimate.change, estimate.low, estimate.high)
