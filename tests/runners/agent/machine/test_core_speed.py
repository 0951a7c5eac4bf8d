import os
from itertools import count

import pytest

from perfledger_runners.machine.core_speed import MAX_CORES, CoreSpeed, read_core_speed

# No system has them: the test's thread stays where it is.
FAR_CORES = (100_000, 100_001, 100_002, 100_003)


def scripted(times_s, *, seconds=1.0, cores=1):
    """Return the speed where each piece of work needs the next of these times, again and again."""
    now_s = 0.0
    pieces = count()

    def work():
        nonlocal now_s
        now_s += times_s[next(pieces) % len(times_s)]

    def clock():
        return now_s

    return read_core_speed(FAR_CORES[:cores], seconds=seconds, work=work, clock=clock, wall=clock)


def test_work_that_always_takes_the_same_has_no_spread():
    assert scripted((0.001,)).spread == pytest.approx(1.0)


def test_a_neighbour_for_a_third_of_the_time_shows():
    speed = scripted((0.004, 0.004, 0.007))

    assert (speed.low_s, speed.high_s) == (pytest.approx(0.004), pytest.approx(0.007))
    assert speed.spread == pytest.approx(1.75)


def test_a_single_slow_reading_among_many_does_not():
    assert scripted((*(0.001,) * 30, 0.05)).spread == pytest.approx(1.0)


def test_fast_and_slow_cores_that_are_each_steady_have_no_spread():
    assert scripted((0.001, 0.0013), cores=2).spread == pytest.approx(1.0)


def test_the_least_steady_core_is_told():
    speed = scripted((0.001, 0.002, 0.001, 0.003), cores=2)

    assert (speed.low_s, speed.high_s) == (pytest.approx(0.002), pytest.approx(0.003))


@pytest.mark.parametrize(("times_s", "cores"), [((0.0, 0.1), 1), ((0.2,), 1), ((0.03,), 4)])
def test_a_clock_that_stands_and_too_few_readings_of_a_core_tell_nothing(times_s, cores):
    assert scripted(times_s, cores=cores) is None


def test_this_machine_is_read_on_its_cores_and_left_as_it_was():
    before = os.sched_getaffinity(0)

    visits, visited_cores = count(), set()

    def work():
        visited_cores.add(frozenset(os.sched_getaffinity(0)))
        sum(range(1000))

    speed = read_core_speed(before, seconds=60, wall=lambda: next(visits), work=work)

    assert visited_cores == {frozenset({core}) for core in sorted(before)[-MAX_CORES:]}
    assert os.sched_getaffinity(0) == before
    assert isinstance(speed, CoreSpeed)
    assert 0 < speed.low_s <= speed.high_s


def test_a_core_is_as_fast_and_as_slow_as_a_tenth_of_its_readings_is():
    """Of readings of 1 to 99 ms in turn: the tenth from either end."""
    speed = scripted(tuple(place / 1000 for place in range(1, 100)), seconds=4.9499)

    assert (speed.low_s, speed.high_s) == (pytest.approx(0.010), pytest.approx(0.090))
