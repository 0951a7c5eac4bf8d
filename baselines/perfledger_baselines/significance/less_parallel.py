"""Tells which step times beside other load may be longer on idle cores: of a less parallel head.

Where other programs use the other cores, steps of several threads take as long as steps that do the
same work in one thread, or on one core. Wall time and CPU time are then equal on both sides, and
only an idle machine would show that head's steps are longer.
"""

from collections.abc import Sequence

from perfledger.metrics import STEP_TIME
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.multiple_testing import AdjustedResult

# Part of the pairs in which head must be less parallel: the threads of a pool take shares of a
# step's work that differ from pair to pair.
MIN_PART = 0.75


def less_parallel_heads(
    tests: Sequence[PairedTest], adjusted: Sequence[AdjustedResult | None], *, rule: DecisionRule
) -> frozenset[str]:
    """Return the workloads whose head may be slower on idle cores, whatever its wall time here.

    Head's step thread computes longer, or its threads may use fewer cores, in three quarters of the
    pairs. And without waits for cores, base's steps may be shorter than head's by more than the
    margin: on idle cores nothing waits, and the wall time tells.
    """
    return frozenset(
        test.workload
        for test, result in zip(tests, adjusted, strict=True)
        if test.metric.name == STEP_TIME.name
        and result is not None
        and _may_be_longer(test, result, margin=rule.of(test.workload).log_margin)
    )


def _may_be_longer(test: PairedTest, adjusted: AdjustedResult, *, margin: float) -> bool:
    waitless = adjusted.result.unqueued
    if waitless is None or waitless.high.mean <= margin:
        return False
    has_more_work = [each.own_work > margin for each in test.step_unqueued]
    has_fewer_cores = [each.cores < 0 for each in test.step_unqueued]
    return any(sum(part) >= MIN_PART * len(part) for part in (has_more_work, has_fewer_cores))
