from datetime import UTC, date, datetime

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.forecasting.calendar_periods import PeriodLength, calendar_of
from perfledger_cost_models.forecasting.past_periods import (
    CostSpan,
    costs_of_bill,
    history_of,
    is_history_table,
    read_history,
)
from perfledger_cost_models.usage.device_spans import DeviceSpan, DeviceUsage, UsageFileError


def at(year, month, day, hour=0):
    return datetime(year, month, day, hour, tzinfo=UTC).timestamp()


def usage_of(*spans, start=None, end=None):
    moments = [moment for span in spans for moment in span[:2]]
    return DeviceUsage(
        name="jobs.txt",
        kind="made up",
        spans=tuple(DeviceSpan({}, *span) for span in spans),
        start=min(moments) if start is None else start,
        end=max(moments) if end is None else end,
    )


def test_what_spans_months_is_shared_out_by_time():
    usage_history = history_of(
        [usage_of((at(2026, 3, 1), at(2026, 5, 1), 2.0))], None, step=PeriodLength.MONTH
    )

    assert usage_history.calendar.first == date(2026, 3, 1)
    assert usage_history.hours == pytest.approx((2 * 31 * 24, 2 * 30 * 24))
    assert usage_history.usd is None


def test_months_that_are_not_told_whole_are_left_out():
    device_usage = usage_of((at(2026, 3, 17), at(2026, 6, 12), 1.0))

    usage_history = history_of([device_usage], None, step=PeriodLength.MONTH)

    assert (usage_history.calendar.first, len(usage_history)) == (date(2026, 4, 1), 2)


def test_files_follow_each_other_and_a_missing_one_is_named():
    march = usage_of((at(2026, 3, 1), at(2026, 4, 1), 1.0))
    april = usage_of((at(2026, 4, 1, 5), at(2026, 5, 1), 1.0))
    june = usage_of((at(2026, 6, 1), at(2026, 7, 1), 1.0))

    assert len(history_of([april, march], None, step=PeriodLength.MONTH)) == 2
    with pytest.raises(UsageFileError, match="from 2026-05-01 to 2026-06-01: add the"):
        history_of([march, june, april], None, step=PeriodLength.MONTH)


def test_two_days_between_files_are_no_gap_and_a_second_more_is_one():
    march = usage_of((at(2026, 3, 1), at(2026, 3, 31), 1.0))
    april = usage_of((at(2026, 4, 2), at(2026, 5, 1), 1.0))
    late = usage_of((at(2026, 4, 2) + 1, at(2026, 5, 1), 1.0))

    assert len(history_of([march, april], None, step=PeriodLength.MONTH)) == 2
    with pytest.raises(UsageFileError, match="no data from 2026-03-31"):
        history_of([march, late], None, step=PeriodLength.MONTH)


def test_a_month_with_nineteen_twentieths_of_its_data_is_complete():
    until_the_29th = usage_of((at(2026, 4, 1), at(2026, 4, 29, 12), 1.0))  # 28.5 of 30 days
    an_hour_less = usage_of((at(2026, 4, 1), at(2026, 4, 29, 11), 1.0))

    assert len(history_of([until_the_29th], None, step=PeriodLength.MONTH)) == 1
    with pytest.raises(UsageFileError, match="not cover a whole month"):
        history_of([an_hour_less], None, step=PeriodLength.MONTH)


def test_a_history_has_at_most_two_thousand_weeks():
    monday, week_s = at(1990, 1, 1), 7 * 24 * 3600
    usage = usage_of((monday, monday + 2000 * week_s, 1.0))
    longer = usage_of((monday, monday + 2000 * week_s + 1, 1.0))

    assert len(history_of([usage], None, step=PeriodLength.WEEK)) == 2000
    with pytest.raises(UsageFileError, match="more than 2000 weeks"):
        history_of([longer], None, step=PeriodLength.WEEK)


def test_a_cost_of_one_moment_belongs_to_the_month_that_begins_with_it():
    usage = usage_of((at(2026, 3, 1), at(2026, 5, 1), 1.0))
    costs = [CostSpan(*(moment,) * 2, 5.0) for moment in (at(2026, 4, 1), at(2026, 5, 1))]

    assert history_of([usage], costs, step=PeriodLength.MONTH).usd == (0.0, 5.0)


def test_less_than_a_period_is_no_history():
    with pytest.raises(UsageFileError, match="not cover a whole month"):
        history_of([usage_of((at(2026, 3, 3), at(2026, 3, 9), 1.0))], None, step=PeriodLength.MONTH)
    with pytest.raises(UsageFileError, match="no file of past usage"):
        history_of([], None, step=PeriodLength.MONTH)


def test_a_slipped_date_is_no_history_of_centuries():
    slipped = usage_of((at(2026, 3, 1), at(2199, 3, 1), 1.0))

    with pytest.raises(UsageFileError, match="more than 2000 months"):
        history_of([slipped], None, step=PeriodLength.MONTH)


spans = st.lists(
    st.tuples(st.integers(0, 90 * 24), st.integers(0, 400), st.integers(0, 64)),
    min_size=1,
    max_size=30,
)


@given(spans, st.sampled_from(PeriodLength))
def test_no_hour_and_no_dollar_is_lost_or_made(rows, step):
    first, last = at(2026, 1, 1), at(2026, 7, 1)
    held_periods = [
        (first + 3600 * start, min(first + 3600 * (start + length), last), float(devices))
        for start, length, devices in rows
    ]
    start, end = (at(2025, 12, 29), at(2026, 6, 29)) if step is PeriodLength.WEEK else (first, last)
    held_periods = [each for each in held_periods if each[1] <= end]
    device_usage = usage_of(*held_periods, start=start, end=end)
    costs = [CostSpan(*each) for each in held_periods]

    usage_history = history_of([device_usage], costs, step=step)

    assert usage_history.hours is not None
    assert usage_history.usd is not None
    assert sum(usage_history.hours) == pytest.approx(
        sum(span.device_hours for span in device_usage.spans)
    )
    assert sum(usage_history.usd) == pytest.approx(sum(cost.usd for cost in costs))


def test_a_bill_tells_what_accelerators_cost_unused_commitments_included(a_bill_row, write_bill):
    text = write_bill(
        ("nlp", "2.0", "110.08"),
        a_bill_row("nlp", "1.0", "20.00", CommitmentDiscountStatus="Unused"),
        a_bill_row("nlp", "9.0", "5.00", ResourceType="storage"),
    )

    assert [cost.usd for cost in costs_of_bill(text)] == [110.08, 20.0]


def test_a_table_of_months_is_read():
    usage_history = read_history("month,hours,usd\n2026-11,10,70\n2026-12-01,20,140\n", "past.csv")

    assert usage_history.calendar == calendar_of(PeriodLength.MONTH, date(2026, 11, 1))
    assert (usage_history.hours, usage_history.usd) == ((10, 20), (70, 140))


def test_a_table_of_weeks_is_read():
    usage_history = read_history(
        "\ufeffweek,usd\n2026-W52,1\n2026-W53,2\n2027-01-04,3\n", "past.csv"
    )

    assert usage_history.calendar.first == date(2026, 12, 21)
    assert (usage_history.hours, usage_history.usd) == (None, (1, 2, 3))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("month,hours", True),
        ("\ufeffWeek , usd", True),
        ("month,cost", False),
        ("hours\nmonth", False),
        ("\nsep=;\nmonth;hours\n2026-01;5", True),
    ],
)
def test_a_table_is_known_by_its_header(text, is_one):
    assert is_history_table(text) is is_one


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("month,hours\n", "no rows"),
        ("month\n2026-01\n", "lacks a column"),
        ("hours\n3\n", "lacks a column"),
        ("month,hours\n2026-13,1\n", "is not a month"),
        ("month,hours\n2026-01-15,1\n", "not the first day"),
        ("week,hours\n2026-W60,1\n", "is not a week"),
        ("week,hours\n2026-01-01,1\n", "not the first day"),
        ("month,hours\n1066-10,1\n", "after 2000"),
        ("month,hours\n2026-01,1\n2026-03,1\n", "not the expected 2026-02-01"),
        ("month,hours\n2026-02,1\n2026-01,1\n", "not the expected 2026-03-01"),
        ("month,hours\n2026-01,nan\n", "'nan'"),
        ("month,hours\n2026-01,-1\n", "'-1'"),
        ("month,hours\n2026-01,1e300\n", "1e300"),
        ("month,hours\n2026-01,\n", "'' is not 0 to"),
        ("month,hours\n2026-01\n", "1 cells for 2"),
        ("month,hours\n" + "2026-01,1\n" * 2001, "more than 2000 rows"),
        ("month,hours\n" + "x" * 30_000 + ",1\n", "is not a month"),
    ],
)
def test_a_hostile_table_is_an_error_of_ours(text, says):
    with pytest.raises(UsageFileError, match=says):
        read_history(text, "past.csv")
