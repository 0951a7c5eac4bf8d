"""Real steps that a clock ends, and others that only ask one."""

import sys
import time
from time import monotonic, perf_counter_ns

import pytest

from perfledger.measuring import clock_bound
from perfledger.measuring.clock_bound import MAX_STEP_S, ends_by_clock

LIMIT_S = 0.2  # of a step that a clock ends: other programs delay the end of a shorter one


def until_limit():
    ends_at = time.perf_counter() + LIMIT_S
    while time.perf_counter() < ends_at:
        sum(range(100))


def until_limit_of_own_name():
    ends_at = monotonic() + LIMIT_S
    while monotonic() < ends_at:
        sum(range(100))


def until_limit_in_nanoseconds():
    ends_at = perf_counter_ns() + int(LIMIT_S * 1e9)
    while perf_counter_ns() < ends_at:
        sum(range(100))


def below_limit():
    ends_at = time.monotonic() + 60
    for _ in range(50):
        assert time.monotonic() < ends_at
        sum(range(100))


def timed_by_itself():
    began = time.perf_counter()
    sum(range(100))
    return time.perf_counter() - began


def test_a_step_that_is_done_before_its_time_limit_is_not_ended_by_a_clock(monkeypatch):
    """With clocks four times as fast it ends at a quarter of its limit, at half of its work."""
    now_s, work_s, limit_s = [0.0], 0.12, 0.2
    waits_s: list[float] = []  # of the next steps

    def clock():
        return now_s[0]

    def step():
        began = time.perf_counter()
        done_s = 0.0
        while done_s < work_s and time.perf_counter() - began < limit_s:
            now_s[0] += 0.001
            done_s += 0.001
        now_s[0] += waits_s.pop(0) if waits_s else 0.0

    monkeypatch.setattr(clock_bound, "CLOCKS", (clock,))
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(clock_bound, "_asking_places", lambda _: [vars(time)])
    step()
    assert now_s[0] == pytest.approx(work_s)

    assert not ends_by_clock(step, [work_s])
    work_s = 60.0
    assert ends_by_clock(step, [limit_s])
    # Beside other programs most steps wait for a core, and so may a step with faster clocks.
    assert ends_by_clock(step, [limit_s, *[5 * limit_s] * 5])
    waits_s += [9.0, 0.0, 9.0]
    assert ends_by_clock(step, [limit_s])
    assert waits_s == []


@pytest.mark.parametrize("step", [until_limit, until_limit_of_own_name, until_limit_in_nanoseconds])
def test_a_step_that_a_clock_ends_is_found(step):
    real = dict(vars(time)), monotonic, perf_counter_ns

    assert any(ends_by_clock(step, [LIMIT_S, LIMIT_S, 2 * LIMIT_S]) for _ in range(20))

    assert (dict(vars(time)), monotonic, perf_counter_ns) == real
    assert sys.getprofile() is None


@pytest.mark.parametrize("step", [below_limit, timed_by_itself, lambda: None])
def test_a_step_that_only_asks_a_clock_is_not_ended_by_it(step):
    # No run of these steps takes less than this, and none is ended by a clock.
    assert not ends_by_clock(step, [1e-9])


def test_a_step_that_does_not_ask_again_and_again_runs_once():
    calls = []

    assert not ends_by_clock(lambda: calls.append(timed_by_itself()), [LIMIT_S])
    assert len(calls) == 1


@pytest.mark.parametrize("steps_s", [[], [0.0], [2 * MAX_STEP_S]])
def test_long_steps_and_unknown_ones_do_not_run(steps_s):
    calls = []

    assert not ends_by_clock(lambda: calls.append(1), steps_s)
    assert calls == []


def test_steps_do_not_run_beside_a_compiler_of_frames(monkeypatch):
    monkeypatch.setattr(clock_bound, "MODULES_THAT_COMPILE", ("sys",))

    assert not ends_by_clock(until_limit, [LIMIT_S])


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyError])
def test_a_step_without_more_data_is_not_ended_by_a_clock(error):
    def step():
        raise error

    assert not ends_by_clock(step, [LIMIT_S])
    assert sys.getprofile() is None


def test_a_step_whose_calls_are_watched_already_does_not_run():
    calls = []
    sys.setprofile(lambda *_: None)
    try:
        assert not ends_by_clock(lambda: calls.append(1), [LIMIT_S])
    finally:
        sys.setprofile(None)
    assert calls == []
