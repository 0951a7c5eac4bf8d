import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import METRICS, OPTIONAL_METRICS, STEP_TIME, STEP_TIME_P95, STEP_TIME_P99
from perfledger_baselines.estimation.estimators import point_estimates
from perfledger_baselines.estimation.tail_quantiles import (
    TAIL_QUANTILES,
    fewest_steps,
    tail_quantile,
)
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.interim_looks import looks_until
from perfledger_baselines.significance.paired_t_tests import t_tests

P95 = TAIL_QUANTILES["step_time_p95"]
BOTH = (STEP_TIME, STEP_TIME_P95)


def steps(seed, *, slow=1.0, count=40):
    """Return step times of which one in eight is a slow one."""
    times = 1 + 0.001 * np.random.default_rng(seed).standard_normal(count)
    times[::8] *= 1.5 * slow
    return tuple(times.tolist())


def many(slow=1.0, count=40):
    """Return eight pairs of processes; `slow` times as slow are the slow steps of head's."""
    return [(steps(k, count=count), steps(100 + k, slow=slow, count=count)) for k in range(8)]


def judged(build, pairs, metrics=BOTH):
    bundle = build.bundle({"m:f": {"step_time_p50": pairs}}, metrics=metrics)
    return judge_bundle(bundle)


def test_every_tail_has_its_quantile():
    assert TAIL_QUANTILES.keys() == {STEP_TIME_P95.name, STEP_TIME_P99.name}


@pytest.mark.parametrize(
    ("count", "tail", "expected"),
    [
        pytest.param(19, "step_time_p95", None, id="too few for the 95th"),
        pytest.param(20, "step_time_p95", 1 + 19 * 0.95, id="enough for it"),
        pytest.param(99, "step_time_p99", None, id="too few for the 99th"),
        pytest.param(100, "step_time_p99", 1 + 99 * 0.99, id="enough for that"),
    ],
)
def test_a_tail_is_a_quantile_of_enough_steps(count, tail, expected):
    found_tail_quantile = tail_quantile(
        [float(step) for step in range(1, count + 1)], TAIL_QUANTILES[tail]
    )

    assert found_tail_quantile == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 0.0])
def test_one_step_that_is_no_time_leaves_no_tail(bad):
    assert tail_quantile([*steps(1), bad], P95) == pytest.approx(math.nan, nan_ok=True)


@given(
    st.lists(st.floats(1e-9, 1e9), min_size=20, max_size=60),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_steps_is_irrelevant(times, random):
    assert tail_quantile(random.sample(times, len(times)), P95) == tail_quantile(times, P95)


@given(st.lists(st.floats(1e-9, 1e9), min_size=20, max_size=60))
def test_a_tail_lies_among_the_steps(times):
    assert min(times) <= tail_quantile(times, P95) <= max(times)


@pytest.mark.slow(ci_only=True)
def test_a_head_that_makes_fewer_steps_is_not_called_different_for_that():
    """1000 checks of ten pairs, 26 steps of a base and 20 of a head that is no slower."""
    rng = np.random.default_rng(20261121)
    base, head = (
        np.array(
            [tail_quantile(row, P95) for row in 1 + 0.03 * rng.standard_normal((10_000, count))]
        )
        for count in (26, 20)
    )

    t_test_results = t_tests(
        np.log(head / base).reshape(1000, 10), looks=looks_until((), 10), alpha=0.05
    )

    assert np.mean([evidence.p_value < 0.05 for evidence in t_test_results]) < 0.05 + 3 * 0.007


def test_what_is_asked_for_says_how_many_steps_it_needs():
    assert fewest_steps(METRICS.values()) == 1
    assert fewest_steps([STEP_TIME, STEP_TIME_P95]) == 20
    assert fewest_steps(OPTIONAL_METRICS.values()) == 100


def test_a_run_that_never_read_a_step_has_no_tail(build):
    assert point_estimates([build.run(peak_memory=1e9)], STEP_TIME_P95) == (None,)


def test_a_tail_that_grew_is_a_regression_although_the_typical_step_stayed(build):
    typical, tail = judged(build, many(slow=1.1))

    assert (typical.metric, typical.outcome) == (STEP_TIME, Outcome.UNCHANGED)
    assert (tail.metric, tail.outcome) == (STEP_TIME_P95, Outcome.REGRESSED)
    assert tail.estimate.change == pytest.approx(0.1, abs=0.01)
    assert tail.estimate.base == pytest.approx(1.5, rel=0.01)


def test_a_tail_that_stayed_is_unchanged(build):
    assert [verdict.outcome for verdict in judged(build, many())] == [Outcome.UNCHANGED] * 2


def test_nobody_is_told_of_a_tail_that_was_not_asked_for(build):
    (verdict,) = judged(build, many(slow=1.1), metrics=(STEP_TIME,))

    assert verdict.metric is STEP_TIME


def test_a_tail_of_too_few_steps_is_not_measured_never_green(build):
    typical, tail = judged(build, many(count=19))

    assert typical.outcome is Outcome.UNCHANGED
    assert tail.outcome is Outcome.NOT_MEASURED
    assert tail.reason == "step_time_p95 needs 20 steps of each process: base made fewer"


def test_one_process_that_was_too_slow_for_a_tail_is_not_left_out_of_it(build):
    pairs = many()
    pairs[3] = (pairs[3][0], pairs[3][1][:19])

    _, tail = judged(build, pairs)

    assert tail.outcome is Outcome.NOT_MEASURED
    assert tail.reason.endswith("head made fewer")


def test_tails_are_tests_of_their_own_in_the_family(build):
    (alone,) = judged(build, many(slow=1.1), metrics=(STEP_TIME,))
    typical, *_ = judged(build, many(slow=1.1))

    assert typical.adjusted_p >= alone.adjusted_p
    assert typical.estimate.p_value == alone.estimate.p_value
    assert typical.estimate.smallest_detectable >= alone.estimate.smallest_detectable


@pytest.mark.parametrize(
    ("metrics", "is_done"), [((STEP_TIME,), True), ((STEP_TIME, STEP_TIME_P99), False)]
)
def test_a_check_goes_on_until_the_tail_is_decided_too(build, metrics, is_done):
    rule = GroupSequentialStopping(
        looks=(4, 20), alpha=0.05, margin=0.01, floor=0.003, metrics=metrics
    )
    rule.start(["m:f"])
    rng = np.random.default_rng(1)
    for pair in range(4):
        times = 1 + 0.001 * rng.standard_normal((2, 100))
        times[:, -2:] *= 1 + rng.random((2, 1))
        (runs,) = build.pairs(step_time_p50=[tuple(map(tuple, times.tolist()))])
        rule.add(*(build.run(side=run.side, pair=pair, **run.samples) for run in runs))

    assert (not rule.unfinished()) is is_done
