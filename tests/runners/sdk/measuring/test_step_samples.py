import itertools
import math
import statistics
import weakref
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.measuring.core_use import HostProbe
from perfledger.measuring.step_samples import FIRST_BLOCK, MAX_SAMPLES, MAX_STANDARD_ERROR, measure
from perfledger.measuring.timed_step import warm_up
from perfledger.meters.clock import HostClock
from perfledger.protocol import MeasuringEffort

EFFORT = MeasuringEffort(min_warmups=3, max_warmups=12, max_warmup_seconds=100.0)


def step():
    pass


def set_up():
    return step


def steps_of(clock, effort):
    """Every sample, without a warm-up before."""
    return measure(set_up, clock, effort=replace(effort, min_warmups=0, max_warmups=0)).steps_s


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([1.0] * 20, 6, id="steady from the start"),
        pytest.param([9.0, 5.0, 2.0] + [1.0] * 20, 8, id="compiling first"),
        pytest.param([1.0, 1.0, 7.0] + [1.0] * 20, 6, id="one odd step"),
        pytest.param([2.0**n for n in range(20)], 7, id="out of time"),
        pytest.param([(1 + n % 2 * 9) * 0.9**n for n in range(20)], 12, id="never steady"),
    ],
)
def test_warm_up_ends_when_two_windows_agree_or_the_effort_is_spent(
    scripted_clock, times, expected
):
    assert warm_up(step, scripted_clock(times), effort=EFFORT) == tuple(times[:expected])


@pytest.mark.parametrize(("ratio", "expected"), [(1.049, 6), (1.051, 8)])
def test_windows_agree_within_five_percent(scripted_clock, ratio, expected):
    times = [1.0] * 3 + [ratio] * 20

    assert len(warm_up(step, scripted_clock(times), effort=EFFORT)) == expected


def test_the_fewest_warm_ups_are_made_whatever_they_take(scripted_clock):
    effort = MeasuringEffort(min_warmups=4, max_warmup_seconds=1.0)

    assert len(warm_up(step, scripted_clock([60.0] * 9), effort=effort)) == 4


def test_quiet_samples_end_at_the_first_look(scripted_clock):
    effort = MeasuringEffort(min_steps=10, min_seconds=5.0)

    assert steps_of(scripted_clock([1.0] * 99), effort=effort) == (1.0,) * 10


def test_a_quiet_but_short_series_goes_on_until_the_seconds_are_full(scripted_clock):
    effort = MeasuringEffort(min_steps=10, min_seconds=30.0, max_seconds=60.0)

    assert len(steps_of(scripted_clock([1.0] * 99), effort=effort)) == 30


def test_noisy_samples_end_at_the_most_steps(scripted_clock):
    effort = MeasuringEffort(min_steps=10, max_steps=45, min_seconds=0.0, max_seconds=1e9)
    noisy = itertools.cycle([1.0, 2.0])

    assert len(steps_of(scripted_clock(noisy), effort=effort)) == 45


def test_slow_steps_end_when_the_time_is_over_but_not_before_the_fewest(scripted_clock):
    effort = MeasuringEffort(min_steps=4, max_steps=99, max_seconds=30.0)
    noisy = [10.0, 20.0] * 50

    assert len(steps_of(scripted_clock(noisy), effort=effort)) == 4


def test_a_look_does_not_overrun_the_time_by_a_whole_block(scripted_clock):
    effort = MeasuringEffort(min_steps=2, max_steps=99, min_seconds=0.0, max_seconds=10.0)
    noisy = [1.0, 3.0] * 50

    assert sum(steps_of(scripted_clock(noisy), effort=effort)) <= 10.0 + 3.0


@pytest.mark.parametrize("seconds", [1e-7, 0.0])
def test_steps_that_take_next_to_nothing_end_at_the_most_that_are_kept(scripted_clock, seconds):
    clock = scripted_clock(itertools.repeat(seconds))

    assert len(steps_of(clock, effort=MeasuringEffort())) == MAX_SAMPLES


def test_one_step_is_never_quiet(scripted_clock):
    effort = MeasuringEffort(min_steps=1, max_steps=3, min_seconds=0.0, max_seconds=9.0)

    assert len(steps_of(scripted_clock([1.0] * 9), effort=effort)) == 3


def test_two_equal_steps_are_quiet(scripted_clock):
    effort = MeasuringEffort(min_steps=2, max_steps=9, min_seconds=0.0, max_seconds=9.0)

    assert len(steps_of(scripted_clock([1.0] * 9), effort=effort)) == 2


@pytest.mark.slow(ci_only=True)
@settings(deadline=None)
@given(times=st.lists(st.floats(0.5, 2.0), min_size=200, max_size=200), fewest=st.integers(2, 30))
def test_sampling_ends_quiet_or_with_its_effort_spent(scripted_clock, times, fewest):
    effort = MeasuringEffort(min_steps=fewest, max_steps=100, min_seconds=10.0, max_seconds=60.0)

    samples = steps_of(scripted_clock(times), effort=effort)

    noise = statistics.stdev(samples) / math.sqrt(len(samples)) / statistics.fmean(samples)
    is_spent = len(samples) >= effort.max_steps or sum(samples) >= effort.max_seconds
    assert samples == tuple(times[: len(samples)])
    assert len(samples) >= fewest
    assert sum(samples) >= effort.min_seconds
    assert noise < MAX_STANDARD_ERROR or is_spent


def test_measuring_says_when_sampling_begins(scripted_clock):
    calls = []
    effort = MeasuringEffort(min_steps=FIRST_BLOCK, min_seconds=0.0)

    sampled = measure(
        lambda: lambda: calls.append("step"),
        scripted_clock([1.0] * 99),
        effort=effort,
        on_sampling=lambda: calls.append("sampling"),
    )

    assert calls.index("sampling") == len(sampled.warmups_s) == 6
    assert len(calls) == 6 + 1 + len(sampled.steps_s) + 1  # the last is examined, not timed


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(None, [4, 4, 4, 4, 5], id="one after the other"),
        pytest.param(lambda: None, [4, 4, 4, 4, 5], id="in turns"),
    ],
)
def test_the_samples_are_shared_evenly_among_the_set_ups(scripted_clock, turn, expected):
    steps = []

    def set_up():
        steps.append(0)
        number = len(steps) - 1

        def count():
            steps[number] += 1

        return count

    sampled = measure(
        set_up,
        scripted_clock([0.1] * 999),
        effort=MeasuringEffort(min_warmups=3, min_steps=20, min_seconds=1.0, max_seconds=1.0),
        set_ups=5,
        turn=turn,
    )

    warm_ups = [6, 3, 3, 3, 3]  # the first one has to find out what steady is
    assert len(sampled.warmups_s) == sum(warm_ups)
    assert [one - warm for one, warm in zip(steps, warm_ups, strict=True)] == expected


class World:
    """A wall clock that only set-ups and steps advance."""

    def __init__(self, step_times_s):
        self.now_s = 100.0
        self._step_times_s = iter(step_times_s)
        self.host = HostProbe(wall=lambda: self.now_s)

    def set_up(self):
        self.now_s += 2.0
        return step

    def time(self, step):
        step()
        step_s = next(self._step_times_s)
        self.now_s += step_s
        return step_s


def test_the_measured_steps_of_each_set_up_have_a_begin_and_an_end():
    world = World([0.125] * 999)
    effort = MeasuringEffort(min_steps=2, min_seconds=1.0, max_seconds=1.0, edge_seconds=0.25)

    sampled = measure(world.set_up, world, effort=effort, set_ups=2, host=world.host)

    # Each takes half of the second and the edge; between them are a set-up and three warm-ups.
    assert sampled.spans_s == ((0.0, 0.75), (3.125, 3.875))
    assert len(sampled.steps_s) == 12


@pytest.mark.parametrize("set_ups", [1, 3, 20])
def test_short_steps_of_several_set_ups_are_no_more_samples_than_those_of_one(set_ups):
    world = World(itertools.repeat(1e-4))
    effort = MeasuringEffort(min_seconds=1.0, edge_seconds=0.36)

    sampled = measure(world.set_up, world, effort=effort, set_ups=set_ups, host=world.host)

    assert MAX_SAMPLES <= len(sampled.steps_s) <= MAX_SAMPLES + set_ups


def test_steps_that_settled_are_before_the_measured_ones_and_turns_have_no_span():
    effort = MeasuringEffort(min_steps=30, max_seconds=100.0, max_warmup_seconds=100.0)
    settling, steady = World([1.5] * 12 + [1.0] * 40), World([0.125] * 99)

    sampled = measure(settling.set_up, settling, effort=effort, host=settling.host)
    in_turns = measure(
        steady.set_up, steady, effort=MeasuringEffort(), host=steady.host, turn=lambda: None
    )

    assert sampled.warmups_s == (1.5,) * 12  # six of them came after the warm-up
    assert sampled.spans_s == ((6 * 1.5, 6 * 1.5 + sum(sampled.steps_s)),)
    assert in_turns.spans_s == ()


@pytest.mark.parametrize("step_s", [8e-6, 1e-4, 1e-3, 0.011, 0.016, 0.03, 0.035])
def test_a_shorter_pair_has_fewer_turns_of_the_same_length(step_s):
    def turns(most):
        steps = World([step_s] * 4000)
        effort = MeasuringEffort(max_seconds=0.75, max_turns=most)
        return measure(steps.set_up, steps, effort=effort, host=steps.host, turn=lambda: None).turns

    usual = turns(None)

    assert turns(20) == usual[:20]
    assert turns(99) == usual
    assert len(usual) > 20


def test_a_set_up_finds_the_step_before_it_let_go(scripted_clock):
    alive: weakref.WeakSet[object] = weakref.WeakSet()
    results = []

    class Step:
        def __call__(self):
            pass

    def set_up():
        results.append(len(alive))
        new = Step()
        alive.add(new)
        return new

    measure(
        set_up, scripted_clock([0.1] * 999), effort=MeasuringEffort(), set_ups=3, turn=lambda: None
    )

    assert results == [0, 0, 0]


def test_every_set_up_has_a_turn_even_if_one_would_do(scripted_clock):
    calls = []
    effort = MeasuringEffort(min_steps=1, max_seconds=0.0, max_turns=1)
    clock = scripted_clock([0.1] * 99)

    def set_up():
        calls.append(1)
        return step

    sampled = measure(set_up, clock, effort=effort, set_ups=3, turn=lambda: None)

    assert (len(calls), len(sampled.turns)) == (3, 3)


def test_setting_up_anew_waits_for_the_turn(scripted_clock):
    calls = []

    def set_up():
        calls.append("set up")
        return step

    measure(
        set_up,
        scripted_clock([0.1] * 999),
        effort=MeasuringEffort(min_steps=1, max_seconds=0.4),
        set_ups=2,
        turn=lambda: calls.append("turn"),
    )

    assert calls == ["set up", "turn", "turn", "turn", "set up", "turn", "turn"]


def test_something_may_be_done_after_every_step_warm_ups_too(scripted_clock):
    calls = []

    sampled = measure(
        set_up,
        scripted_clock([1.0] * 99),
        effort=MeasuringEffort(min_seconds=0.0),
        after_step=lambda: calls.append(1),
    )

    assert len(calls) == len(sampled.warmups_s) + len(sampled.steps_s) + 1


class Host:
    """A host on which each step takes two seconds, one of them on a core."""

    def __init__(self, scripted_clock):
        self.now = 0.0
        self.clock = scripted_clock([2.0] * 99)

    def set_up(self):
        def step():
            self.now += 1.0

        return step

    def probe(self):
        return HostProbe(
            wall=lambda: 2 * self.now,
            cpu=lambda: self.now,
            thread=lambda: self.now / 2,
            queued=lambda: self.now / 4,
            clock_step=lambda: 1e-9,
            cores=lambda: 2,
        )

    def measure(self, **options):
        return measure(self.set_up, self.clock, host=self.probe(), **options)


def test_the_use_of_cores_is_watched_while_steps_are_timed_and_not_before(scripted_clock):
    sampled = Host(scripted_clock).measure(
        effort=MeasuringEffort(min_warmups=3, max_warmups=3, min_steps=8, max_steps=8)
    )

    assert len(sampled.warmups_s) == 3
    assert sampled.cores.cpu_time_s == (1.0,)
    assert sampled.cores.active == 0.25


def test_every_turn_has_its_own_cpu_time(scripted_clock):
    sampled = Host(scripted_clock).measure(
        effort=MeasuringEffort(max_warmups=3, min_steps=1, max_seconds=20.0), turn=lambda: None
    )

    times = sampled.cores.times
    assert len(sampled.turns) == 10
    assert sampled.cores.cpu_time_s == (1.0,) * 10
    assert (times.elapsed_s, times.queued_s, times.helpers_s) == (
        (2.0,) * 10,
        (0.25,) * 10,
        (0.5,) * 10,
    )


def test_the_hosts_clock_times_the_step_itself():
    calls = []

    assert HostClock().time(lambda: calls.append(1)) > 0
    assert calls == [1]


@pytest.mark.parametrize(("last_s", "has_ended"), [(0.25, True), (0.1875, False)])
def test_noisy_samples_end_at_exactly_two_seconds_by_default(scripted_clock, last_s, has_ended):
    times = [0.25, 0.125] * 4 + [0.25, last_s]  # 2 s, or 1 / 16 s less

    steps = steps_of(scripted_clock(times + [0.125] * 30), effort=MeasuringEffort())

    assert (len(steps) == len(times)) is has_ended


def test_quiet_samples_take_half_a_second_by_default(scripted_clock):
    assert len(steps_of(scripted_clock([1 / 32] * 99), effort=MeasuringEffort())) == 16


def test_noisy_short_steps_are_thirty_by_default(scripted_clock):
    times = [1 / 64, 1 / 16] * 50

    assert len(steps_of(scripted_clock(times), effort=MeasuringEffort())) == 30


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([15.0, 14.0, 0.5, 0.5] + [1.0] * 9, 4, id="exactly 30 s are spent"),
        pytest.param([15.0, 14.0, 0.5, 0.25] + [1.0] * 9, 5, id="a quarter of a second less"),
        pytest.param([60.0] * 9, 3, id="three at least"),
        pytest.param([(1 + n % 2 * 9) * 0.9**n / 100 for n in range(99)], 30, id="thirty at most"),
    ],
)
def test_the_default_warm_up(scripted_clock, times, expected):
    assert len(warm_up(step, scripted_clock(times), effort=MeasuringEffort())) == expected
