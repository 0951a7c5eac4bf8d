"""Computes the hours that owned and committed accelerators carry, year by year."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from perfledger.time_units import DAYS_PER_YEAR, HOURS_PER_YEAR
from perfledger_cost_models.procurement.plan import SupplyEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyYears:
    """One supply entry over the years of the review.

    `equivalents` are devices of the review's accelerator, averaged over each year. They are None if
    the entry cannot be counted; `omission_reason` then says why.
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
    omission_reason: str = ""  # "" if it carries some of the need

    @property
    def hours_a_year(self) -> Decimal:
        """Return the hours of its devices in a year, used or not."""
        return Decimal(self.devices * HOURS_PER_YEAR)

    def share_of(self, start: date, end: date) -> Decimal:
        """Return the share of the days from `start` up to `end` in which it is available."""
        return _share(self.since, self.until, start, end)

    def equivalents_of(self, start: date, end: date, *, year: date) -> Decimal:
        """Return the mean devices from `start` up to `end`, which lie in the first year.

        `year` is that year's first day; an entry that cannot be counted has 0 devices.
        """
        of_year = self.share_of(year, year + timedelta(days=DAYS_PER_YEAR))
        if self.equivalents is None or not of_year:
            return Decimal(0)
        return self.equivalents[0] * self.share_of(start, end) / of_year


def supply_years(
    holdings: Sequence[SupplyEntry],
    *,
    accelerator: str,
    hours_per_hour: Mapping[str, Decimal],
    start: date,
    years: int,
    omission_reasons: Mapping[str, str],
) -> tuple[SupplyYears, ...]:
    """Return the supply over `years` from `start`, the earliest end first.

    `hours_per_hour` is how many hours of another accelerator replace one; `omission_reasons` says
    by name why an entry does not count.
    """
    ratios = {accelerator: Decimal(1), **hours_per_hour}
    years_of_holdings = [
        _holding_years(one, ratios, omission_reasons.get(one.name, ""), start, years)
        for one in holdings
    ]
    return tuple(sorted(years_of_holdings, key=lambda one: (one.until, one.name)))


def supplied_devices(holdings: Sequence[SupplyYears], *, years: int) -> tuple[Decimal, ...]:
    """Return the average number of devices in each year; entries that cannot be counted add 0."""
    equivalents = [one.equivalents for one in holdings if one.equivalents is not None]
    return tuple(sum((each[year] for each in equivalents), Decimal(0)) for year in range(years))


def _holding_years(
    holding: SupplyEntry,
    ratios: Mapping[str, Decimal],
    omission_reason: str,
    start: date,
    years: int,
) -> SupplyYears:
    ratio = ratios.get(holding.accelerator)
    if ratio is None and not omission_reason:
        omission_reason = f"the {holding.accelerator} hours that replace one hour are unknown"
    days = [start + timedelta(days=DAYS_PER_YEAR * year) for year in range(years + 1)]
    shares = [_share(holding.since, holding.until, *year) for year in pairwise(days)]
    if not any(shares) and not omission_reason:
        term = f"{holding.since} to {holding.until}"
        omission_reason = f"its term, {term}, is outside the years of the review"
    return SupplyYears(
        name=holding.name,
        accelerator=holding.accelerator,
        devices=holding.devices,
        is_owned=holding.is_owned,
        since=holding.since,
        until=holding.until,
        usd_per_year=holding.usd_per_year,
        source=holding.source,
        equivalents=None
        if ratio is None or omission_reason
        else tuple(share * holding.devices / ratio for share in shares),
        omission_reason=omission_reason,
    )


def _share(since: date, until: date, start: date, end: date) -> Decimal:
    """Return the share of the days from `start` up to `end` that lie between `since` and `until`.

    `until` is the last day, `end` the first that does not count.
    """
    days = (min(until, end - timedelta(days=1)) - max(since, start)).days + 1
    return Decimal(max(days, 0)) / (end - start).days
