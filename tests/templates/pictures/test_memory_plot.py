from dataclasses import replace
from math import inf, nan

import pytest

from perfledger.profile import MemoryPoint
from perfledger_service.pages.memory_plot import MAX_DEVICES, memory_plot, not_recorded

NBSP = "\N{NO-BREAK SPACE}"


def point(seconds, mebibytes, *, device="cuda:0", held=None, **more):
    return MemoryPoint(
        seconds=seconds,
        allocated_bytes=mebibytes * 2.0**20,
        reserved_bytes=None if held is None else held * 2.0**20,
        device=device,
        **more,
    )


@pytest.fixture
def of(make):
    def of(*points):
        return replace(make.profile(), memory=points)

    return of


def test_what_is_in_use_stays_so_until_the_next_allocation(of):
    plot = memory_plot(of(point(0.0, 50), point(0.5, 100), point(1.0, 0)))

    assert plot is not None
    (panel,) = plot.panels
    assert (panel.top, panel.bottom) == (72.0, 156.0)
    assert panel.used == "130,156 130,114 537,114 537,72 944,72 944,156 944,156"
    assert panel.held == ""


def test_the_peak_is_marked_and_said(of):
    plot = memory_plot(of(point(0.0, 50), point(0.5, 100), point(1.0, 0)))

    assert plot is not None
    assert plot.summary.replace(NBSP, " ") == "cuda:0: peak 100 MiB, at 500 ms"
    assert (plot.panels[0].peak.x, plot.panels[0].peak.y) == (537.0, 72.0)


def test_what_was_counted_from_its_least_is_said_to_be_no_total(of):
    plot = memory_plot(of(point(0.0, 50, is_lower_bound=True)))

    assert plot is not None
    assert "at least" in plot.summary
    assert plot.note == "Only changes were recorded: counted from the least in use."


def test_what_the_allocator_holds_is_a_line_of_its_own_within_the_panel(of):
    plot = memory_plot(of(point(0.0, 50, held=80), point(1.0, 60, held=200)))

    assert plot is not None
    assert plot.panels[0].held == "130,122.4 944,122.4 944,72"
    assert plot.note == "Dashed: what the allocator holds."


def test_devices_are_in_the_order_of_their_names_the_hosts_memory_last(of):
    plot = memory_plot(
        of(
            *(
                point(0.0, most, device=name)
                for name, most in (("cpu", 9), ("cuda:1", 1), ("cuda:0", 2))
            )
        )
    )

    assert plot is not None
    assert [panel.device for panel in plot.panels] == ["cuda:0", "cuda:1", "cpu"]
    assert plot.axis == "s since the first kept step began"


def test_two_sides_have_their_axes_in_common(of):
    small, large = of(point(0.0, 10), point(1.0, 10)), of(point(0.0, 40), point(2.0, 40))

    plots = [memory_plot(each, among=(small, large)) for each in (small, large)]

    first, second = (plot.panels[0] for plot in plots if plot is not None)
    assert first.ticks == second.ticks
    assert (first.peak.y, second.peak.y) == (135.0, 72.0)
    assert first.used.endswith("537,156")


def test_of_many_devices_those_that_use_most_are_drawn(of):
    plot = memory_plot(
        of(*(point(0.0, 1 + number, device=f"cuda:{number}") for number in range(9)))
    )

    assert plot is not None
    assert [panel.device for panel in plot.panels] == ["cuda:5", "cuda:6", "cuda:7", "cuda:8"]
    assert len(plot.panels) == MAX_DEVICES
    assert plot.note == "Not drawn: 5 more devices."


@pytest.mark.parametrize(
    "broken",
    [
        point(nan, 1),
        point(inf, 1),
        point(-1.0, 1),
        point(0.0, nan),
        point(0.0, inf),
        point(0.0, -1),
        point(0.0, 1, held=inf),
        point(1e9, 1),
    ],
)
def test_what_is_no_time_or_no_memory_is_not_drawn(of, broken):
    assert memory_plot(of(broken)) is None


@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e-12])
def test_nothing_in_use_at_one_moment_can_be_drawn(of, seconds):
    plot = memory_plot(of(point(seconds, 0)))

    assert plot is not None
    assert plot.axis == "s since the first kept step began"


def test_how_memory_is_recorded_is_said_where_it_was_not(make):
    profile = replace(make.profile(), tool="torch.profiler")

    assert memory_plot(profile) is None
    assert not_recorded(profile) == (
        "not recorded; profile(profile_memory=True) of torch.profiler records it."
    )
    assert "jax.profiler" in not_recorded(replace(profile, tool="jax.profiler"))
    assert "torch.profiler" in not_recorded(replace(profile, tool="nsys"))


def test_nothing_is_said_of_memory_that_was_recorded_or_that_has_no_step(of, make):
    assert not_recorded(of(point(0.0, 5))) == ""
    assert not_recorded(replace(make.profile(), slices=())) == ""
