"""Rules that find implausible prices in a price list.

Every rule reads numbers and identity only, never the notes of a row.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, islice
from statistics import median

from perfledger.rounding import digits
from perfledger_cost_models.prices import history_rules, market_rules, term_rules
from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.prices.priced_rows import (
    PRICE_TOLERANCE,
    FindingSeverity,
    PricedRow,
    RowFindings,
    current_prices,
    fold,
    groups_by,
    on_demand_rows,
)
from perfledger_cost_models.prices.tpu_slices import CORES_PER_CHIP, has_two_cores, slice_of

# Placeholders that catalogs write where they have no price.
SENTINELS = (Decimal(0), Decimal(700))
# Azure's Windows meter adds this for each vCPU and hour: 48 of them are 2.208 on NC48ads_A100_v4.
WINDOWS_USD_PER_VCPU = Decimal("0.046")
WINDOWS_TOLERANCE = Decimal("0.01")
# Share of the count from which a price factor means that one was taken for all. A price off by this
# share of the count is the price of one accelerator, or of all of them: regions differ twofold at
# most, and three quarters of four are three.
MIN_FOLD = Decimal("0.75")
# Fifty regions of two sizes at one price are 2,500 pairs: beyond this many, no pair is decided.
MAX_PAIRS = 10_000

_AZURE_SIZE = re.compile(r"Standard_[A-Z]+(?P<processors>\d+)[a-z]*_(?P<rest>\w+)")
_NAMES = ("provider", "sku", "region", "accelerator")
_Rule = Callable[[Sequence[PricedRow]], RowFindings]


def _sentinels(listed: Sequence[PricedRow]) -> RowFindings:
    for one in listed:
        if one.price.usd_per_hour in SENTINELS:
            reason = f"{one.price.usd_per_hour} is a placeholder, not a price"
            yield one, FindingSeverity.REJECT, reason


def _duplicates(listed: Sequence[PricedRow]) -> RowFindings:
    for same in groups_by(listed, lambda p: (p.key, p.as_of)):
        if len(same) > 1:
            rows = ", ".join(str(one.row) for one in same)
            is_same = len({one.price.usd_per_hour for one in same}) == 1
            for one in same:
                level = FindingSeverity.WARN if is_same else FindingSeverity.REJECT
                yield one, level, f"rows {rows} are the same price of the same day"


def _windows_meters(listed: Sequence[PricedRow]) -> RowFindings:
    azure = [one for one in on_demand_rows(listed) if one.price.provider == "azure"]
    for one in azure:
        price, size = one.price, _AZURE_SIZE.fullmatch(one.price.sku)
        if size is None:
            continue
        meter = int(size["processors"]) * WINDOWS_USD_PER_VCPU
        for linux_row in azure:
            linux = linux_row.price  # of any size: a larger one reveals a smaller one as well
            if (linux.accelerator, linux.region) != (price.accelerator, price.region):
                continue
            if not _is_scaled(price, linux):
                continue
            extra = price.usd_per_hour - linux.usd_per_device_hour * price.count
            if abs(extra - meter) <= WINDOWS_TOLERANCE * meter:
                reason = (
                    f"{price.usd_per_hour} is {linux.sku}'s price for {price.count} accelerators "
                    f"and {size['processors']} x {WINDOWS_USD_PER_VCPU}: the Windows meter"
                )
                yield one, FindingSeverity.REJECT, reason
                break


def _is_scaled(windows: Price, linux: Price) -> bool:
    """Return whether two sizes of Azure have equally many processors per accelerator."""
    sizes = [(_AZURE_SIZE.fullmatch(price.sku), price.count) for price in (windows, linux)]
    (left, left_count), (right, right_count) = (
        (int(size["processors"]) if size else 0, count) for size, count in sizes
    )
    return left * right_count == right * left_count


def _chips(listed: Sequence[PricedRow]) -> RowFindings:
    """Find slices that count cores as chips, and prices of one of a chip's two cores."""
    for one in listed:
        tpu_slice = slice_of(one.price.sku)
        if tpu_slice is not None and one.price.count != tpu_slice.chips:
            reason = f"{one.price.sku} is {tpu_slice.chips} chips, not {one.price.count}"
            yield one, FindingSeverity.REJECT, reason
    current = current_prices(on_demand_rows(listed))
    for same in groups_by(current, lambda p: (p.provider, p.accelerator)):
        chips = [one.price.usd_per_device_hour for one in same]
        for one in same if has_two_cores(same[0].price.accelerator) else ():
            unit_price = one.price.usd_per_device_hour
            if any(
                abs(chip / unit_price / CORES_PER_CHIP - 1) <= PRICE_TOLERANCE for chip in chips
            ):
                reason = (
                    f"{digits(unit_price, 4)} is half of what a chip costs elsewhere: a core's "
                    "price"
                )
                yield one, FindingSeverity.REJECT, reason


def _denominators(listed: Sequence[PricedRow]) -> RowFindings:
    """Find the price of one accelerator where the instance's should be, or the reverse.

    Of two rows with the same price, the one farther from all other comparable prices is wrong. The
    suspects themselves are excluded from these: a mistake made everywhere is no reference.
    """
    current = current_prices(listed)
    for same in groups_by(
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
        yield from _warn_about_pairs(
            [pair for pair in pairs if not any(one.row in rejected for one in pair)]
        )


def _pairs(same: Sequence[PricedRow]) -> Iterator[tuple[PricedRow, PricedRow]]:
    """Yield each instance with each smaller one whose accelerator costs as much as all of it.

    Spot prices follow each region's demand: equal figures in different regions are chance.
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
    """Return which row of a pair is wrong; None if that cannot be decided.

    Two regions may have one figure by chance: there, the price of the wrong row's SKU elsewhere
    must also be off by as many accelerators as the larger instance has, and by more than regions
    differ.
    """
    if middle is None:
        return None
    wrong = max(large, small, key=lambda one: fold(one.price.usd_per_device_hour, middle))
    if large.price.region == small.price.region:
        return wrong
    least = MIN_FOLD * large.price.count
    is_decided = least > market_rules.MAX_REGION_SPREAD and any(
        one.price.sku == wrong.price.sku
        and fold(one.price.usd_per_device_hour, wrong.price.usd_per_device_hour) >= least
        for one in same
    )
    return wrong if is_decided else None


def _warn_about_pairs(pairs: Iterable[tuple[PricedRow, PricedRow]]) -> RowFindings:
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


def _swapped_columns(listed: Sequence[PricedRow]) -> RowFindings:
    """Find rows with two swapped columns: each has the value that other rows have in the other."""
    names = {
        name: {getattr(one.price, name) for one in listed if one.is_reference} for name in _NAMES
    }
    for one in listed:
        for left, right in combinations(_NAMES, 2):
            a, b = getattr(one.price, left), getattr(one.price, right)
            is_swapped = a in names[right] - names[left] and b in names[left] - names[right]
            if is_swapped and not one.is_reference:
                reason = f"{a!r} is a {right} and {b!r} a {left}: the columns are swapped"
                yield one, FindingSeverity.REJECT, reason


def _instances(listed: Sequence[PricedRow]) -> RowFindings:
    """Find rows that contradict others about an instance's accelerators: which, and how many."""
    for same in groups_by(listed, lambda price: (price.provider, price.sku)):
        contents = Counter(map(_contents, same))
        references = {_contents(one) for one in same if one.is_reference}
        oldest = _contents(min(same, key=lambda one: one.price.as_of))
        right = max(contents, key=lambda each: (each in references, contents[each], each == oldest))
        for one in same:
            if _contents(one) != right:
                count, accelerator = right
                reason = (
                    f"{one.price.sku} has {count} {accelerator} in other rows, not "
                    f"{one.price.count} {one.price.accelerator}"
                )
                yield one, FindingSeverity.REJECT, reason


def _contents(row: PricedRow) -> tuple[int, str]:
    return row.price.count, row.price.accelerator


# In this order: a row that one rule rejects is no reference for the next.
RULES: Mapping[str, _Rule] = {
    "days": history_rules.days,
    "swapped columns": _swapped_columns,
    "placeholder": _sentinels,
    "earlier value": history_rules.earlier_values,
    "superseded price": history_rules.superseded_prices,
    "duplicate": _duplicates,
    "chips and cores": _chips,
    "Windows meter": _windows_meters,
    "instance and accelerator": _denominators,
    "accelerators of an instance": _instances,
    "level of its region": market_rules.region_levels,
    "spread over regions": market_rules.region_spread,
    "spot above on demand": term_rules.spot_prices,
    "commitments by term": term_rules.commitments,
    "bill and list": term_rules.billed_prices,
    "range of its kind": market_rules.ranges,
    "sizes of a family": market_rules.family_sizes,
    "median of its kind": market_rules.outliers,
}
# These compare a price with those that it replaces; the others see what applies in the end.
RULES_WITH_HISTORY = frozenset({"earlier value", "superseded price", "accelerators of an instance"})
# A negotiated price may be far from what the rest of a list suggests.
RULES_OF_OWN_PRICES = frozenset(
    {
        *("days", "swapped columns", "placeholder", "earlier value", "duplicate"),
        *("chips and cores", "accelerators of an instance", "commitments by term"),
        *("spot above on demand", "range of its kind", "bill and list"),
    }
)
