"""Tests the stretches of a history between its change points and epochs."""

from hypothesis import given, strategies as st

from perfledger_baselines.history.detection.changes import ChangePoint, SeriesFindings
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


def a_change(index):
    return ChangePoint(
        index=index,
        earliest=index,
        latest=index,
        before=1.0,
        after=1.1,
        change=0.1,
        low=0.09,
        high=0.11,
        confidence=0.999,
    )


def searched(points, *, changes=(), epochs=()):
    series = MeasuredSeries(name="ms", unit="ms", values=(1.0,) * points, epochs=tuple(epochs))
    return SearchedSeries(series, SeriesFindings(changes=tuple(map(a_change, changes))))


def test_a_quiet_series_is_one_stretch():
    assert searched(5).stretches == ((0, 5),)


def test_a_series_without_points_has_no_stretch():
    assert searched(0).stretches == ()


def test_changes_and_epochs_end_a_stretch():
    assert searched(9, changes=(6,), epochs=(2,)).stretches == ((0, 2), (2, 6), (6, 9))


def test_a_change_where_the_machine_changed_ends_one_stretch():
    assert searched(9, changes=(4,), epochs=(4,)).stretches == ((0, 4), (4, 9))


@given(st.integers(1, 50), st.sets(st.integers(0, 49)), st.sets(st.integers(0, 49)))
def test_stretches_follow_each_other_from_the_first_point_to_the_last(points, changes, epochs):
    series = searched(
        points,
        changes=sorted(place for place in changes if place < points),
        epochs=sorted(place for place in epochs if place < points),
    )

    covered_places = [place for first, stop in series.stretches for place in range(first, stop)]

    assert covered_places == list(range(points))
    assert all(first < stop for first, stop in series.stretches)
