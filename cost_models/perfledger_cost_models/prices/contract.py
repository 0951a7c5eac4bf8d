"""Applies an organisation's own prices, discounts, tax and inputs, in TOML, to published prices.

[[discount]]            # on a provider's published prices, such as AWS's EDP
provider = "aws"
share = 0.12
models = ["on_demand"]  # default: every pricing model
as_of = 2026-07-01
source = "enterprise agreement 4711"
confirmed_on = 2026-07-02  # needed above a share of 0.6: 0.88 may be the share that is paid

[[price]]               # replaces a published price, or adds one that is not published
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "savings_plan"
term = "3y_no_upfront"
per_hour = 21.5
currency = "USD"
as_of = 2026-10-01
source = "quote 815"

confirmed_on = 2026-10-02  # optional: use the price although the checks find it implausible

[[exchange]]            # needed for prices in another currency; at most 180 days old
currency = "EUR"
usd = 1.16              # what one EUR costs in USD, not the reverse
as_of = 2026-11-01
source = "ECB reference rate"

[tax]                   # on everything that is bought; none by default
share = 0.19
source = "German VAT, not deducted"

[[parameter]]           # replaces a packaged hardware input; no longer "assumed"
name = "wacc"
low = 0.07
mode = 0.08
high = 0.09
unit = "per year"       # needed for a new input; "CHF/kWh" is converted by its [[exchange]]
as_of = 2026-10-01
source = "treasury"

[[server]]              # another server that could be owned; its price and power are inputs
option = "onprem-8xH200"
accelerator = "H200-141GB"
accelerators = 8
price = "server_price_8xH200"
max_power = "max_power_8xH100"
card = "card_price_H200"  # optional: price of a replacement card without a support contract
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Annotated

import msgspec

from perfledger.rounding import decimals, digits
from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.check import CheckContext, check_prices
from perfledger_cost_models.prices.device_hour import is_device_price
from perfledger_cost_models.prices.exchange_rates import ExchangeRate
from perfledger_cost_models.prices.history_rules import ONE_DAY
from perfledger_cost_models.prices.layers import still_rejected, unpriced_options
from perfledger_cost_models.prices.price_sheet import (
    BILLED_TERM,
    MAX_ACCELERATORS,
    Price,
    PriceSheet,
    PricingModel,
    RejectedPrice,
)
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.source_address import named_address
from perfledger_cost_models.toml_file import Text, read_toml
from perfledger_cost_models.units import USD

MAX_CHARACTERS = 1_000_000
# A larger share is a price entered as a discount.
MAX_DISCOUNT = Decimal("0.95")
# A larger share may be the share that is paid, so a person has to confirm it.
MAX_UNCONFIRMED_DISCOUNT = Decimal("0.6")
MAX_MONEY = Decimal(1_000_000_000)

Name = Annotated[str, msgspec.Meta(max_length=200, pattern="^[^:/@]*$")]


class OverrideError(ValueError):
    """An error in price overrides."""


class PriceDiscount(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A discount on a provider's published prices."""

    provider: Text
    share: Decimal
    as_of: date
    source: Text
    models: tuple[PricingModel, ...] = ()  # empty: all
    confirmed_on: date | None = None  # the day on which a person confirmed an unusual share

    def __post_init__(self) -> None:
        _check_within("share", self.share, MAX_DISCOUNT)
        if self.share > MAX_UNCONFIRMED_DISCOUNT and self.confirmed_on is None:
            rest = 1 - self.share
            msg = (
                f"a discount of {digits(float(100 * self.share), 4)} % leaves "
                f"{digits(float(100 * rest), 4)} % to pay: give the share that is not paid, "
                f"{rest} perhaps, or confirm this one by confirmed_on = a date"
            )
            raise ValueError(msg)


class OwnPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An organisation's own price, in any currency that has an exchange rate."""

    provider: Name
    sku: Name
    accelerator: Text
    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_ACCELERATORS)]
    model: PricingModel
    per_hour: Decimal
    as_of: date
    source: Text
    region: Name = ""
    term: Name = ""
    currency: str = USD
    confirmed_on: date | None = None  # the day on which a person confirmed an unusual price

    def __post_init__(self) -> None:
        _check_within("per_hour", self.per_hour, MAX_MONEY)


class PurchaseTax(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tax on everything that is bought and that is not refunded."""

    share: Decimal
    source: Text

    def __post_init__(self) -> None:
        _check_within("share", self.share, Decimal(1))


class OwnHardwareInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An organisation's own figure for a hardware input."""

    name: Text
    low: Decimal
    mode: Decimal
    high: Decimal
    as_of: date
    source: Text
    unit: str = ""

    def __post_init__(self) -> None:
        figures = (self.low, self.mode, self.high)
        is_known = all(each.is_finite() for each in figures)
        if not (is_known and 0 <= self.low <= self.mode <= self.high < MAX_MONEY):
            figures_text = ", ".join(map(str, figures))
            msg = f"{self.name}: {figures_text} must be 0 <= low <= mode <= high"
            raise ValueError(msg)


class OwnServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server that an organisation has or could have."""

    option: Annotated[str, msgspec.Meta(max_length=60, pattern="^onprem-[A-Za-z0-9._-]+$")]
    accelerator: Text
    accelerators: Annotated[int, msgspec.Meta(ge=1, le=MAX_ACCELERATORS)]
    price: Text
    max_power: Text
    card: str = ""


class PriceOverrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All overrides of an organisation or of one contract."""

    discount: tuple[PriceDiscount, ...] = ()
    price: tuple[OwnPrice, ...] = ()
    exchange: tuple[ExchangeRate, ...] = ()
    tax: PurchaseTax | None = None
    parameter: tuple[OwnHardwareInput, ...] = ()
    server: tuple[OwnServer, ...] = ()


_OVERRIDES_DECODER = msgspec.json.Decoder(PriceOverrides)


def read_overrides(text: str, name: str) -> PriceOverrides:
    """Read overrides in TOML; raise OverrideError that names the entry."""
    return read_toml(
        text,
        _OVERRIDES_DECODER,
        name=f"overrides {name!r}",
        max_characters=MAX_CHARACTERS,
        error=OverrideError,
    )


def apply_overrides(
    sheet: PriceSheet, overrides: PriceOverrides, *, name: str, today: date | None = None
) -> PriceSheet:
    """Return the sheet with the organisation's own prices, then discounts, then tax applied.

    An own price replaces all published ones of the same option and region and gets no discount. If
    it is implausible beside them or dated after `today`, and not confirmed, it is rejected instead.
    Raises OverrideError for a currency without an exchange rate or with an old one, for two
    discounts on one price, for a discount that applies to no price or not yet, for a confirmation
    after `today`, and for a price that no device can have, confirmed or not.
    """
    _check_days(overrides, today)
    own_prices, rejected = _checked_own_prices(sheet, overrides, today)
    keys = {price.key for price in own_prices}
    published = [price for price in sheet.prices if price.key not in keys]
    discounted = _apply_discounts(published, overrides.discount)
    prices = (*discounted, *own_prices)
    if overrides.tax is not None:
        prices = tuple(_with_tax(price, overrides.tax) for price in prices)
    return PriceSheet(
        name=name,
        prices=prices,
        unknown=unpriced_options([sheet], prices),
        rejected=(*still_rejected(sheet.rejected, keys), *rejected),
    )


def with_contract(overrides: PriceOverrides, contract: PriceOverrides) -> PriceOverrides:
    """Return an organisation's overrides with a contract's on top.

    An entry of the contract replaces the organisation's entry for the same thing. Discounts of both
    apply, but only one to each price. The contract's tax, if it has one, is the tax.
    """
    priced = {_price_key(price) for price in contract.price}
    rated = {each.currency for each in contract.exchange}
    named = {each.name for each in contract.parameter}
    contract_servers = {each.option for each in contract.server}
    remaining_prices = [each for each in overrides.price if _price_key(each) not in priced]
    return PriceOverrides(
        discount=(*overrides.discount, *contract.discount),
        price=(*remaining_prices, *contract.price),
        exchange=(
            *(each for each in overrides.exchange if each.currency not in rated),
            *contract.exchange,
        ),
        tax=contract.tax or overrides.tax,
        parameter=(
            *(each for each in overrides.parameter if each.name not in named),
            *contract.parameter,
        ),
        server=(
            *(each for each in overrides.server if each.option not in contract_servers),
            *contract.server,
        ),
    )


def _check_days(overrides: PriceOverrides, today: date | None) -> None:
    if today is None:
        return
    latest = today + ONE_DAY
    entries: tuple[PriceDiscount | OwnPrice, ...] = (*overrides.discount, *overrides.price)
    for entry in entries:
        if entry.confirmed_on is not None and entry.confirmed_on > latest:
            what = f"confirmed_on is {entry.confirmed_on} for {_entry_name(entry)}"
            msg = f"{what}, after {today}: give the day on which a person confirmed it"
            raise OverrideError(msg)
    for rate in overrides.exchange:
        if problem := rate.age_problem(today):
            raise OverrideError(problem)
    for each in overrides.discount:
        if each.as_of > latest:
            what = f"{_entry_name(each)} is dated {each.as_of}"
            msg = f"{what}, after {today}: leave it out until then"
            raise OverrideError(msg)


def _entry_name(entry: PriceDiscount | OwnPrice) -> str:
    if isinstance(entry, OwnPrice):
        return f"the price of {entry.sku}"
    return f"the discount of {entry.share} on {entry.provider!r}"


def _checked_own_prices(
    sheet: PriceSheet, overrides: PriceOverrides, today: date | None
) -> tuple[tuple[Price, ...], tuple[RejectedPrice, ...]]:
    """Return the own prices that are confirmed or plausible beside the sheet, and the others."""
    rates = {rate.currency: rate for rate in overrides.exchange}
    prices = [_own_price(price, rates) for price in overrides.price]
    keys = [price.key for price in prices]
    if len(set(keys)) < len(keys):
        msg = f"overrides for sheet {sheet.name!r} give one price twice: remove one"
        raise OverrideError(msg)
    confirmed = {
        key
        for key, price in zip(keys, overrides.price, strict=True)
        if price.confirmed_on is not None and (today is None or price.as_of <= today)
    }
    context = CheckContext(layer=PriceLayer.OVERRIDE, reference=sheet, today=today)
    check = check_prices(prices, "overrides", context=context)
    rejected = tuple(each for each in check.sheet.rejected if each.key not in confirmed)
    rejected_keys = {each.key for each in rejected}
    return tuple(price for price in prices if price.key not in rejected_keys), rejected


def _check_within(name: str, value: Decimal, most: Decimal) -> None:
    if not (value.is_finite() and 0 < value < most):
        msg = f"{name} is {value}: give a number above 0 and below {most}"
        raise ValueError(msg)


def _price_key(price: OwnPrice) -> tuple[str, str, PricingModel, str, str]:
    return price.provider.lower(), price.sku, price.model, price.term, price.region


def _own_price(price: OwnPrice, rates: Mapping[str, ExchangeRate]) -> Price:
    usd, note, source = price.per_hour, "", price.source
    if price.currency != USD:
        rate = rates.get(price.currency)
        if rate is None:
            msg = f"{price.sku} is priced in {price.currency}: add its [[exchange]] rate"
            raise OverrideError(msg)
        usd *= rate.usd
        note = f"{price.per_hour} {price.currency} at {rate.usd} USD of {rate.as_of}"
        source = f"{price.source}; {rate.source}"
    if not is_device_price(usd / price.count):
        msg = f"{price.sku} at {usd} USD an hour is no price of {price.count} accelerators"
        raise OverrideError(msg)
    return Price(
        provider=price.provider.lower(),
        sku=price.sku,
        region=price.region,
        accelerator=price.accelerator,
        count=price.count,
        pricing_model=price.model,
        term=price.term,
        usd_per_hour=usd,
        as_of=price.as_of,
        is_read_date=False,
        retrieved_at=None,
        confidence=SourceConfidence.HIGH,
        source=source,
        source_url=named_address(source),
        note=note,
        layer=PriceLayer.OVERRIDE,
    )


def _apply_discounts(
    prices: Iterable[Price], discounts: Sequence[PriceDiscount]
) -> tuple[Price, ...]:
    used: set[int] = set()
    discounted_prices: list[Price] = []
    for price in prices:
        places = [index for index, each in enumerate(discounts) if _is_for(each, price)]
        if len(places) > 1:
            msg = f"two discounts apply to {price.provider}:{price.option}: keep one"
            raise OverrideError(msg)
        discounted_prices.append(_with_discount(price, discounts[places[0]]) if places else price)
        used.update(places)
    for index, discount in enumerate(discounts):
        if index not in used:
            msg = f"the discount of {discount.share} on {discount.provider!r} applies to no price"
            raise OverrideError(msg)
    return tuple(discounted_prices)


def _is_for(discount: PriceDiscount, price: Price) -> bool:
    """Return whether a discount applies to a price; a billed price contains all discounts."""
    is_model = not discount.models or price.pricing_model in discount.models
    return discount.provider == price.provider and is_model and price.option_term != BILLED_TERM


def _with_discount(price: Price, discount: PriceDiscount) -> Price:
    return replace(
        price,
        usd_per_hour=price.usd_per_hour * (1 - discount.share),
        source=f"{price.source}; {discount.source}",
        note=_join_notes(
            price.note, f"list {price.usd_per_hour} less {decimals(100 * discount.share, 2)} %"
        ),
        layer=PriceLayer.DERIVED,
    )


def _with_tax(price: Price, tax: PurchaseTax) -> Price:
    return replace(
        price,
        usd_per_hour=price.usd_per_hour * (1 + tax.share),
        note=_join_notes(price.note, f"with {decimals(100 * tax.share, 2)} % tax: {tax.source}"),
        layer=PriceLayer.DERIVED,
    )


def _join_notes(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
