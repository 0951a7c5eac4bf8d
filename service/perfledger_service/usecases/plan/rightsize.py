"""Finds the cheapest devices that serve a demand within its P99."""

from collections.abc import Mapping, Sequence
from datetime import date

from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet, PricingModel
from perfledger_cost_models.serving.load_curve import LoadCurve
from perfledger_cost_models.serving.rightsizing import (
    ServingDemand,
    SizingResult,
    Tariff,
    right_size,
    with_errors,
)
from perfledger_cost_models.tco.hourly_rates import rate_of
from perfledger_cost_models.tco.onprem import owned_rate
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks


def demand_of(*, rate_per_second: float, p99_s: float, headroom: float) -> ServingDemand:
    """Return a demand; raise UsageError if it is invalid."""
    with translate_errors():
        return ServingDemand(rate_per_second=rate_per_second, p99_s=p99_s, headroom=headroom)


@translate_errors()
def rightsize(
    curves: Sequence[LoadCurve],
    books: PriceBooks,
    demand: ServingDemand,
    *,
    options: Sequence[str] = (),
    today: date,
) -> SizingResult:
    """Return the best configurations for a demand, on the given or on all on-demand options.

    Raises NotFoundError for an option without a price, UsageError for invalid curves.
    """
    tariffs = (
        _tariffs_of_options(books, options, today)
        if options
        else {name: _on_demand(books.sheet, name, today) for name in _accelerators(curves)}
    )
    return with_errors(right_size(curves, tariffs, demand))


def _accelerators(curves: Sequence[LoadCurve]) -> tuple[str, ...]:
    names = (curve.accelerator for curve in curves)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _tariffs_of_options(
    books: PriceBooks, options: Sequence[str], today: date
) -> Mapping[str, Sequence[Tariff]]:
    tariffs: dict[str, list[Tariff]] = {}
    for option in options:
        server = next((one for one in books.servers if one.option == option), None)
        if server is not None:
            tariff = Tariff(rate=owned_rate(server, parameters=books.parameters, today=today))
        else:
            tariff = _tariff_of_option(books.sheet, option, today)
        tariffs.setdefault(tariff.rate.accelerator, []).append(tariff)
    return tariffs


def _on_demand(sheet: PriceSheet, accelerator: str, today: date) -> tuple[Tariff, ...]:
    """Return all trusted on-demand options of the accelerator."""
    names: dict[str, str] = {}
    for price in sheet.prices:
        is_offered = price.pricing_model is PricingModel.ON_DEMAND and price.is_trusted
        if price.accelerator == accelerator and is_offered:
            name = f"{price.provider}:{price.option}"
            names.setdefault(name, f"{name}@{price.region}" if price.region else name)
    return tuple(_tariff_of_option(sheet, _sold_as(sheet, *each), today) for each in names.items())


def _sold_as(sheet: PriceSheet, name: str, with_region: str) -> str:
    """Return an option without its region if the reference region sells it, else with it."""
    try:
        sheet.find(name)
    except PriceMissingError:
        return with_region
    return name


def _tariff_of_option(sheet: PriceSheet, option: str, today: date) -> Tariff:
    return Tariff(rate=rate_of(sheet, option, today=today), sold_together=sheet.find(option).count)
