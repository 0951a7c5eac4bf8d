"""What an organisation really pays, in TOML, laid over published prices.

[[discount]]            # of a provider's published prices, such as AWS's EDP
provider = "aws"
share = 0.12
models = ["on_demand"]  # without it: every mode
as_of = 2026-07-01
source = "enterprise agreement 4711"

[[price]]               # instead of a published one, or of one that is not published
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

[[exchange]]            # needed for prices in another currency
currency = "EUR"
usd = 1.16
as_of = 2026-11-01
source = "ECB reference rate"

[tax]                   # on everything that is bought; nothing without it
share = 0.19
source = "German VAT, not deducted"

[[parameter]]           # an input of owning, in place of the packaged one; no longer "assumed"
name = "wacc"
low = 0.07
mode = 0.08
high = 0.09
unit = "per year"       # of a new one; the packaged inputs have theirs
as_of = 2026-10-01
source = "treasury"

[[server]]              # one more server that could be owned; its price and power are inputs
option = "onprem-8xH200"
accelerator = "H200-141GB"
accelerators = 8
price = "server_price_8xH200"
max_power = "max_power_8xH100"
card = "card_price_H200"  # optional: what replaces an accelerator without a support contract
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Annotated

import msgspec

from perfledger_cost_models.quote import Layer
from perfledger_cost_models.sheet import (
    BILLED,
    MAX_ACCELERATORS,
    Price,
    PriceSheet,
    PricingModel,
    UnknownPrice,
)
from perfledger_cost_models.table import Confidence
from perfledger_cost_models.toml_file import read_toml

MAX_CHARACTERS = 1_000_000
# More off than this is a price that was typed as a discount.
MAX_DISCOUNT = Decimal("0.95")
MAX_MONEY = Decimal(1_000_000_000)
DOLLAR = "USD"

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Name = Annotated[str, msgspec.Meta(max_length=200, pattern="^[^:/@]*$")]


class OverrideError(ValueError):
    """Overrides that cannot be trusted as they are written."""


class Discount(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A share off a provider's published prices."""

    provider: Text
    share: Decimal
    as_of: date
    source: Text
    models: tuple[PricingModel, ...] = ()  # empty: all

    def __post_init__(self) -> None:
        _check_within("share", self.share, MAX_DISCOUNT)


class OwnPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A price of an organisation's own, in any currency that has an exchange rate."""

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
    currency: str = DOLLAR

    def __post_init__(self) -> None:
        _check_within("per_hour", self.per_hour, MAX_MONEY)


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one unit of a currency is worth."""

    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    usd: Decimal
    as_of: date
    source: Text

    def __post_init__(self) -> None:
        _check_within("usd", self.usd, MAX_MONEY)


class Tax(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is added to everything that is bought and does not come back."""

    share: Decimal
    source: Text

    def __post_init__(self) -> None:
        _check_within("share", self.share, Decimal(1))


class OwnParameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An organisation's own figure for an input of owning."""

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
            told = ", ".join(map(str, figures))
            msg = f"{self.name}: {told} are not 0 <= low <= mode <= high"
            raise ValueError(msg)


class OwnServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server that an organisation has or could have."""

    option: Annotated[str, msgspec.Meta(max_length=60, pattern="^onprem-[A-Za-z0-9._-]+$")]
    accelerator: Text
    accelerators: Annotated[int, msgspec.Meta(ge=1, le=MAX_ACCELERATORS)]
    price: Text
    max_power: Text
    card: str = ""


class Overrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that an organisation says about prices."""

    discount: tuple[Discount, ...] = ()
    price: tuple[OwnPrice, ...] = ()
    exchange: tuple[Exchange, ...] = ()
    tax: Tax | None = None
    parameter: tuple[OwnParameter, ...] = ()
    server: tuple[OwnServer, ...] = ()


def read_overrides(text: str, name: str) -> Overrides:
    """Read overrides in TOML; raises OverrideError that names the place."""
    return read_toml(
        text, Overrides, name=f"overrides {name!r}", most=MAX_CHARACTERS, error=OverrideError
    )


def apply_overrides(sheet: PriceSheet, overrides: Overrides, *, name: str) -> PriceSheet:
    """Return the sheet as the organisation sees it: own prices, then discounts, then tax.

    An own price takes the place of all published ones of the same option and region, and has no
    discount. Raises OverrideError for a currency without an exchange rate, for two discounts on
    one price, and for a discount that is on nothing.
    """
    rates = {rate.currency: rate for rate in overrides.exchange}
    own = tuple(_own(price, rates) for price in overrides.price)
    keys = [_key(price) for price in own]
    if len(set(keys)) < len(keys):
        msg = f"overrides for sheet {sheet.name!r} give one price twice: leave one out"
        raise OverrideError(msg)
    published = [price for price in sheet.prices if _key(price) not in set(keys)]
    discounted = _discounted(published, overrides.discount)
    prices = (*discounted, *own)
    if overrides.tax is not None:
        prices = tuple(_taxed(price, overrides.tax) for price in prices)
    return PriceSheet(name=name, prices=prices, unknown=_unknown([sheet], prices))


def with_contract(overrides: Overrides, contract: Overrides) -> Overrides:
    """Return an organisation's overrides with a contract laid over them.

    What the contract prices or names counts in place of the same of the organisation's; discounts
    add up in number, not on one price; its tax, if it has one, is the tax.
    """
    priced = {_place(price) for price in contract.price}
    rated = {each.currency for each in contract.exchange}
    named = {each.name for each in contract.parameter}
    known = {each.option for each in contract.server}
    kept = [each for each in overrides.price if _place(each) not in priced]
    return Overrides(
        discount=(*overrides.discount, *contract.discount),
        price=(*kept, *contract.price),
        exchange=(
            *(each for each in overrides.exchange if each.currency not in rated),
            *contract.exchange,
        ),
        tax=contract.tax or overrides.tax,
        parameter=(
            *(each for each in overrides.parameter if each.name not in named),
            *contract.parameter,
        ),
        server=(*(each for each in overrides.server if each.option not in known), *contract.server),
    )


def layered(sheets: Sequence[PriceSheet], *, name: str) -> PriceSheet:
    """Return sheets laid over each other: of one option and region the last sheet's prices count.

    The order is packaged snapshot, fetched catalog, organisation, contract.
    """
    prices: dict[tuple[str, str, str], list[Price]] = {}
    for sheet in sheets:
        own: dict[tuple[str, str, str], list[Price]] = {}
        for price in sheet.prices:
            own.setdefault(_key(price), []).append(price)
        prices |= own
    every = tuple(price for same in prices.values() for price in same)
    return PriceSheet(name=name, prices=every, unknown=_unknown(sheets, every))


def _unknown(sheets: Sequence[PriceSheet], prices: Sequence[Price]) -> tuple[UnknownPrice, ...]:
    """Return what no sheet has a price of, each once: "1y" is also what 1y_no_upfront is."""
    priced = sorted((price.provider, price.region, price.option) for price in prices)
    found = {
        (each.provider, each.option, each.region): each
        for sheet in sheets
        for each in sheet.unknown
    }
    return tuple(each for each in found.values() if not _is_among(priced, each))


def _is_among(priced: Sequence[tuple[str, str, str]], unknown: UnknownPrice) -> bool:
    """Whether one of the sorted options is an unknown one of its region, or says more of it."""
    whole = (unknown.provider, unknown.region, unknown.option)
    if whole in _next(priced, whole):
        return True
    begun = (*whole[:2], f"{unknown.option}_")
    return any(
        place[:2] == begun[:2] and place[2].startswith(begun[2]) for place in _next(priced, begun)
    )


def _next(
    priced: Sequence[tuple[str, str, str]], place: tuple[str, str, str]
) -> Sequence[tuple[str, str, str]]:
    """Return the first of the sorted options that is not before a place, if there is one."""
    start = bisect_left(priced, place)
    return priced[start : start + 1]


def _check_within(name: str, value: Decimal, most: Decimal) -> None:
    if not (value.is_finite() and 0 < value < most):
        msg = f"{name} is {value}: give a number above 0 and below {most}"
        raise ValueError(msg)


def _place(price: OwnPrice) -> tuple[str, str, PricingModel, str, str]:
    return price.provider, price.sku, price.model, price.term, price.region


def _own(price: OwnPrice, rates: Mapping[str, Exchange]) -> Price:
    usd, note, source = price.per_hour, "", price.source
    if price.currency != DOLLAR:
        rate = rates.get(price.currency)
        if rate is None:
            msg = f"{price.sku} is priced in {price.currency}: add its [[exchange]] rate"
            raise OverrideError(msg)
        usd *= rate.usd
        note = f"{price.per_hour} {price.currency} at {rate.usd} USD of {rate.as_of}"
        source = f"{price.source}; {rate.source}"
    return Price(
        provider=price.provider,
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
        confidence=Confidence.HIGH,
        source=source,
        note=note,
        layer=Layer.OVERRIDE,
    )


def _discounted(prices: Iterable[Price], discounts: Sequence[Discount]) -> tuple[Price, ...]:
    used: set[int] = set()
    found: list[Price] = []
    for price in prices:
        places = [place for place, each in enumerate(discounts) if _is_for(each, price)]
        if len(places) > 1:
            msg = f"two discounts on {price.provider}:{price.option}: give each mode one"
            raise OverrideError(msg)
        found.append(_reduced(price, discounts[places[0]]) if places else price)
        used.update(places)
    for place, discount in enumerate(discounts):
        if place not in used:
            msg = f"the discount of {discount.share} on {discount.provider!r} is on no price"
            raise OverrideError(msg)
    return tuple(found)


def _is_for(discount: Discount, price: Price) -> bool:
    """Whether a discount is on a price: what was really paid has all discounts in it already."""
    is_model = not discount.models or price.pricing_model in discount.models
    return discount.provider == price.provider and is_model and price.option_term != BILLED


def _reduced(price: Price, discount: Discount) -> Price:
    return replace(
        price,
        usd_per_hour=price.usd_per_hour * (1 - discount.share),
        source=f"{price.source}; {discount.source}",
        note=_joined(price.note, f"list {price.usd_per_hour} less {discount.share:.2%}"),
        layer=Layer.DERIVED,
    )


def _taxed(price: Price, tax: Tax) -> Price:
    return replace(
        price,
        usd_per_hour=price.usd_per_hour * (1 + tax.share),
        note=_joined(price.note, f"with {tax.share:.2%} tax: {tax.source}"),
        layer=Layer.DERIVED,
    )


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _key(price: Price) -> tuple[str, str, str]:
    return price.provider, price.option, price.region
