"""What remains of changes beside other load; whole checks are in judging/decision."""

import math
from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, STEP_TIME, STEP_TIME_P95
from perfledger_baselines.estimation.foreign_load import UnqueuedDifference
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.foreign_waits import (
    LOADED_SHARE,
    Remains,
    remains_of_changes,
)
from perfledger_baselines.significance.multiple_testing import adjust_family
from perfledger_baselines.significance.paired_t_tests import paired_results

RULE = DecisionRule(looks=(), alpha=0.05, margin=0.02, floor=0.01)
NOISE = (0.997, 1.001, 1.0, 1.003, 0.999, 1.0)


def paired(metric, ratio, *, waitless=None, share=0.3):
    """Return a test whose pairs differ by a ratio, and by bounds of it without waits."""
    low, high = map(math.log, waitless or (ratio, ratio))
    return PairedTest(
        workload="m:f",
        metric=metric,
        base=(1.0,) * len(NOISE),
        head=tuple(ratio * each for each in NOISE),
        numbers=tuple(range(1, len(NOISE) + 1)),
        unqueued=()
        if waitless is None
        else tuple(
            UnqueuedDifference(
                low=low + math.log(each),
                high=high + math.log(each),
                level_s=1.0,
                queued_share=share,
                foreign_share=share,
            )
            for each in NOISE
        ),
    )


def remains(*tests):
    results = paired_results(tests, rule=RULE, priors={})
    adjusted = adjust_family(results, alpha=RULE.alpha)
    return remains_of_changes(
        tests,
        adjusted,
        [result is not None and abs(result.mean) > RULE.log_margin for result in results],
        floors=[RULE.floor] * len(tests),
        rule=RULE,
    )


@pytest.mark.parametrize(
    ("wall", "waitless", "cpu", "expected"),
    [
        pytest.param(5.38, (2.55, 2.55), 2.55, Remains.WITHOUT_WAITS, id="waits explain a part"),
        pytest.param(2.55, (1.2, 5.0), 2.55, Remains.ALL, id="as much as CPU time"),
        pytest.param(2.6, (1.2, 5.0), 2.55, Remains.ALL, id="within the margin"),
        pytest.param(5.38, (1.2, 5.0), 2.55, Remains.WITHOUT_WAITS, id="between far bounds"),
        pytest.param(5.38, (0.9, 5.0), 2.55, Remains.UNKNOWN, id="bounds around no change"),
        pytest.param(1.5, (1.005, 1.005), 1.0, Remains.UNKNOWN, id="less than the floor"),
        pytest.param(1.5, (0.8, 0.8), 0.8, Remains.UNKNOWN, id="the other way without waits"),
        pytest.param(0.5, (0.8, 0.8), 1.1, Remains.WITHOUT_WAITS, id="a trade"),
    ],
)
def test_a_change_needs_the_support_of_what_no_wait_lengthens(wall, waitless, cpu, expected):
    step, _ = remains(paired(STEP_TIME, wall, waitless=waitless), paired(CPU_TIME, cpu))

    assert step is expected


def test_without_load_everything_remains():
    quiet = paired(STEP_TIME, 1.5, waitless=(1.0, 1.0), share=0.99 * LOADED_SHARE)
    loaded = replace(
        quiet, unqueued=tuple(replace(each, foreign_share=LOADED_SHARE) for each in quiet.unqueued)
    )

    assert remains(quiet) == (Remains.ALL,)
    assert remains(loaded) == (Remains.UNKNOWN,)


@pytest.mark.parametrize(("cpu", "expected"), [(1.5, Remains.ALL), (1.2, Remains.UNKNOWN)])
def test_a_tail_needs_as_much_more_cpu_time(cpu, expected):
    tail, _ = remains(paired(STEP_TIME_P95, 1.5, waitless=(1.5, 1.5)), paired(CPU_TIME, cpu))

    assert tail is expected


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        pytest.param((0.6, 1.4), Remains.UNKNOWN, id="several threads may be faster"),
        pytest.param((1.1, 1.1), Remains.ALL, id="one thread is not"),
        pytest.param((0.99, 1.4), Remains.ALL, id="nor by less than the margin"),
    ],
)
def test_more_cpu_time_is_unknown_where_it_may_be_for_speed(bounds, expected):
    step, cpu = remains(paired(STEP_TIME, 0.7, waitless=bounds), paired(CPU_TIME, 1.1))

    assert (step, cpu) == (Remains.UNKNOWN, expected)
