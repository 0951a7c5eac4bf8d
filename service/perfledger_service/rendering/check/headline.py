"""Words a check's result in one line: the worst change, its size and its cause.

The line quotes untrusted names of workloads, metrics and operations, not escaped yet.
"""

from collections import Counter
from collections.abc import Sequence

from perfledger.metrics import CPU_TIME, STEP_TIME, MetricKind
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_profiles.bottleneck.classification import Bottleneck, BottleneckConfidence
from perfledger_profiles.diff.cause import Cause, ChangeKind, StepTimeExplanation
from perfledger_service.rendering.layout import provenance_facts, verdict_rows, vocabulary
from perfledger_service.rendering.layout.failure_rows import failure_rows
from perfledger_service.rendering.layout.host_sentences import busy_sentence
from perfledger_service.rendering.layout.limit_sentences import exceeded_sentences
from perfledger_service.rendering.layout.number_format import NBSP, quantity
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow
from perfledger_service.values.report import Report

_WARNING = "warning"
_MAX_NAMED = 2  # the worst workloads, or the further metrics of a single one
# Bottlenecks that a step waits for.
_WAITS = (Bottleneck.INPUT, Bottleneck.COMMUNICATION, Bottleneck.TRANSFER)
_ARROW = "\N{RIGHTWARDS ARROW}"


def headline(report: Report) -> str:
    """Return the check's result in one line."""
    verdicts = telling_verdicts(report)
    if not verdicts or report.exceeded_limits:
        return _without_verdicts(report)
    (first,) = verdict_rows.rows_of(verdicts[:1], report)
    if first.is_warning:
        is_kernel = first.kind is MetricKind.KERNEL
        warning = _change_phrase(first) if is_kernel else _result_phrase(first)
        return f"No regression, but a warning: {warning}{_more(verdicts)}"
    match first.outcome:
        case Outcome.REGRESSED | Outcome.IMPROVED:
            return _change_headline(verdicts, report)
        case Outcome.UNDECIDED:
            interval = f" ({first.interval})" if first.interval else ""
            return f"Undecided: {_result_phrase(first)}{interval}{_more(verdicts)}"
        case Outcome.NOT_MEASURED:
            return _not_measured(report)
        case Outcome.UNCHANGED:
            return _quiet_headline(verdicts, report)


def telling_rows(report: Report, every: Sequence[VerdictTableRow]) -> tuple[VerdictTableRow, ...]:
    """Return the rows of the results that decide the check, in the order of `telling_verdicts`.

    `every` is `verdict_rows.verdict_rows` of the report.
    """
    rows = {(row.workload, row.metric_name): row for row in every}
    return tuple(rows[one.workload, one.metric.name] for one in telling_verdicts(report))


def telling_verdicts(report: Report) -> tuple[Verdict, ...]:
    """Return the results that decide the check, the largest changes of the first workload first.

    All have the same outcome: the worst of any result, trades and warnings aside.
    """
    verdicts = [
        one for one in verdict_rows.order_verdicts(report) if not is_trade(one, report.verdicts)
    ]
    for outcome in (Outcome.REGRESSED, Outcome.NOT_MEASURED, Outcome.UNDECIDED):
        if telling := [one for one in verdicts if one.outcome is outcome and not one.is_warning]:
            return _by_size(telling)
    if telling := [one for one in verdicts if one.is_warning]:
        return _by_size(telling)
    for outcome in (Outcome.IMPROVED, Outcome.UNCHANGED):
        if telling := [one for one in verdicts if one.outcome is outcome]:
            return _by_size(telling)
    return ()


def workload_counts(report: Report) -> str:
    """Return the number of workloads by outcome; a workload counts by its worst verdict."""
    if report.is_imported:
        return f"{_workloads(len(report.workloads))} imported"
    order = (
        str(Outcome.REGRESSED),
        str(Outcome.NOT_MEASURED),
        str(Outcome.UNDECIDED),
        _WARNING,
        str(Outcome.IMPROVED),
        str(Outcome.UNCHANGED),
    )
    worst: dict[str, str] = {}
    for verdict in report.verdicts:
        if is_trade(verdict, report.verdicts):
            continue
        word = _WARNING if verdict.is_warning else str(verdict.outcome)
        worst[verdict.workload] = min(worst.get(verdict.workload, word), word, key=order.index)
    counts = Counter(worst.values())
    parts = [_count_text(counts[word], word) for word in order if counts[word]]
    parts += [f"{len(report.new_workloads)} new"] if report.new_workloads else []
    parts += [f"{len(report.skipped)} skipped"] if report.skipped else []
    return f"{', '.join(parts) or 'none'} of {_workloads(_total(report))}"


def cause_phrase(explanation: StepTimeExplanation | None) -> str:
    """Return the main cause of a changed step time in a few words; "" if unknown."""
    if explanation is None or not explanation.is_attributable:
        return ""
    total_s = explanation.head_step_seconds - explanation.base_step_seconds
    before, after = explanation.base_bottleneck, explanation.head_bottleneck
    if (
        total_s > 0
        and after is not None
        and after.primary in _WAITS
        and after.confidence is not BottleneckConfidence.LOW
        and (before is None or before.primary is not after.primary)
    ):
        return f"it waits for {vocabulary.bottleneck(after.primary)}"
    cause = next((one for one in explanation.causes if one.delta_seconds * total_s > 0), None)
    return "" if cause is None else _cause_words(cause)


def _cause_words(cause: Cause) -> str:
    name = short_name(cause.name)
    match cause.kind:
        case ChangeKind.REPLACED:
            return f"{name} replaces {short_name(cause.base_name)}"
        case ChangeKind.NEW:
            return f"{name} is new"
        case ChangeKind.GONE:
            return f"{name} is gone"
        case ChangeKind.COUNT:
            often = "more" if cause.head_count > cause.base_count else "less"
            return f"{name} is called {often} often"
        case ChangeKind.RATE:
            return f"{name} is {'slower' if cause.delta_seconds > 0 else 'faster'}"


def _by_size(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts by their workload's largest change; its step time stays first."""
    largest: dict[str, float] = {}
    for one in verdicts:
        largest[one.workload] = max(largest.get(one.workload, 0.0), _size(one))
    return tuple(sorted(verdicts, key=lambda one: -largest[one.workload]))


def _size(verdict: Verdict) -> float:
    if verdict.metric.kind is MetricKind.KERNEL:  # its change is relative to one kernel
        return 0.0
    change = abs(verdict.estimate.change) if verdict.estimate else 0.0
    return change if change == change else 0.0  # noqa: PLR0124 - not a number sorts as no change


def _change_headline(verdicts: Sequence[Verdict], report: Report) -> str:
    first_of = {one.workload: one for one in reversed(verdicts)}
    workloads = tuple(dict.fromkeys(one.workload for one in verdicts))
    failed_names = {row.workload for row in failure_rows(report)} - set(workloads)
    end = f"; {len(failed_names)} could not be measured" if failed_names else ""
    if len(workloads) > 1:
        worst = [first_of[name] for name in workloads[:_MAX_NAMED]]
        is_worse = worst[0].outcome is Outcome.REGRESSED
        lead = f"{worst[0].outcome}, {'worst' if is_worse else 'most'}"
        worst_names = ", ".join(map(_result_phrase, verdict_rows.rows_of(worst, report)))
        return f"{len(workloads)} of {_workloads(_total(report))} {lead} {worst_names}{end}"
    first, *other_rows = verdict_rows.rows_of(
        _without_load_first(verdicts, report)[: 1 + _MAX_NAMED], report
    )
    further = "".join(
        f", {row.metric} {row.change}" for row in other_rows if row.kind is not MetricKind.KERNEL
    )
    explanation = next((one for one in report.explanations if one.workload == first.workload), None)
    is_explained = any(one.metric.name == STEP_TIME.name for one in verdicts)
    cause = cause_phrase(explanation) if is_explained else ""
    return f"{_change_phrase(first)}{further}{': ' if cause else ''}{cause}{end}"


def _without_load_first(verdicts: Sequence[Verdict], report: Report) -> Sequence[Verdict]:
    """Return the results with CPU time first if the machine was busy, which lengthens step times.

    A slower side waits longer for a core, so that its step time grows by more than its work. Where
    the step time's change is already one without waits, it stays first.
    """
    timed = {one.metric.name: one for one in verdicts}
    is_busy = busy_sentence(report.host_findings) != ""
    if not (is_busy and {STEP_TIME.name, CPU_TIME.name} <= timed.keys()):
        return verdicts
    cpu_time, step_time = timed[CPU_TIME.name], timed[STEP_TIME.name]
    if step_time.excludes_waits or _size(cpu_time) >= _size(step_time):
        return verdicts
    return (cpu_time, *(one for one in verdicts if one is not cpu_time))


def _change_phrase(row: VerdictTableRow) -> str:
    """Return how a result changed: "w is 33 % slower (131 to 175 ms)", with an arrow for "to".

    Kernels have no figure here: the first part of the reason describes the first of them.
    """
    if row.kind is MetricKind.KERNEL:
        return f"{row.workload}: {row.reason.partition(';')[0]}"
    figures = f" ({_figures(row)}{f' {row.basis}' if row.basis else ''})"
    size, is_more = row.change.lstrip("+-"), row.change.startswith("+")
    if row.change == size:
        return f"{row.workload}: {row.metric} has changed{figures}"
    if row.metric_name == STEP_TIME.name:
        how = f"is {size} slower" if is_more else f"takes {size} less time"
        return f"{row.workload} {how}{figures}"
    return f"{row.workload}: {row.metric} is {size} {'higher' if is_more else 'lower'}{figures}"


def _figures(row: VerdictTableRow) -> str:
    """Return both figures; a common unit is written once."""
    before, _, unit = row.base.rpartition(NBSP)
    is_same = unit == row.head.rpartition(NBSP)[2]
    base = before if before and is_same else row.base
    return f"{base} {_ARROW} {row.head}{f' {row.unit}' if row.unit else ''}"


def _result_phrase(row: VerdictTableRow) -> str:
    change = "" if row.kind is MetricKind.KERNEL else row.change
    return f"{row.workload} {row.metric} {change}".rstrip()


def _more(verdicts: Sequence[Verdict]) -> str:
    return f", and {len(verdicts) - 1} more" if len(verdicts) > 1 else ""


def _not_measured(report: Report) -> str:
    failures = failure_rows(report)
    if not failures:
        return f"Not measured: {workload_counts(report)}"
    workloads = dict.fromkeys(row.workload for row in failures)
    first = f"{failures[0].workload} {failures[0].summary}"
    if len(workloads) == 1:
        return f"Not measured: {first}"
    return f"{len(workloads)} of {_workloads(_total(report))} were not measured, first {first}"


def _quiet_headline(verdicts: Sequence[Verdict], report: Report) -> str:
    workloads = tuple(dict.fromkeys(one.workload for one in verdicts))
    margin = provenance_facts.common_margin(report)
    margin_phrase = f", proven to within {margin}" if margin else ""
    total = _total(report)
    if total == 1:
        return f"Unchanged: {workloads[0]}{margin_phrase}"
    many = f"all {total}" if len(workloads) == total else f"{len(workloads)} of {total}"
    return f"Unchanged: {many} workloads{margin_phrase}"


def _without_verdicts(report: Report) -> str:
    if report.exceeded_limits:
        first, *more = exceeded_sentences(report.exceeded_limits)
        return f"Above a limit: {first}{f', and {len(more)} more' if more else ''}"
    if report.same_code and not report.failures:
        number = len(report.same_code)
        were = "were" if number > 1 else "was"
        return f"Same code: {_workloads(number)} {were} skipped, and nothing was measured"
    if report.is_imported:
        return f"{report.title}: {_workloads(len(report.workloads))}, not judged"
    if report.new_workloads:
        return report.title if ":" in report.title else f"{report.title}: {workload_counts(report)}"
    return _not_measured(report) if report.failures else "Nothing was measured"


def _total(report: Report) -> int:
    judged = {verdict.workload for verdict in report.verdicts}
    return len(judged) + len(report.new_workloads) + len(report.skipped)


def _workloads(number: int) -> str:
    return quantity(number, "workload")


def _count_text(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (word == _WARNING and number != 1)}"
