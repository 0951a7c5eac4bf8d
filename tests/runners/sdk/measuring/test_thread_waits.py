"""What threads want of the cores, from readings of their times and states."""

import pytest

from perfledger.measuring.thread_waits import ThreadWaits
from perfledger.meters.child_processes import ThreadTime


def waits(*readings, elapsed_s=1.0):
    """Return the waits of one thread, whose readings are of both ends of each interval."""
    result = ThreadWaits()
    for before, after in readings:
        result.add({1: before}, {1: after}, elapsed_s)
    return result


@pytest.mark.parametrize(
    ("ran", "waited", "expected"),
    [
        (0.002, 0.3, 0.002 / 0.7 - 0.002),  # wakes up now and then, beside other programs
        (0.1, 1.2, 0.9),  # a wait that began before the interval counts where it ends
        (0.1, 0.0, 0.0),  # its own time is no lack
        (0.0, 0.0, 0.0),  # a kernel without these statistics
    ],
)
def test_a_thread_lacks_what_it_would_use_if_it_never_waited(ran, waited, expected):
    thread_waits = waits((ThreadTime(5.0, 7.0), ThreadTime(5.0 + ran, 7.0 + waited)))

    assert thread_waits.cores_lacking() == pytest.approx(expected)
    assert thread_waits.cores_used() == pytest.approx(ran)


@pytest.mark.parametrize(
    ("states", "lacking"), [("RR", 1.0), ("RS", 0.0), ("SR", 0.0), ("SS", 0.0), ("DD", 0.0)]
)
def test_a_thread_that_is_ready_at_both_ends_and_never_ran_lacks_a_core(states, lacking):
    before, after = (ThreadTime(5.0, 7.0, state) for state in states)

    assert waits((before, after)).cores_lacking() == lacking


def test_a_thread_that_is_ready_at_both_ends_and_ran_may_have_slept_in_between():
    thread_waits = waits((ThreadTime(5.0, 7.0, "R"), ThreadTime(5.01, 7.2, "R")))

    assert thread_waits.cores_lacking() == pytest.approx(0.01 / 0.8 - 0.01)


@pytest.mark.parametrize(("starved", "lacking"), [(1, 0.0), (2, 1.0)])
def test_a_thread_that_sleeps_in_most_intervals_wakes_up_now_and_then(starved, lacking):
    ready, asleep = ThreadTime(5.0, 7.0, "R"), ThreadTime(5.0, 7.0, "S")

    thread_waits = waits(*[(ready, ready)] * starved, *[(asleep, asleep)] * 2)

    assert thread_waits.cores_lacking() == lacking


def test_a_thread_that_got_a_little_lacks_the_rest():
    ready = ThreadTime(5.0, 7.0, "R")

    thread_waits = waits((ready, ready), (ready, ThreadTime(5.002, 7.0, "R")))

    assert thread_waits.cores_lacking() == pytest.approx(1.0 - 0.002 / 2)


def test_a_thread_that_began_in_an_interval_may_have_slept():
    thread_waits = ThreadWaits()
    thread_waits.add({}, {1: ThreadTime(0.0, 0.0, "R")}, 1.0)

    assert thread_waits.cores_lacking() == 0.0


def test_no_time_is_no_use():
    assert (ThreadWaits().cores_used(), ThreadWaits().cores_lacking()) == (0.0, 0.0)
