"""A check's caps in time and money and its machine in, for how long it may measure out."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

from perfledger.records import Device, Machine
from perfledger_baselines.budget import Budget, BudgetError
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.rates import rate_of, standard_rates
from perfledger_cost_models.sheet import PriceMissingError
from perfledger_service.errors import UsageError
from perfledger_service.settings import CheckSettings
from perfledger_service.usecases.price_books import current_sheet


@dataclass(frozen=True, slots=True)
class Allowance:
    """How long a check may measure, and in words what it was worked out from."""

    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _DevicePrice:
    usd_per_hour: Decimal  # of one device
    source: str


def allowance_of(settings: CheckSettings, machine: Machine, *, today: date) -> Allowance:
    """Return the lesser of what `budget` and `budget_usd` allow on this machine.

    Money is spent on all of the machine's devices, whichever of them a workload uses. Raises
    UsageError where the price of an hour is not known: a device without one is not free.
    """
    if settings.budget_usd is None:
        return Allowance(settings.budget)
    price = _device_price(settings, machine, today=today)
    try:
        budget = Budget(
            max_seconds=settings.budget,
            max_usd=settings.budget_usd,
            usd_per_hour=price.usd_per_hour * machine.count,
        )
    except BudgetError as error:
        msg = f"device_price {settings.device_price!r}: {error}"
        raise UsageError(msg) from error
    note = (
        f"measuring was to cost at most {settings.budget_usd:f} USD: {budget.seconds:.0f} s of "
        f"{machine.count} of {_name(machine)} at {price.usd_per_hour:.2f} USD an hour each "
        f"({price.source})"
    )
    return Allowance(budget.seconds, (note,))


def _device_price(settings: CheckSettings, machine: Machine, *, today: date) -> _DevicePrice:
    """Return what an hour of one device costs: as it was declared, or on the price sheet."""
    asked = settings.device_price
    if not asked:
        raise UsageError(_no_price(settings, machine))
    try:
        return _DevicePrice(Decimal(asked), "declared as device_price")
    except InvalidOperation:
        pass
    try:
        rate = rate_of(current_sheet(), asked, today=today)
    except PriceMissingError as error:
        msg = f"device_price is neither USD an hour nor a purchase option: {error}"
        raise UsageError(msg) from error
    if rate.accelerator != _accelerator(machine):
        msg = (
            f"device_price {asked!r} is the price of {rate.accelerator}, and this check measures "
            f"on {_name(machine)}: set device_price to the USD that an hour of that costs"
        )
        raise UsageError(msg)
    return _DevicePrice(rate.usd_per_device_hour, f"{rate.label}, as of {rate.as_of}")


def _no_price(settings: CheckSettings, machine: Machine) -> str:
    """Say what to set; which of several ways to buy a device was used nobody can guess."""
    accelerator = _accelerator(machine)
    rates = standard_rates(current_sheet())
    options = [repr(rate.option) for rate in rates if rate.accelerator == accelerator]
    choices = " or to ".join(["the USD that an hour of it costs", *options])
    return (
        f"budget_usd is {settings.budget_usd:f}, and what an hour of {_name(machine)} costs is not "
        f"known: set device_price to {choices}"
    )


def _accelerator(machine: Machine) -> str | None:
    if machine.device is Device.CPU:
        return None
    return accelerator_of(machine.model, machine.memory_bytes)


def _name(machine: Machine) -> str:
    return machine.model or str(machine.device)
