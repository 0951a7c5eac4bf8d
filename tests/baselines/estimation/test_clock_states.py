"""A pair whose two sides found the device in different clock states says nothing of the code."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import (
    ENERGY_PER_STEP,
    PEAK_MEMORY,
    STEP_TIME,
    Metric,
    MetricKind,
    MetricScale,
    WorseDirection,
)
from perfledger.records import Side
from perfledger_baselines.estimation.clock_states import has_usual_clocks
from perfledger_baselines.estimation.pairing import match_runs
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.stopping import GroupSequentialStopping

RECOMPILES = Metric(
    name="recompiles",
    unit="1",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)
JUDGED = (STEP_TIME, PEAK_MEMORY, ENERGY_PER_STEP, RECOMPILES)
FULL, CAPPED, HELD = 1980.0, 1755.0, 1200.0


@pytest.fixture(scope="session")
def clocked(build):
    """Return a function that builds a check whose step times follow the clocks of its pairs."""

    def make(clocks, ratio=1.0, **samples):
        times = [
            (FULL / base, ratio * (1 + 0.001 * (pair % 3 - 1)) * FULL / head)
            for pair, (base, head) in enumerate(clocks)
        ]
        fields = {"step_time_p50": times, **samples}
        metrics = tuple(metric for metric in JUDGED if metric.name in fields)
        bundle = build.bundle({"m:f": fields}, metrics=metrics)
        runs = (
            replace(run, clock_mhz=clocks[run.pair][run.side is Side.HEAD]) for run in bundle.runs
        )
        return replace(bundle, runs=tuple(runs))

    return make


def test_pairs_made_in_different_clock_states_are_left_out_and_counted(clocked):
    clocks = [(FULL, HELD) if pair in {1, 4} else (FULL, FULL) for pair in range(10)]

    [verdict] = judge_bundle(clocked(clocks))

    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 8
    assert verdict.reason.endswith("; 2 pairs left out: their clocks differ")


def test_memory_and_counts_are_compared_at_every_clock(clocked):
    clocks = [(FULL, HELD) if pair in {1, 4} else (FULL, FULL) for pair in range(10)]
    samples = {"peak_memory": [(1e9, 1e9)] * 10, "recompiles": [(7, 7)] * 10}

    speed, *others = judge_bundle(clocked(clocks, **samples))

    assert speed.estimate is not None
    assert speed.estimate.pairs == 8
    assert [verdict.estimate and verdict.estimate.pairs for verdict in others] == [10, 10]
    assert not any("left out" in verdict.reason for verdict in others)


def test_a_verdict_without_an_estimate_tells_of_pairs_left_out_too(clocked):
    clocks = [(FULL, HELD) if pair in {1, 4} else (FULL, FULL) for pair in range(5)]
    energy = [(1.0, 1.0) if pair in {1, 4} else (None, 1.0) for pair in range(5)]

    speed, missed = judge_bundle(clocked(clocks, energy_per_step=energy))

    left_out = "; 2 pairs left out: their clocks differ"
    assert speed.reason.startswith("3 of the 4 pairs needed; so far ")
    assert speed.reason.endswith(left_out)
    assert missed.outcome is Outcome.NOT_MEASURED
    assert missed.reason.endswith(left_out)


def test_a_state_that_both_sides_of_a_pair_share_is_no_reason(clocked):
    clocks = [(HELD, HELD) if pair in {1, 4} else (FULL, FULL) for pair in range(10)]

    [verdict] = judge_bundle(clocked(clocks))

    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 10


def test_code_that_always_clocks_lower_is_slower(clocked):
    [verdict] = judge_bundle(clocked([(FULL, HELD)] * 6))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 6


def test_of_two_pairs_or_unread_clocks_nobody_can_tell():
    assert has_usual_clocks([0.0, 0.5]) == (True, True)
    assert has_usual_clocks([None, 0.0, 0.5]) == (True, True, True)
    assert has_usual_clocks([None, 0.0, 0.5, 0.0]) == (True, True, False, True)


@pytest.mark.parametrize("split", [2, 3])
def test_of_two_halves_nobody_can_tell_so_all_pairs_count(clocked, split):
    bundle = clocked([(FULL, FULL)] * split + [(FULL, CAPPED)] * split, ratio=1.1)

    [verdict] = judge_bundle(bundle)

    assert verdict.outcome is not Outcome.NOT_MEASURED
    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 2 * split


@pytest.mark.parametrize("split", [2, 3])
def test_measuring_goes_on_where_clocks_come_in_two_halves(clocked, split):
    bundle = clocked([(FULL, FULL)] * split + [(FULL, CAPPED)] * split)
    rule = GroupSequentialStopping(
        looks=(2 * split, 20), alpha=0.05, margin=0.01, floor=0.003, metrics=bundle.metrics
    )
    rule.start(["m:f"])
    for base, head in match_runs(bundle.runs)["m:f"]:
        rule.add(base, head)

    unfinished = rule.unfinished()

    assert unfinished == {"m:f"}


@given(st.lists(st.none() | st.floats(-3, 3), max_size=12))
def test_a_majority_of_the_pairs_whose_clocks_are_known_always_counts(differences):
    known_total = sum(each is not None for each in differences)

    usual = has_usual_clocks(differences)

    kept_total = sum(
        each is not None and is_usual for each, is_usual in zip(differences, usual, strict=True)
    )
    assert 2 * kept_total > known_total or known_total == 0


@given(st.lists(st.none() | st.floats(-3, 3), max_size=12))
def test_swapping_the_sides_leaves_the_same_pairs_out(differences):
    swapped = [None if each is None else -each for each in differences]

    assert has_usual_clocks(swapped) == has_usual_clocks(differences)


@pytest.mark.parametrize(("ratio", "is_usual"), [(1.0499, True), (1.0501, False), (0.952, False)])
def test_clocks_up_to_five_per_cent_apart_are_one_state(ratio, is_usual):
    *others, last = has_usual_clocks([0.0, 0.0, 0.0, math.log(ratio)])

    assert (others, last) == ([True] * 3, is_usual)


def test_the_distance_itself_still_counts_towards_the_majority():
    reach = math.log1p(0.05)

    assert has_usual_clocks([-reach, 0.0, reach, 1.0, -1.0]) == (True, True, True, False, False)
