"""Shapes of one window with the times of another."""

from dataclasses import replace

import pytest

from perfledger.profile import ProfileReading
from perfledger_profiles.torch_profiler.recorded_shapes import with_shapes


def operation(make, name, seconds, *, shapes="", count=1.0, path=""):
    return replace(make.operation(name, seconds), shapes=shapes, count=count, path=path)


def times(profile):
    return {
        (one.name, one.path, one.shapes): (one.seconds, one.count) for one in profile.operations
    }


def test_seconds_and_calls_are_divided_among_the_shapes_of_a_place(make):
    shaped = make.profile(
        operation(make, "mm", 6.0, shapes="[8,8]", count=1.0),
        operation(make, "mm", 2.0, shapes="[4,4]", count=3.0),
        operation(make, "mm", 5.0, shapes="[2,2]", count=1.0, path="block"),
    )
    timed = make.profile(
        operation(make, "mm", 4.0, count=4.0), operation(make, "mm", 3.0, count=1.0, path="block")
    )

    assert times(with_shapes(timed, shaped)) == {
        ("mm", "", "[8,8]"): (3.0, 1.0),
        ("mm", "", "[4,4]"): (1.0, 3.0),
        ("mm", "block", "[2,2]"): (3.0, 1.0),
    }


def test_the_step_stays_as_it_was_timed(make):
    shaped = make.profile(
        *(operation(make, "mm", 1.0 + n, shapes=f"[{n}]") for n in range(7)),
        operation(make, "gone", 1.0),
    )
    timed = make.profile(operation(make, "mm", 4.0), operation(make, "new", 2.5))

    profile = with_shapes(timed, shaped)

    assert profile.step_seconds == timed.step_seconds
    assert sum(one.seconds for one in profile.operations) == pytest.approx(6.5)
    assert ("new", "", "") in times(profile)
    assert "gone" not in {one.name for one in profile.operations}


@pytest.mark.parametrize(
    ("seconds", "count", "expected"),
    [
        pytest.param(0.0, 1.0, {"[1]": (0.5, 0.5), "[2]": (0.5, 0.5)}, id="no time: by calls"),
        pytest.param(1.0, 0.0, {"[1]": (0.5, 0.5), "[2]": (0.5, 0.5)}, id="no calls: by time"),
        pytest.param(0.0, 0.0, {"": (1.0, 1.0)}, id="neither"),
    ],
)
def test_shapes_without_time_or_calls(make, seconds, count, expected):
    shaped = make.profile(
        *(operation(make, "mm", seconds, shapes=shapes, count=count) for shapes in ("[1]", "[2]"))
    )

    profile = with_shapes(make.profile(operation(make, "mm", 1.0)), shaped)

    assert {one.shapes: (one.seconds, one.count) for one in profile.operations} == expected


def test_readings_that_need_shapes_are_taken_over_and_no_others(make):
    shaped = replace(
        make.profile(operation(make, "mm", 1.0)),
        readings=(ProfileReading(name="busy", value=0.1), ProfileReading(name="odd", value=3.0)),
    )
    timed = replace(
        make.profile(operation(make, "mm", 1.0)),
        readings=(ProfileReading(name="busy", value=0.2),),
    )

    readings = {one.name: one.value for one in with_shapes(timed, shaped).readings}

    assert readings == {"busy": 0.2, "odd": 3.0}


def test_times_of_single_calls_are_dropped_because_they_are_of_undivided_operations(make):
    shaped = make.profile(*(operation(make, "mm", 1.0, shapes=f"[{n}]") for n in range(2)))
    timed = replace(make.profile(operation(make, "mm", 4.0)), call_times=(((4.0,),), ((4.0,),)))

    assert with_shapes(timed, shaped).call_times == ()
