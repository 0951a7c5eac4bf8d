import pytest
from hypothesis import given, settings, strategies as st

from perfledger_service.rendering.chart.axis import (
    Axis,
    linear_axis,
    log_axis,
    nice_ticks,
    places_axis,
    rows_axis,
    share_axis,
    widen_range,
)

positive = st.floats(1e-9, 1e9)


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low, width):
    ticks = nice_ticks(low, low + width)

    assert 1 <= len(ticks) <= 7 or width < 1e-9 * abs(low)
    assert all(low - width / 100 <= tick <= low + width * 1.01 for tick in ticks)


def test_there_is_one_tick_where_there_is_no_range():
    assert nice_ticks(2.0, 2.0) == (2.0,)


def test_a_straight_axis_is_straight_and_a_logarithmic_one_counts_decades():
    straight = Axis(low=0.0, high=10.0)
    logarithmic = Axis(low=1.0, high=1e4, is_log=True)

    assert [straight.share(value) for value in (0, 5, 10)] == [0.0, 0.5, 1.0]
    assert [logarithmic.share(value) for value in (1, 100, 1e4)] == pytest.approx([0, 0.5, 1])


def test_the_widest_axis_has_shares():
    assert Axis(low=-1e308, high=1e308).share(0.0) == 0.5


def test_ticks_are_round_in_the_unit_that_is_shown():
    axis = linear_axis(0.0, 0.0131, factor=1000.0)

    assert [tick.label for tick in axis.ticks] == ["0", "5", "10"]
    assert [tick.value for tick in axis.ticks] == pytest.approx([0.0, 0.005, 0.01])


@given(positive, st.floats(1.5, 1e8))
def test_a_logarithmic_axis_has_some_ticks_and_none_beyond_its_ends(low, times):
    axis = log_axis(low, low * times)

    assert 1 <= len(axis.ticks) <= 11
    assert all(-1e-9 <= axis.share(tick.value) <= 1 + 1e-9 for tick in axis.ticks)


@pytest.mark.parametrize(
    ("high", "labels"),
    [(3.0, ["1", "1.5", "2", "2.5", "3"]), (60.0, ["1", "2", "5", "10", "20", "50"])],
)
def test_a_short_logarithmic_axis_has_more_ticks_a_decade(high, labels):
    assert [tick.label for tick in log_axis(1.0, high).ticks] == labels


def test_of_many_places_every_so_many_has_a_label():
    axis = places_axis([f"c{place}" for place in range(20)], most=8)

    assert [tick.label for tick in axis.ticks] == ["c0", "c3", "c6", "c9", "c12", "c15", "c18"]
    assert (axis.low, axis.high) == (-0.5, 19.5)


def test_rows_are_counted_from_the_top():
    axis = rows_axis(["first", "second"])

    assert [axis.share(tick.value) for tick in axis.ticks] == [0.75, 0.25]


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_a_widened_range_has_a_width_and_holds_what_it_held(low, width):
    first, last = widen_range(low, low + width, share=0.1)

    assert first < last
    assert first <= low <= low + width <= last


@pytest.mark.parametrize(("rows", "low"), [([], 1.0), (["a"], 1.0), (["a", "b"], 2.0)])
def test_each_row_is_one_high_and_none_leave_an_axis(rows, low):
    axis = rows_axis(rows)

    assert (axis.low, axis.high) == (low, 0.0)
    assert [tick.value for tick in axis.ticks] == [0.5, 1.5][: len(rows)]


def test_an_axis_of_shares_ends_at_none_and_all():
    axis = share_axis()

    assert (axis.low, axis.high) == (0.0, 1.0)
    assert {tick.label: tick.value for tick in axis.ticks} == {
        "0 %": 0.0,
        "25 %": 0.25,
        "50 %": 0.5,
        "75 %": 0.75,
        "100 %": 1.0,
    }
