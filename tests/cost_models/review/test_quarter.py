from datetime import date, timedelta

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.review.quarter import (
    FIRST_YEAR,
    LAST_YEAR,
    Quarter,
    QuarterError,
    quarter_at,
    quarter_of,
)


def test_a_quarter_has_its_days():
    quarter = quarter_of("2026q4")

    assert (quarter.name, quarter.first, quarter.last, quarter.days) == (
        "2026Q4",
        date(2026, 10, 1),
        date(2026, 12, 31),
        92,
    )


@given(st.integers(2000, 2098), st.integers(1, 4))
def test_quarters_follow_each_other_without_a_gap(year, number):
    quarter = Quarter(year, number)

    assert quarter.after.first == quarter.last + timedelta(days=1)
    assert quarter.after.before == quarter
    assert quarter_at(quarter.first) == quarter_at(quarter.last) == quarter
    assert quarter_of(quarter.name) == quarter


@pytest.mark.parametrize("name", ["2026", "2026Q5", "1999Q1", "Q4 2026", "", "\uff12026Q1"])
def test_what_is_no_quarter_says_how_to_write_one(name):
    with pytest.raises(QuarterError, match="2026Q4"):
        quarter_of(name)


@pytest.mark.parametrize(("year", "beyond"), [(FIRST_YEAR, -1), (LAST_YEAR, 1)])
def test_the_first_and_the_last_year_have_quarters(year, beyond):
    assert quarter_of(f"{year}Q1").year == year
    with pytest.raises(QuarterError, match="is not a quarter"):
        quarter_of(f"{year + beyond}Q1")
