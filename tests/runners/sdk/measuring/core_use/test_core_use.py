import math
import os
import shlex
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count

import pytest

from perfledger.measuring.core_use import (
    MAX_CLOCK_STEP_S,
    NO_CHILDREN,
    THIS_HOST,
    TOO_COARSE,
    TOO_SHORT,
    CoreUse,
    CoreWatch,
    HostProbe,
    clock_step_s,
    process_cpu_s,
    queued_s,
)
from perfledger.measuring.step_samples import measure
from perfledger.meters.clock import HostClock
from perfledger.protocol import MeasuringEffort

SPIN = "x = 0\nwhile True:\n    x += 1\n"


class Clocks:
    """Clocks that advance only where a test says so."""

    def __init__(self, clock_step=0.0, cores=2):
        self.now = dict.fromkeys(("wall", "cpu", "thread", "queued"), 0.0)
        self.host = HostProbe(
            wall=lambda: self.now["wall"],
            cpu=lambda: self.now["cpu"],
            thread=lambda: self.now["thread"],
            queued=lambda: self.now["queued"],
            clock_step=lambda: clock_step,
            cores=lambda: cores,
        )
        self.watch = CoreWatch(self.host)

    def block(self, steps, **seconds):
        with self.watch.block(steps):
            for name, passed in seconds.items():
                self.now[name] += passed


def test_a_turn_has_its_cpu_time_per_step_and_where_the_rest_went():
    clocks = Clocks()
    clocks.block(2, wall=10.0, cpu=5.0, thread=4.0, queued=3.0)
    clocks.block(1, wall=5.0, cpu=4.0, thread=4.0, queued=1.0)

    use = clocks.watch.use((5.0, 5.0, 5.0), settling_s=0.0, turns=(2, 1))

    assert use.cpu_time_s == (2.5, 4.0)
    assert (use.times.elapsed_s, use.times.queued_s) == ((5.0, 5.0), (1.5, 1.0))
    assert (use.times.helpers_s, use.times.helper_waits_s) == ((0.5, 0.0), (1.5, 0.0))
    assert use.active == pytest.approx(9 / 30)


def test_without_turns_there_is_one_reading():
    clocks = Clocks()
    clocks.block(2, wall=10.0, cpu=5.0, thread=5.0)
    clocks.block(6, wall=30.0, cpu=11.0, thread=11.0)

    use = clocks.watch.use((35.0,), settling_s=5.0, turns=())

    assert use.cpu_time_s == (2.0,)
    assert use.times.elapsed_s == (5.0,)


def test_what_passes_between_blocks_does_not_count():
    clocks = Clocks()
    clocks.block(1, wall=1.0, cpu=1.0)
    clocks.now["cpu"] += 100.0
    clocks.block(1, wall=1.0, cpu=1.0)

    assert clocks.watch.use((1.0, 1.0), settling_s=0.0, turns=(1, 1)).cpu_time_s == (1.0, 1.0)


def test_clocks_that_disagree_never_show_more_than_all_cores():
    clocks = Clocks()
    clocks.block(1, wall=10.0, cpu=40.0, thread=50.0, queued=11.0)

    use = clocks.watch.use((10.0,), settling_s=0.0, turns=(1,))

    assert use.active == 1.0
    assert (use.times.queued_s, use.times.helpers_s) == ((10.0,), (0.0,))


def test_no_time_passed_is_no_use():
    clocks = Clocks()
    clocks.block(1)

    unused = clocks.watch.use((0.0,), settling_s=0.0, turns=(1,))
    assert (unused, unused.active) == (CoreUse(), 0.0)
    assert Clocks().watch.use((), settling_s=0.0, turns=()) == CoreUse()


@pytest.mark.parametrize(
    ("clock_step", "readings"),
    [(0.004, 4), (0.006, 1), (0.021, 0)],
)
def test_a_coarse_clock_reads_all_turns_at_once_or_nothing(clock_step, readings):
    clocks = Clocks(clock_step)
    for _ in range(4):
        clocks.block(1, wall=1.0, cpu=1.0)

    use = clocks.watch.use((1.0,) * 4, settling_s=0.0, turns=(1,) * 4)

    assert len(use.cpu_time_s) == len(use.times.elapsed_s) == readings
    assert use.left_out == ({} if readings else {TOO_COARSE: 4})
    assert use.active == 0.5


@pytest.mark.parametrize(("timed_s", "readings"), [(0.951, 1), (0.949, 0)])
def test_time_between_steps_is_not_taken_for_theirs(timed_s, readings):
    clocks = Clocks()
    clocks.block(100, wall=1.0, cpu=1.0)

    use = clocks.watch.use((timed_s,), settling_s=0.0, turns=(1,))
    assert len(use.cpu_time_s) == readings
    assert use.left_out == ({} if readings else {TOO_SHORT: 1})
    assert use.times.elapsed_s == pytest.approx((0.01 if readings else timed_s / 100,))


@pytest.mark.parametrize(("reading_s", "readings"), [(0.001, 3), (0.0009, 0)])
def test_the_wait_for_a_core_between_long_readings_is_not_the_harness(reading_s, readings):
    clocks, timed = Clocks(), 100
    for _ in range(3):
        clocks.block(timed, wall=3 * timed * reading_s, cpu=1.0, queued=2 * timed * reading_s)

    use = clocks.watch.use((reading_s,) * 3 * timed, settling_s=0.0, turns=(timed,) * 3)

    assert len(use.cpu_time_s) == readings
    assert use.left_out == ({} if readings else {TOO_SHORT: 3})
    assert use.times.queued_s == pytest.approx((2 * reading_s,) * 3)


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("readings", [{0}, {0, 1}, {3}, {0, 3}, {0, 1, 3, 4}])
def test_a_wait_for_a_core_while_the_wait_is_read_is_not_the_steps(readings, is_before):
    clocks, calls = Clocks(), count()

    def wait(number):
        if number in readings:
            clocks.now["wall"] += 0.5
            clocks.now["queued"] += 0.5

    def queued():
        number = next(calls)
        if is_before:
            wait(number)
        value = clocks.now["queued"]
        if not is_before:
            wait(number)
        return value

    watch = CoreWatch(replace(clocks.host, queued=queued))
    with watch.block(1):
        clocks.now["wall"] += 2.0
        clocks.now["thread"] += 1.5
        clocks.now["queued"] += 0.25
        after_start = next(calls)

    use = watch.use((2.0,), settling_s=0.0, turns=(1,))
    assert after_start <= 4
    assert (use.times.elapsed_s, use.times.queued_s) == ((2.0,), (0.25,))


def test_a_thread_that_always_waits_for_a_core_is_read_a_few_times():
    clocks = Clocks()

    def queued():
        clocks.now["wall"] += 0.5
        clocks.now["queued"] += 0.5
        return clocks.now["queued"]

    watch = CoreWatch(replace(clocks.host, queued=queued))
    with watch.block(1):
        clocks.now["wall"] += 2.0
        clocks.now["thread"] += 2.0

    assert watch.use((2.0,), settling_s=0.0, turns=(1,)).times.elapsed_s == (2.0,)


def test_a_wait_between_two_steps_is_not_taken_for_the_harness():
    clocks = Clocks()
    for elapsed in (1.0, 9.0, 1.0):
        clocks.block(1, wall=elapsed, cpu=1.0)

    use = clocks.watch.use((1.0,) * 3, settling_s=0.0, turns=(1,) * 3)

    assert use.cpu_time_s == (1.0,) * 3


def test_children_that_cannot_be_listed_leave_the_reading_out():
    clocks = Clocks()
    clocks.block(1, wall=1.0, cpu=math.nan)

    use = clocks.watch.use((1.0,), settling_s=0.0, turns=(1,))

    assert (use.active, use.cpu_time_s, use.left_out) == (0.0, (), {NO_CHILDREN: 1})


def test_an_unknown_run_queue_leaves_the_cpu_time_and_no_core_times():
    clocks = Clocks()
    clocks.block(1, wall=1.0, cpu=0.5, queued=math.nan)

    use = clocks.watch.use((1.0,), settling_s=0.0, turns=(1,))

    assert (use.cpu_time_s, use.times.elapsed_s) == ((0.5,), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("5 1500000000 7\n", 1.5, id="nanoseconds"),
        pytest.param("0 0 0\n", math.nan, id="a kernel without the statistics"),
        pytest.param("what\n", math.nan, id="another format"),
        pytest.param(None, math.nan, id="no such file"),
    ],
)
def test_the_wait_in_the_run_queue_is_the_second_figure(tmp_path, text, expected):
    path = tmp_path / "schedstat"
    if text is not None:
        path.write_text(text)

    assert queued_s(path) == pytest.approx(expected, nan_ok=True)


def test_the_step_of_a_clock_is_found_by_watching_it():
    ticks = count()

    fine = clock_step_s(lambda: next(ticks) // 100 * 0.004, lambda: 0.0)

    assert fine == pytest.approx(0.004)


def test_a_clock_that_stands_still_has_the_longest_step():
    walls = count()

    assert clock_step_s(lambda: 7.0, lambda: next(walls) * 0.001) == MAX_CLOCK_STEP_S


def until(condition):
    """Wait for a condition that the kernel will make true, however loaded the machine is."""
    while not condition():
        time.sleep(0.01)


def test_this_threads_work_counts_and_its_sleep_does_not():
    began = process_cpu_s()
    worked = time.process_time()
    until(lambda: sum(range(10_000)) and time.process_time() > worked + 0.05)
    after_work = process_cpu_s()
    time.sleep(0.05)

    assert after_work - began >= 0.05
    assert process_cpu_s() - after_work < 0.05


def test_a_live_child_counts_and_still_does_once_it_has_ended():
    before = process_cpu_s()
    child = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        until(lambda: process_cpu_s() - before > 0.2)
        own = time.process_time()
        alive = process_cpu_s()
    finally:
        child.kill()
        child.wait()
    ended = process_cpu_s()

    assert alive - before > 0.2
    assert ended - alive >= -(time.process_time() - own) - 1e-3


def test_a_grandchild_counts():
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SPIN!r}])"
    before = process_cpu_s()
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    own = time.process_time()
    try:
        until(lambda: process_cpu_s() - before > 0.5)
        both = process_cpu_s() - before - (time.process_time() - own)
        alone = time.clock_gettime((~child.pid << 3) | 2)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, 9)
        child.wait()

    assert both - alone > 0.2


def test_another_threads_work_counts_as_a_helpers():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            sum(range(1000))

    watch = CoreWatch(THIS_HOST)
    helper = threading.Thread(target=work)
    with watch.block(1):
        began = time.process_time()
        helper.start()
        until(lambda: time.process_time() - began > 0.1)
        stop.set()
        helper.join()

    use = watch.use((math.inf,), settling_s=0.0, turns=(1,))
    assert use.cpu_time_s[0] > 0.1
    assert use.times.helpers_s[0] > 0.05


def sleep():
    time.sleep(0.02)


def read_a_slow_pipe():
    """Wait for data that another process writes later."""
    reader, writer = os.pipe()
    slow = subprocess.Popen(["sh", "-c", "sleep 0.02; echo"], stdout=writer)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    slow.wait()


def wait_for_a_thread():
    def work():
        until_s = time.thread_time() + 0.02
        while time.thread_time() < until_s:
            pass

    helper = threading.Thread(target=work)
    helper.start()
    helper.join()


@contextmanager
def one_shared_core():
    """Share a single core with another program that is always ready to run."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    # No descendant of this process, whose work would count: the shell that starts it ends.
    start = f"{shlex.quote(sys.executable)} -c {shlex.quote(SPIN)} >/dev/null 2>&1 & echo $!"
    other = int(subprocess.run(["sh", "-c", start], check=True, capture_output=True).stdout)
    try:
        yield
    finally:
        os.kill(other, 9)
        os.sched_setaffinity(0, usable)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("wait", [sleep, read_a_slow_pipe, wait_for_a_thread])
def test_beside_load_a_step_that_waits_is_told_from_one_that_queues(wait):
    effort = MeasuringEffort(min_warmups=1, max_warmups=1, min_steps=4, max_seconds=0.2)

    def work():
        until_s = time.thread_time() + 0.02
        while time.thread_time() < until_s:
            pass

    def work_and_wait():
        work()
        wait()

    def cores_of(step):
        return measure(lambda: step, HostClock(), effort=effort, turn=lambda: None).cores

    with one_shared_core():
        base, head = cores_of(work), cores_of(work_and_wait)

    assert sum(base.times.queued_s) > 0
    assert min(head.cpu_time_s) >= 0.02
    without_queue = [
        elapsed - queued
        for elapsed, queued in zip(head.times.elapsed_s, head.times.queued_s, strict=True)
    ]
    assert min(without_queue) >= 0.035
    assert (min(head.times.helpers_s) >= 0.015) == (wait is wait_for_a_thread)
