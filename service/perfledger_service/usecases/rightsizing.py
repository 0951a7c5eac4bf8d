"""Load curves, prices and a demand in, the cheapest devices that keep the P99 out."""

from collections.abc import Mapping, Sequence
from datetime import date

from perfledger_cost_models.load_curve import LoadCurve, LoadCurveError
from perfledger_cost_models.onprem import rate
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.rightsizing import (
    Demand,
    Sizing,
    SizingError,
    Tariff,
    right_size,
    with_errors,
)
from perfledger_cost_models.sheet import PriceMissingError, PriceSheet, PricingModel
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.price_books import Books


def demand_of(*, rate_per_second: float, p99_s: float, headroom: float) -> Demand:
    """Return what is asked for; raises UsageError."""
    try:
        return Demand(rate_per_second=rate_per_second, p99_s=p99_s, headroom=headroom)
    except SizingError as error:
        raise UsageError(str(error)) from error


def rightsize(
    curves: Sequence[LoadCurve],
    books: Books,
    demand: Demand,
    *,
    options: Sequence[str] = (),
    today: date,
) -> Sizing:
    """Return the best ways to meet a demand, on the purchase options or any on demand.

    Raises NotFoundError for an option without a price, UsageError for devices that are none.
    """
    try:
        tariffs = (
            _named(books, options, today)
            if options
            else {name: _on_demand(books.sheet, name, today) for name in _accelerators(curves)}
        )
        return with_errors(right_size(curves, tariffs, demand))
    except PriceMissingError as error:
        raise NotFoundError(str(error)) from error
    except LoadCurveError as error:
        raise UsageError(str(error)) from error


def _accelerators(curves: Sequence[LoadCurve]) -> tuple[str, ...]:
    names = (curve.accelerator for curve in curves)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _named(books: Books, options: Sequence[str], today: date) -> Mapping[str, Sequence[Tariff]]:
    found: dict[str, list[Tariff]] = {}
    for option in options:
        server = next((one for one in books.servers if one.option == option), None)
        if server is not None:
            tariff = Tariff(rate=rate(server, parameters=books.parameters, today=today))
        else:
            tariff = _bought(books.sheet, option, today)
        found.setdefault(tariff.rate.accelerator, []).append(tariff)
    return found


def _on_demand(sheet: PriceSheet, accelerator: str, today: date) -> tuple[Tariff, ...]:
    """Return every way to rent the accelerator by the hour that is no rumour."""
    names: dict[str, str] = {}
    for price in sheet.prices:
        is_offered = price.pricing_model is PricingModel.ON_DEMAND and price.is_trusted
        if price.accelerator == accelerator and is_offered:
            name = f"{price.provider}:{price.option}"
            names.setdefault(name, f"{name}@{price.region}" if price.region else name)
    return tuple(_bought(sheet, _sold(sheet, *each), today) for each in names.items())


def _sold(sheet: PriceSheet, name: str, with_region: str) -> str:
    """Return an option as it is found: without its region, where the reference region sells it."""
    try:
        sheet.find(name)
    except PriceMissingError:
        return with_region
    return name


def _bought(sheet: PriceSheet, option: str, today: date) -> Tariff:
    return Tariff(rate=rate_of(sheet, option, today=today), sold_together=sheet.find(option).count)
