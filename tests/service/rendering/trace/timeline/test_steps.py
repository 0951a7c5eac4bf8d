from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.records import Side
from perfledger_service.rendering.trace.timeline.steps import step_timelines
from perfledger_service.rendering.trace.timeline.timeline import StepWindow

WHOLE_US = 7740  # of the slower of the two steps


@pytest.fixture
def sides(make):
    return {Side.BASE: make.profile(Side.BASE, softmax_s=0.001), Side.HEAD: make.profile()}


@pytest.fixture
def timelines_of(sides):
    def timelines_of(start_us=None, end_us=None):
        window = None
        if start_us is not None:
            window = StepWindow(start_seconds=start_us / 1e6, end_seconds=end_us / 1e6)
        return step_timelines(sides, workload="m:f", window=window)

    return timelines_of


def links(view):
    return {one.words: (one.start_us, one.end_us) for one in view.links}


def test_both_steps_stand_on_the_axis_of_the_longer_one(timelines_of):
    view = timelines_of()

    assert [side for side, _ in view.sides] == ["base", "head"]
    assert (view.start_us, view.end_us) == (0, pytest.approx(WHOLE_US, abs=50))
    assert view.part.replace("\u00a0", " ") == "The whole step, 7.74 ms"
    assert list(links(view)) == ["Zoom in", "Begin", "Middle", "End"]


def test_a_part_of_the_step_leads_to_its_neighbours_and_back(timelines_of):
    view = timelines_of(2000, 4000)

    assert view.part.replace("\u00a0", " ") == "2.00 ms to 4.00 ms of 7.74 ms"
    assert links(view) == {
        "Zoom in": (2500, 3500),
        "Zoom out": (1000, 5000),
        "Earlier": (1000, 3000),
        "Later": (3000, 5000),
        "Whole step": (0, timelines_of().end_us),
    }
    assert "A part of one step of base" in view.sides[0][1]


def test_a_part_beyond_the_step_is_the_whole(timelines_of):
    assert timelines_of(10**9, 10**9 + 5) == timelines_of()
    assert timelines_of(0, 10**9) == timelines_of()
    assert timelines_of(7000, 10**9).end_us == timelines_of().end_us


def test_steps_without_calls_have_no_timelines(sides):
    bare = {side: replace(one, slices=()) for side, one in sides.items()}

    assert step_timelines(bare, workload="m:f") is None


def test_each_link_leads_to_a_part_within_the_step(timelines_of):
    whole_end_us = timelines_of().end_us

    @settings(max_examples=40)
    @given(st.integers(0, 9000), st.integers(1, 9000))
    def holds(start, length):
        view = timelines_of(start, start + length)
        for low, high in links(view).values():
            assert 0 <= low < high <= whole_end_us

    holds()
