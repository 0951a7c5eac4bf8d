"""Lists a report's verdicts, as figures and words for any kind of page.

Names, units and sources are untrusted text, escaped by the templates; the rest is ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perfledger import rounding
from perfledger.metrics import MetricKind
from perfledger_baselines.judging.explanation import MAX_PAIRS, explain_verdict
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.interim_looks import MIN_PAIRS
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.values.report import Report, WorkRate


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictTableRow:
    """One verdict, as shown; its figures are empty if it was not measured."""

    workload: str
    metric: str
    metric_name: str
    is_known_metric: bool  # if not, `metric` is an untrusted name
    unit: str  # untrusted; "" if the figures include their unit
    base: str
    head: str
    change: str
    interval: str
    basis: str  # what the figures are of if that is not plain, else ""
    detectable: str
    pairs: str
    needed: str  # pairs that detect a change of the plan's margin
    p_value: str
    outcome: Outcome
    mark: str
    tone: str
    word: str
    reason: str
    is_warning: bool
    has_states: bool  # runs fall into two states: the reason says how often
    is_beside_load: bool  # that counts: the reason says how much steps waited
    is_early: bool  # changed after fewer pairs than a test needs: the reason says why
    has_kernels: bool  # some of which changed: the reason names them
    kind: MetricKind
    series_id: int | None = None  # of its stored history, if any

    @property
    def is_quiet(self) -> bool:
        """Return whether the row needs no attention."""
        return self.outcome is Outcome.UNCHANGED and not self.is_warning


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputRow:
    """A workload's throughput in its unit of work."""

    workload: str
    unit: str
    base: str
    head: str
    basis: str  # what the figures are of if that is not plain, else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow:
    """A workload's work counts and achieved rate; `share` is "" without a known peak."""

    workload: str
    work: str
    base: str
    head: str
    share: str
    basis: str  # what the rates are of if that is not plain, else ""


@dataclass(frozen=True, slots=True)
class CountedPairs:
    """How many pairs of a result's workload were measured, and how many of them it rests on."""

    counted: int
    measured: int

    def to_measure(self, needed: int) -> int:
        """Return how many pairs to measure so that `needed` count, if as large a share does."""
        return math.ceil(needed * self.measured / self.counted) if self.counted else needed


def uncertain_rows(rows: Sequence[VerdictTableRow]) -> tuple[VerdictTableRow, ...]:
    """Return the rows whose reason a reader needs: uncertain ones, and those of kernels."""
    return tuple(
        row
        for row in rows
        if row.outcome is Outcome.UNDECIDED
        or row.is_warning
        or row.has_states
        or row.is_beside_load
        or row.is_early
        or row.has_kernels
    )


def verdict_rows(report: Report) -> tuple[VerdictTableRow, ...]:
    """Return all verdicts, those that need attention first, then by size of the change."""
    return rows_of(order_verdicts(report), report)


def rows_of(verdicts: Sequence[Verdict], report: Report) -> tuple[VerdictTableRow, ...]:
    """Return the rows of some of a report's verdicts, in the given order."""
    needed = {(one.workload, one.metric): _pairs(one.pairs) for one in report.pairs_needed}
    return tuple(
        _verdict_row(
            verdict,
            report,
            has_traded=is_trade(verdict, report.verdicts),
            needed=needed.get((verdict.workload, verdict.metric.name), ""),
            pair_s=report.pair_seconds.get(verdict.workload),
        )
        for verdict in verdicts
    )


def order_verdicts(report: Report) -> tuple[Verdict, ...]:
    """Return all verdicts in the order of their rows."""
    return tuple(sorted(report.verdicts, key=lambda verdict: _urgency(verdict, report.verdicts)))


def group_by_workload(
    rows: Sequence[VerdictTableRow],
) -> tuple[tuple[str, tuple[VerdictTableRow, ...]], ...]:
    """Return rows grouped by workload, in the given order."""
    groups: dict[str, list[VerdictTableRow]] = {}
    for row in rows:
        groups.setdefault(row.workload, []).append(row)
    return tuple((name, tuple(group)) for name, group in groups.items())


def split_verdict_rows(
    rows: Sequence[VerdictTableRow], *, limit: int
) -> tuple[tuple[VerdictTableRow, ...], int]:
    """Return the rows of the summary table, and the number of quiet rows left out.

    It has every row that is not quiet. Quiet rows fill it up to `limit`: all of them, or only those
    about speed if there are too many.
    """
    loud = tuple(row for row in rows if not row.is_quiet)
    quiet = tuple(row for row in rows if row.is_quiet)
    if len(rows) <= limit:
        return tuple(rows), 0
    speed = tuple(row for row in quiet if row.kind is MetricKind.SPEED)
    leading = speed[: max(limit - len(loud), 0)]
    return loud + leading, len(quiet) - len(leading)


def legend(rows: Sequence[VerdictTableRow]) -> tuple[tuple[str, str], ...]:
    """Return the marks in the rows, each with its word."""
    return tuple(dict.fromkeys((row.mark, row.word) for row in rows))


def counted_pairs(verdict: Verdict, report: Report) -> CountedPairs:
    """Return how many pairs a result rests on: others lack its reading, or had other clocks.

    Both are 0 if the report does not say.
    """
    tests = [one for one in report.tests if one.workload == verdict.workload]
    measured = max((len(one.numbers) + one.other_clocks for one in tests), default=0)
    if verdict.metric.kind is MetricKind.KERNEL:  # later pairs have no windows of kernels
        counted, measured = verdict.profiled_pairs, min(measured, report.plan.kernel_pairs)
    else:
        in_estimate = 0 if verdict.estimate is None else verdict.estimate.pairs
        of_metric = (len(one.pairs) for one in tests if one.metric.name == verdict.metric.name)
        counted = next(of_metric, in_estimate)
    return CountedPairs(counted, max(measured, counted))


def throughput_rows(report: Report) -> tuple[ThroughputRow, ...]:
    """Return every measured workload's throughput before and after."""
    rows: list[ThroughputRow] = []
    for spec in report.workloads:
        verdict = report.speed_verdict(spec.id)
        if verdict is None or verdict.estimate is None:
            continue
        estimate = verdict.estimate
        rows.append(
            ThroughputRow(
                workload=spec.id,
                unit=spec.unit,
                base=_per_second(spec.units_per_step, estimate.base),
                head=_per_second(spec.units_per_step, estimate.head),
                basis=_basis_of_time(verdict),
            )
        )
    return tuple(rows)


def step_count_sentence(report: Report) -> str:
    """Return the number of steps per process: "20 steps", "5 to 20 steps"; "" without any."""
    if not report.steps:
        return ""
    fewest, most = min(one.fewest for one in report.steps), max(one.most for one in report.steps)
    many = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{many} step{'s' * (most != 1)}"


def work_rows(report: Report) -> tuple[WorkRow, ...]:
    """Return the achieved rate of every workload with work counts, before and after."""
    return tuple(
        WorkRow(
            workload=rate.workload,
            work=_from_to(
                number_format.flops(rate.base_flops), number_format.flops(rate.head_flops)
            ),
            base=number_format.flops_per_second(rate.base_flops_per_second),
            head=number_format.flops_per_second(rate.head_flops_per_second),
            share=_shares(rate),
            basis=_basis_of_time(report.speed_verdict(rate.workload)),
        )
        for rate in report.work
    )


def _basis_of_time(verdict: Verdict | None) -> str:
    """Return what a rate is of that is computed from a verdict's step times, "" if plain."""
    has_no_waits = verdict is not None and verdict.excludes_waits
    return vocabulary.WITHOUT_WAITS if has_no_waits else ""


def _shares(rate: WorkRate) -> str:
    if rate.base_share is None or rate.head_share is None:
        return ""
    return _from_to(number_format.share(rate.base_share), number_format.share(rate.head_share))


def _from_to(base: str, head: str) -> str:
    return base if base == head else f"{base} \N{RIGHTWARDS ARROW} {head}"


def _urgency(verdict: Verdict, verdicts: Sequence[Verdict]) -> tuple[int, bool, float, str, str]:
    change = abs(verdict.estimate.change) if verdict.estimate else 0.0
    if verdict.outcome is Outcome.UNCHANGED:  # the size of an unchanged value does not matter
        change = 0.0
    place = vocabulary.OUTCOME_ORDER.index(verdict.outcome)
    is_late = verdict.metric.kind is not MetricKind.SPEED
    if verdict.is_warning:
        place = min(place, vocabulary.OUTCOME_ORDER.index(Outcome.UNDECIDED))
    if is_trade(verdict, verdicts):
        place = vocabulary.OUTCOME_ORDER.index(Outcome.IMPROVED)
    size = -change if change == change else 0.0  # noqa: PLR0124 - not a number sorts as no change
    return place, is_late, size, verdict.workload, verdict.metric.name


def _pairs(needed: int | None) -> str:
    return f">{number_format.NBSP}{MAX_PAIRS:,}" if needed is None else str(needed)


def _verdict_row(
    verdict: Verdict,
    report: Report,
    *,
    has_traded: bool,
    needed: str,
    pair_s: float | None,
) -> VerdictTableRow:
    metric, estimate = verdict.metric, verdict.shown_estimate
    label = vocabulary.metric_label(metric.name)
    figures = change = ("", "")
    basis = detectable = pairs = p_value = ""
    why, counts = explain_verdict(verdict, report.plan), counted_pairs(verdict, report)
    needed_pairs = why.pairs_needed
    if estimate is not None:
        figures = (
            vocabulary.value(estimate.base, metric.unit),
            vocabulary.value(estimate.head, metric.unit),
        )
        change = number_format.change(estimate.change, estimate.low, estimate.high)
        if estimate.low == estimate.high:  # counted, not estimated
            change = (change[0], "")
        basis = vocabulary.change_basis(verdict)
        detectable = number_format.share(estimate.smallest_detectable)
        pairs = str(estimate.pairs)
        p_value = rounding.probability(verdict.adjusted_p)
    return VerdictTableRow(
        workload=verdict.workload,
        metric=label or metric.name,
        metric_name=metric.name,
        is_known_metric=label is not None,
        unit=vocabulary.foreign_unit(metric.unit) if estimate is not None else "",
        base=figures[0],
        head=figures[1],
        change=change[0],
        interval=change[1],
        basis=basis,
        detectable=detectable,
        pairs=pairs,
        needed=needed,
        p_value=p_value,
        outcome=verdict.outcome,
        mark=vocabulary.mark(verdict.outcome, is_warning=verdict.is_warning or has_traded),
        tone=vocabulary.tone(verdict.outcome, is_warning=verdict.is_warning or has_traded),
        word=vocabulary.verdict_words(verdict, has_traded=has_traded),
        reason=verdict.reason
        + vocabulary.undecided_advice(
            replace(why, pairs_needed=needed_pairs and counts.to_measure(needed_pairs)),
            pairs=counts.measured,
            seconds_per_pair=pair_s,
        ),
        is_warning=verdict.is_warning,
        has_states=verdict.states is not None,
        is_beside_load=verdict.queued_share is not None,
        is_early=_is_early(verdict),
        has_kernels=verdict in report.kernel_changes,
        kind=metric.kind,
    )


def _is_early(verdict: Verdict) -> bool:
    is_change = verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
    return is_change and verdict.estimate is not None and verdict.estimate.pairs < MIN_PAIRS


def _per_second(units_per_step: float, step_s: float) -> str:
    return number_format.count(units_per_step / step_s) if step_s > 0 else number_format.NOT_KNOWN
