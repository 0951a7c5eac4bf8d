"""Compares what an hour cost by a bill with the agreed price, else with the price list."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from perfledger.rounding import decimals, digits
from perfledger_cost_models.billing.focus import Bill, BilledUsage, paid_prices
from perfledger_cost_models.prices.device_hour import is_device_price
from perfledger_cost_models.prices.diff import newest_prices
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import BILLED_TERM, Price, PriceSheet, PricingModel
from perfledger_cost_models.prices.priced_rows import PricedRow
from perfledger_cost_models.prices.term_rules import MAX_BILLED_FOLD, billed_prices
from perfledger_cost_models.quote import PriceLayer

# Hours in minutes are off by 60, in seconds by 3,600, and no discount comes near.
UNIT_FOLD = Decimal(30)
# A bill rounds hours and costs; beyond this, another price than the agreed one was charged.
MAX_AGREED_DIFFERENCE = Decimal("0.01")

# The families of which AWS sells capacity blocks: P and Trn ("Capacity Blocks for ML",
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html).
_BLOCK_FAMILY = re.compile(r"(?:p|trn)\d.*")

# Provider, SKU, region and pricing model.
PriceKey = tuple[str, str, str, PricingModel]

_OWN_LAYERS = frozenset(
    {PriceLayer.OVERRIDE, PriceLayer.DERIVED}
)  # own prices, and discounted ones


class PriceBasis(StrEnum):
    """What a paid price is compared with."""

    AGREED = "agreed price"
    LIST = "list price"
    UNKNOWN = "no known price"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidPrice:
    """What an hour of an instance cost by a bill, and the prices that it is compared with."""

    paid: Price
    basis: PriceBasis
    prices: tuple[Price, ...]  # of its SKU, region and pricing model, one for each term
    # By every row of the bill (`BilledUsage.is_model_certain`), or by the list price on demand.
    is_model_said: bool = True

    @property
    def may_be_block(self) -> bool:
        """Return whether hours that are called on demand may be those of a capacity block.

        The bill does not say which they are, AWS sells blocks of the instance, and they did not
        cost what an hour on demand does.
        """
        is_as_compared = self.difference is not None and (
            abs(self.difference) <= MAX_AGREED_DIFFERENCE
        )
        is_sold = _BLOCK_FAMILY.fullmatch(self.paid.sku) is not None
        return is_sold and not self.is_model_said and not is_as_compared

    @property
    def lowest(self) -> Decimal | None:
        """Return the lowest price that it is compared with, in USD an hour."""
        return min((each.usd_per_hour for each in self.prices), default=None)

    @property
    def highest(self) -> Decimal | None:
        """Return the highest price that it is compared with, in USD an hour."""
        return max((each.usd_per_hour for each in self.prices), default=None)

    @property
    def difference(self) -> Decimal | None:
        """Return by which share it is above the highest or below the lowest; 0 within."""
        if self.lowest is None or self.highest is None:
            return None
        usd = self.paid.usd_per_hour
        return (usd - min(max(usd, self.lowest), self.highest)) / (
            self.highest if usd > self.highest else self.lowest
        )

    @property
    def source(self) -> str:
        """Return the sources of the prices that it is compared with."""
        return "; ".join(dict.fromkeys(each.source for each in self.prices))


def compared_prices(bill: Bill, sheet: PriceSheet, *, name: str) -> tuple[PaidPrice, ...]:
    """Return the paid prices of a bill beside the agreed ones, else beside those of the list.

    `sheet` has an organisation's own prices and discounts on the list, before taxes, which a bill
    charges in rows of their own.
    """
    listed = [one for one in newest_prices(sheet).values() if one.option_term != BILLED_TERM]
    unsaid = {price_key(usage) for usage in bill.usage if not usage.is_model_certain}
    undiscounted, fold = packaged_sheet(), 1 + MAX_AGREED_DIFFERENCE
    return tuple(
        replace(
            _comparison_of(paid, listed),
            is_model_said=price_key(paid) not in unsaid or _is_near(paid, undiscounted, fold),
        )
        for paid in paid_prices(bill, source=name)
    )


def price_key(hour: Price | BilledUsage) -> PriceKey:
    """Return what hours have in common that are paid at one price."""
    model = hour.model if isinstance(hour, BilledUsage) else hour.pricing_model
    return hour.provider, hour.sku, hour.region, model


def model_name(key: PriceKey, unsure: Collection[PriceKey]) -> str:
    """Return the pricing model of hours, with a question mark if they may be a capacity block's.

    `unsure` are the keys of `unsure_models`.
    """
    return f"{key[-1]}?" if key in unsure else str(key[-1])


def unsure_models(comparisons: Iterable[PaidPrice]) -> frozenset[PriceKey]:
    """Return the hours that a bill calls on demand and that may be a capacity block's."""
    return frozenset(price_key(each.paid) for each in comparisons if each.may_be_block)


def unsure_sentences(comparisons: Iterable[PaidPrice]) -> Iterator[str]:
    """Yield what would settle whether hours are on demand, for each price in doubt."""
    for each in comparisons:
        if each.may_be_block:
            at = price_range(each)
            listed = f", and not the {at} USD of an hour on demand" if at else ""
            yield (
                f"{each.paid.sku} at {decimals(each.paid.usd_per_hour, 2)} USD an hour{listed}: "
                "whether these hours are on demand, at a discount, or a capacity block's is "
                "unknown, because the bill says only that they are neither spot nor under a "
                "commitment. Export x_Operation (FOCUS) or line_item_operation (CUR 2.0), which "
                "is RunInstances:CB for a block."
            )


def _comparison_of(paid: Price, listed: Sequence[Price]) -> PaidPrice:
    alike = [one for one in listed if _is_alike(one, paid) and one.region in {"", paid.region}]
    agreed = tuple(one for one in alike if one.layer in _OWN_LAYERS)
    if agreed:
        return PaidPrice(paid=paid, basis=PriceBasis.AGREED, prices=agreed)
    basis = PriceBasis.LIST if alike else PriceBasis.UNKNOWN
    return PaidPrice(paid=paid, basis=basis, prices=tuple(alike))


def agreed_price_notes(comparisons: Sequence[PaidPrice]) -> Iterator[str]:
    """Yield a sentence for each paid price that has an agreed one; nothing if none has."""
    for each in comparisons:
        if each.basis is PriceBasis.AGREED and each.difference is not None:
            paid = each.paid
            far = abs(each.difference) > MAX_AGREED_DIFFERENCE
            side = "above" if each.difference > 0 else "below"
            against = f"{decimals(abs(100 * each.difference), 1)} % {side}" if far else "as"
            unsure = " (or a capacity block: the bill does not say)" if each.may_be_block else ""
            name, usd = f"{_name_of(paid)}{unsure}", decimals(paid.usd_per_hour, 2)
            yield (
                f"{name}: {usd} USD an hour were paid, "
                f"{against} agreed ({price_range(each)}, {each.source})"
            )


def price_range(comparison: PaidPrice) -> str:
    """Return the prices that a paid one is compared with, in USD an hour; "" for none."""
    low, high = comparison.lowest, comparison.highest
    if low is None or high is None:
        return ""
    return decimals(low, 2) if low == high else f"{decimals(low, 2)} to {decimals(high, 2)}"


def implausible_hours(
    bill: Bill,
    sheet: PriceSheet,
    *,
    name: str,
    own_prices: PriceSheet | None = None,
    certain: bool = False,
) -> Iterator[str]:
    """Yield a clause for each instance whose hours or costs must be in another unit.

    Its cost an hour is further off all list prices of its SKU and pricing model than usual
    discounts (`prices.term_rules.billed_prices`), and off those of `own_prices`, a sheet with an
    organisation's own prices and discounts: the clause names an agreed price that it contradicts
    besides. Of instances without a list price only what no device can cost is named. With `certain`
    only those are named that no discount explains.
    """
    billed = [PricedRow(row, price) for row, price in enumerate(paid_prices(bill, source=name))]
    listed = [
        PricedRow(-row, price, is_reference=True) for row, price in enumerate(sheet.prices, start=1)
    ]
    for row in billed:
        paid = row.price
        if not is_device_price(paid.usd_per_device_hour):
            yield (
                f"{_name_of(paid)}: {digits(paid.usd_per_hour)} USD an hour were paid by the bill, "
                "which is no price: its hours or costs are wrong"
            )
    for row, _, reason in billed_prices([*listed, *billed]):
        is_agreed = own_prices is not None and _is_near(row.price, own_prices, MAX_BILLED_FOLD)
        if not (is_agreed or (certain and _is_near(row.price, sheet, UNIT_FOLD))):
            agreed = "" if own_prices is None else _agreed_clause(row.price, own_prices)
            yield f"{_name_of(row.price)}: {reason}{agreed}"


def _agreed_clause(billed: Price, own_prices: PriceSheet) -> str:
    comparison = _comparison_of(billed, tuple(newest_prices(own_prices).values()))
    if comparison.basis is not PriceBasis.AGREED:
        return ""
    return f"; agreed are {price_range(comparison)} ({comparison.source})"


def _is_near(billed: Price, sheet: PriceSheet, fold: Decimal) -> bool:
    """Return whether a price of a sheet is near a bill's of the same SKU and pricing model."""
    return any(
        _is_alike(each, billed)
        and each.usd_per_hour / fold <= billed.usd_per_hour <= each.usd_per_hour * fold
        for each in sheet.prices
    )


def _is_alike(listed: Price, paid: Price) -> bool:
    """Return whether two prices are of the same SKU and pricing model."""
    return (listed.provider, listed.sku, listed.pricing_model) == (
        paid.provider,
        paid.sku,
        paid.pricing_model,
    )


def _name_of(price: Price) -> str:
    return f"{price.provider}:{price.sku} {price.pricing_model}"
