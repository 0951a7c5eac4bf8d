"""Purchase options into rates: what one accelerator's hour costs there, as of when, by whom."""

from dataclasses import replace
from datetime import date

from perfledger_cost_models.age import Shelf, age_warnings, shelf_of
from perfledger_cost_models.onprem import SERVERS, rate
from perfledger_cost_models.parameter import packaged_parameters
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.sheet import Price, PriceMissingError, PriceSheet

# Every unit of work is priced on these: what a team has or could have.
STANDARD_OPTIONS = (
    "onprem-8xH100",
    "onprem-8xA100",
    "p5.48xlarge/on_demand",
    "p4d.24xlarge/on_demand",
    "tpu-v4/on_demand",
)
OWNED = "onprem-"  # begins the options that are no list prices
PROVIDER_NAMES = {
    "aws": "AWS",
    "azure": "Azure",
    "coreweave": "CoreWeave",
    "gcp": "Google Cloud",
    "hyperstack": "Hyperstack",
    "lambda": "Lambda",
    "nebius": "Nebius",
    "runpod": "RunPod",
    "together": "Together",
    "vast": "Vast.ai",
}


def standard_rates(sheet: PriceSheet, *, today: date | None = None) -> tuple[Rate, ...]:
    """Return the rates of STANDARD_OPTIONS; with `today`, old prices carry a warning.

    Raises PriceMissingError when the sheet lacks one.
    """
    return tuple(rate_of(sheet, option, today=today) for option in STANDARD_OPTIONS)


def rate_of(sheet: PriceSheet, option: str, *, today: date | None = None) -> Rate:
    """Return the rate of a purchase option: an owned server's name, or one as `find` reads it.

    Raises PriceMissingError when the sheet lacks it.
    """
    own = {each.option: each for each in sheet.owned}
    if option in own:
        found = own[option]
        warnings = age_warnings(
            found.as_of, today=today, shelf=Shelf.HARDWARE, is_read_date=found.is_read_date
        )
        return replace(found, warnings=warnings)
    for server in SERVERS:
        if server.option == option:
            return rate(server, today=today)
    if option.startswith(OWNED):
        known = dict.fromkeys((*own, *(server.option for server in SERVERS)))
        hint = f"use {' or '.join(map(repr, known))}"
        raise PriceMissingError(option, packaged_parameters().name, hint)
    return _list_rate(sheet.find(option), option, today=today)


def _list_rate(price: Price, option: str, *, today: date | None) -> Rate:
    usd = price.usd_per_device_hour
    region = f"{price.region}; " if price.region else ""
    shelf = shelf_of(price.pricing_model)
    return Rate(
        option=option,
        label=_label(price, option),
        accelerator=price.accelerator,
        usd_per_device_hour=usd,
        low=usd,
        high=usd,
        as_of=price.as_of,
        is_read_date=price.is_read_date,
        source=f"{region}{price.source}",
        assumed=() if price.is_trusted else (f"price {usd} USD/h: {price.note or price.source}",),
        warnings=age_warnings(
            price.as_of, today=today, shelf=shelf, is_read_date=price.is_read_date
        ),
        layer=price.layer,
    )


def _label(price: Price, option: str) -> str:
    provider = PROVIDER_NAMES.get(price.provider, price.provider)
    terms = (price.pricing_model, price.option_term)
    words = ", ".join(term.replace("_", " ") for term in terms if term)
    region = f" ({price.region})" if "@" in option else ""
    return f"{provider} {price.sku}, {words}{region}"
