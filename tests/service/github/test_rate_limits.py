"""The waits that GitHub asks for, and a gate that keeps them."""

import math
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.rate_limits import (
    MAX_SECONDARY_WAIT_S,
    MAX_WAIT_S,
    RateGate,
    announced_wait_s,
    is_limit,
)
from perfledger_service.values.jobs.write_turn import WriteTurn

DATE = "Fri, 20 Nov 2026 12:00:00 GMT"
NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def gate(clock):
    return RateGate(sleep=clock.sleep, monotonic=lambda: clock.now)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "7", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 10}, 7.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOON + 600)}, 601.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOON - 5)}, 1.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 12}, MAX_WAIT_S),
        ({"Retry-After": "9" * 9}, MAX_WAIT_S),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "12", "x-ratelimit-reset": str(NOON + 600)}, None),
        ({"Retry-After": DATE}, None),
        ({}, None),
    ],
)
def test_the_wait_is_what_the_headers_say_by_the_answers_own_clock(headers, wait_s):
    assert announced_wait_s(headers | {"Date": DATE}) == wait_s


def test_without_a_date_the_reset_is_compared_with_our_clock():
    past = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000", "Date": "today"}

    assert announced_wait_s(past) == 1.0


@pytest.mark.parametrize(
    ("status", "headers", "reason", "expected"),
    [
        (403, {}, "API rate limit exceeded", True),
        (403, {}, "You have exceeded a secondary rate limit", True),
        (429, {"Retry-After": "1"}, "", True),
        (403, {"x-ratelimit-remaining": "0"}, "", True),
        (403, {"x-ratelimit-remaining": "1"}, "Resource not accessible", False),
        (503, {"Retry-After": "1"}, "rate limit", False),
    ],
)
def test_a_limit_is_told_from_what_is_not_allowed(status, headers, reason, expected):
    assert is_limit(status, headers, reason) is expected


def test_a_gate_is_closed_until_the_time_that_github_gave(gate, clock):
    assert gate.note_limit({"Retry-After": "600"}) == 600.0
    clock.now += 599.0
    with pytest.raises(GitHubError, match="used up for 1 s") as caught:
        gate.check()
    clock.now += 1.0
    gate.check()

    assert (caught.value.is_transient, caught.value.wait_s) == (True, 1.0)


def test_a_shorter_wait_does_not_open_a_gate_early(gate, clock):
    gate.note_limit({"Retry-After": "600"})
    gate.note_limit({"Retry-After": "1"})
    clock.now += 599.0

    with pytest.raises(GitHubError):
        gate.check()


def test_a_secondary_limit_lasts_a_minute_and_then_twice_as_long_each_time(gate):
    waits = [gate.note_limit({}) for _ in range(8)]

    assert waits == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0, MAX_SECONDARY_WAIT_S]
    gate.note_success()
    assert gate.note_limit({}) == 60.0


def test_writes_are_a_second_apart(gate, clock):
    for _ in range(3):
        with gate.writing():
            clock.now += 0.25

    assert clock.slept == [1.0, 1.0]


def test_a_write_that_waited_for_one_that_met_the_limit_is_not_sent(gate):
    with gate.writing():
        gate.note_limit({"Retry-After": "60"})

    with pytest.raises(GitHubError), gate.writing():
        raise AssertionError


HEADERS = {
    "x-ratelimit-limit": "5000",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": str(NOON + 60),
    "Date": DATE,
}


def test_a_gate_knows_no_limit_before_an_answer_told_one(gate):
    assert gate.limit is None


def test_a_gate_knows_the_limit_of_the_last_answer_that_told_one(gate, clock):
    gate.note_answer(HEADERS)
    gate.note_answer({})

    limit = gate.limit
    assert (limit.limit, limit.remaining, limit.wait_s) == (5000, 0, None)
    assert limit.resets_at.timestamp() == NOON + 60
    gate.note_limit(HEADERS)
    assert gate.limit.wait_s == 61.0
    clock.sleep(61)
    assert gate.limit.wait_s is None


@pytest.mark.parametrize("reset", ["", "-1", "1e9", "\u0663", "9" * 11, "soon"])
def test_a_limit_that_cannot_be_read_is_none(gate, reset):
    gate.note_answer(HEADERS | {"x-ratelimit-reset": reset})

    assert gate.limit is None


class Turns:
    """Turns of several processes, with what the next one is told."""

    def __init__(self, **state):
        self.state, self.ends = {"idle_s": math.inf, "closed_s": 0.0} | state, []

    @contextmanager
    def turn(self, installation, closed_s):
        yield WriteTurn(**self.state)
        self.ends.append((installation, closed_s()))


def gate_with(turns, clock):
    return RateGate(installation="41", turns=turns, sleep=clock.sleep, monotonic=lambda: clock.now)


@pytest.mark.parametrize(
    ("idle_s", "slept"), [(math.inf, []), (0.25, [0.75]), (1.0, []), (-3600.0, [1.0])]
)
def test_a_write_keeps_its_distance_from_those_of_other_processes(clock, idle_s, slept):
    turns = Turns(idle_s=idle_s)
    with gate_with(turns, clock).writing():
        pass

    assert clock.slept == slept
    assert turns.ends == [("41", 0.0)]


def test_a_limit_that_another_process_met_closes_the_gate(clock):
    turns = Turns(closed_s=60.0)
    gate = gate_with(turns, clock)

    with pytest.raises(GitHubError, match="used up for 60 s"), gate.writing():
        raise AssertionError
    with pytest.raises(GitHubError, match="used up for 60 s"):
        gate.check()


def test_a_limit_is_told_to_other_processes_for_as_long_as_it_lasts(clock):
    turns = Turns()
    gate = gate_with(turns, clock)
    with gate.writing():
        gate.note_limit({"Retry-After": "90"})
        clock.sleep(30)

    assert turns.ends == [("41", 60.0)]
