"""What a process has in use after a thousand steps, by the line through its readings."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.bundle import Plan
from perfledger.metrics import MEMORY_OVER_TIME, STEP_TIME
from perfledger.records import MemoryReadings, Run, Side
from perfledger_baselines.estimation.clock_states import follows_clocks
from perfledger_baselines.estimation.estimators import point_estimates
from perfledger_baselines.estimation.memory_growth import memory_over_time_bytes
from perfledger_baselines.estimation.pairing import estimate_pairs, tests_of as paired
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule

MIB = 2.0**20


def run(in_use, *, steps=None, side=Side.BASE, pair=0):
    steps = tuple(range(0, 10 * len(in_use), 10)) if steps is None else steps
    return Run(
        workload="m:f",
        side=side,
        pair=pair,
        position=0 if side is Side.BASE else 1,
        process=pair,
        started_at="2026-11-01T00:00:00Z",
        samples={STEP_TIME.name: (1.0,)},
        memory=MemoryReadings(steps=steps, in_use_bytes=tuple(in_use)),
    )


@given(
    level=st.floats(MIB, 1e12),
    per_step=st.floats(0, 1e6),
    steps=st.lists(st.integers(0, 10_000), min_size=3, max_size=20, unique=True).map(sorted),
)
@settings(max_examples=30)
def test_a_line_is_followed_to_the_thousandth_step(level, per_step, steps):
    memory = run([level + per_step * each for each in steps], steps=tuple(steps))

    assert memory_over_time_bytes(memory) == pytest.approx(level + 1000 * per_step, rel=1e-6)


def test_a_single_jump_is_no_growth():
    assert memory_over_time_bytes(run([100.0] * 3 + [164.0] * 7)) == 164.0


def test_memory_that_falls_is_not_counted_on_to_fall_further():
    assert memory_over_time_bytes(run([300.0, 200.0, 100.0])) == 200.0


@pytest.mark.parametrize("in_use", [(), (1.0,), (1.0, 2.0)])
def test_too_few_readings_are_no_line(in_use):
    assert memory_over_time_bytes(run(in_use)) is None


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_reading_that_is_none_is_not_hidden(value):
    estimate = memory_over_time_bytes(run((1.0, value, 1.0)))

    assert estimate is not None
    assert math.isnan(estimate)


def test_it_is_estimated_like_any_metric_and_does_not_follow_the_devices_clock():
    assert point_estimates([run([5.0] * 3), run(())], MEMORY_OVER_TIME) == (5.0, None)
    assert not follows_clocks(MEMORY_OVER_TIME)


def judged(head_per_step):
    """Judge 100 MiB against the same with so many bytes more after each step."""
    sides = {
        side: [
            run(
                [100 * MIB + 4096 * (pair % 3) + per_step * step for step in range(0, 100, 10)],
                side=side,
                pair=pair,
            )
            for pair in range(8)
        ]
        for side, per_step in ((Side.BASE, 0.0), (Side.HEAD, head_per_step))
    }
    metrics = [STEP_TIME, MEMORY_OVER_TIME]
    pairs = estimate_pairs(list(zip(sides[Side.BASE], sides[Side.HEAD], strict=True)), metrics)
    (_, growth) = paired("m:f", pairs, metrics)
    plan = Plan(seed=0, order=(), looks=(8,))
    (verdict,) = judge_tests([growth], rule=DecisionRule.from_plan(plan))
    return verdict


def test_a_step_that_keeps_memory_regresses_before_its_peak_does():
    leak = judged(10_000.0)  # of a peak 0.9 % higher after 90 steps

    assert leak.outcome is Outcome.REGRESSED
    assert leak.estimate.change == pytest.approx(0.095, abs=0.005)
    assert judged(0.0).outcome is Outcome.UNCHANGED


def test_a_side_without_readings_is_not_measured_and_says_why():
    head = replace(run((), side=Side.HEAD))
    metrics = [STEP_TIME, MEMORY_OVER_TIME]

    (_, growth) = paired("m:f", estimate_pairs([(run([1.0] * 3), head)], metrics), metrics)

    assert growth.flaw == (
        "memory_over_time was not read on head: the memory in use was read less than three times "
        "in each process"
    )
