from dataclasses import replace
from math import inf, nan

import pytest

from perfledger.profile import MemoryPoint
from perfledger_service.rendering.chart.marks import BandMark, DotMark, LineMark
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.trace.memory_plot import (
    MAX_DEVICES,
    memory_charts,
    missing_memory_note,
)

NBSP = "\N{NO-BREAK SPACE}"
MIB = 2.0**20


def point(seconds, mebibytes, *, device="cuda:0", reserved=None, **more):
    return MemoryPoint(
        seconds=seconds,
        allocated_bytes=mebibytes * 2.0**20,
        reserved_bytes=None if reserved is None else reserved * 2.0**20,
        device=device,
        **more,
    )


@pytest.fixture
def of(make):
    def of(*points):
        return replace(make.profile(), memory=points)

    return of


def test_what_is_in_use_stays_so_until_the_next_allocation(of, marks_of):
    (chart,) = memory_charts(of(point(0.0, 50), point(0.5, 100), point(1.0, 0)))

    (line,) = marks_of(chart, LineMark)
    steps = ((0.0, 50 * MIB), (0.5, 50 * MIB), (0.5, 100 * MIB), (1.0, 100 * MIB), (1.0, 0.0))
    assert line.points == steps
    assert [(x, high) for x, _, high in marks_of(chart, BandMark)[0].points] == list(steps)


def test_the_peak_is_marked_and_said(of, marks_of):
    (chart,) = memory_charts(of(point(0.0, 50), point(0.5, 100), point(1.0, 0)))

    (dot,) = marks_of(chart, DotMark)
    assert chart.caption.replace(NBSP, " ") == "cuda:0: peak 100 MiB, at 500 ms"
    assert (dot.x, dot.y) == (0.5, 100 * MIB)


def test_what_was_counted_from_its_least_is_said_to_be_no_total(of):
    (chart,) = memory_charts(of(point(0.0, 50, is_lower_bound=True)))

    assert "at least" in chart.caption
    assert chart.caption.endswith("Only changes were recorded: relative to the minimum")


def test_what_the_allocator_holds_is_a_line_of_its_own_within_the_plot(of, marks_of):
    (chart,) = memory_charts(of(point(0.0, 50, reserved=80), point(1.0, 60, reserved=200)))

    _, reserved_line = marks_of(chart, LineMark)
    assert reserved_line.is_dashed
    assert reserved_line.points == ((0.0, 80 * MIB), (1.0, 80 * MIB), (1.0, 200 * MIB))
    assert chart.y.high == 200 * MIB
    assert [key.label for key in chart.legend] == ["reserved by the allocator"]


def test_devices_are_in_the_order_of_their_names_the_hosts_memory_last(of):
    charts = memory_charts(
        of(
            *(
                point(0.0, most, device=name)
                for name, most in (("cpu", 9), ("cuda:1", 1), ("cuda:0", 2))
            )
        )
    )

    assert [chart.caption.split(": ")[0] for chart in charts] == ["cuda:0", "cuda:1", "cpu"]
    assert charts[0].x.title == "s since the first kept step began"


def test_two_sides_have_their_axes_in_common(of):
    small, large = of(point(0.0, 10), point(1.0, 10)), of(point(0.0, 40), point(2.0, 40))

    (first,), (second,) = (memory_charts(each, among=(small, large)) for each in (small, large))

    assert (first.x, first.y.ticks) == (second.x, second.y.ticks)
    assert (first.x.high, first.y.high) == (2.0, 40 * MIB)


def test_of_many_devices_those_that_use_most_are_drawn(of):
    charts = memory_charts(
        of(*(point(0.0, 1 + number, device=f"cuda:{number}") for number in range(9)))
    )

    assert [chart.caption[:6] for chart in charts] == ["cuda:5", "cuda:6", "cuda:7", "cuda:8"]
    assert len(charts) == MAX_DEVICES
    assert charts[-1].caption.endswith("Not drawn: 5 more devices.")


@pytest.mark.parametrize(
    "broken",
    [
        point(nan, 1),
        point(inf, 1),
        point(-1.0, 1),
        point(0.0, nan),
        point(0.0, inf),
        point(0.0, -1),
        point(0.0, 1, reserved=inf),
        point(1e9, 1),
    ],
)
def test_what_is_no_time_or_no_memory_is_not_drawn(of, broken):
    assert memory_charts(of(broken)) == ()


@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e-12])
def test_nothing_in_use_at_one_moment_can_be_drawn(of, seconds):
    (chart,) = memory_charts(of(point(seconds, 0)))

    assert (chart.x.high, chart.x.title) == (1.0, "s since the first kept step began")


def test_how_memory_is_recorded_is_said_where_it_was_not(make):
    profile = replace(make.profile(), tool="torch.profiler")

    assert memory_charts(profile) == ()
    assert missing_memory_note(profile) == (
        "not recorded; profile(profile_memory=True) of torch.profiler records it."
    )
    assert "jax.profiler" in missing_memory_note(replace(profile, tool="jax.profiler"))
    assert "torch.profiler" in missing_memory_note(replace(profile, tool="nsys"))


def test_nothing_is_said_of_memory_that_was_recorded_or_that_has_no_step(of, make):
    assert missing_memory_note(of(point(0.0, 5))) == ""
    assert missing_memory_note(replace(make.profile(), slices=())) == ""


def test_memory_is_drawn_as_agreed(of, matches_golden):
    (chart,) = memory_charts(of(point(0.0, 50, reserved=80), point(0.5, 100, reserved=200)))

    matches_golden("memory.svg", embedded_svg(chart, label="memory"))
