"""Rules that compare a price with its own earlier values, and check its dates."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

from perfledger.rounding import digits
from perfledger_cost_models.prices.price_sheet import Price
from perfledger_cost_models.prices.priced_rows import (
    FindingSeverity,
    PricedRow,
    RowFindings,
    fold,
    groups_by,
    is_same_price,
    is_spot,
)
from perfledger_cost_models.quote import PriceLayer

# AWS's largest change of a list price was 1.8-fold (June 2025), and a wrong decimal point is
# tenfold. Spot prices move more, and a negotiated price may be far below the list.
MAX_FOLD = Decimal(3)
MAX_FOLD_SPOT_OR_OWN = Decimal(5)
# Two values of one price that differ by less are one level: exchange rates, rounding.
SAME_LEVEL = Decimal("1.2")
# A lower price that lasted up to this long may have been a promotion.
MAX_PROMOTION = timedelta(days=365)
# Days begin at different times in different time zones: a source may be a day ahead of its reader.
ONE_DAY = timedelta(days=1)


def days(listed: Sequence[PricedRow]) -> RowFindings:
    """Find prices that are dated after the day on which they were read."""
    for one in listed:
        price = one.price
        if price.retrieved_at is not None and price.as_of > price.retrieved_at + ONE_DAY:
            reason = f"dated {price.as_of}, after it was read on {price.retrieved_at}"
            yield one, FindingSeverity.REJECT, reason


def earlier_values(listed: Sequence[PricedRow]) -> RowFindings:
    """Find prices far from earlier values of the same option; the newest outlier is wrong.

    An outlier agrees with fewer values of its option than the price next to it in time.
    """
    for same in groups_by(listed, lambda price: price.key):
        rows = sorted(same, key=lambda one: (one.price.as_of, not one.is_reference, one.row))
        while (outlier := _outlier(rows)) is not None:
            wrong, next_to_it = outlier
            rows.remove(wrong)
            yield wrong, FindingSeverity.REJECT, _contradiction(wrong.price, next_to_it.price)


def superseded_prices(listed: Sequence[PricedRow]) -> RowFindings:
    """Find old prices under a new date: a price that was replaced rarely returns.

    A promotion ends within a year, and the price before it is right again. Such a price is only
    contradicted if the SKU has another region or term.
    """
    skus = {
        (same[0].price.provider, same[0].price.sku): {
            (one.price.region, one.price.option) for one in same
        }
        for same in groups_by(listed, lambda price: (price.provider, price.sku))
    }
    for same in groups_by(listed, lambda price: (price.provider, price.option)):
        if is_spot(same[0].price):
            continue
        earlier: list[Price] = []
        for one in sorted(same, key=lambda one: (one.price.as_of, not one.is_reference)):
            replaced = None if one.is_reference else _replaced_price(one.price, earlier)
            if replaced is None:
                earlier.append(one.price)
            else:
                old, new = replaced
                region = f" in {old.region}" if old.region != one.price.region else ""
                reason = (
                    f"{one.price.usd_per_hour} is the price of {old.as_of}{region}, which "
                    f"{new.usd_per_hour} has replaced since {new.as_of}: an old price under a new "
                    "date"
                )
                is_alone = len(skus[one.price.provider, one.price.sku]) == 1
                may_return = is_alone and one.price.as_of - old.as_of <= MAX_PROMOTION
                level = FindingSeverity.WARN if may_return else FindingSeverity.REJECT
                yield one, level, reason


def _outlier(rows: Sequence[PricedRow]) -> tuple[PricedRow, PricedRow] | None:
    """Return a wrong row and the one that contradicts it; None if the values are plausible."""
    for before, after in pairwise(rows):
        if not _contradict(before.price, after.price):
            continue
        suspects = [one for one in (before, after) if not one.is_reference]
        if suspects:
            wrong = min(
                reversed(suspects),  # the newest of those that agree with equally few
                key=lambda one: sum(not _contradict(one.price, each.price) for each in rows),
            )
            return wrong, before if wrong is after else after
    return None


def _contradict(left: Price, right: Price) -> bool:
    """Return whether two values of one option cannot both be right."""
    difference = fold(left.usd_per_device_hour, right.usd_per_device_hour)
    is_lenient = is_spot(left) or PriceLayer.OVERRIDE in {left.layer, right.layer}
    if difference > (MAX_FOLD_SPOT_OR_OWN if is_lenient else MAX_FOLD):
        return True
    count = max(left.count, right.count)
    return count > 1 and not is_spot(left) and is_same_price(difference, Decimal(count))


def _contradiction(wrong: Price, reference: Price) -> str:
    difference = fold(wrong.usd_per_device_hour, reference.usd_per_device_hour)
    is_above = wrong.usd_per_device_hour > reference.usd_per_device_hour
    reason = (
        f"{digits(wrong.usd_per_device_hour, 4)} an accelerator is "
        f"{digits(float(difference), 3)}-fold {'above' if is_above else 'below'} "
        f"{digits(reference.usd_per_device_hour, 4)} of {reference.as_of}"
    )
    if is_same_price(difference, Decimal(wrong.count)):
        unit = "the instance, not of one accelerator" if is_above else "one accelerator, not of all"
        return f"{reason}: it is the price of {unit}"
    return reason


def _replaced_price(price: Price, earlier: Sequence[Price]) -> tuple[Price, Price] | None:
    """Return the old value that a price repeats, and the price that replaced it in its region.

    A region that has had the price before is compared only with itself: others may have changed.
    """
    own_prices = [each for each in earlier if each.region == price.region]
    has_own = any(is_same_price(each.usd_per_hour, price.usd_per_hour) for each in own_prices)
    candidates = own_prices if has_own else earlier
    for old in candidates:
        if old.as_of < price.as_of and is_same_price(old.usd_per_hour, price.usd_per_hour):
            for new in candidates:
                is_later = new.region == old.region and old.as_of < new.as_of
                if is_later and fold(new.usd_per_hour, old.usd_per_hour) > SAME_LEVEL:
                    return old, new
    return None
