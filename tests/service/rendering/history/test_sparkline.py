import math

import pytest

from perfledger_baselines.history.detection.changes import ChangePoint, SeriesFindings, Transient
from perfledger_service.rendering.history.sparkline import WIDTH, sparkline
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


def stepped(points, place):
    """Return values that wobble around ten, and around eleven from a place on."""
    return [(10 if at < place else 11) + 0.05 * (at % 3 - 1) for at in range(points)]


def sparkline_of(values, **fields):
    series = MeasuredSeries(name="", unit="", values=tuple(values))
    history = SeriesFindings(**{"changes": ()} | fields)
    return sparkline(SearchedSeries(series, history)).splitlines()


@pytest.mark.parametrize("points", [1, 8, 64, 65, 1000])
def test_a_picture_fits_and_has_a_column_for_each_point_or_a_median(points):
    lines = sparkline_of(stepped(points, points // 2))

    assert len(lines) == 7
    assert max(map(len, lines)) <= WIDTH


def test_a_flat_series_is_a_line_in_the_middle_and_says_its_level():
    lines = sparkline_of([5.0] * 9)

    assert lines[3] == "           │•••••••••"
    assert (lines[0], lines[6]) == ("     5.025 │", "     4.975 │")
    assert [line.split()[0] for line in sparkline_of([0.0] * 9)][3] == "0"


def test_gaps_are_blank_and_what_is_off_the_scale_an_arrow():
    values = [10.0, math.nan, 10.5, 99.0, 10.2, 0.5]
    back = (Transient(first=3, last=3, change=9.0), Transient(first=5, last=5, change=-0.9))

    lines = sparkline_of(values, transients=back)

    assert lines[0].index("\N{UPWARDS ARROW}") == 12 + 3
    assert lines[-1].index("\N{DOWNWARDS ARROW}") == 12 + 5
    assert not any(line[13:14] == "\N{BULLET}" for line in lines)


def test_the_marks_stand_under_their_change_points():
    change = ChangePoint(
        index=50,
        earliest=50,
        latest=50,
        before=10.0,
        after=11.0,
        change=0.1,
        low=0.09,
        high=0.11,
        confidence=1.0,
    )

    assert sparkline_of(stepped(60, 50), changes=(change,))[-1] == " " * 62 + "1"


@pytest.mark.parametrize("values", [[1e-300, 1e300], [-1e308, 1e308], [0.0, -0.0], [1e-320] * 3])
def test_a_picture_of_extremes_is_drawn(values):
    assert len(sparkline_of(values)) == 7


def test_an_epoch_has_a_bar_below_its_first_point():
    series = MeasuredSeries(name="", unit="s", values=tuple(stepped(20, 10)), epochs=(5, 10))

    lines = sparkline(SearchedSeries(series, SeriesFindings(changes=()))).splitlines()

    assert lines[-1] == " " * (12 + 5) + "│    │"
    assert lines[0].lstrip().startswith("11.1\N{NO-BREAK SPACE}s │")


def test_of_more_points_than_columns_a_column_has_the_median():
    values = stepped(1000, 1000)
    values[500] = 1000.0

    assert max(map(len, sparkline_of(values))) == WIDTH
    assert "\N{UPWARDS ARROW}" not in "".join(sparkline_of(values))


@pytest.mark.parametrize(("points", "is_clipped"), [(49, False), (50, True)])
def test_one_column_of_fifty_may_be_off_the_scale(points, is_clipped):
    picture = "".join(sparkline_of([10.0] * (points - 1) + [20.0]))

    assert ("\N{UPWARDS ARROW}" in picture) is is_clipped


def test_a_series_of_steps_is_drawn_as_agreed(matches_golden):
    matches_golden("sparkline.txt", "\n".join(sparkline_of(stepped(40, 20))) + "\n")
