"""Whether a child's threads compute, by scripted readings."""

import pytest

from perfledger.meters.child_processes import ThreadTime
from perfledger_runners.children.idle_watch import IdleWatch

IDLE_S = 10.0
ASLEEP = ThreadTime(3.0, 1.0, "S")


def is_idle(*readings, at_s=12.0, begin_s=1.0):
    """Return whether a child is idle that is first looked at at `begin_s`."""
    found = iter(readings)
    watch = IdleWatch(lambda: next(found))
    watch.restart(0.0, idle_s=IDLE_S)
    assert not watch.is_idle(begin_s)
    return watch.is_idle(at_s)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(ASLEEP, True, id="asleep"),
        pytest.param(ThreadTime(3.05, 1.0, "S"), True, id="tries for a lock now and then"),
        pytest.param(ThreadTime(3.5, 1.0, "S"), False, id="computes"),
        pytest.param(ThreadTime(3.1, 10.8, "S"), False, id="waits for a core most of the time"),
        pytest.param(ThreadTime(3.0, 1.0, "D"), False, id="waits for a disk"),
    ],
)
def test_a_child_is_idle_if_none_of_its_threads_wants_a_core(after, expected):
    assert is_idle({1: ASLEEP, 2: ASLEEP}, {1: ASLEEP, 2: after}) is expected


def test_a_thread_that_gets_no_core_at_all_wants_one():
    ready = ThreadTime(3.0, 1.0, "R")

    assert not is_idle({1: ready}, {1: ready})


def test_a_child_whose_threads_are_not_known_is_not_called_idle():
    assert not is_idle({}, {})


@pytest.mark.parametrize(("at_s", "expected"), [(10.9, False), (11.0, True)])
def test_it_is_idle_for_the_whole_time(at_s, expected):
    assert is_idle({1: ASLEEP}, {1: ASLEEP}, at_s=at_s) is expected


def test_threads_are_not_read_while_a_child_does_something():
    watch = IdleWatch(lambda: pytest.fail("read"))
    for now in range(100):
        watch.restart(float(now), idle_s=IDLE_S)
        assert not watch.is_idle(now + 0.9)


def test_what_it_did_before_does_not_count():
    readings = iter([{1: ASLEEP}, {1: ThreadTime(9.0, 1.0, "S")}, {1: ThreadTime(9.0, 1.0, "S")}])
    watch = IdleWatch(lambda: next(readings))
    watch.restart(0.0, idle_s=IDLE_S)

    assert [watch.is_idle(now) for now in (1.0, 11.0, 20.9, 21.0)] == [False, False, False, True]
