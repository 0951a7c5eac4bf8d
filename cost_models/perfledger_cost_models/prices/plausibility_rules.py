"""Rules that find implausible prices in a price list.

Every rule reads numbers and identity only, never the notes of a row.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from statistics import median

from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.prices.tpu_slices import CORES_PER_CHIP, has_two_cores, slice_of

# Placeholders that catalogs write where they have no price.
SENTINELS = (Decimal(0), Decimal(700))
# On-demand prices of one SKU differ by region, by 1.44 times at most among the packaged ones.
MAX_REGION_SPREAD = 2
# Between providers the same card costs 1.4 to 16 USD: a price beyond this is for something else.
MAX_OVER_MEDIAN = 3
# Sizes of a family differ in processors and memory around the same card: g5.xlarge, g5.16xlarge.
MAX_SIZE_SCALING = Decimal("0.35")
# Azure's Windows meter adds this for each vCPU and hour: 48 of them are 2.208 on NC48ads_A100_v4.
WINDOWS_USD_PER_VCPU = Decimal("0.046")
WINDOWS_TOLERANCE = Decimal("0.01")
# A list price that appears this long after another price can still stand in for it.
MAX_LATER = timedelta(days=180)
PAIR_SIZE = 2
# Two prices of one item in one currency agree this closely if one was copied from the other.
PRICE_TOLERANCE = Decimal("0.001")
# A price off by this share of the count is of one accelerator or of all of them: regions differ
# 1.44-fold at most, and three quarters of two are 1.5.
MIN_FOLD = Decimal("0.75")
# Fifty regions of two sizes at one figure are 2,500 pairs: with more than this, no pair is decided.
MAX_PAIRS = 10_000

_AZURE_SIZE = re.compile(r"Standard_[A-Z]+(?P<processors>\d+)[a-z]*_(?P<rest>\w+)")
_SIZE = re.compile(
    r"(?P<family>[a-z]+\d+[a-z]*(?:-[a-z]+\d*)?)\.\w+|(?P<google>a\d-[a-z]+gpu)-\d+g"
)
_COMMITMENTS = (PricingModel.SAVINGS_PLAN, PricingModel.RESERVED, PricingModel.COMMITTED_USE)
_YEARS = re.compile(r"(?P<years>[1-5])y")


class FindingSeverity(StrEnum):
    """What a finding means for its row."""

    REJECT = "reject"  # must not be used
    WARN = "warn"  # may be used after a look at it
    UNKNOWN = "unknown"  # the row says that no price was found, which is valid


@dataclass(frozen=True, slots=True)
class PricedRow:
    """A price and the number of its row."""

    row: int
    price: Price


RowFindings = Iterator[tuple[PricedRow, FindingSeverity, str]]


def _sentinels(listed: Sequence[PricedRow]) -> RowFindings:
    for one in listed:
        if one.price.usd_per_hour in SENTINELS:
            reason = f"{one.price.usd_per_hour} is a placeholder, not a price"
            yield one, FindingSeverity.REJECT, reason


def _duplicates(listed: Sequence[PricedRow]) -> RowFindings:
    for same in _groups(listed, lambda p: (p.key, p.as_of)):
        if len(same) > 1:
            rows = ", ".join(str(one.row) for one in same)
            is_same = len({one.price.usd_per_hour for one in same}) == 1
            for one in same:
                level = FindingSeverity.WARN if is_same else FindingSeverity.REJECT
                yield one, level, f"rows {rows} are the same price of the same day"


def _spot(listed: Sequence[PricedRow]) -> RowFindings:
    for same in _groups(listed, lambda p: (p.provider, p.sku, p.region)):
        for one in same:
            if one.price.pricing_model is not PricingModel.SPOT:
                continue
            on_demand = _in_force(_on_demand(same), one.price.as_of)
            if on_demand is not None and one.price.usd_per_hour > on_demand.usd_per_hour:
                reason = (
                    f"spot at {one.price.usd_per_hour} is above on demand, {on_demand.usd_per_hour}"
                )
                yield one, FindingSeverity.REJECT, reason


def _terms(listed: Sequence[PricedRow]) -> RowFindings:
    """Check that longer commitments cost less per hour."""
    for same in _groups(listed, lambda p: (p.provider, p.sku, p.region)):
        committed = [one for one in same if one.price.pricing_model in _COMMITMENTS]
        for one in committed:
            usd, years = one.price.usd_per_hour, _years(one.price)
            on_demand = _in_force(_on_demand(same), one.price.as_of)
            if on_demand is not None and usd > on_demand.usd_per_hour:
                reason = f"committed at {usd} is above on demand, {on_demand.usd_per_hour}"
                yield one, FindingSeverity.REJECT, reason
            shorter = [
                other
                for other in committed
                if other.price.pricing_model is one.price.pricing_model
                and _payment(other.price) == _payment(one.price)
                and 0 < _years(other.price) < years
            ]
            shorter_price = _in_force(shorter, one.price.as_of)
            if shorter_price is not None and usd > shorter_price.usd_per_hour:
                reason = (
                    f"{years} years at {usd} cost more an hour than {_years(shorter_price)} years"
                )
                yield one, FindingSeverity.REJECT, reason
            elif shorter_price is not None and usd == shorter_price.usd_per_hour:
                reason = (
                    f"{years} years cost the same as {_years(shorter_price)}: one price is wrong"
                )
                yield one, FindingSeverity.WARN, reason


def _sizes(listed: Sequence[PricedRow]) -> RowFindings:
    current = current_prices(_on_demand(listed))
    for same in _groups(current, lambda p: (p.provider, _family(p), p.accelerator, p.region)):
        if not _family(same[0].price):
            continue
        unit_prices = [one.price.usd_per_device_hour for one in same]
        middle = median(unit_prices)
        is_pair = len(same) == PAIR_SIZE  # half-way between the two, neither is far from the middle
        for place, one in enumerate(same):
            share = unit_prices[place] / (unit_prices[1 - place] if is_pair else middle) - 1
            if abs(share) > MAX_SIZE_SCALING:
                reference = "the other size" if is_pair else "the median of its family's sizes"
                reason = f"{100 * share:+.0f} % per accelerator from {reference}"
                yield one, FindingSeverity.WARN, reason


def _windows(listed: Sequence[PricedRow]) -> RowFindings:
    azure = [one for one in _on_demand(listed) if one.price.provider == "azure"]
    for one in azure:
        price, size = one.price, _AZURE_SIZE.fullmatch(one.price.sku)
        if size is None:
            continue
        meter = int(size["processors"]) * WINDOWS_USD_PER_VCPU
        for linux_row in azure:
            linux = linux_row.price  # of any size: a larger one gives away a smaller one as well
            if (linux.accelerator, linux.region) != (price.accelerator, price.region):
                continue
            extra = price.usd_per_hour - linux.usd_per_device_hour * price.count
            if abs(extra - meter) <= WINDOWS_TOLERANCE * meter:
                reason = (
                    f"{price.usd_per_hour} is {linux.sku}'s price for {price.count} accelerators "
                    f"and {size['processors']} x {WINDOWS_USD_PER_VCPU}: the Windows meter"
                )
                yield one, FindingSeverity.REJECT, reason
                break


def _regions(listed: Sequence[PricedRow]) -> RowFindings:
    """Check the spread between regions; reject the prices farthest from the median."""
    current = current_prices(_on_demand(listed))
    for same in _groups(current, lambda p: (p.provider, p.sku, p.option)):
        first = same[0].price
        peers = [
            one.price.usd_per_device_hour
            for one in current
            if (one.price.provider, one.price.accelerator) == (first.provider, first.accelerator)
        ]
        middle = median(peers)
        by_distance = sorted(same, key=lambda one: _ratio(one.price.usd_per_device_hour, middle))
        while (spread := _spread(by_distance)) > MAX_REGION_SPREAD:
            reason = f"on demand differs {spread:.3g}-fold between regions"
            if len(peers) == len(same) == PAIR_SIZE:  # which of the two is wrong is unknown
                yield from ((one, FindingSeverity.WARN, reason) for one in by_distance)
                break
            yield by_distance.pop(), FindingSeverity.REJECT, reason


def _outliers(listed: Sequence[PricedRow]) -> RowFindings:
    current = current_prices(listed)
    for same in _groups(current, lambda p: (p.accelerator, p.count, p.pricing_model)):
        middle = median(one.price.usd_per_device_hour for one in same)
        for one in same:
            if _ratio(one.price.usd_per_device_hour, middle) > MAX_OVER_MEDIAN:
                unit_price = one.price.usd_per_device_hour
                reason = f"{unit_price:.4g} per accelerator, the median of its kind is {middle:.4g}"
                yield one, FindingSeverity.WARN, reason


def _chips(listed: Sequence[PricedRow]) -> RowFindings:
    """Find slices that count cores as chips, and prices of one of a chip's two cores."""
    for one in listed:
        tpu_slice = slice_of(one.price.sku)
        if tpu_slice is not None and one.price.count != tpu_slice.chips:
            reason = f"{one.price.sku} is {tpu_slice.chips} chips, not {one.price.count}"
            yield one, FindingSeverity.REJECT, reason
    for same in _groups(current_prices(_on_demand(listed)), lambda p: (p.provider, p.accelerator)):
        chips = [one.price.usd_per_device_hour for one in same]
        for one in same if has_two_cores(same[0].price.accelerator) else ():
            unit_price = one.price.usd_per_device_hour
            if any(
                abs(chip / unit_price / CORES_PER_CHIP - 1) <= PRICE_TOLERANCE for chip in chips
            ):
                reason = f"{unit_price:.4g} is half of what a chip costs elsewhere: a core's price"
                yield one, FindingSeverity.REJECT, reason


def _denominators(listed: Sequence[PricedRow]) -> RowFindings:
    """Find the price of one accelerator where the instance's should be, and the other way round.

    Of two rows at one figure, the one farther from all other prices like it is wrong. The suspects
    themselves are not among these: a mistake made everywhere is no reference.
    """
    current = current_prices(listed)
    for same in _groups(
        current, lambda p: (p.provider, p.accelerator, p.pricing_model, p.option_term)
    ):
        pairs = tuple(islice(_pairs(same), MAX_PAIRS))
        suspects = {one.row for pair in pairs for one in pair}
        other_prices = [one.price.usd_per_device_hour for one in same if one.row not in suspects]
        middle = median(other_prices) if other_prices and len(pairs) < MAX_PAIRS else None
        rejected: dict[int, tuple[PricedRow, str]] = {}
        for large, small in pairs:
            usd, count = large.price.usd_per_hour, large.price.count
            wrong = _wrong_row(large, small, same=same, middle=middle)
            if wrong is not None:
                of = f"{count} of them" if wrong is small else f"one of its {count}"
                rejected[wrong.row] = wrong, f"{usd} is the price of {of}"
        yield from ((one, FindingSeverity.REJECT, reason) for one, reason in rejected.values())
        yield from _undecided(
            [pair for pair in pairs if not any(one.row in rejected for one in pair)]
        )


def _pairs(same: Sequence[PricedRow]) -> Iterator[tuple[PricedRow, PricedRow]]:
    """Yield each instance with each smaller one whose accelerator costs what all of it does.

    Spot prices follow each region's demand: between regions equal figures are chance.
    """
    ordered = sorted(same, key=lambda one: one.price.usd_per_device_hour)
    unit_prices = [one.price.usd_per_device_hour for one in ordered]
    is_spot = same[0].price.pricing_model is PricingModel.SPOT
    for large in same:
        usd = large.price.usd_per_hour
        first, last = (
            bisect_left(unit_prices, usd * (1 - PRICE_TOLERANCE)),
            bisect_right(unit_prices, usd * (1 + PRICE_TOLERANCE)),
        )
        for small in ordered[first:last]:
            is_near = not is_spot or small.price.region == large.price.region
            if is_near and small.price.count < large.price.count:
                yield large, small


def _wrong_row(
    large: PricedRow, small: PricedRow, *, same: Sequence[PricedRow], middle: Decimal | None
) -> PricedRow | None:
    """Return which row of a pair is wrong, None where that cannot be decided.

    Two regions may have one figure by chance: there, the price of the wrong row's SKU elsewhere
    must also be off by as many accelerators as the larger instance has.
    """
    if middle is None:
        return None
    wrong = max(large, small, key=lambda one: _ratio(one.price.usd_per_device_hour, middle))
    is_decided = large.price.region == small.price.region or any(
        one.price.sku == wrong.price.sku
        and _ratio(one.price.usd_per_device_hour, wrong.price.usd_per_device_hour)
        >= MIN_FOLD * large.price.count
        for one in same
    )
    return wrong if is_decided else None


def _undecided(pairs: Iterable[tuple[PricedRow, PricedRow]]) -> RowFindings:
    """Warn about both rows of each pair, each row once."""
    noted: dict[int, tuple[PricedRow, str]] = {}
    for large, small in pairs:
        reason = (
            f"{large.price.usd_per_hour} is the price of {large.price.sku}'s {large.price.count} "
            f"and of one of {small.price.sku}'s: one of the two may be wrong"
        )
        for one in (large, small):
            noted.setdefault(one.row, (one, reason))
    yield from ((one, FindingSeverity.WARN, reason) for one, reason in noted.values())


RULES: dict[str, Callable[[Sequence[PricedRow]], RowFindings]] = {
    "placeholder": _sentinels,
    "duplicate": _duplicates,
    "chips and cores": _chips,
    "Windows meter": _windows,
    "instance and accelerator": _denominators,
    "spread over regions": _regions,
    "spot above on demand": _spot,
    "commitments by term": _terms,
    "sizes of a family": _sizes,
    "median of its kind": _outliers,
}


def _groups(
    listed: Iterable[PricedRow], key: Callable[[Price], object]
) -> tuple[tuple[PricedRow, ...], ...]:
    groups: defaultdict[object, list[PricedRow]] = defaultdict(list)
    for one in listed:
        groups[key(one.price)].append(one)
    return tuple(tuple(group) for group in groups.values())


def current_prices(listed: Iterable[PricedRow]) -> tuple[PricedRow, ...]:
    """Return the newest price of each option and region; earlier prices are history."""
    by_recency = sorted(listed, key=lambda one: one.price.recency)
    return tuple({one.price.key: one for one in by_recency}.values())


def _on_demand(listed: Iterable[PricedRow]) -> list[PricedRow]:
    return [one for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND]


def _in_force(listed: Iterable[PricedRow], day: date) -> Price | None:
    """Return the newest of some prices on a day, else the first one soon after it.

    AWS cut its list prices by 44 % in 2025: commitments from before are above the list price since.
    """
    prices = [one.price for one in listed]
    before = [price for price in prices if price.as_of <= day]
    if before:
        return max(before, key=lambda price: price.as_of)
    soon = [price for price in prices if price.as_of <= day + MAX_LATER]
    return min(soon, key=lambda price: price.as_of, default=None)


def _spread(listed: Sequence[PricedRow]) -> Decimal:
    prices = [one.price.usd_per_hour for one in listed]
    return max(prices) / min(prices)


def _family(price: Price) -> str:
    match = _SIZE.fullmatch(price.sku)
    return (match["family"] or match["google"]) if match else ""


def _years(price: Price) -> int:
    match = _YEARS.match(price.term)
    return int(match["years"]) if match else 0


def _payment(price: Price) -> str:
    return _YEARS.sub("", price.term)


def _ratio(left: Decimal, right: Decimal) -> Decimal:
    return max(left / right, right / left)
