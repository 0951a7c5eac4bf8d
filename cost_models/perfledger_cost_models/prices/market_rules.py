"""Rules that compare a price with those of other regions, sizes and providers."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from statistics import median

from perfledger.rounding import digits, integer
from perfledger_cost_models.prices.price_sheet import Price
from perfledger_cost_models.prices.priced_rows import (
    FindingSeverity,
    PricedRow,
    RowFindings,
    current_prices,
    fold,
    groups_by,
    is_spot,
    on_demand_rows,
)
from perfledger_cost_models.quote import PriceLayer

# On-demand prices of one SKU differ by region: twofold at most among 523 prices of Azure in 2026.
MAX_REGION_SPREAD = 2
# Most that a price may deviate from the level of its region, as a factor. A region is more
# expensive for all its SKUs equally: a price that deviated by this much or more was wrong in each
# case among the same prices and those of 2025 (7.692 for 8 A100); the right ones are within 1.18.
MAX_FROM_REGION_LEVEL = Decimal("1.3")
MIN_COMPARED = 3  # other regions, other SKUs of a region, other prices of an accelerator
# Between providers the same card costs 1.4 to 16 USD: a price beyond this is for something else.
MAX_OVER_MEDIAN = 3
# Beyond the range of all other prices of an accelerator, and of all accelerators.
MAX_BEYOND_RANGE = 2
MAX_BEYOND_RANGE_SPOT = 3
MAX_BEYOND_ALL = 4
MIN_PRICES = 10  # that make a range of all accelerators
# Sizes of a family differ in processors and memory around the same card: g5.xlarge, g5.16xlarge.
MAX_SIZE_SCALING = Decimal("0.35")
PAIR_SIZE = 2

_SIZE = re.compile(
    r"(?P<family>[a-z]+\d+[a-z]*(?:-[a-z]+\d*)?)\.\w+|(?P<google>a\d-[a-z]+gpu)-\d+g"
)
_SortedPrices = Sequence[tuple[Decimal, tuple[str, str]]]  # with provider and SKU


def region_levels(listed: Sequence[PricedRow]) -> RowFindings:
    """Find on-demand prices out of line with their region's usual relation to other regions."""
    for current in groups_by(
        current_prices(on_demand_rows(listed)), lambda price: (price.provider, price.option_term)
    ):
        skus = {same[0].price.sku: same for same in groups_by(current, lambda price: price.sku)}
        levels = _region_levels(skus.values())
        for one in current:
            from_elsewhere = [
                other.price.usd_per_hour * levels[one.price.region] / levels[other.price.region]
                for other in skus[one.price.sku]
                if other is not one and {one.price.region, other.price.region} <= levels.keys()
            ]
            if len(from_elsewhere) < MIN_COMPARED:
                continue
            expected = median(from_elsewhere)
            difference = fold(one.price.usd_per_hour, expected)
            if difference > MAX_FROM_REGION_LEVEL:
                reason = (
                    f"{one.price.usd_per_hour} is {digits(float(difference), 3)}-fold off "
                    f"{digits(expected, 5)}, which its price in other regions and the region's "
                    "other prices suggest"
                )
                yield one, FindingSeverity.REJECT, reason


def region_spread(listed: Sequence[PricedRow]) -> RowFindings:
    """Check the spread between regions; reject the prices farthest from the median."""
    current = current_prices(on_demand_rows(listed))
    by_accelerator: defaultdict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for one in current:
        kind = one.price.provider, one.price.accelerator
        by_accelerator[kind].append(one.price.usd_per_device_hour)
    for same in groups_by(current, lambda price: (price.provider, price.sku, price.option)):
        peers = by_accelerator[same[0].price.provider, same[0].price.accelerator]
        middle = median(peers)
        by_distance = sorted(same, key=lambda one: fold(one.price.usd_per_device_hour, middle))
        while (spread := _spread(by_distance)) > MAX_REGION_SPREAD:
            reason = f"on demand differs {digits(float(spread), 3)}-fold between regions"
            new = [one for one in by_distance if not one.is_reference]
            if len(peers) == len(same) == PAIR_SIZE and len(new) == PAIR_SIZE:
                # Which of the two is wrong is unknown.
                yield from ((one, FindingSeverity.WARN, reason) for one in by_distance)
                break
            if len(peers) == len(same) == PAIR_SIZE and new:
                yield new[0], FindingSeverity.REJECT, reason
                break
            yield by_distance.pop(), FindingSeverity.REJECT, reason


def family_sizes(listed: Sequence[PricedRow]) -> RowFindings:
    """Find sizes that differ from their family's per accelerator."""
    current = current_prices(on_demand_rows(listed))
    for same in groups_by(
        current, lambda price: (price.provider, _family(price), price.accelerator, price.region)
    ):
        if not _family(same[0].price):
            continue
        unit_prices = [one.price.usd_per_device_hour for one in same]
        middle = median(unit_prices)
        is_pair = len(same) == PAIR_SIZE  # half-way between the two, neither is far from the middle
        for index, one in enumerate(same):
            share = unit_prices[index] / (unit_prices[1 - index] if is_pair else middle) - 1
            if abs(share) > MAX_SIZE_SCALING:
                reference = "the other size" if is_pair else "the median of its family's sizes"
                sign = "+" if share > 0 else "-"
                reason = f"{sign}{integer(abs(100 * share))} % per accelerator from {reference}"
                yield one, FindingSeverity.WARN, reason


def outliers(listed: Sequence[PricedRow]) -> RowFindings:
    """Find prices far from the median of their accelerator, count and pricing model."""
    current = current_prices(listed)
    for same in groups_by(
        current, lambda price: (price.accelerator, price.count, price.pricing_model)
    ):
        middle = median(one.price.usd_per_device_hour for one in same)
        for one in same:
            if fold(one.price.usd_per_device_hour, middle) > MAX_OVER_MEDIAN:
                unit_price = one.price.usd_per_device_hour
                reason = (
                    f"{digits(unit_price, 4)} per accelerator, the median of its kind is "
                    f"{digits(middle, 4)}"
                )
                yield one, FindingSeverity.WARN, reason


def ranges(listed: Sequence[PricedRow]) -> RowFindings:
    """Find prices far outside all others of the accelerator; without others, of any accelerator.

    The median of its SKU and pricing model over the regions is outside, too: the rules above check
    single regions.
    """
    current = current_prices(listed)
    everything = _sorted_prices(current)
    for same in groups_by(current, lambda price: (price.accelerator, is_spot(price))):
        kind = _sorted_prices(same)
        medians = {
            _mode(alike[0].price): median(one.price.usd_per_device_hour for one in alike)
            for alike in groups_by(same, _mode)
        }
        factor = MAX_BEYOND_RANGE_SPOT if is_spot(same[0].price) else MAX_BEYOND_RANGE
        for one in same:
            name, limit = one.price.accelerator, factor
            ends = _ends_without(one.price, kind, least=MIN_COMPARED)
            if ends is None:
                name, limit = "any accelerator", MAX_BEYOND_ALL
                ends = _ends_without(one.price, everything, least=MIN_PRICES)
            if ends is None:
                continue
            usd = one.price.usd_per_device_hour
            prices = usd, medians[_mode(one.price)]
            if max(prices) < ends[0] / limit or min(prices) > ends[1] * limit:
                reason = (
                    f"{digits(usd, 4)} an accelerator; other prices of {name} are "
                    f"{digits(ends[0], 4)} to {digits(ends[1], 4)}"
                )
                yield one, FindingSeverity.REJECT, reason


def _mode(price: Price) -> tuple[str, str]:
    return price.sku, price.pricing_model


def _sorted_prices(listed: Sequence[PricedRow]) -> _SortedPrices:
    """Return the prices with their SKUs, the lowest first.

    Own prices are not references: they may be far below the published ones.
    """
    return sorted(
        (one.price.usd_per_device_hour, (one.price.provider, one.price.sku))
        for one in listed
        if one.price.layer is not PriceLayer.OVERRIDE
    )


def _ends_without(
    price: Price, published: _SortedPrices, *, least: int
) -> tuple[Decimal, Decimal] | None:
    """Return the lowest and the highest price of other SKUs; None if there are too few."""
    sku_of_price = price.provider, price.sku
    lowest = list(islice((usd for usd, sku in published if sku != sku_of_price), least))
    if len(lowest) < least:
        return None
    return lowest[0], next(usd for usd, sku in reversed(published) if sku != sku_of_price)


def _region_levels(skus: Iterable[Sequence[PricedRow]]) -> Mapping[str, Decimal]:
    """Return each region's price level: the median of its SKUs' prices over their own medians."""
    levels: defaultdict[str, list[Decimal]] = defaultdict(list)
    for same in skus:
        middle = median(one.price.usd_per_hour for one in same)
        if len(same) > MIN_COMPARED:
            for one in same:
                levels[one.price.region].append(one.price.usd_per_hour / middle)
    return {
        region: median(relative)
        for region, relative in levels.items()
        if len(relative) > MIN_COMPARED
    }


def _spread(listed: Sequence[PricedRow]) -> Decimal:
    prices = [one.price.usd_per_hour for one in listed]
    return max(prices) / min(prices)


def _family(price: Price) -> str:
    match = _SIZE.fullmatch(price.sku)
    return (match["family"] or match["google"]) if match else ""
