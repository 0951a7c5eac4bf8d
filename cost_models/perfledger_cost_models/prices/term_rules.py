"""Rules that compare the on-demand, spot and committed prices of one SKU and region."""

import re
from collections.abc import Sequence
from decimal import Decimal

from perfledger.rounding import digits, integer
from perfledger_cost_models.prices.price_sheet import BILLED_TERM, Price, PricingModel
from perfledger_cost_models.prices.priced_rows import (
    MAX_LATER,
    FindingSeverity,
    PricedRow,
    RowFindings,
    current_prices,
    groups_by,
    is_spot,
    newer_of,
    on_demand_rows,
    row_in_force,
)
from perfledger_cost_models.quote import PriceLayer

# The providers' largest discounts: AWS states up to 72 % for its longest commitments, and a year of
# a P5 costs 0.59 of on demand. A commitment below these shares belongs to another list price.
MIN_COMMITTED_SHARE = {1: Decimal("0.45"), 3: Decimal("0.25")}
# Further share by which a private offer may lower a commitment: AWS's largest published discounts
# on top of plans are below a third.
OWN_DISCOUNT = Decimal("0.4")
# Most that a bill's hourly cost may differ from the list, as a factor. The hourly cost according to
# a bill may be below the list because of discounts and credits, or above it because of rounding up
# to whole hours. Beyond this, its unit or its cost is wrong.
MAX_BILLED_FOLD = Decimal(3)
MAX_BILLED_FOLD_SPOT = Decimal(5)
# A price that contradicts two others is wrong; the two others are not.
MIN_CONTRADICTIONS = 2

_COMMITMENTS = (PricingModel.SAVINGS_PLAN, PricingModel.RESERVED, PricingModel.COMMITTED_USE)
_YEARS = re.compile(r"(?P<years>[1-5])y")

_Contradiction = tuple[PricedRow, PricedRow]  # an on-demand price, and one that contradicts it


def spot_prices(listed: Sequence[PricedRow]) -> RowFindings:
    """Find spot prices above on demand."""
    for same in groups_by(listed, lambda price: (price.provider, price.sku, price.region)):
        contradictions = _above_on_demand(same)
        for on_demand, other in contradictions:
            if other.price.pricing_model is PricingModel.SPOT:
                reason = (
                    f"spot at {digits(other.price.usd_per_hour, 6)} is above on demand, "
                    f"{digits(on_demand.price.usd_per_hour, 6)}"
                )
                yield _wrong_price(on_demand, other, contradictions), FindingSeverity.REJECT, reason


def commitments(listed: Sequence[PricedRow]) -> RowFindings:
    """Check that commitments cost less than on demand, within what providers grant."""
    for same in groups_by(listed, lambda price: (price.provider, price.sku, price.region)):
        contradictions = _above_on_demand(same)
        for on_demand, other in contradictions:
            if other.price.pricing_model in _COMMITMENTS:
                reason = (
                    f"committed at {digits(other.price.usd_per_hour, 6)} is above on demand, "
                    f"{digits(on_demand.price.usd_per_hour, 6)}"
                )
                yield _wrong_price(on_demand, other, contradictions), FindingSeverity.REJECT, reason
        yield from _too_cheap(same)
        yield from _longer_terms(same)


def billed_prices(listed: Sequence[PricedRow]) -> RowFindings:
    """Find effective prices of a bill far from the list prices of their SKU and pricing model."""
    for same in groups_by(
        current_prices(listed),
        lambda price: (price.provider, price.sku, price.pricing_model),
    ):
        published = [one for one in same if not _is_billed(one) and not _is_own(one)]
        for one in filter(_is_billed, same):
            here = [each for each in published if each.price.region == one.price.region]
            prices = [each.price.usd_per_hour for each in here or published]
            limit = MAX_BILLED_FOLD_SPOT if is_spot(one.price) else MAX_BILLED_FOLD
            usd = one.price.usd_per_hour
            if prices and not min(prices) / limit <= usd <= max(prices) * limit:
                reason = (
                    f"{digits(usd, 4)} an hour was paid by the bill, and the list says "
                    f"{_range_text(prices)}: the bill's hours or costs are in another unit"
                )
                yield one, FindingSeverity.REJECT, reason


def _range_text(prices: Sequence[Decimal]) -> str:
    low, high = min(prices), max(prices)
    return f"{low}" if low == high else f"{low} to {high}"


def _above_on_demand(same: Sequence[PricedRow]) -> list[_Contradiction]:
    """Return the spot and committed prices above the on-demand price of their day.

    An own on-demand price is negotiated: published prices may be above it.
    """
    on_demand = on_demand_rows(same)
    pairs: list[_Contradiction] = []
    for one in same:
        if one.price.pricing_model in {PricingModel.SPOT, *_COMMITMENTS}:
            listed = row_in_force(on_demand, one.price.as_of)
            if listed is None or (_is_own(listed) and not _is_own(one)):
                continue
            if one.price.usd_per_hour > listed.price.usd_per_hour:
                pairs.append((listed, one))
    return pairs


def _wrong_price(
    on_demand: PricedRow, derived: PricedRow, contradictions: Sequence[_Contradiction]
) -> PricedRow:
    """Return which of the two is wrong: the one that contradicts several others, else the newer."""
    count = sum(listed is on_demand for listed, _ in contradictions)
    if count >= MIN_CONTRADICTIONS and not on_demand.is_reference:
        return on_demand
    return newer_of(on_demand, derived)


def _too_cheap(same: Sequence[PricedRow]) -> RowFindings:
    """Find on-demand prices so high that commitments would be cheaper than any ever granted.

    An old list price under a new date is such a price. An own on-demand price is negotiated, and
    not a reference; an own commitment may be lower than a published one by OWN_DISCOUNT.
    """
    current = [one for one in current_prices(same) if not _is_billed(one)]
    committed = [one for one in current if one.price.pricing_model in _COMMITMENTS]
    for on_demand in [one for one in on_demand_rows(current) if not _is_own(one)]:
        same_time = [
            one
            for one in committed
            if _years(one.price) in MIN_COMMITTED_SHARE
            and abs(one.price.as_of - on_demand.price.as_of) <= MAX_LATER
        ]
        contradictions = [
            (on_demand, one) for one in same_time if _share(one, on_demand) < _least_share(one)
        ]
        is_outvoted = 2 * len(contradictions) < len(same_time)
        for _, other in contradictions:
            reason = (
                f"{_years(other.price)} years committed at {digits(other.price.usd_per_hour, 6)} "
                f"are {integer(100 * _share(other, on_demand))} % of on demand, "
                f"{digits(on_demand.price.usd_per_hour, 6)}: they belong to different price lists"
            )
            wrong = other if is_outvoted else _wrong_price(on_demand, other, contradictions)
            yield wrong, FindingSeverity.REJECT, reason


def _longer_terms(same: Sequence[PricedRow]) -> RowFindings:
    """Check that longer commitments cost less per hour."""
    committed = [one for one in same if one.price.pricing_model in _COMMITMENTS]
    for one in committed:
        usd, years = one.price.usd_per_hour, _years(one.price)
        shorter = [
            each
            for each in committed
            if each.price.pricing_model is one.price.pricing_model
            and _payment(each.price) == _payment(one.price)
            and 0 < _years(each.price) < years
        ]
        shortest = row_in_force(shorter, one.price.as_of)
        if shortest is None or usd < shortest.price.usd_per_hour:
            continue
        if usd > shortest.price.usd_per_hour:
            reason = f"{years} years at {usd} cost more an hour than {_years(shortest.price)} years"
            yield newer_of(shortest, one), FindingSeverity.REJECT, reason
        else:
            reason = f"{years} years cost the same as {_years(shortest.price)}: one price is wrong"
            yield one, FindingSeverity.WARN, reason


def _least_share(committed: PricedRow) -> Decimal:
    share = MIN_COMMITTED_SHARE[_years(committed.price)]
    return share * (1 - OWN_DISCOUNT) if _is_own(committed) else share


def _is_billed(row: PricedRow) -> bool:
    return row.price.option_term == BILLED_TERM


def _is_own(row: PricedRow) -> bool:
    return row.price.layer is PriceLayer.OVERRIDE


def _share(committed: PricedRow, on_demand: PricedRow) -> Decimal:
    return committed.price.usd_per_device_hour / on_demand.price.usd_per_device_hour


def _years(price: Price) -> int:
    match = _YEARS.match(price.term)
    return int(match["years"]) if match else 0


def _payment(price: Price) -> str:
    return _YEARS.sub("", price.term)
