"""Allocates a bill or an amount to the teams that used the devices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from perfledger_cost_models.billing.allocated_hours import (
    DEVICES,
    DayRange,
    HeatMap,
    days_of,
    heat_map,
    label_names,
)
from perfledger_cost_models.billing.bill_against_list import (
    agreed_price_notes,
    compared_prices,
    implausible_hours,
)
from perfledger_cost_models.billing.cost_allocation import CostOwner, CostPool
from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.billing.quotas import MAX_CHARACTERS, read_quotas
from perfledger_cost_models.billing.showback import (
    BillToAllocate,
    CostAllocation,
    LabelledUsage,
    allocation_by_bill,
    allocation_by_use,
    bill_days,
    bill_to_allocate,
)
from perfledger_cost_models.prices.exchange_rates import ExchangeRateTable
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_service.errors import UsageError
from perfledger_service.usecases.fleet.hours import read_usages
from perfledger_service.usecases.inputs.bills import read_bill
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about, read_text

MAX_DEVICES = 10_000_000  # more is a typing error
HOW_TO_PAY = "give the cost to allocate: --bill FILE, or --amount-usd USD and --devices N"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidCosts:
    """The cost to allocate: a bill, or an amount for a number of devices, and overhead."""

    bill: Path | None
    team_tag: str
    amount: Decimal | None
    devices: int | None
    overhead: Decimal
    sheet: PriceSheet  # the list with own prices and discounts, before taxes
    exchange_rates: ExchangeRateTable | None = None  # of a bill in another currency


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSources:
    """Usage files, and the labels that name a job's team and project, "" to detect them."""

    files: tuple[NamedBytes, ...]
    team: str
    project: str


def allocate_cost(
    paid: PaidCosts, usage: UsageSources, *, days: DayRange | None, entitlement: Path | None
) -> CostAllocation:
    """Return each team's share of a bill or an amount; `days` None is the files' own period.

    Raises UsageError for a cost that cannot be allocated, NotFoundError and TooLargeError.
    """
    with translate_errors():
        quotas = _read_quota_file(entitlement)
        use = _use(usage)
        if paid.bill is not None:
            if paid.amount is not None or paid.devices is not None or days is not None:
                msg = "a bill has its own amount, devices and period: leave those options out"
                raise UsageError(msg)
            bill = read_bill(paid.bill, team_tag=paid.team_tag, exchange_rates=paid.exchange_rates)
            costs = bill_to_allocate(bill, overhead_usd=paid.overhead)
            allocation = (
                allocation_by_bill(bill, quotas=quotas, overhead_usd=paid.overhead)
                if use is None
                else allocation_by_use(costs, use, bill_days(bill), quotas=quotas)
            )
            return replace(allocation, notes=(*allocation.notes, *_price_notes(paid, bill)))
        if paid.amount is None or paid.devices is None or use is None:
            raise UsageError(HOW_TO_PAY if use else f"no usage file was given; {HOW_TO_PAY}")
        days = days or days_of(use.usages)
        costs = _bill_of_amount(paid.amount, paid.devices, days, paid.overhead)
        return allocation_by_use(costs, use, days, quotas=quotas)


def _price_notes(paid: PaidCosts, bill: Bill) -> Iterator[str]:
    """Yield how costs were converted, what contradicts the list, and how agreed prices compare."""
    yield from (rates.sentence for rates in bill.rates)
    name = "" if paid.bill is None else paid.bill.name
    yield from implausible_hours(bill, packaged_sheet(), name=name, own_prices=paid.sheet)
    yield from agreed_price_notes(compared_prices(bill, paid.sheet, name=name))


def hours_by_team(usage: UsageSources, *, days: DayRange | None) -> HeatMap:
    """Return device-hours by team and week; raises UsageError."""
    with translate_errors():
        use = _use(usage)
        if use is None:
            msg = "a heat map needs usage files: give at least one (a FOCUS bill counts)"
            raise UsageError(msg)
        return heat_map(use.usages, use.labels, days or days_of(use.usages))


def _use(usage: UsageSources) -> LabelledUsage | None:
    if not usage.files:
        return None
    usages = read_usages(usage.files)
    return LabelledUsage(
        usages=usages, labels=label_names(usages, team=usage.team, project=usage.project)
    )


def _bill_of_amount(
    amount: Decimal, devices: int, days: DayRange, overhead: Decimal
) -> BillToAllocate:
    if not 1 <= devices <= MAX_DEVICES:
        msg = f"{devices} devices: give 1 to {MAX_DEVICES}"
        raise UsageError(msg)
    return BillToAllocate(
        pools=(CostPool(name=DEVICES, usd=amount, hours=Decimal(devices * days.hours)),),
        unused_usd=Decimal(0),
        overhead_usd=overhead,
        billed_usd=amount + overhead,
    )


def _read_quota_file(path: Path | None) -> Mapping[CostOwner, Decimal]:
    if path is None:
        return {}
    with errors_about(path):
        return read_quotas(read_text(path, most_bytes=4 * MAX_CHARACTERS), path.name)
