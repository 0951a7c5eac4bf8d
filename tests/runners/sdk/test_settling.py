"""The first steps that are measured may still be of the warm-up."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.measure import measure
from perfledger.protocol import Effort
from perfledger.settling import MOST_STEPS, SURE, unsettled

# Ten steps that differ by a hundredth, as those of a quiet device do.
QUIET = (1.0, 1.01, 0.99, 1.005, 0.995, 1.01, 0.99, 1.0, 1.005, 0.995)
EFFORT = Effort(min_steps=10, min_seconds=0.0, max_seconds=60.0)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param(QUIET, 0, id="steady"),
        pytest.param((1.0,) * 10, 0, id="always the same"),
        pytest.param((2.0, 2.01, 1.99, *QUIET), 3, id="slow at first"),
        pytest.param((0.9, 0.91, *QUIET), 2, id="fast at first"),
        pytest.param((2.0, 2.0, 1.0, 1.0, 1.0, 1.0), 2, id="without any noise"),
        pytest.param((*QUIET, 2.0), 0, id="one slow step at the end"),
        pytest.param((2.0,) * 8 + QUIET[:3], 0, id="a change after the middle"),
        pytest.param((2.0, 1.0, 1.0, 1.0, 1.0), 0, id="too few to tell"),
    ],
)
def test_a_change_point_parts_the_warm_up_from_the_rest(times, expected):
    assert unsettled(times) == expected


@given(st.lists(st.floats(0, 1e3), max_size=2 * MOST_STEPS))
def test_never_more_than_the_first_half_is_cut(times):
    assert 0 <= unsettled(times) <= min(len(times), MOST_STEPS) // 2


@given(st.lists(st.floats(0.1, 10), max_size=30), st.sampled_from([0.25, 8.0]))
def test_the_unit_moves_no_change_point(times, factor):
    assert unsettled([factor * time for time in times]) == unsettled(times)


def test_steady_steps_with_noise_are_seldom_cut():
    draw = random.Random(1)

    cut = sum(unsettled([draw.gauss(1, 0.01) for _ in range(10)]) > 0 for _ in range(1000))

    assert SURE == 4.0
    assert cut < 40


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
