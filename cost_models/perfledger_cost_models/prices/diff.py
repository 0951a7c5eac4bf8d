"""Compares two price sheets: added, removed and changed options."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.prices.price_sheet import OptionKey, Price, PriceSheet, RejectedPrice


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPrice:
    """One option whose newest price differs between two sheets."""

    before: Price
    after: Price

    @property
    def change(self) -> Decimal:
        """Return after / before - 1, of one accelerator's hour."""
        return self.after.usd_per_device_hour / self.before.usd_per_device_hour - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetDiff:
    """The differences between two sheets, by provider, option and region.

    An option whose row is present but unusable on either sheet is neither added nor removed.
    """

    before: str  # the sheets' names
    after: str
    added: tuple[Price, ...]
    removed: tuple[Price, ...]
    changed: tuple[ChangedPrice, ...]  # the largest change first
    same: int  # options at the same price, whatever their dates
    rejected: tuple[RejectedPrice, ...] = ()


def sheet_diff(before: PriceSheet, after: PriceSheet) -> SheetDiff:
    """Compare the newest price of each option and region; earlier prices are history."""
    old, new = newest_prices(before), newest_prices(after)
    rejected = tuple(dict.fromkeys((*before.rejected, *after.rejected)))
    unusable = {each.key for each in rejected}
    changed = [
        ChangedPrice(before=old[key], after=new[key])
        for key in sorted(old.keys() & new.keys())
        if old[key].usd_per_device_hour != new[key].usd_per_device_hour
    ]
    return SheetDiff(
        before=before.name,
        after=after.name,
        added=tuple(new[key] for key in sorted(new.keys() - old.keys() - unusable)),
        removed=tuple(old[key] for key in sorted(old.keys() - new.keys() - unusable)),
        changed=tuple(sorted(changed, key=lambda one: abs(one.change), reverse=True)),
        same=len(old.keys() & new.keys()) - len(changed),
        rejected=rejected,
    )


def newest_prices(sheet: PriceSheet) -> Mapping[OptionKey, Price]:
    """Return the newest price of each option and region."""
    return {price.key: price for price in sorted(sheet.prices, key=lambda price: price.recency)}
