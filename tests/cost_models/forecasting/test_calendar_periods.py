from datetime import date

from perfledger_cost_models.forecasting.calendar_periods import PeriodLength, calendar_of


def test_months_are_as_long_as_the_calendar_has_them():
    calendar = calendar_of(PeriodLength.MONTH, date(2027, 12, 17))

    assert [calendar.start(place).isoformat() for place in (-1, 0, 3)] == [
        "2027-11-01",
        "2027-12-01",
        "2028-03-01",
    ]
    assert [calendar.days(place) for place in (0, 1, 2)] == [31, 31, 29]


def test_weeks_begin_on_monday():
    calendar = calendar_of(PeriodLength.WEEK, date(2026, 11, 22))

    assert (calendar.start(0), calendar.start(1)) == (date(2026, 11, 16), date(2026, 11, 23))
