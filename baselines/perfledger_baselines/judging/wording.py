"""Words the decisions on tests as verdicts, each with its reason."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from scipy.special import stdtrit

from perfledger.metrics import STEP_TIME, Metric, MetricKind
from perfledger.records import Failure
from perfledger.rounding import digits, p_value, probability
from perfledger_baselines.estimation.foreign_load import UNKNOWN_SHARE
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.decision import Decision
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.bimodality import Bimodality
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import MIN_PAIRS, fewest_pairs
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult
from perfledger_baselines.significance.power import is_capped, relative
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

# A reason fits one cell of a table; the full message of a failed workload is in its log.
MAX_REASON_LENGTH = 200
CAPPED = "the sides differ by more than a million times, shown as a factor of a million"
LEFT_OUT = "left out: zero, negative or not a number"


def paired_verdicts(
    decisions: Iterable[tuple[PairedTest, Decision]],
    *,
    rule: DecisionRule,
    failures: Mapping[str, Failure] = MappingProxyType({}),
) -> tuple[Verdict, ...]:
    """Return the verdicts on paired tests, in order, and then one for each failed workload."""
    verdicts = [
        _verdict(
            test.workload,
            test.metric,
            decision,
            _paired_reason(test, decision, rule.of(test.workload)),
        )
        for test, decision in decisions
    ]
    for workload, failure in failures.items():
        decision = Decision(outcome=Outcome.NOT_MEASURED, floor=rule.floor)
        verdicts.append(_verdict(workload, STEP_TIME, decision, _failure_reason(failure)))
    return tuple(verdicts)


def unpaired_verdicts(
    tests: Sequence[UnpairedTest], decisions: Sequence[Decision], *, rule: DecisionRule
) -> tuple[Verdict, ...]:
    """Return the verdicts on tests of unpaired runs, in order."""
    return tuple(
        _verdict(
            test.workload,
            test.metric,
            decision,
            _unpaired_reason(test, decision, rule.of(test.workload)),
        )
        for test, decision in zip(tests, decisions, strict=True)
    )


def _verdict(workload: str, metric: Metric, decision: Decision, reason: str) -> Verdict:
    return Verdict(
        workload=workload,
        metric=metric,
        outcome=decision.outcome,
        estimate=decision.estimate,
        adjusted_p=decision.adjusted.holm if decision.adjusted else 1.0,
        is_warning=decision.is_warning,
        reason=reason,
        states=decision.states,
        prior=decision.prior,
        queued_share=decision.queued_share,
    )


def _paired_reason(test: PairedTest, decision: Decision, rule: DecisionRule) -> str:
    parts = [_pairs_reason(test, decision, rule)]
    result = decision.adjusted.result if decision.adjusted else None
    if decision.prior is not None and result is not None and result.is_enough and result.sd > 0:
        parts.append(f"uses the spread of {decision.prior.values} earlier {decision.prior.source}")
    if decision.states is not None:
        parts.append(_states(decision.states))
    if test.other_clocks:
        parts.append(f"{_count_of_pairs(test.other_clocks)} left out: their clocks differ")
    if decision.estimate is not None and is_capped(decision.estimate.change):
        parts.append(CAPPED)
    if test.left_out and decision.outcome is not Outcome.NOT_MEASURED:
        samples = "sample" if test.left_out == 1 else "samples"
        parts.append(f"{test.left_out} {samples} {LEFT_OUT}")
    return "; ".join(parts)


def _pairs_reason(test: PairedTest, decision: Decision, rule: DecisionRule) -> str:
    if decision.adjusted is None:
        return test.flaw
    result = decision.adjusted.result
    if not result.is_enough:
        has_history = decision.prior is not None
        fewest = MIN_PAIRS if result.is_exact else fewest_pairs(rule.looks, has_history=has_history)
        return f"{result.pairs} of the {fewest} pairs needed{_change_so_far(result, rule)}"
    after = _count_of_pairs(result.pairs)
    return _reason(test.metric, decision, decision.adjusted, rule, after=after)


def _change_so_far(result: TTestResult, rule: DecisionRule) -> str:
    """Return the change so far in pairs too few for a test, with their plain interval."""
    if result.pairs == 0:
        return ""
    change = _signed_percent(relative(result.mean))
    if result.pairs == 1 or result.is_exact:
        return f"; so far {change}"
    quantile = float(stdtrit(result.degrees, 1 - rule.alpha / 2))
    half_width = quantile * result.sd / math.sqrt(result.pairs)
    low, high = (relative(result.mean + each) for each in (-half_width, half_width))
    return (
        f"; so far {change} ({_signed_percent(low)} to {_signed_percent(high)}, the "
        f"{_percent(1 - rule.alpha)} interval of these pairs alone)"
    )


def _unpaired_reason(test: UnpairedTest, decision: Decision, rule: DecisionRule) -> str:
    if decision.adjusted is None:
        return test.flaw
    parts = [_runs_reason(test, decision, decision.adjusted, rule)]
    if decision.estimate is not None and is_capped(decision.estimate.change):
        parts.append(CAPPED)
    if any(test.left_out):
        counts = zip(test.left_out, (test.base, test.head), ("A", "B"), strict=True)
        sides = (f"{out} of {out + len(side)} {name}" for out, side, name in counts if out)
        parts.append(f"{' and '.join(sides)} runs {LEFT_OUT}")
    return "; ".join(parts)


def _runs_reason(
    test: UnpairedTest, decision: Decision, adjusted: AdjustedResult, rule: DecisionRule
) -> str:
    runs = f"{len(test.base)} A and {len(test.head)} B runs"
    if not adjusted.result.is_enough:
        needed = f"each side needs {MIN_PAIRS}" if test.prior is None else "one side needs two"
        return f"{runs}: {needed}"
    return _reason(test.metric, decision, adjusted, rule, after=runs)


def _reason(
    metric: Metric,
    decision: Decision,
    adjusted: AdjustedResult,
    rule: DecisionRule,
    *,
    after: str,
) -> str:
    """Return why a test with enough runs has its outcome; `after` counts the runs."""
    if adjusted.result.is_exact:
        return f"a count, the same in {after}"
    if decision.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}:
        return f"{p_value(adjusted.holm)} (Holm) after {after}{_with_waits(decision, adjusted)}"
    if decision.is_warning:
        mild, strict = adjusted.benjamini_hochberg, adjusted.holm
        return (
            f"{p_value(mild)} by Benjamini-Hochberg, but {probability(strict)} by Holm, "
            f"after {after}{_with_waits(decision, adjusted)}"
        )
    if decision.queued_share is not None and decision.outcome is Outcome.UNDECIDED:
        return _load_reason(metric, decision, adjusted, rule, after=after)
    if adjusted.result.sd == 0:
        return f"identical in {after}"
    return _no_change_reason(decision, adjusted, rule, after=after)


def _with_waits(decision: Decision, adjusted: AdjustedResult) -> str:
    """Return what the waits on a busy machine made of a change; "" if they did not count."""
    if decision.queued_share is None:
        return ""
    return (
        f"; {_signed_percent(relative(adjusted.result.mean))} with the waits for other programs, "
        f"{_percent(decision.queued_share)} of the time"
    )


def _load_reason(
    metric: Metric,
    decision: Decision,
    adjusted: AdjustedResult,
    rule: DecisionRule,
    *,
    after: str,
) -> str:
    """Return why other load leaves a change undecided, and what would settle it."""
    if decision.is_less_parallel:
        return (
            f"no slower under load after {after}, but less parallel (more work in the steps' own "
            "thread, or fewer cores): on idle cores head may be slower; a quiet machine tells"
        )
    waited = f"steps waited {_percent(decision.queued_share or 0.0)} of it for other programs"
    if metric.kind is MetricKind.CPU_TIME:
        return (
            f"more CPU time after {after}, which may be for speed: whether steps became faster is "
            "unknown under load; a quiet machine would tell"
        )
    size = _signed_percent(relative(adjusted.result.mean))
    changed = f"wall time changed under load ({size} after {after})"
    if decision.queued_share == UNKNOWN_SHARE:
        return (
            f"{changed}: other programs were busy, and how long steps waited for them is unknown; "
            "a quiet machine tells"
        )
    waitless = adjusted.result.unqueued
    if waitless is None:
        return f"{changed}: {waited}, and the change without them is unknown; a quiet machine tells"
    if waitless.high.mean - waitless.low.mean <= rule.log_margin:
        return f"{changed}: {waited}, and the rest of it shows no change"
    return (
        f"{changed}: {waited}, and maybe for their own threads; a quiet machine, or steps of one "
        "thread (OMP_NUM_THREADS=1), would tell"
    )


def _no_change_reason(
    decision: Decision, adjusted: AdjustedResult, rule: DecisionRule, *, after: str
) -> str:
    within = f"within ±{_percent(max(rule.margin, rule.floor))}"
    floor = f"smaller than the floor of {_percent(decision.floor)}"
    if decision.queued_share is not None:
        return (
            "unchanged by CPU time: wall time was too noisy under load (steps waited "
            f"{_percent(decision.queued_share)} of it for a core; the rest of it and CPU time are "
            f"{within} after {after})"
        )
    if decision.outcome is Outcome.UNCHANGED:
        clear = f"; a clear change, but {floor}" if adjusted.is_clear else ""
        return f"proven {within} after {after}{clear}"
    if not adjusted.is_clear:
        return f"too noisy to tell after {after}"
    if adjusted.holm < rule.alpha:
        return f"a clear change, but {floor}, and not proven {within}"
    unadjusted, strict = adjusted.result.p_value, adjusted.holm
    return (
        f"{p_value(unadjusted)} alone, but {probability(strict)} among all tests (Holm), "
        f"after {after}"
    )


def _states(states: Bimodality) -> str:
    shares = (
        f"{states.head_upper} of {states.head_runs} head and {states.base_upper} of "
        f"{states.base_runs} base runs"
    )
    change = f" ({p_value(states.p_value)} for different shares)" if states.p_value < 1 else ""
    distance = _percent(states.distance)
    return f"runs are in two states {distance} apart, {shares} in the upper one{change}"


def _failure_reason(failure: Failure) -> str:
    first_line = next(iter(failure.detail.strip().splitlines()), "")
    reason = f"{failure.why} on {failure.side}"
    return f"{reason}: {first_line}"[:MAX_REASON_LENGTH] if first_line else reason


def _count_of_pairs(pairs: int) -> str:
    return "1 pair" if pairs == 1 else f"{pairs} pairs"


def _signed_percent(change: float) -> str:
    return f"{'+' if change >= 0 else '-'}{_percent(abs(change))}"


def _percent(share: float) -> str:
    return f"{digits(100 * share, 3)} %"
