"""What a process computes between two turns, by scripted clocks."""

import math
from dataclasses import replace

import pytest

from perfledger.measuring.core_use import CoreWatch
from tests.runners.sdk.measuring.core_use.test_core_use import Clocks


@pytest.mark.parametrize(
    ("cpu", "thread", "leftover"),
    [
        pytest.param(0.5, 0.0, 0.5, id="another thread's"),
        pytest.param(0.0004, 0.0004, 0.0, id="the harness's own"),
        pytest.param(0.4, 0.4, 0.3995, id="a signal handler's in its thread"),
        pytest.param(-3.0, 0.0, 0.0, id="a child ended, and took its time with it"),
    ],
)
def test_leftover_work_is_told_per_step(cpu, thread, leftover):
    clocks = Clocks()
    for _ in range(2):
        clocks.block(2, wall=1.0, cpu=1.0, thread=1.0)
        with clocks.watch.pause():
            clocks.now["wall"] += 9.0
            clocks.now["cpu"] += cpu
            clocks.now["thread"] += thread

    use = clocks.watch.use([1.0, 1.0], settling_s=0.0, turns=[1, 1])

    assert use.leftover_s == pytest.approx(2 * leftover / 4)


def test_cores_that_work_between_turns_are_told():
    clocks = Clocks()
    clocks.block(1, wall=1.0, cpu=1.0, thread=1.0)
    for cpu in (0.5, 2.5, -3.0):  # the last: a child ended, and took its time with it
        with clocks.watch.pause():
            clocks.now["wall"] += 2.0
            clocks.now["cpu"] += cpu

    assert clocks.watch.use([1.0], settling_s=0.0, turns=[1]).paused_cores == 0.5


def test_what_other_threads_do_while_threads_are_read_is_leftover_work():
    """A read of a file lets them run, and a step's work has ended before."""
    clocks = Clocks()

    def threads():
        clocks.now["cpu"] += 0.25
        return {}

    watch = CoreWatch(replace(clocks.host, threads=threads))
    with watch.block(1):
        clocks.now["wall"] += 1.0
        clocks.now["cpu"] += 1.0
    clocks.now["cpu"] += 0.5  # before the pause
    with watch.pause():
        clocks.now["wall"] += 9.0

    use = watch.use([1.0], settling_s=0.0, turns=[1])
    assert (use.paused_cores, use.leftover_s) == (0.0, 1.0)


def test_other_threads_that_run_once_a_step_has_ended_are_no_part_of_it():
    clocks = Clocks()

    def queued():
        clocks.now["cpu"] += 0.25
        return 0.0

    watch = CoreWatch(replace(clocks.host, queued=queued))
    with watch.block(1):
        clocks.now["wall"] += 1.0
        clocks.now["cpu"] += 1.0

    assert watch.use([1.0], settling_s=0.0, turns=[1]).cpu_time_s == (1.0,)


def test_pauses_with_child_processes_that_the_kernel_does_not_list_are_unknown():
    clocks = Clocks()
    clocks.block(1, wall=1.0, cpu=1.0, thread=1.0)
    for cpu in (1.0, math.nan):
        with clocks.watch.pause():
            clocks.now["wall"] += 2.0
            clocks.now["cpu"] += cpu

    use = clocks.watch.use([1.0], settling_s=0.0, turns=[1])
    assert (use.paused_cores, use.leftover_s) == (None, None)


def test_without_turns_nothing_is_known_of_pauses():
    clocks = Clocks()
    clocks.block(1, wall=1.0, cpu=1.0, thread=1.0)

    assert clocks.watch.use([1.0], settling_s=0.0, turns=[]).paused_cores is None
