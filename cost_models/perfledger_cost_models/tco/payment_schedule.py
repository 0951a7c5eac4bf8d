"""Schedules what a commitment pays: once at its start, and hourly over its term."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

from perfledger.time_units import DAYS_PER_YEAR, HOURS_PER_DAY, MONTHS_PER_YEAR
from perfledger_cost_models.money import CENT
from perfledger_cost_models.tco.purchase_modes import PurchaseError, PurchaseTerms

MAX_DEVICES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePayment:
    """The payments of one calendar month of the term, in whole cents."""

    start: date
    hours: int  # of the term in this month
    once_usd: Decimal
    hourly_usd: Decimal
    cumulated_usd: Decimal  # with all months before

    @property
    def total_usd(self) -> Decimal:
        """Return the month's total."""
        return self.once_usd + self.hourly_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentSchedule:
    """The payments of a commitment of some devices."""

    terms: PurchaseTerms
    devices: int
    start: date
    end: date  # the first day after the term
    once_usd: Decimal
    usd_per_hour: Decimal  # of all devices, besides the payment at the start
    months: tuple[DuePayment, ...]

    @property
    def hours(self) -> int:
        """Return the hours of the term."""
        return (self.end - self.start).days * HOURS_PER_DAY

    @property
    def total_usd(self) -> Decimal:
        """Return all payments."""
        return self.months[-1].cumulated_usd


def payment_schedule(terms: PurchaseTerms, *, devices: int, start: date) -> PaymentSchedule:
    """Return what a commitment of `devices` pays from a day on.

    A year of a term is 365 days, as providers sell it. With price p per device-hour, upfront share
    f and n years, p f n 8760 per device is due at the start, and p (1 - f) in each hour. Months are
    rounded to cents so that they sum to the rounded total. Raises PurchaseError for an option that
    is not a commitment for years, and for an impossible number of devices.
    """
    if not terms.years:
        msg = f"{terms.option} is not a multi-year commitment: its hours are paid as they are used"
        raise PurchaseError(msg)
    if not 1 <= devices <= MAX_DEVICES:
        msg = f"{devices} devices: give 1 to {MAX_DEVICES:,}"
        raise PurchaseError(msg)
    try:
        end = start + timedelta(days=terms.years * DAYS_PER_YEAR)
    except OverflowError as error:
        msg = f"a term from {start} on ends after the last day of the calendar: start it earlier"
        raise PurchaseError(msg) from error
    hourly = terms.usd_per_hour * devices * (1 - terms.upfront_share)
    hours = (end - start).days * HOURS_PER_DAY
    once = terms.usd_per_hour * devices * terms.upfront_share * hours
    months: list[DuePayment] = []
    paid, first, day = Decimal(0), start, start
    while day < end:
        is_last = (day.year, day.month) == (end.year, end.month)
        month_end = end if is_last else _next_month(day)
        due = _cents(once + hourly * (month_end - first).days * HOURS_PER_DAY)
        once_now = _cents(once) if day == first else Decimal(0)
        months.append(
            DuePayment(
                start=day,
                hours=(month_end - day).days * HOURS_PER_DAY,
                once_usd=once_now,
                hourly_usd=due - paid - once_now,
                cumulated_usd=due,
            )
        )
        paid, day = due, month_end
    return PaymentSchedule(
        terms=terms,
        devices=devices,
        start=start,
        end=end,
        once_usd=_cents(once),
        usd_per_hour=hourly,
        months=tuple(months),
    )


def _next_month(day: date) -> date:
    """Return the first day of the month after a day's."""
    return date(day.year + day.month // MONTHS_PER_YEAR, day.month % MONTHS_PER_YEAR + 1, 1)


def _cents(usd: Decimal) -> Decimal:
    return usd.quantize(CENT, rounding=ROUND_HALF_EVEN)
