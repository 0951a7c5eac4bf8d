"""Neighbouring turns are compared with each other, whatever the machine did meanwhile."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import CoreTimes, Side
from perfledger_baselines.estimation.interleaving import (
    apply_difference,
    interleaved_difference,
    unsettled_turns,
)
from perfledger_baselines.estimation.pairing import estimate_pairs
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome

LEVELS = st.lists(st.floats(0.001, 10.0), min_size=2, max_size=40)


@pytest.fixture(scope="session")
def in_turns(build):
    """Return a function that makes a run from the times of each turn's steps."""

    def make(turns, side=Side.BASE, pair=0):
        samples = tuple(time for turn in turns for time in turn)
        run = build.run(side=side, pair=pair, process=2 * pair, step_time_p50=samples)
        return build.with_turns(run, tuple(len(turn) for turn in turns))

    return make


@given(levels=LEVELS, change=st.floats(0.5, 2.0))
def test_what_slows_neighbours_alike_does_not_count(in_turns, levels, change):
    base = in_turns([(level, level) for level in levels])
    head = in_turns([(change * level,) * 3 for level in levels], Side.HEAD)

    assert interleaved_difference(base, head) == pytest.approx(math.log(change), abs=1e-9)


@given(levels=LEVELS, noise=st.lists(st.floats(0.5, 2.0), min_size=40, max_size=40))
def test_swapping_the_sides_turns_the_difference_around(in_turns, levels, noise):
    base = in_turns([(level,) for level in levels])
    head = in_turns([(level * each,) for level, each in zip(levels, noise, strict=False)])

    there, back = interleaved_difference(base, head), interleaved_difference(head, base)
    assert there is not None
    assert back is not None
    assert there == pytest.approx(-back)


def test_turns_that_one_side_took_alone_do_not_count(in_turns):
    base = in_turns([(1.0,), (2.0,), (3.0,)])
    head = in_turns([(1.1,), (2.2,), (3.3,), (99.0,), (99.0,)])

    assert interleaved_difference(base, head) == pytest.approx(math.log(1.1))


QUIET = [(1.0,), (1.01,), (0.99,)] * 8


@pytest.mark.parametrize("is_swapped", [False, True], ids=["base", "head"])
@pytest.mark.parametrize("slow", [7, 12, 17])
def test_turns_in_which_one_side_had_not_settled_do_not_count(in_turns, slow, is_swapped):
    late = in_turns([(1.3 * level,) for (level,) in QUIET[:slow]] + QUIET[slow:])
    steady = in_turns([(1.1 * level,) for (level,) in QUIET])
    sides = (steady, late) if is_swapped else (late, steady)

    turns, side = unsettled_turns(*sides)

    assert (turns, side) == (slow, Side.HEAD if is_swapped else Side.BASE)
    difference = interleaved_difference(*sides, left_out=turns)
    assert difference is not None
    assert abs(difference) == pytest.approx(math.log(1.1))


@pytest.mark.parametrize(
    ("base", "head"),
    [
        pytest.param([1.0] * 24, [1.0] * 12 + [1.3] * 12, id="head becomes slower"),
        pytest.param([1.0] * 12 + [1.3] * 12, [1.0] * 24, id="base becomes slower"),
        pytest.param([2.0] * 12 + [1.0] * 12, [4.0] * 12 + [2.0] * 12, id="both settle at once"),
        pytest.param([2.0] * 12 + [1.0] * 12, [2.6] * 12 + [1.0] * 12, id="long inputs come first"),
        pytest.param([1.3] * 20 + [1.0] * 4, [1.0] * 24, id="almost to the end"),
        pytest.param([1.3] * 4 + [1.0] * 5, [1.0] * 9, id="too few to tell"),
        pytest.param([1.3] * 12 + [1.0] * 12, [math.nan] * 24, id="no readings"),
    ],
)
def test_other_turns_count_all(in_turns, base, head):
    sides = [in_turns([(level,) for level in levels]) for levels in (base, head)]

    assert unsettled_turns(*sides) == (0, None)


def test_cpu_time_and_waits_are_of_the_same_turns_as_the_step_time(in_turns):
    slow = in_turns([(1.3,)] * 12 + [(1.0,)] * 12)
    steady = in_turns([(1.0,)] * 24)
    base, head = (
        replace(
            run,
            samples={**run.samples, CPU_TIME.name: run.samples[STEP_TIME.name]},
            core_times=CoreTimes(
                elapsed_s=run.samples[STEP_TIME.name], queued_s=(0.0,) * 24, helpers_s=(0.0,) * 24
            ),
        )
        for run in (slow, steady)
    )

    (pair,) = estimate_pairs([(base, head)], [STEP_TIME, CPU_TIME])

    assert pair.head[CPU_TIME.name] == pytest.approx(pair.base[CPU_TIME.name])
    assert pair.unqueued.high == pytest.approx(0.0)
    assert pair.with_all_turns.unqueued.low < -0.1


@pytest.mark.parametrize(
    ("slow_pairs", "outcome"), [(2, Outcome.UNCHANGED), (6, Outcome.REGRESSED)]
)
def test_a_side_that_settles_late_as_a_rule_is_slower(build, in_turns, slow_pairs, outcome):
    rng = np.random.default_rng(5)
    runs = []
    for pair in range(6):
        for side in Side:
            slow = 20 * (side is Side.HEAD and pair < slow_pairs)
            times = np.where(np.arange(33) < slow, 1.2, 1.0) * np.exp(
                0.005 * rng.standard_normal(33)
            )
            runs.append(in_turns([(time,) for time in times.tolist()], side, pair))
    bundle = build.bundle({"m:f": {}}, runs=tuple(runs), metrics=(STEP_TIME,))

    (verdict,) = judge_bundle(bundle)

    assert verdict.outcome is outcome


def test_a_few_turns_that_hit_one_side_alone_do_not_move_it(in_turns):
    base = in_turns([(1.0,)] * 20)
    head = in_turns([(1.1,)] * 15 + [(9.0,)] * 5)

    assert interleaved_difference(base, head) == pytest.approx(math.log(1.1))


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([(1.0, 1.0)], id="a single turn"),
        pytest.param([(1.0,), (0.0,)], id="a reading of zero"),
        pytest.param([(1.0,), (math.inf,)], id="a reading that is not a number"),
    ],
)
def test_without_turns_to_compare_there_is_no_difference(in_turns, turns):
    good = in_turns([(1.0,), (1.0,)])

    assert interleaved_difference(good, in_turns(turns)) is None
    assert interleaved_difference(in_turns(turns), good) is None


@pytest.mark.parametrize("wrong", [0.0, math.nan])
def test_a_reading_that_is_none_leaves_the_rest_of_its_turn(in_turns, wrong):
    base = in_turns([(1.0, 1.0)] * 4)
    head = in_turns([(1.1, 1.1), (1.1, wrong), (1.1, 1.1), (wrong, wrong)])

    assert interleaved_difference(base, head) == pytest.approx(math.log(1.1))
    assert interleaved_difference(head, base) == pytest.approx(-math.log(1.1))


def test_turns_without_a_reading_are_at_most_a_quarter(in_turns):
    base = in_turns([(1.0,)] * 8)

    assert interleaved_difference(base, in_turns([(0.0,)] * 2 + [(1.1,)] * 6)) is not None
    assert interleaved_difference(base, in_turns([(0.0,)] * 3 + [(1.1,)] * 5)) is None


def test_runs_that_took_no_turns_have_none(build):
    run = build.run(step_time_p50=(1.0, 2.0))

    assert interleaved_difference(run, run) is None


def test_turns_that_do_not_fit_the_samples_are_not_believed(build):
    run = build.with_turns(build.run(step_time_p50=(1.0, 2.0)), (2, 2))

    assert interleaved_difference(run, run) is None


def test_both_sides_move_alike_so_that_neither_is_the_truth():
    base, head = apply_difference(1.0, 4.0, difference=math.log(2.25))

    assert [base, head] == pytest.approx([2 / 1.5, 2 * 1.5])


def test_a_pair_that_took_turns_has_the_ratio_of_its_turns(in_turns):
    base = in_turns([(1.0,), (3.0,), (3.0,)])
    head = in_turns([(1.1,), (1.1,), (3.3,), (3.3,)][1:], Side.HEAD)

    (pair,) = estimate_pairs([(base, head)], [STEP_TIME])

    ratio = pair.head[STEP_TIME.name] / pair.base[STEP_TIME.name]
    assert math.log(ratio) == pytest.approx(interleaved_difference(base, head))


def test_on_a_machine_that_is_busy_half_of_the_time_a_change_is_found_all_the_same(build, in_turns):
    rng = np.random.default_rng(5)
    runs = []
    for pair in range(6):
        busy = 1 + 0.5 * (rng.random(20) < 0.5)
        for side, factor in ((Side.BASE, 1.0), (Side.HEAD, 1.08)):
            times = factor * busy * np.exp(0.01 * rng.standard_normal(20))
            runs.append(in_turns([(time,) for time in times.tolist()], side, pair))
    bundle = build.bundle({"m:f": {}}, runs=tuple(runs), metrics=(STEP_TIME,))

    (verdict,) = judge_bundle(bundle)

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.estimate is not None
    assert verdict.estimate.low < 0.08 < verdict.estimate.high
