"""Threads that work or wait for a core between two turns."""

from itertools import chain

import pytest

from perfledger.measuring.core_use import CoreWatch, HostProbe
from perfledger.meters.child_processes import ThreadTime


def paused_cores(times, *, cpu_s=(0.0,), pauses_s=(1.0,), reading_s=0.0):
    """Return the cores of a process that pauses for each of `pauses_s`, and uses one of `cpu_s`.

    `times` are those of its threads, reading by reading.
    """
    now = dict.fromkeys(("wall", "cpu"), 0.0)
    readings = chain([{}], times)  # the first before the turn

    def threads():
        now["wall"] += reading_s
        return next(readings)

    watch = CoreWatch(
        HostProbe(
            wall=lambda: now["wall"],
            cpu=lambda: now["cpu"],
            thread=lambda: now["cpu"],
            queued=lambda: 0.0,
            clock_step=lambda: 0.0,
            cores=lambda: 2,
            threads=threads,
        )
    )
    with watch.block(1):
        now["wall"] += 1.0
    for used_s, pause_s in zip(cpu_s, pauses_s, strict=True):
        with watch.pause():
            now["wall"] += pause_s
            now["cpu"] += used_s
    return watch.use([1.0], settling_s=0.0, turns=[1]).paused_cores


def test_threads_that_work_between_turns_also_want_the_time_they_wait_for_a_core():
    # Thread 1 works all the time, 2 hardly ran, 3 is new and works half the time.
    before = {1: ThreadTime(5.0, 7.0), 2: ThreadTime(1.0, 1.0)}
    after = {1: ThreadTime(5.1, 8.9), 2: ThreadTime(1.001, 1.9), 3: ThreadTime(0.5, 1.0)}

    cores = paused_cores([before, after], cpu_s=(0.2,), pauses_s=(2.0,))

    assert cores == pytest.approx(0.2 / 2.0 + (1.0 - 0.1 / 2.0) + (0.5 - 0.5 / 2.0))


def test_the_time_of_reading_many_threads_belongs_to_their_pause():
    cores = paused_cores([{1: ThreadTime(0.0, 0.0)}, {1: ThreadTime(0.2, 1.8)}], reading_s=1.0)

    assert cores == pytest.approx(1.0 - 0.2 / 2.0)


@pytest.mark.parametrize("lengths_s", [(0.06, 0.0), (0.0, 0.06)])
@pytest.mark.parametrize(("reading_s", "watched"), [(0.0001, 32), (0.01, 2)])
def test_long_pauses_are_watched_whichever_side_begins(lengths_s, reading_s, watched):
    """Of turns in the order first, second, second, first every second pause is empty."""
    starving, readings = {1: ThreadTime(5.0, 7.0, "R")}, []

    def reading():
        while True:
            readings.append(starving)
            yield starving

    cores = paused_cores(reading(), cpu_s=(0.0,) * 32, pauses_s=lengths_s * 16, reading_s=reading_s)

    assert cores == 1.0
    assert len(readings) // 2 == watched


@pytest.mark.parametrize("lengths_s", [(0.06, 0.0), (0.0, 0.06)])
def test_a_thread_that_sleeps_in_long_pauses_has_no_work(lengths_s):
    """It may be awake in empty ones, where a step has just ended."""
    asleep, awake = {1: ThreadTime(5.0, 7.0, "S")}, {1: ThreadTime(5.0, 7.0, "R")}
    ends = [asleep if length > 0 else awake for length in lengths_s * 16 for _ in range(2)]

    assert paused_cores(ends, cpu_s=(0.0,) * 32, pauses_s=lengths_s * 16) == 0.0
