"""Listed prices into those that cannot be right, rule by rule, and why.

Every rule reads numbers and identity, never what somebody noted about the row.
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

from perfledger_cost_models.sheet import Price, PricingModel
from perfledger_cost_models.tpu import CORES_PER_CHIP, has_two_cores, slice_of

# What catalogs write where they have no price.
SENTINELS = (Decimal(0), Decimal(700))
# On-demand prices of one SKU differ by region, by 1.44 times at most among the packaged ones.
MAX_REGION_SPREAD = 2
# Between providers the same card costs 1.4 to 16 USD: beyond this a price is of something else.
MAX_OVER_MEDIAN = 3
# Sizes of a family differ in processors and memory around the same card: g5.xlarge, g5.16xlarge.
MAX_SIZE_SCALING = Decimal("0.35")
# Azure's Windows meter adds this for each vCPU and hour: 48 of them are 2.208 on NC48ads_A100_v4.
WINDOWS_USD_PER_VCPU = Decimal("0.046")
WINDOWS_TOLERANCE = Decimal("0.01")
# A list price that is first known so long after another price still says what that may have been.
SOON = timedelta(days=180)
PAIR = 2
# Two prices of one thing in one currency agree this well if one was copied from the other.
SAME = Decimal("0.001")
# Off by so much of a count, a price is of one accelerator or of all: regions are 1.44-fold apart at
# most, three quarters of two are 1.5.
MIN_FOLD = Decimal("0.75")
# Fifty regions of two sizes at one figure are 2,500 couples: where there are more, none is decided.
MAX_COUPLES = 10_000

_AZURE_SIZE = re.compile(r"Standard_[A-Z]+(?P<processors>\d+)[a-z]*_(?P<rest>\w+)")
_SIZE = re.compile(
    r"(?P<family>[a-z]+\d+[a-z]*(?:-[a-z]+\d*)?)\.\w+|(?P<google>a\d-[a-z]+gpu)-\d+g"
)
_COMMITMENTS = (PricingModel.SAVINGS_PLAN, PricingModel.RESERVED, PricingModel.COMMITTED_USE)
_YEARS = re.compile(r"(?P<years>[1-5])y")


class Level(StrEnum):
    """What a finding means for the row."""

    REJECT = "reject"  # must not be used
    WARN = "warn"  # may be used; somebody should look
    UNKNOWN = "unknown"  # the row says that there is no price, which is an answer


@dataclass(frozen=True, slots=True)
class Listed:
    """A price and the row that it stands in."""

    row: int
    price: Price


Found = Iterator[tuple[Listed, Level, str]]


def _sentinels(listed: Sequence[Listed]) -> Found:
    for one in listed:
        if one.price.usd_per_hour in SENTINELS:
            yield one, Level.REJECT, f"{one.price.usd_per_hour} is a placeholder, not a price"


def _duplicates(listed: Sequence[Listed]) -> Found:
    for same in _groups(listed, lambda p: (p.provider, p.option, p.region, p.as_of)):
        if len(same) > 1:
            rows = ", ".join(str(one.row) for one in same)
            is_same = len({one.price.usd_per_hour for one in same}) == 1
            for one in same:
                level = Level.WARN if is_same else Level.REJECT
                yield one, level, f"rows {rows} are the same price of the same day"


def _spot(listed: Sequence[Listed]) -> Found:
    for same in _groups(listed, lambda p: (p.provider, p.sku, p.region)):
        for one in same:
            if one.price.pricing_model is not PricingModel.SPOT:
                continue
            on_demand = _in_force(_on_demand(same), one.price.as_of)
            if on_demand is not None and one.price.usd_per_hour > on_demand.usd_per_hour:
                reason = (
                    f"spot at {one.price.usd_per_hour} is above on demand, {on_demand.usd_per_hour}"
                )
                yield one, Level.REJECT, reason


def _terms(listed: Sequence[Listed]) -> Found:
    """Check that the longer a commitment is, the less it costs."""
    for same in _groups(listed, lambda p: (p.provider, p.sku, p.region)):
        committed = [one for one in same if one.price.pricing_model in _COMMITMENTS]
        for one in committed:
            usd, years = one.price.usd_per_hour, _years(one.price)
            on_demand = _in_force(_on_demand(same), one.price.as_of)
            if on_demand is not None and usd > on_demand.usd_per_hour:
                reason = f"committed at {usd} is above on demand, {on_demand.usd_per_hour}"
                yield one, Level.REJECT, reason
            shorter = [
                other.price
                for other in committed
                if other.price.pricing_model is one.price.pricing_model
                and _payment(other.price) == _payment(one.price)
                and 0 < _years(other.price) < years
            ]
            known = _in_force(shorter, one.price.as_of)
            if known is not None and usd > known.usd_per_hour:
                reason = f"{years} years at {usd} cost more an hour than {_years(known)}"
                yield one, Level.REJECT, reason
            elif known is not None and usd == known.usd_per_hour:
                reason = f"{years} years cost what {_years(known)} do: one is the other's price"
                yield one, Level.WARN, reason


def _sizes(listed: Sequence[Listed]) -> Found:
    current = current_prices(
        one for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND
    )
    for same in _groups(current, lambda p: (p.provider, _family(p), p.accelerator, p.region)):
        if not _family(same[0].price):
            continue
        each = [one.price.usd_per_device_hour for one in same]
        middle = median(each)
        is_pair = len(same) == PAIR  # half-way between the two, neither is far from the middle
        for place, one in enumerate(same):
            share = each[place] / (each[1 - place] if is_pair else middle) - 1
            if abs(share) > MAX_SIZE_SCALING:
                yardstick = "the other size" if is_pair else "the middle of its family's sizes"
                reason = f"{share:+.0%} per accelerator from {yardstick}"
                yield one, Level.WARN, reason


def _windows(listed: Sequence[Listed]) -> Found:
    azure = [
        one
        for one in listed
        if one.price.provider == "azure" and one.price.pricing_model is PricingModel.ON_DEMAND
    ]
    for one in azure:
        price, size = one.price, _AZURE_SIZE.fullmatch(one.price.sku)
        if size is None:
            continue
        meter = int(size["processors"]) * WINDOWS_USD_PER_VCPU
        for other in azure:
            linux = other.price  # of any size: a larger one tells on a smaller one as well
            if not _is_alike(linux, price):
                continue
            extra = price.usd_per_hour - linux.usd_per_device_hour * price.count
            if abs(extra - meter) <= WINDOWS_TOLERANCE * meter:
                reason = (
                    f"{price.usd_per_hour} is {linux.sku}'s price for {price.count} accelerators "
                    f"and {size['processors']} x {WINDOWS_USD_PER_VCPU}: the Windows meter"
                )
                yield one, Level.REJECT, reason
                break


def _regions(listed: Sequence[Listed]) -> Found:
    """Check the spread over regions; of prices too far apart the stranger ones are wrong."""
    current = current_prices(
        one for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND
    )
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
            if len(peers) == len(same) == PAIR:  # nothing tells which of the two is wrong
                yield from ((one, Level.WARN, reason) for one in by_distance)
                break
            yield by_distance.pop(), Level.REJECT, reason


def _outliers(listed: Sequence[Listed]) -> Found:
    current = current_prices(listed)
    for same in _groups(current, lambda p: (p.accelerator, p.count, p.pricing_model)):
        middle = median(one.price.usd_per_device_hour for one in same)
        for one in same:
            if _ratio(one.price.usd_per_device_hour, middle) > MAX_OVER_MEDIAN:
                each = one.price.usd_per_device_hour
                reason = f"{each:.4g} per accelerator, the median of its like is {middle:.4g}"
                yield one, Level.WARN, reason


def _chips(listed: Sequence[Listed]) -> Found:
    """Find slices that count cores for chips, and prices of one of a chip's two cores."""
    for one in listed:
        found = slice_of(one.price.sku)
        if found is not None and one.price.count != found.chips:
            reason = f"{one.price.sku} is {found.chips} chips, not {one.price.count}"
            yield one, Level.REJECT, reason
    on_demand = [one for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND]
    for same in _groups(current_prices(on_demand), lambda p: (p.provider, p.accelerator)):
        chips = [one.price.usd_per_device_hour for one in same]
        for one in same if has_two_cores(same[0].price.accelerator) else ():
            each = one.price.usd_per_device_hour
            if any(abs(chip / each / CORES_PER_CHIP - 1) <= SAME for chip in chips):
                reason = f"{each:.4g} is half of what a chip costs elsewhere: a core's price"
                yield one, Level.REJECT, reason


def _denominators(listed: Sequence[Listed]) -> Found:
    """Find the price of one accelerator where the instance's should be, and the other way round.

    Of the two that stand at one figure that is wrong which is farther from all others like them,
    the suspects not among these: a mistake that is made everywhere is no yardstick.
    """
    current = current_prices(listed)
    for same in _groups(
        current, lambda p: (p.provider, p.accelerator, p.pricing_model, p.option_term)
    ):
        couples = tuple(islice(_couples(same), MAX_COUPLES))
        suspects = {one.row for couple in couples for one in couple}
        others = [one.price.usd_per_device_hour for one in same if one.row not in suspects]
        middle = median(others) if others and len(couples) < MAX_COUPLES else None
        rejected: dict[int, tuple[Listed, str]] = {}
        for large, small in couples:
            usd, count = large.price.usd_per_hour, large.price.count
            wrong = _wrong_of(large, small, same=same, middle=middle)
            if wrong is not None:
                of = f"{count} of them" if wrong is small else f"one of its {count}"
                rejected[wrong.row] = wrong, f"{usd} is the price of {of}"
        yield from ((one, Level.REJECT, reason) for one, reason in rejected.values())
        yield from _undecided(
            [couple for couple in couples if not any(one.row in rejected for one in couple)]
        )


def _couples(same: Sequence[Listed]) -> Iterator[tuple[Listed, Listed]]:
    """Yield each instance with each smaller one whose accelerator costs what all of it does.

    Spot prices follow each region's demand: between regions one figure is chance.
    """
    ordered = sorted(same, key=lambda one: one.price.usd_per_device_hour)
    each = [one.price.usd_per_device_hour for one in ordered]
    is_spot = same[0].price.pricing_model is PricingModel.SPOT
    for large in same:
        usd = large.price.usd_per_hour
        first, last = bisect_left(each, usd * (1 - SAME)), bisect_right(each, usd * (1 + SAME))
        for small in ordered[first:last]:
            is_near = not is_spot or small.price.region == large.price.region
            if is_near and small.price.count < large.price.count:
                yield large, small


def _wrong_of(
    large: Listed, small: Listed, *, same: Sequence[Listed], middle: Decimal | None
) -> Listed | None:
    """Return which of a couple is wrong, None where nothing tells.

    Two regions may have one figure by chance: there the price of its own SKU elsewhere must agree
    that it is off by as many accelerators as the larger instance has.
    """
    if middle is None:
        return None
    wrong = max(large, small, key=lambda one: _ratio(one.price.usd_per_device_hour, middle))
    is_told = large.price.region == small.price.region or any(
        one.price.sku == wrong.price.sku
        and _ratio(one.price.usd_per_device_hour, wrong.price.usd_per_device_hour)
        >= MIN_FOLD * large.price.count
        for one in same
    )
    return wrong if is_told else None


def _undecided(couples: Iterable[tuple[Listed, Listed]]) -> Found:
    """Note both of each couple, each row once."""
    noted: dict[int, tuple[Listed, str]] = {}
    for large, small in couples:
        reason = (
            f"{large.price.usd_per_hour} is the price of {large.price.sku}'s {large.price.count} "
            f"and of one of {small.price.sku}'s: nothing tells which is wrong, if one is"
        )
        for one in (large, small):
            noted.setdefault(one.row, (one, reason))
    yield from ((one, Level.WARN, reason) for one, reason in noted.values())


RULES: dict[str, Callable[[Sequence[Listed]], Found]] = {
    "placeholder": _sentinels,
    "duplicate": _duplicates,
    "chips and cores": _chips,
    "Windows meter": _windows,
    "instance and accelerator": _denominators,
    "spread over regions": _regions,
    "spot above on demand": _spot,
    "commitments by term": _terms,
    "sizes of a family": _sizes,
    "median of its like": _outliers,
}


def _groups(
    listed: Iterable[Listed], key: Callable[[Price], object]
) -> tuple[tuple[Listed, ...], ...]:
    groups: defaultdict[object, list[Listed]] = defaultdict(list)
    for one in listed:
        groups[key(one.price)].append(one)
    return tuple(tuple(group) for group in groups.values())


def current_prices(listed: Iterable[Listed]) -> tuple[Listed, ...]:
    """Return the newest price of each option and region: what it cost before is history."""
    newest: dict[tuple[str, str, str], Listed] = {}
    for one in sorted(listed, key=lambda one: one.price.recency):
        newest[one.price.provider, one.price.option, one.price.region] = one
    return tuple(newest.values())


def _on_demand(listed: Iterable[Listed]) -> list[Price]:
    return [one.price for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND]


def _in_force(prices: Sequence[Price], day: date) -> Price | None:
    """Return the newest of some prices on a day, else the first that is soon after it.

    AWS cut its list prices by 44 % in 2025: what a commitment cost before is above them since.
    """
    before = [price for price in prices if price.as_of <= day]
    if before:
        return max(before, key=lambda price: price.as_of)
    soon = [price for price in prices if price.as_of <= day + SOON]
    return min(soon, key=lambda price: price.as_of, default=None)


def _spread(listed: Sequence[Listed]) -> Decimal:
    each = [one.price.usd_per_hour for one in listed]
    return max(each) / min(each)


def _is_alike(one: Price, other: Price) -> bool:
    return (one.accelerator, one.region) == (other.accelerator, other.region)


def _family(price: Price) -> str:
    found = _SIZE.fullmatch(price.sku)
    return (found["family"] or found["google"]) if found else ""


def _years(price: Price) -> int:
    found = _YEARS.match(price.term)
    return int(found["years"]) if found else 0


def _payment(price: Price) -> str:
    return _YEARS.sub("", price.term)


def _ratio(one: Decimal, other: Decimal) -> Decimal:
    return max(one / other, other / one)
