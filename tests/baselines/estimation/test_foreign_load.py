"""The wall time of a step without the wait that other programs caused, between two bounds."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import CPU_TIME
from perfledger.records import CoreTimes, Device, Side
from perfledger_baselines.estimation.foreign_load import (
    mean_foreign_share,
    mean_queued_share,
    possible_wait_share,
    unqueued_difference,
)

TURNS = 5
shares = st.floats(0.0, 0.95)


@pytest.fixture(scope="session")
def run_of(build):
    def run_of(elapsed, queued=0.0, helpers=0.0, helper_waits=0.0, *, turns=TURNS, side=Side.BASE):
        columns = [
            tuple(value) if isinstance(value, list) else (value,) * turns
            for value in (elapsed, queued, helpers, helper_waits)
        ]
        return replace(
            build.run(side=side, step_time_p50=columns[0]),
            turns=(1,) * turns,
            core_times=CoreTimes(
                elapsed_s=columns[0],
                queued_s=columns[1],
                helpers_s=columns[2],
                helper_waits_s=columns[3],
            ),
        )

    return run_of


@given(base_share=shares, head_share=shares, change=st.floats(0.5, 2.0))
def test_one_threads_wait_does_not_count(run_of, base_share, head_share, change):
    base = run_of(1 / (1 - base_share), base_share / (1 - base_share))
    head = run_of(change / (1 - head_share), change * head_share / (1 - head_share))

    difference = unqueued_difference(base, head)

    assert difference.low == pytest.approx(math.log(change), abs=1e-9)
    assert difference.high == pytest.approx(math.log(change), abs=1e-9)


def test_time_off_the_cpu_counts(run_of):
    asleep = run_of(1.1, 0.0)

    assert unqueued_difference(run_of(1.0), asleep).low == pytest.approx(math.log(1.1))


def test_a_wait_behind_own_threads_may_be_no_other_programs_doing(run_of):
    base, head = run_of(1.0), run_of(2.0, 1.0, 0.75)

    difference = unqueued_difference(base, head)

    assert difference.low == pytest.approx(math.log(1.0))
    assert difference.high == pytest.approx(math.log(1.75))


def test_a_wait_for_a_helper_in_a_run_queue_may_be_other_programs_doing(run_of):
    base, head = run_of(1.0), run_of(1.5, 0.0, 0.5, 0.75)

    difference = unqueued_difference(base, head)

    assert difference.low == pytest.approx(math.log(0.75))
    assert difference.high == pytest.approx(math.log(1.5))
    assert difference.foreign_share == 0.0  # helpers ran half a second, the thread three quarters


def test_a_step_that_only_waits_for_helpers_has_bounds(run_of):
    waiting = run_of(2.0, 0.0, 0.5, 2.0)

    difference = unqueued_difference(run_of(1.0), waiting)

    assert difference.low == pytest.approx(math.log(2e-3))
    assert difference.foreign_share == pytest.approx(1.5 / 3.0)


def test_helpers_that_nobody_saw_are_no_sign_of_other_programs(run_of):
    waiting = run_of(2.0, 0.0, 0.5, 2.0)
    times = replace(waiting.core_times, unseen_waits_s=(1.5,) * TURNS)

    difference = unqueued_difference(run_of(1.0), replace(waiting, core_times=times))

    assert difference.low == pytest.approx(math.log(2e-3))
    assert difference.foreign_share == 0.0


def test_waits_for_helpers_are_unknown_in_older_bundles_and_do_not_count(run_of):
    base, head = run_of(1.0), run_of(1.5, 0.0, 0.5, 0.75)
    older = replace(head, core_times=replace(head.core_times, helper_waits_s=()))

    assert unqueued_difference(base, older).low == pytest.approx(math.log(1.5))


@given(
    st.lists(
        st.tuples(shares, st.floats(0, 3), st.floats(0, 1)),
        min_size=2 * TURNS,
        max_size=2 * TURNS,
    )
)
def test_the_bounds_enclose_and_swap_with_the_sides(run_of, sample):
    base, head = (
        run_of(
            [1.0] * TURNS,
            [share for share, _, _ in part],
            [helpers for _, helpers, _ in part],
            [(1.0 - share) * asleep for share, _, asleep in part],
        )
        for part in (sample[:TURNS], sample[TURNS:])
    )

    there, back = unqueued_difference(base, head), unqueued_difference(head, base)

    assert there.low <= there.high + 1e-12
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
    assert back.queued_share == pytest.approx(there.queued_share)
    exchanged = there.exchanged()
    assert (exchanged.low, exchanged.high) == (-there.high, -there.low)
    assert exchanged.foreign_share == pytest.approx(back.foreign_share)


def test_the_work_of_the_own_thread_and_the_usable_cores_are_compared(run_of):
    def with_cores(run, cpu_s, cores):
        samples = {**run.samples, CPU_TIME.name: (cpu_s,) * TURNS}
        return replace(run, samples=samples, core_times=replace(run.core_times, cores=cores))

    base = with_cores(run_of(1.0, 0.5, 0.5), 1.0, 4)
    head = with_cores(run_of(1.0, 0.0, 0.0, side=Side.HEAD), 1.0, 2)

    difference = unqueued_difference(base, head)

    assert difference.own_work == pytest.approx(math.log(2))
    assert difference.cores == pytest.approx(-math.log(2))
    swapped = difference.exchanged()
    assert (swapped.own_work, swapped.cores) == (-difference.own_work, -difference.cores)
    unknown = unqueued_difference(run_of(1.0), head)
    assert (unknown.own_work, unknown.cores) == (0.0, 0.0)


def test_the_share_of_the_wait_is_that_of_both_sides(run_of):
    quiet, loaded = run_of(1.0), run_of(3.0, 2.0)

    difference = unqueued_difference(quiet, loaded)

    unloaded = unqueued_difference(quiet, quiet)

    assert difference is not None
    assert unloaded is not None
    assert difference.queued_share == 0.5
    assert mean_queued_share([difference, unloaded]) == 0.25
    assert mean_foreign_share([difference, unloaded]) == 0.25


@pytest.mark.parametrize(
    ("unknown", "share"), [pytest.param(0, 0.25), pytest.param(1, 0.5), pytest.param(2, 1.0)]
)
def test_a_run_without_core_times_may_have_waited_all_the_time(run_of, unknown, share):
    runs = [run_of(1.0, queued) for queued in (0.0, 0.25, [0.5, 0.5, 0.75, 0.25, 0.5])]
    others = [replace(run_of(1.0), core_times=CoreTimes())] * unknown

    assert possible_wait_share([*runs[-3 + unknown :], *others], Device.CPU) == share


@pytest.mark.parametrize(
    ("of_run", "of_machine", "share"),
    [
        (None, Device.CPU, 0.25),
        (None, Device.CUDA, 1.0),
        (Device.CPU, Device.CUDA, 0.25),
        (Device.CUDA, Device.CPU, 1.0),
    ],
)
def test_nothing_tells_how_long_a_step_waited_for_an_accelerator(run_of, of_run, of_machine, share):
    run = replace(run_of(1.0, 0.25), device=of_run)

    assert possible_wait_share([run], of_machine) == share


def test_a_wait_is_for_other_programs_beyond_what_own_threads_use_meanwhile(run_of):
    difference = unqueued_difference(run_of(1.0), run_of(2.0, 1.0, [0.25, 0.5, 0.75, 1.0, 2.0]))

    assert difference is not None
    assert difference.queued_share == pytest.approx(1 / 3)
    assert difference.foreign_share == pytest.approx((0.75 + 0.5 + 0.25) / 15)


def test_turns_without_a_neighbour_do_not_count(run_of):
    difference = unqueued_difference(run_of(1.0), run_of([1.0] * 5 + [99.0] * 20, turns=25))

    assert difference.high == 0.0


def test_a_single_turn_is_compared_with_the_mean_of_all(run_of):
    one = run_of(1.0, 0.5, turns=1)
    two, slower = run_of([1.0, 5.0], [0.5, 0.5], turns=2), run_of(1.5, turns=2)

    assert unqueued_difference(run_of(1.0, turns=2), slower).high == pytest.approx(math.log(1.5))
    assert unqueued_difference(one, two).high == pytest.approx(math.log(2.5 / 0.5))
    assert unqueued_difference(two, one).low == pytest.approx(math.log(0.5 / 2.5))


def test_runs_without_turns_have_one_reading_in_all(run_of):
    base, head = (replace(run_of(elapsed, turns=1), turns=()) for elapsed in (1.0, 1.5))

    assert unqueued_difference(base, head).high == pytest.approx(math.log(1.5))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"core_times": CoreTimes()}, id="not recorded"),
        pytest.param({"turns": (1,) * (TURNS - 1)}, id="not one for each turn"),
        pytest.param(
            {
                "core_times": CoreTimes(
                    elapsed_s=(1.0,) * 5, queued_s=(1.0,) * 5, helpers_s=(0,) * 5
                )
            },
            id="nothing but waiting",
        ),
    ],
)
def test_what_cannot_be_compared_proves_nothing(run_of, change):
    broken = replace(run_of(1.0), **change)

    assert unqueued_difference(run_of(1.0), broken) is None
    assert unqueued_difference(broken, run_of(1.0)) is None
