"""Waits for helpers in the core times of turns, from readings of threads around them."""

import pytest

from perfledger.measuring.core_use import CoreWatch, HostProbe
from perfledger.meters.child_processes import ThreadTime


def times_of(readings, *, turns=2, cpu_s=6.0, timed_s=10.0, clock_step_s=0.0):
    """Return the core times of turns of ten seconds, in which the step's thread ran for four."""
    now = dict.fromkeys(("wall", "cpu", "thread"), 0.0)
    threads = iter(readings)
    watch = CoreWatch(
        HostProbe(
            wall=lambda: now["wall"],
            cpu=lambda: now["cpu"],
            thread=lambda: now["thread"],
            queued=lambda: 0.0,
            clock_step=lambda: clock_step_s,
            cores=lambda: 2,
            threads=lambda: next(threads),
        )
    )
    for _ in range(turns):
        with watch.block(1):
            now["wall"], now["thread"] = now["wall"] + 10.0, now["thread"] + 4.0
            now["cpu"] += cpu_s
        with watch.pause():
            now["wall"] += 10.0
    return watch.use([timed_s] * turns, settling_s=0.0, turns=(1,) * turns).times


def readings_of(*times):
    """Return readings of one thread: before the first turn, then at both ends of each pause."""
    first, *others = (ThreadTime(ran_s, waited_s) for ran_s, waited_s in times)
    return [{1: first}, *({1: each} for each in others for _ in range(2))]


def test_a_turn_has_the_waits_of_its_helpers():
    times = times_of(readings_of((0.0, 0.0), (2.0, 3.0), (4.0, 99.0)))

    assert times.helper_waits_s == (3.0, 6.0)
    assert times.unseen_waits_s == (0.0, 0.0)


def test_short_steps_have_their_share_of_the_wait():
    times = times_of(readings_of((0.0, 0.0), (2.0, 3.0), (4.0, 5.0)), timed_s=5.0)

    assert times.elapsed_s == (5.0, 5.0)
    assert times.helper_waits_s == (1.5, 1.0)


@pytest.mark.parametrize("clock_step_s", [0.0, 0.04])
def test_helpers_that_nobody_saw_may_have_waited_as_long_as_the_thread_slept(clock_step_s):
    times = times_of(readings_of((0.0, 0.0), (0.5, 0.0), (2.5, 1.0)), clock_step_s=clock_step_s)

    assert times.helper_waits_s == ((6.0, 1.0) if clock_step_s == 0.0 else (3.5,))
    assert times.unseen_waits_s == ((6.0, 0.0) if clock_step_s == 0.0 else (3.0,))


def test_a_helper_that_hardly_runs_may_be_what_is_waited_for():
    times = times_of(readings_of((0.0, 0.0), (0.0, 9.0), (0.0, 9.0)), cpu_s=4.0)

    assert times.helper_waits_s == (6.0, 0.0)
