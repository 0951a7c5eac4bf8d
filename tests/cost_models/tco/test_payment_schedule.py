from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.tco.payment_schedule import payment_schedule
from perfledger_cost_models.tco.purchase_modes import Payment, PurchaseError, PurchaseTerms

TERMS = PurchaseTerms(
    option="p5.48xlarge/savings_plan/1y_partial_upfront",
    payment=Payment.TERM,
    usd_per_hour=Decimal("4.045"),
    years=1,
    upfront_share=Decimal("0.5"),
)


def test_half_upfront_is_due_once_and_the_rest_in_each_hour():
    schedule = payment_schedule(TERMS, devices=16, start=date(2027, 1, 1))

    # 4.045 USD · 16 · 8,760 h = 566,947.20 USD, half of it at the start.
    assert schedule.once_usd == Decimal("283473.60")
    assert schedule.usd_per_hour == Decimal("32.36")
    assert schedule.total_usd == Decimal("566947.20")
    january = schedule.months[0]
    assert (january.hours, january.once_usd) == (744, Decimal("283473.60"))
    assert january.hourly_usd == Decimal("24075.84")  # 744 · 32.36
    assert len(schedule.months) == 12
    assert schedule.months[-1].start == date(2027, 12, 1)


def test_a_term_that_begins_within_a_month_ends_within_one():
    schedule = payment_schedule(TERMS, devices=8, start=date(2027, 3, 15))

    assert [schedule.months[0].hours, schedule.months[-1].hours] == [17 * 24, 13 * 24]
    assert schedule.end == date(2028, 3, 14)  # 365 days: 2028 is a leap year
    assert schedule.hours == 8760


@pytest.mark.parametrize(("share", "once", "hourly"), [(1, "0.80", "0"), (0, "0", "0.01")])
def test_all_or_nothing_is_due_at_the_start(share, once, hourly):
    terms = replace(TERMS, usd_per_hour=Decimal("0.80") / 8760, upfront_share=Decimal(share))
    schedule = payment_schedule(terms, devices=1, start=date(2027, 1, 1))

    assert schedule.once_usd == Decimal(once)
    assert (schedule.usd_per_hour > 0) is (hourly != "0")
    assert schedule.total_usd == Decimal("0.80")


@given(
    usd=st.decimals("0.01", "200", places=5),
    devices=st.integers(1, 5000),
    start=st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    years=st.sampled_from((1, 3)),
    share=st.sampled_from((Decimal(0), Decimal("0.5"), Decimal(1))),
)
def test_months_sum_to_the_term_in_whole_cents(usd, devices, start, years, share):
    terms = replace(TERMS, usd_per_hour=usd, years=years, upfront_share=share)
    schedule = payment_schedule(terms, devices=devices, start=start)

    total = usd * devices * 8760 * years
    assert sum(month.total_usd for month in schedule.months) == schedule.total_usd
    assert abs(schedule.total_usd - total) <= Decimal("0.005")
    assert sum(month.hours for month in schedule.months) == 8760 * years
    assert all(month.hourly_usd >= 0 for month in schedule.months)


def test_a_term_may_end_in_the_last_month_of_the_calendar():
    schedule = payment_schedule(TERMS, devices=8, start=date(9998, 12, 15))

    assert schedule.end == date(9999, 12, 15)
    assert [schedule.months[0].hours, schedule.months[-1].hours] == [17 * 24, 14 * 24]
    assert schedule.total_usd == sum(month.total_usd for month in schedule.months)


def test_a_term_that_ends_with_a_month_has_no_month_beyond():
    schedule = payment_schedule(TERMS, devices=8, start=date(2027, 6, 1) - timedelta(days=365))

    assert (schedule.end, schedule.months[-1].start) == (date(2027, 6, 1), date(2027, 5, 1))


@pytest.mark.parametrize(
    ("terms", "devices", "start", "reason"),
    [
        (replace(TERMS, years=0), 8, date(2027, 1, 1), "not a multi-year commitment"),
        (TERMS, 0, date(2027, 1, 1), "0 devices"),
        (TERMS, 8, date(9999, 6, 1), "last day of the calendar"),
    ],
)
def test_what_has_no_schedule_is_refused(terms, devices, start, reason):
    with pytest.raises(PurchaseError, match=reason):
        payment_schedule(terms, devices=devices, start=start)
