"""Which heads are less parallel; whole checks are in judging/decision."""

import math

import pytest

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger_baselines.estimation.foreign_load import UnqueuedDifference
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.less_parallel import less_parallel_heads
from perfledger_baselines.significance.multiple_testing import adjust_family
from perfledger_baselines.significance.paired_t_tests import paired_results

RULE = DecisionRule(looks=(), alpha=0.05, margin=0.05, floor=0.01)
PAIRS = 8
NOISE = (0.997, 1.001, 1.0, 1.003, 0.999, 1.0, 1.002, 0.998)


def step_test(*, metric=STEP_TIME, high=1.8, own=(2.0,) * PAIRS, cores=(1.0,) * PAIRS):
    """Return a test of equal wall times; `high`, `own` and `cores` are ratios head / base."""
    return PairedTest(
        workload="m:f",
        metric=metric,
        base=(1.0,) * PAIRS,
        head=NOISE,
        numbers=tuple(range(1, PAIRS + 1)),
        unqueued=tuple(
            UnqueuedDifference(
                low=math.log(0.8 * noise),
                high=math.log(high * noise),
                level_s=1.0,
                queued_share=0.3,
                foreign_share=0.1,
                own_work=math.log(own_ratio),
                cores=math.log(core_ratio),
            )
            for noise, own_ratio, core_ratio in zip(NOISE, own, cores, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("test", "is_one"),
    [
        pytest.param(step_test(), True, id="more work in its own thread"),
        pytest.param(step_test(own=(1.0,) * 8, cores=(0.5,) * 8), True, id="fewer cores"),
        pytest.param(step_test(own=(2.0,) * 6 + (1.0,) * 2), True, id="in three quarters"),
        pytest.param(step_test(own=(2.0,) * 5 + (1.0,) * 3), False, id="in five of eight pairs"),
        pytest.param(
            step_test(own=(2.0,) * 5 + (1.0,) * 3, cores=(1.0,) * 5 + (0.5,) * 3),
            False,
            id="each in some pairs",
        ),
        pytest.param(step_test(own=(1.04,) * 8), False, id="within the margin"),
        pytest.param(step_test(own=(0.5,) * 8, cores=(2.0,) * 8), False, id="more parallel"),
        pytest.param(step_test(high=1.04), False, id="no slower without waits"),
        pytest.param(step_test(metric=CPU_TIME), False, id="no step time"),
    ],
)
def test_a_head_is_less_parallel_by_its_work_or_its_cores(test, is_one):
    adjusted = adjust_family(paired_results([test], rule=RULE, priors={}), alpha=RULE.alpha)

    assert less_parallel_heads([test], adjusted, rule=RULE) == ({"m:f"} if is_one else frozenset())


def test_without_a_result_nothing_is_known():
    assert less_parallel_heads([step_test()], [None], rule=RULE) == frozenset()
