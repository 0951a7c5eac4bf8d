"""Rules that compare the on-demand, spot and committed prices of one SKU and region."""

import re
from collections.abc import Sequence
from decimal import Decimal

from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.prices.priced_rows import (
    MAX_LATER,
    FindingSeverity,
    PricedRow,
    RowFindings,
    current_prices,
    groups_by,
    newer_of,
    on_demand_rows,
    row_in_force,
)
from perfledger_cost_models.quote import PriceLayer

# The providers' largest discounts: AWS states up to 72 % for its longest commitments, and a year of
# a P5 costs 0.59 of on demand. A commitment below these shares belongs to another list price.
MIN_COMMITTED_SHARE = {1: Decimal("0.45"), 3: Decimal("0.25")}
# A price that contradicts two others is wrong, and not both of them.
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
                    f"spot at {other.price.usd_per_hour} is above on demand, "
                    f"{on_demand.price.usd_per_hour}"
                )
                yield _wrong_price(on_demand, other, contradictions), FindingSeverity.REJECT, reason


def commitments(listed: Sequence[PricedRow]) -> RowFindings:
    """Check that commitments cost less than on demand, within what providers grant."""
    for same in groups_by(listed, lambda price: (price.provider, price.sku, price.region)):
        contradictions = _above_on_demand(same)
        for on_demand, other in contradictions:
            if other.price.pricing_model in _COMMITMENTS:
                reason = (
                    f"committed at {other.price.usd_per_hour} is above on demand, "
                    f"{on_demand.price.usd_per_hour}"
                )
                yield _wrong_price(on_demand, other, contradictions), FindingSeverity.REJECT, reason
        yield from _too_cheap(same)
        yield from _longer_terms(same)


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
    """Return which of the two is wrong: what contradicts several others, else the newer one."""
    count = sum(listed is on_demand for listed, _ in contradictions)
    if count >= MIN_CONTRADICTIONS and not on_demand.is_reference:
        return on_demand
    return newer_of(on_demand, derived)


def _too_cheap(same: Sequence[PricedRow]) -> RowFindings:
    """Find an on-demand price so high that commitments would be cheaper than any that are granted.

    An old list price under a new date is one. Own prices are negotiated, and exempt.
    """
    published = [one for one in same if not _is_own(one)]
    current = current_prices(published)
    committed = [one for one in current if one.price.pricing_model in _COMMITMENTS]
    for on_demand in on_demand_rows(current):
        same_time = [
            one
            for one in committed
            if _years(one.price) in MIN_COMMITTED_SHARE
            and abs(one.price.as_of - on_demand.price.as_of) <= MAX_LATER
        ]
        contradictions = [
            (on_demand, one)
            for one in same_time
            if _share(one, on_demand) < MIN_COMMITTED_SHARE[_years(one.price)]
        ]
        is_outvoted = 2 * len(contradictions) < len(same_time)
        for _, other in contradictions:
            reason = (
                f"{_years(other.price)} years committed at {other.price.usd_per_hour} are "
                f"{100 * _share(other, on_demand):.0f} % of on demand, "
                f"{on_demand.price.usd_per_hour}: they belong to different price lists"
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


def _is_own(row: PricedRow) -> bool:
    return row.price.layer is PriceLayer.OVERRIDE


def _share(committed: PricedRow, on_demand: PricedRow) -> Decimal:
    return committed.price.usd_per_device_hour / on_demand.price.usd_per_device_hour


def _years(price: Price) -> int:
    match = _YEARS.match(price.term)
    return int(match["years"]) if match else 0


def _payment(price: Price) -> str:
    return _YEARS.sub("", price.term)
