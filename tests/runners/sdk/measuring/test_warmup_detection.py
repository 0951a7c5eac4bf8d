"""The first steps that are measured may still be of the warm-up."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.measuring.change_point import MAX_FALSE_CUTS
from perfledger.measuring.step_samples import measure
from perfledger.measuring.timed_step import MAX_FIRST_STEPS, count_warmup_steps
from perfledger.protocol import MeasuringEffort
from tests.suite.tries import tries

# Ten steps that differ by a hundredth, as those of a quiet device do.
QUIET = (1.0, 1.01, 0.99, 1.005, 0.995, 1.01, 0.99, 1.0, 1.005, 0.995)
EFFORT = MeasuringEffort(min_steps=10, min_seconds=0.0, max_seconds=60.0)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param(QUIET * 3, 0, id="steady"),
        pytest.param((1.0,) * 30, 0, id="always the same"),
        pytest.param((2.0,) * 6 + (1.0,) * 24, 6, id="slow at first"),
        pytest.param((0.9,) * 6 + (1.0,) * 24, 6, id="fast at first"),
        pytest.param(
            (1.5,) * 4 + (0.9,) + (1.5,) * 4 + (1.0,) * 20, 9, id="one fast step at first"
        ),
        pytest.param((2.0,) * 6 + (1.0,) * 10 + (9.0,) + (1.0,) * 8, 6, id="one slow step later"),
        pytest.param((9.0, *QUIET, *QUIET), 0, id="one slow step at first"),
        pytest.param((*QUIET, *QUIET, 2.0), 0, id="one slow step at the end"),
        pytest.param((2.0,) * 5 + (1.0,) * 5, 0, id="too few to tell"),
        pytest.param((2.0,) * 5 + (1.0,) * 6, 5, id="just enough to tell"),
        pytest.param((), 0, id="none"),
    ],
)
def test_a_change_point_parts_the_warm_up_from_the_rest(times, expected):
    assert count_warmup_steps(times) == expected


@given(st.lists(st.floats(0, 1e3), max_size=2 * MAX_FIRST_STEPS))
def test_never_more_than_the_first_half_is_cut(times):
    assert 0 <= count_warmup_steps(times) <= min(len(times), MAX_FIRST_STEPS) // 2


@given(st.lists(st.floats(0.1, 10), max_size=30), st.sampled_from([0.25, 8.0]))
def test_the_unit_moves_no_change_point(times, factor):
    assert count_warmup_steps([factor * time for time in times]) == count_warmup_steps(times)


NOISES = {
    "normal": lambda draw: draw.gauss(1, 0.01),
    "skewed": lambda draw: 1 + draw.expovariate(50),
    "with outliers": lambda draw: 1 + 0.01 * draw.paretovariate(0.8),
    "in clock ticks": lambda draw: float(draw.randint(1, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, 8, 10, 12, 20, MAX_FIRST_STEPS])
@pytest.mark.parametrize("noise", NOISES)
def test_steady_steps_are_seldom_cut_whatever_their_noise(noise, count):
    draw, runs = random.Random(1), tries(4000)

    cut = sum(
        count_warmup_steps([NOISES[noise](draw) for _ in range(count)]) > 0 for _ in range(runs)
    )

    assert cut <= MAX_FALSE_CUTS * runs


def test_steps_that_get_faster_late_are_warm_ups_and_made_up_for(scripted_clock):
    times = [1.5] * 12 + [1.0] * 40

    sampled = measure(lambda: int, scripted_clock(times), effort=EFFORT)

    assert sampled.warmups_s == (1.5,) * 12
    assert set(sampled.steps_s) == {1.0}
    assert len(sampled.steps_s) >= EFFORT.min_steps


def test_warm_ups_stay_within_their_effort(scripted_clock):
    times = [0.9**n for n in range(60)]

    many = measure(lambda: int, scripted_clock(times), effort=EFFORT)
    few = measure(lambda: int, scripted_clock(times), effort=replace(EFFORT, max_warmups=7))
    brief = measure(
        lambda: int,
        scripted_clock([1.5] * 12 + [1.0] * 40),
        effort=replace(EFFORT, max_warmup_seconds=8),
    )

    assert len(many.warmups_s) <= EFFORT.max_warmups
    assert len(few.warmups_s) <= 7
    assert brief.warmups_s == (1.5,) * 6
    assert min(len(few.steps_s), len(many.steps_s)) >= EFFORT.min_steps


def test_the_steps_that_make_up_for_late_warm_ups_are_not_looked_at_again(scripted_clock):
    stairs = [3.0] * 12 + [2.0] * 16 + [1.0] * 60

    sampled = measure(lambda: int, scripted_clock(stairs), effort=EFFORT)

    assert sampled.warmups_s == (3.0,) * 12 + (2.0,) * 9
    assert sampled.steps_s == (2.0,) * 7 + (1.0,) * 23


def test_the_first_steps_of_a_later_set_up_are_measured(scripted_clock):
    times = [1.0] * (6 + 10 + 3) + [2.0] * 6 + [1.0] * 60
    effort = replace(EFFORT, min_steps=20, max_steps=60)

    sampled = measure(lambda: int, scripted_clock(times), effort=effort, set_ups=2)

    assert sampled.warmups_s == (1.0,) * 9
    assert sampled.steps_s == (1.0,) * 10 + (2.0,) * 6 + (1.0,) * 18  # 30 s
