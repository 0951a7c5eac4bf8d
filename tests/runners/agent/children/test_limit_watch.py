import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfledger.meters.child_processes import ThreadTime
from perfledger.records import Device, FailureReason
from perfledger_runners.children.child import POLL_S
from perfledger_runners.children.harness import ChildLimits, Harness
from perfledger_runners.children.limit_watch import IdleWatch, LimitWatch
from perfledger_runners.children.protocol_parser import (
    CompilingMessage,
    ImportingMessage,
    RunMessage,
    SamplingMessage,
    StartedMessage,
    TurnMessage,
)

ASLEEP = ThreadTime(3.0, 1.0, "S")


class Hand:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Hand()


@pytest.fixture
def harness(clock):
    limits = ChildLimits(workload_s=100.0, startup_s=30.0, memory_bytes=1000)
    return Harness(
        python=Path("python"), folder=Path("folder"), environment={}, limits=limits, clock=clock
    )


def child(memory=0):
    return SimpleNamespace(
        trim_log=lambda: None, memory_bytes=lambda _: memory, thread_times=lambda: {1: ASLEEP}
    )


def started():
    return StartedMessage(version=2, workload="m:f", log_bytes=0)


def run():
    return RunMessage(
        version=2,
        workload="m:f",
        started_at="2026-11-20T00:00:00Z",
        samples={"step_time_p50": (1.0,)},
        device=Device.CPU,
    )


@pytest.mark.parametrize(
    ("windowed", "words"),
    [
        (["m:f"], "it did not end within 100 s while being profiled"),
        ([], "it did not end within 30 s while between workloads"),
    ],
)
def test_windows_share_the_limit_of_the_run_before_them(harness, clock, windowed, words):
    watch = LimitWatch(child(), harness, windowed=windowed)
    watch.hear(started())
    clock.now = 90.0
    watch.hear(run())
    if windowed:
        watch.hear(TurnMessage(version=2, workload="m:f"))
    clock.now = 121.0

    assert watch.trouble() == (FailureReason.HUNG, words)


@pytest.mark.parametrize(("now", "is_over"), [(30.0, False), (30.1, True)])
def test_start_up_has_its_limit(harness, clock, now, is_over):
    watch = LimitWatch(child(), harness)
    clock.now = now

    trouble = watch.trouble()

    assert (trouble is not None) == is_over
    assert not is_over or trouble == (
        FailureReason.HUNG,
        "it did not end within 30 s while starting up",
    )


def test_a_file_has_the_limit_of_start_up_and_its_name_in_the_failure(harness, clock):
    watch = LimitWatch(child(), harness)
    clock.now = 20.0
    watch.hear(ImportingMessage(version=2, path="benchmarks/a.py"))
    clock.now = 49.0

    assert watch.trouble() is None

    clock.now = 51.0

    assert watch.trouble() == (
        FailureReason.HUNG,
        "it did not end within 30 s while importing benchmarks/a.py",
    )


def test_the_other_sides_turn_does_not_count(harness, clock):
    watch = LimitWatch(child(), harness)
    watch.hear(started())
    clock.now = 150.0
    watch.wait(60.0)

    assert watch.trouble() is None


def test_the_budget_ends_it_before_its_own_limit(harness, clock):
    watch = LimitWatch(child(), replace(harness, ends_at=50.0))
    watch.hear(started())
    clock.now = 49.9
    before = watch.trouble()
    clock.now = 50.0

    assert before is None
    assert watch.trouble() == (
        FailureReason.BUDGET,
        "the budget ended it while setting up or warming up",
    )


def test_memory_has_its_limit(harness, clock):
    watch = LimitWatch(child(memory=1001), harness)
    clock.now = POLL_S

    assert watch.trouble() == (
        FailureReason.OUT_OF_MEMORY,
        "used 1001 bytes of memory: the limit is 1000",
    )


def test_a_harness_without_a_budget_never_ends(harness):
    assert harness.seconds_left() == math.inf


@pytest.mark.parametrize(
    ("is_awaited", "words"),
    [
        (True, "it waited 10 s without using a core while setting up or warming up"),
        (False, ""),
    ],
)
def test_a_child_that_computes_nothing_while_the_other_side_waits_may_wait_for_it(
    harness, clock, is_awaited, words
):
    requests = []

    def is_other_waiting(name):
        requests.append(name)
        return is_awaited

    watch = LimitWatch(child(), replace(harness, is_awaited=is_other_waiting))
    watch.hear(started())
    clock.now = 1.0
    before = watch.trouble()
    clock.now = 12.0

    assert before is None
    assert watch.trouble() == ((FailureReason.IN_USE, words) if words else None)
    assert requests == ["m:f", "m:f"]


def test_it_is_idle_only_while_the_other_side_waits(harness, clock):
    is_other_waiting = iter([True, False, True, True])
    watch = LimitWatch(child(), replace(harness, is_awaited=lambda _: next(is_other_waiting)))
    watch.hear(started())

    troubles = []
    for clock.now in (1.0, 12.0, 13.0, 22.9):
        troubles.append(watch.trouble())

    assert troubles == [None] * 4


def test_a_short_time_limit_shortens_the_time_to_be_idle(harness, clock):
    limits = replace(harness.limits, workload_s=4.0)
    watch = LimitWatch(child(), replace(harness, limits=limits, is_awaited=lambda _: True))
    watch.hear(started())
    clock.now = 0.2
    watch.trouble()
    clock.now = 1.2

    trouble = watch.trouble()

    assert trouble is not None
    assert trouble[1].startswith("it waited 1 s without using a core")


def test_steps_that_sleep_are_measured(harness, clock):
    watch = LimitWatch(child(), replace(harness, is_awaited=lambda _: True))
    watch.hear(started())
    watch.hear(SamplingMessage(version=2, workload="m:f"))
    results = []
    for clock.now in (1.0, 12.0, 30.0):
        results.append(watch.trouble())

    assert results == [None] * 3


IDLE_S = 10.0


def is_idle(*readings, at_s=12.0, begin_s=1.0):
    """Return whether a child is idle that is first looked at at `begin_s`."""
    found_readings = iter(readings)
    watch = IdleWatch(lambda: next(found_readings))
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


def compiling(steps, compiling_steps, compile_s):
    return CompilingMessage(
        version=2,
        workload="m:f",
        steps=steps,
        compiling_steps=compiling_steps,
        seconds=90.0,
        compile_s=compile_s,
    )


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (None, ""),
        (compiling(4, 3, 44.9), ""),
        (compiling(1, 1, 80.0), " (compiling took 80 of 90 s)"),
        (
            compiling(4, 3, 80.0),
            (
                " (at least 3 of 4 steps compiled for 80 of 90 s: let all steps have the same "
                "shapes, padded, or sizes marked as dynamic)"
            ),
        ),
    ],
)
def test_steps_that_compile_again_are_named_where_time_runs_out(harness, clock, message, words):
    watch = LimitWatch(child(), harness)
    watch.hear(started())
    if message is not None:
        watch.hear(message)
    clock.now = 100.1

    late = f"it did not end within 100 s while setting up or warming up{words}"
    assert watch.trouble() == (FailureReason.HUNG, late)
    watch.hear(started())  # the next one has not compiled
    clock.now = 200.3
    assert "compil" not in str(watch.trouble())


@pytest.mark.parametrize(
    ("share", "now", "is_over"), [(0.4, 80.0, False), (0.4, 81.0, True), (1.0, 81.0, False)]
)
def test_a_workload_takes_no_more_than_its_share_of_the_rest_of_the_budget(
    harness, clock, share, now, is_over
):
    limits = replace(harness.limits, workload_s=1000.0, workload_share=share)
    clock.now = 10.0
    watch = LimitWatch(child(), replace(harness, limits=limits, ends_at=160.0))
    watch.hear(started())
    watch.hear(SamplingMessage(version=2, workload="m:f"))
    clock.now += 10.0
    watch.wait(10.0)  # the other side's turn
    clock.now += now - 20.0

    assert (watch.trouble() is not None) == is_over
    assert not is_over or watch.trouble() == (
        FailureReason.BUDGET,
        "it was not done after 60 s, 40 % of what was left of the budget, while being measured",
    )


def test_an_import_takes_no_more_than_its_share_of_the_rest_of_the_budget(harness, clock):
    limits = replace(harness.limits, startup_s=1000.0, startup_share=0.3)
    watch = LimitWatch(child(), replace(harness, limits=limits, ends_at=100.0))
    clock.now = 20.0
    watch.hear(ImportingMessage(version=2, path="w.py"))
    clock.now = 44.0

    assert watch.trouble() is None

    clock.now = 44.1

    assert watch.trouble() == (
        FailureReason.BUDGET,
        "it was not done after 24 s, 30 % of what was left of the budget, while importing w.py",
    )
