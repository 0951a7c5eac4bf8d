"""Accelerators that are there already into how many hours they carry, year by year."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from perfledger_cost_models.onprem import HOURS_PER_YEAR
from perfledger_cost_models.procurement_plan import Holding

DAYS_PER_YEAR = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One holding over the years of the review.

    `equivalents` are devices of the review's accelerator, on average over each year; None where it
    cannot be counted, and `why_not` then says why.
    """

    name: str
    accelerator: str
    devices: int
    is_owned: bool
    since: date
    until: date  # the last day
    usd_per_year: Decimal | None
    source: str
    equivalents: tuple[Decimal, ...] | None
    why_not: str = ""  # it carries none of the need, where it does not

    @property
    def hours_a_year(self) -> Decimal:
        """Return all hours of its devices in a year, used or not."""
        return Decimal(self.devices * HOURS_PER_YEAR)

    def share_of(self, start: date, end: date) -> Decimal:
        """Return the share of the days from `start` up to `end` in which it is there."""
        return _share(self.since, self.until, start, end)


def held(
    holdings: Sequence[Holding],
    *,
    accelerator: str,
    hours_per_hour: Mapping[str, Decimal],
    start: date,
    years: int,
    left_out: Mapping[str, str],
) -> tuple[Held, ...]:
    """Return what is held over `years` from `start`, soonest to end first.

    `hours_per_hour` is how many hours of another accelerator do the work of one; `left_out` says
    by name why a holding does not count.
    """
    ratios = {accelerator: Decimal(1), **hours_per_hour}
    found = [_held(one, ratios, left_out.get(one.name, ""), start, years) for one in holdings]
    return tuple(sorted(found, key=lambda one: (one.until, one.name)))


def supplied(holdings: Sequence[Held], *, years: int) -> tuple[Decimal, ...]:
    """Return the devices that are there on average in each year; what is not known adds none."""
    known = [one.equivalents for one in holdings if one.equivalents is not None]
    return tuple(sum((each[year] for each in known), Decimal(0)) for year in range(years))


def _held(
    holding: Holding, ratios: Mapping[str, Decimal], why_not: str, start: date, years: int
) -> Held:
    ratio = ratios.get(holding.accelerator)
    if ratio is None and not why_not:
        why_not = f"nothing says how many {holding.accelerator} hours do the work of one"
    days = [start + timedelta(days=DAYS_PER_YEAR * year) for year in range(years + 1)]
    shares = [_share(holding.since, holding.until, *year) for year in pairwise(days)]
    return Held(
        name=holding.name,
        accelerator=holding.accelerator,
        devices=holding.devices,
        is_owned=holding.is_owned,
        since=holding.since,
        until=holding.until,
        usd_per_year=holding.usd_per_year,
        source=holding.source,
        equivalents=None
        if ratio is None or why_not
        else tuple(share * holding.devices / ratio for share in shares),
        why_not=why_not,
    )


def _share(since: date, until: date, start: date, end: date) -> Decimal:
    """Return the share of the days from `start` up to `end` that those of `since` to `until` are.

    `until` is the last day, `end` the first that does not count.
    """
    days = (min(until, end - timedelta(days=1)) - max(since, start)).days + 1
    return Decimal(max(days, 0)) / (end - start).days
