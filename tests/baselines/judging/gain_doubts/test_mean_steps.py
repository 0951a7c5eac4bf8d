"""Tests when a gain is doubted because some steps do the work of others."""

import math
from dataclasses import replace

import pytest

from perfledger.records import CoreTimes, Side
from perfledger_baselines.judging.gain_doubts.mean_steps import (
    MEAN_DOUBT,
    least_doubtful_gain,
    mean_growths,
)
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads
from perfledger_baselines.judging.judge import judgement_of
from tests.baselines.conftest import QUIET
from tests.baselines.judging.work_evidence.example_work import outcome

PERIOD = 64
TURNS = (16,) * 25


def steps_of(late_share, *, first_turns=1.0, noise=1.0):
    """Return the steps of 25 turns, of which every 64th does what the others leave for it.

    `first_turns` is how many times as long the steps of the first three turns take.
    """
    late_s = 1.0 + (PERIOD - 1) * late_share
    return tuple(
        noise
        * (late_s if step % PERIOD == PERIOD - 1 else 1.0 - late_share)
        * (first_turns if step < 3 * TURNS[0] else 1.0)
        for step in range(sum(TURNS))
    )


@pytest.fixture
def leaving(build):
    """Return a check whose head leaves a share of each step to every 64th one."""

    def make(late_share, *, pairs=5, margin=0.05, gain=0.0, first_turns=1.0):
        steps = [
            (
                steps_of(0.0, noise=QUIET[pair]),
                steps_of(late_share, first_turns=first_turns, noise=(1 - gain) * QUIET[-pair]),
            )
            for pair in range(pairs)
        ]
        looks = (2, 3, 4, 6)
        bundle = build.bundle(
            {"m:f": {"step_time_p50": steps}}, plan=build.plan(looks, margin=margin)
        )
        return replace(bundle, runs=tuple(replace(run, turns=TURNS) for run in bundle.runs))

    return make


@pytest.mark.parametrize("late_share", [0.1, 0.33, 0.6])
def test_a_gain_of_typical_steps_alone_is_not_measured(leaving, late_share):
    bundle = leaving(late_share)

    assert outcome(bundle) == "not measured"
    (failure,) = judgement_of(bundle).failures
    assert MEAN_DOUBT in failure.detail


def test_a_gain_of_all_steps_is_improved_though_some_do_more_of_it(leaving):
    assert outcome(leaving(0.1, gain=0.2)) == "improved"


def test_first_turns_in_which_head_had_not_settled_are_no_work_of_others(leaving):
    bundle = leaving(0.0, gain=0.1, first_turns=3.0)

    assert mean_growths(pairs_of_workloads(bundle)["m:f"])[0] > 0
    assert outcome(bundle) == "improved"


@pytest.mark.parametrize("slow_s", [8.0, 40.0])
def test_slow_steps_of_both_sides_that_gain_nothing_do_no_work_of_others(build, slow_s):
    steps = [
        tuple(
            tuple(noise * (slow_s if step % 16 == 15 else typical_s) for step in range(400))
            for typical_s, noise in ((1.0, QUIET[pair]), (0.8, QUIET[-pair]))
        )
        for pair in range(5)
    ]
    bundle = build.bundle(
        {"m:f": {"step_time_p50": steps}}, plan=build.plan((2, 3, 4, 6), margin=0.05)
    )
    runs = tuple(replace(run, turns=TURNS) for run in bundle.runs)

    assert outcome(replace(bundle, runs=runs)) == "improved"


@pytest.mark.parametrize(
    ("pairs", "late_share", "is_doubtful"),
    [(1, 0.33, False), (2, 0.33, True), (2, 0.15, False), (3, 0.15, True)],
)
def test_two_pairs_show_only_a_large_gain_of_typical_steps_alone(
    leaving, pairs, late_share, is_doubtful
):
    its_pairs = pairs_of_workloads(leaving(late_share, pairs=pairs))["m:f"]

    assert (least_doubtful_gain(its_pairs, workloads=1) < late_share) is is_doubtful


def test_no_gain_is_doubtful_without_pairs():
    assert least_doubtful_gain({}, workloads=1) == math.inf


@pytest.fixture
def checked(build):
    """Return a check in which one step of each of head's processes takes `slow_s`."""

    def make(slow_s, core_times):
        bundle = build.bundle(
            {"m:f": {"step_time_p50": [((1.0,) * 100, (1.0,) * 99 + (slow_s,))] * 6}}
        )
        return replace(
            bundle,
            runs=tuple(
                replace(run, turns=(99, 1), core_times=core_times[run.side]) for run in bundle.runs
            ),
        )

    return make


def test_a_wait_for_a_core_is_no_slow_step(checked):
    waits = CoreTimes(elapsed_s=(1.0, 51.0), queued_s=(0.0, 50.0), helpers_s=(0.0, 0.0))
    sleeps = CoreTimes(elapsed_s=(1.0, 51.0), queued_s=(0.0, 0.0), helpers_s=(0.0, 0.0))
    steady = CoreTimes(elapsed_s=(1.0, 1.0), queued_s=(0.0, 0.0), helpers_s=(0.0, 0.0))
    bundle = checked(51.0, {Side.BASE: steady, Side.HEAD: waits})

    assert mean_growths(pairs_of_workloads(bundle)["m:f"]) == (0.0,) * 6

    bundle = checked(51.0, {Side.BASE: steady, Side.HEAD: sleeps})

    assert mean_growths(pairs_of_workloads(bundle)["m:f"]) == pytest.approx((0.405,) * 6, abs=1e-3)


def test_a_step_that_waits_for_its_own_helper_takes_that_time(checked):
    helped = CoreTimes(elapsed_s=(2.0, 2.0), queued_s=(1.0, 1.0), helpers_s=(1.0, 1.0))
    alone = CoreTimes(elapsed_s=(2.0, 2.0), queued_s=(0.0, 0.0), helpers_s=(0.0, 0.0))
    bundle = checked(2.0, {Side.BASE: helped, Side.HEAD: alone})

    assert mean_growths(pairs_of_workloads(bundle)["m:f"]) == (0.0,) * 6
    assert least_doubtful_gain(pairs_of_workloads(bundle)["m:f"], workloads=1) == 0.0


@pytest.mark.parametrize("unreadable", [None, (float("inf"),), (-1.0,), (0.0,)])
def test_runs_without_readable_steps_are_left_out(build, unreadable):
    bundle = build.bundle(
        {"m:f": {"step_time_p50": [((1.0,), unreadable)], "peak_memory": [(1.0, 1.0)]}}
    )

    assert mean_growths(pairs_of_workloads(bundle)["m:f"]) == ()


def test_a_run_without_a_partner_is_left_out(build):
    bundle = build.bundle({"m:f": {"step_time_p50": [(1.0, 1.0)]}})

    assert mean_growths(pairs_of_workloads(replace(bundle, runs=bundle.runs[:1]))["m:f"]) == ()
