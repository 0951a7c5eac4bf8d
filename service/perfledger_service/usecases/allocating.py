"""Usage files and a bill, or an amount for so many devices, into who pays which part of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from perfledger_cost_models.allocation import Holder, Pool
from perfledger_cost_models.entitled_hours import MAX_CHARACTERS, read_entitlements
from perfledger_cost_models.held_hours import DEVICES, Days, HeatMap, days_of, heat_map, label_names
from perfledger_cost_models.showback import (
    Allocation,
    SharedBill,
    Use,
    allocation_by_bill,
    allocation_by_use,
    bill_days,
    shared_bill,
)
from perfledger_service.errors import UsageError
from perfledger_service.usecases.bills import read_bill
from perfledger_service.usecases.fleets import read_usages
from perfledger_service.usecases.text_files import NamedBytes, read_text
from perfledger_service.usecases.translating import translated

MAX_DEVICES = 10_000_000
HOW_TO_PAY = "say what is to be shared out: --bill FILE, or --amount USD and --devices N"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """What was paid: by a bill, or an amount for so many devices; and what else is shared."""

    bill: Path | None
    team_tag: str
    amount: Decimal | None
    devices: int | None
    overhead: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Who used what: usage files, and the labels that say whose a job is, "" where to be found."""

    files: tuple[NamedBytes, ...]
    team: str
    project: str


def allocate_cost(
    paid: Paid, told: Told, *, days: Days | None, entitlement: Path | None
) -> Allocation:
    """Return who pays what of a bill or an amount; `days` is None for the files' own period.

    Raises UsageError for what cannot be shared out, NotFoundError and TooLargeError for files.
    """
    with translated():
        entitled = _entitled(entitlement)
        use = _use(told)
        if paid.bill is not None:
            if paid.amount is not None or paid.devices is not None or days is not None:
                msg = "a bill has its own amount, devices and period: leave the others out"
                raise UsageError(msg)
            bill = read_bill(paid.bill, team_tag=paid.team_tag)
            if use is None:
                return allocation_by_bill(bill, entitled=entitled, overhead_usd=paid.overhead)
            shared = shared_bill(bill, overhead_usd=paid.overhead)
            return allocation_by_use(shared, use, bill_days(bill), entitled=entitled)
        if paid.amount is None or paid.devices is None or use is None:
            raise UsageError(HOW_TO_PAY if use else f"no usage file was given; {HOW_TO_PAY}")
        days = days or days_of(use.usages)
        shared = _shared(paid.amount, paid.devices, days, paid.overhead)
        return allocation_by_use(shared, use, days, entitled=entitled)


def hours_by_team(told: Told, *, days: Days | None) -> HeatMap:
    """Return device-hours by team and week; raises UsageError."""
    with translated():
        use = _use(told)
        if use is None:
            msg = "a heat map is drawn of usage files: give at least one (a FOCUS bill can be)"
            raise UsageError(msg)
        return heat_map(use.usages, use.labels, days or days_of(use.usages))


def _use(told: Told) -> Use | None:
    if not told.files:
        return None
    usages = read_usages(told.files)
    return Use(usages=usages, labels=label_names(usages, team=told.team, project=told.project))


def _shared(amount: Decimal, devices: int, days: Days, overhead: Decimal) -> SharedBill:
    if not 1 <= devices <= MAX_DEVICES:
        msg = f"{devices} devices: give 1 to {MAX_DEVICES}"
        raise UsageError(msg)
    return SharedBill(
        pools=(Pool(name=DEVICES, usd=amount, hours=Decimal(devices * days.hours)),),
        unused_usd=Decimal(0),
        overhead_usd=overhead,
        billed_usd=amount + overhead,
    )


def _entitled(path: Path | None) -> Mapping[Holder, Decimal]:
    if path is None:
        return {}
    return read_entitlements(read_text(path, most_bytes=4 * MAX_CHARACTERS), path.name)
