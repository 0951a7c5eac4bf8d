"""Prices the time for which a check held its machine."""

from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation

from perfledger.bundle import Bundle
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.prices.device_hour import is_device_price
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hourly_rates import rate_of
from perfledger_service.usecases.cost.change import device_model
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.values.report import CheckCost, CheckCostSource

MAX_PRICE = 200  # characters of a setting
MAX_OPTIONS = 100  # of a fleet that are looked up


def cost_of_check(bundle: Bundle, *, today: date) -> CheckCost | None:
    """Return what a check's devices cost while it held them; None if the bundle has no such time.

    The price of a device-hour is the setting `device_price`; without one, it ranges from the
    cheapest to the most expensive of the declared fleet's purchase options for this accelerator. It
    is unknown without any of these.
    """
    if bundle.held_s is None:
        return None
    device_s = bundle.held_s * bundle.machine.count
    hours = Decimal(device_s) / Decimal(SECONDS_PER_HOUR)
    accelerator = _accelerator(bundle)
    setting = str(bundle.settings.get("device_price", ""))
    declared_usd = usd_per_device_hour(setting, accelerator, today=today)
    if declared_usd is not None:
        usd = declared_usd * hours
        return CheckCost(
            device_s=device_s, low_usd=usd, high_usd=usd, source=CheckCostSource.SETTING
        )
    rates = _fleet_rates(bundle, accelerator, today=today)
    if not rates:
        return CheckCost(device_s=device_s)
    return CheckCost(
        device_s=device_s,
        low_usd=min(one.usd_per_device_hour for one in rates) * hours,
        high_usd=max(one.usd_per_device_hour for one in rates) * hours,
        source=CheckCostSource.FLEET,
    )


def usd_per_device_hour(
    device_price: str, accelerator: str | None, *, today: date
) -> Decimal | None:
    """Return the price that a setting names: USD, or a purchase option of the accelerator.

    None for anything else, including another accelerator's price.
    """
    if not device_price or len(device_price) > MAX_PRICE:
        return None
    with suppress(InvalidOperation):
        usd = Decimal(device_price)
        return usd if is_device_price(usd) else None
    with suppress(PriceMissingError):
        rate = rate_of(current_sheet(today=today), device_price, today=today)
        return rate.usd_per_device_hour if rate.accelerator == accelerator else None
    return None


def _accelerator(bundle: Bundle) -> str | None:
    return accelerator_of(device_model(bundle.machine), bundle.machine.memory_bytes)


def _fleet_rates(bundle: Bundle, accelerator: str | None, *, today: date) -> tuple[HourlyRate, ...]:
    """Return the declared fleet's rates for the measured accelerator."""
    options = tuple(dict.fromkeys(one.where for one in bundle.pricing.fleet))[:MAX_OPTIONS]
    if not options or accelerator is None:
        return ()
    sheet = current_sheet(today=today)
    rates: list[HourlyRate] = []
    for option in options:
        with suppress(PriceMissingError):
            rates.append(rate_of(sheet, option, today=today))
    return tuple(one for one in rates if one.accelerator == accelerator)
