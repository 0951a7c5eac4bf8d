"""Prices an accelerator-hour on each purchase option, with its date and source."""

from dataclasses import replace
from datetime import date

from perfledger_cost_models.prices.price_sheet import Price, PriceMissingError, PriceSheet
from perfledger_cost_models.prices.staleness import MaxAge, age_warnings, staleness_warnings
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import SERVERS, owned_rate
from perfledger_cost_models.tco.purchase_modes import is_committed

# Every unit of work is priced on these options, which a team has or could have.
STANDARD_OPTIONS = (
    "onprem-8xH100",
    "onprem-8xA100",
    "p5.48xlarge/on_demand",
    "p4d.24xlarge/on_demand",
    "tpu-v4/on_demand",
)
OWNED = "onprem-"  # the prefix of owned servers, which have no list price
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


def standard_rates(sheet: PriceSheet, *, today: date | None = None) -> tuple[HourlyRate, ...]:
    """Return the rates of STANDARD_OPTIONS; with `today`, old prices carry a warning.

    Raises PriceMissingError for an option missing on the sheet.
    """
    return tuple(rate_of(sheet, option, today=today) for option in STANDARD_OPTIONS)


def rate_of(sheet: PriceSheet, option: str, *, today: date | None = None) -> HourlyRate:
    """Return the rate of an owned server's name, or of a purchase option as `find` reads it.

    Raises PriceMissingError for an option missing on the sheet.
    """
    owned_rates = {each.option: each for each in sheet.owned}
    if option in owned_rates:
        rate = owned_rates[option]
        warnings = staleness_warnings(
            rate.as_of, today=today, max_age=MaxAge.HARDWARE, is_read_date=rate.is_read_date
        )
        return replace(rate, warnings=warnings)
    for server in SERVERS:
        if server.option == option:
            return owned_rate(server, today=today)
    if option.startswith(OWNED):
        owned_options = dict.fromkeys((*owned_rates, *(server.option for server in SERVERS)))
        hint = f"use {' or '.join(map(repr, owned_options))}"
        raise PriceMissingError(option, packaged_hardware_inputs().name, hint)
    price = sheet.find(option)
    rejected = sheet.rejection_of(price)
    rate = _list_rate(price, option, today=today)
    if rejected is None:
        return rate
    return replace(rate, warnings=(*rate.warnings, rejected.text))


def _list_rate(price: Price, option: str, *, today: date | None) -> HourlyRate:
    usd = price.usd_per_device_hour
    in_region = f"{price.region}; " if price.region else ""
    return HourlyRate(
        option=option,
        label=_label(price, option),
        accelerator=price.accelerator,
        usd_per_device_hour=usd,
        low=usd,
        high=usd,
        as_of=price.as_of,
        is_read_date=price.is_read_date,
        source=f"{in_region}{price.source}",
        source_url=price.source_url,
        region=price.region,
        assumed=() if price.is_trusted else (f"price {usd} USD/h: {price.note or price.source}",),
        warnings=age_warnings(price, today=today),
        layer=price.layer,
        is_committed=is_committed(price.pricing_model),
    )


def _label(price: Price, option: str) -> str:
    provider = PROVIDER_NAMES.get(price.provider, price.provider)
    terms = (price.pricing_model, price.option_term)
    words = ", ".join(term.replace("_", " ") for term in terms if term)
    region = f" ({price.region})" if "@" in option else ""
    return f"{provider} {price.sku}, {words}{region}"
