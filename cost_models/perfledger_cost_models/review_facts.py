"""A bill, a configuration and a quarter's checks into who needed how many hours and who pays."""

from collections.abc import Sequence
from decimal import Decimal

from perfledger.bundle import Pricing
from perfledger.pattern import is_match
from perfledger_cost_models.allocation import Holder
from perfledger_cost_models.bulk import known_instances
from perfledger_cost_models.change import price_changes
from perfledger_cost_models.focus import Bill, device_hours
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.part import MeasuredChange
from perfledger_cost_models.procurement_plan import Plan, PlanError, Range, Team
from perfledger_cost_models.quote import ChangePrice
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.review import PricedChange, TeamHours, Unknown, WorkloadHours
from perfledger_cost_models.review_records import Landed, Records
from perfledger_cost_models.sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.showback import (
    Allocation,
    Use,
    allocation_by_bill,
    allocation_by_use,
    bill_days,
    shared_bill,
)
from perfledger_cost_models.supply import DAYS_PER_YEAR

NO_BILL = "no bill was given"
HOW_BILL = "--bill FILE: the quarter's bill in FOCUS 1.0 to 1.2, CSV or Parquet"
SECONDS_PER_DAY = 86400


def demand_hours(
    plan: Plan,
    *,
    bill: Bill | None,
    bill_name: str,
    records: Records | None,
    sheet: PriceSheet,
) -> Range:
    """Return the useful hours a year: the plan's, else the bill's, else the configuration's.

    Raises PlanError where none of them says anything.
    """
    demand = plan.demand
    if demand.hours is not None:
        return demand.hours
    if bill is not None:
        days = billed_days(bill)
        used = billed_hours(bill, demand.accelerator)
        year = used * DAYS_PER_YEAR / days
        if year > 0:
            source = f"{bill_name}: {used:f} hours in {days:.0f} days, times {DAYS_PER_YEAR}"
            return Range(
                low=year,
                mode=year,
                high=year,
                source=source,
                basis="measured",
                as_of=bill.end.date(),
            )
    uses = [
        use
        for use in (() if records is None else records.fleet)
        if _accelerator_at(use.where, sheet) == demand.accelerator
    ]
    if not uses:
        msg = (
            f"nothing says how many {demand.accelerator} hours are needed: add hours to [demand], "
            f"{HOW_BILL}, or [[tool.perfledger.fleet]] to the configuration"
        )
        raise PlanError(msg)
    modes = [use.device_hours_per_year for use in uses]
    lows = [mode if use.low is None else use.low for use, mode in zip(uses, modes, strict=True)]
    highs = [mode if use.high is None else use.high for use, mode in zip(uses, modes, strict=True)]
    return Range(
        low=to_decimal(sum(lows)),
        mode=to_decimal(sum(modes)),
        high=to_decimal(sum(highs)),
        source=f"{len(uses)} [[fleet]] entries of the configuration, in the newest bundles",
    )


def billed_days(bill: Bill) -> Decimal:
    """Return how many days the bill is of."""
    return Decimal(repr((bill.end - bill.start).total_seconds())) / SECONDS_PER_DAY


def billed_hours(bill: Bill, accelerator: str) -> Decimal:
    """Return an accelerator's hours in the bill, of all teams."""
    found = device_hours(bill).items()
    return sum((hours for (_, name), hours in found if name == accelerator), Decimal(0))


def billed_usd(bill: Bill, accelerator: str) -> Decimal:
    """Return what an accelerator's hours cost effectively; unused commitments are not in it."""
    costs = (
        one.effective_usd
        for one in bill.usage
        if known_instances(one.provider)[one.sku].accelerator == accelerator
    )
    return sum(costs, Decimal(0))


def hours_by_mode(bill: Bill) -> tuple[tuple[str, Decimal, Decimal], ...]:
    """Return (accelerator and mode in words, accelerator-hours, effective USD) of the bill."""
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for one in bill.usage:
        holds = known_instances(one.provider)[one.sku]
        name = f"{holds.accelerator}, {one.model.replace('_', ' ')}"
        hours, usd = found.get(name, (Decimal(0), Decimal(0)))
        found[name] = (hours + one.instance_hours * holds.count, usd + one.effective_usd)
    return tuple((name, *found[name]) for name in sorted(found))


def team_hours(bill: Bill | None) -> tuple[TeamHours, ...] | Unknown:
    """Return the hours of each team and accelerator in the bill, the most first."""
    if bill is None:
        return Unknown(what="hours by team", why=NO_BILL, how=HOW_BILL)
    found = device_hours(bill)
    totals: dict[str, Decimal] = {}
    for (_, accelerator), hours in found.items():
        totals[accelerator] = totals.get(accelerator, Decimal(0)) + hours
    rows = (
        TeamHours(
            team=team,
            accelerator=accelerator,
            hours=hours,
            share=float(hours / totals[accelerator]) if totals[accelerator] else 0.0,
        )
        for (team, accelerator), hours in found.items()
    )
    return tuple(sorted(rows, key=lambda row: (row.accelerator, -row.hours, row.team)))


def workload_hours(
    records: Records | Unknown, teams: Sequence[Team]
) -> tuple[WorkloadHours, ...] | Unknown:
    """Return the hours that each workload stands for, and whose it is by the plan's patterns."""
    if isinstance(records, Unknown):
        return Unknown(what="hours by workload", why=records.why, how=records.how)
    if not records.fleet:
        return Unknown(
            what="hours by workload",
            why=f"no bundle of {records.origin} declares any",
            how="[[tool.perfledger.fleet]] in the configuration, before the next check",
        )
    return tuple(
        WorkloadHours(
            workload=use.workload,
            team=next((one.name for one in teams if _owns(one, use.workload)), ""),
            where=use.where,
            hours=use.device_hours_per_year,
            low=use.low,
            high=use.high,
            source=use.source,
        )
        for use in sorted(records.fleet, key=lambda use: -use.device_hours_per_year)
    )


def changes_of(records: Records | Unknown, sheet: PriceSheet) -> tuple[PricedChange, ...] | Unknown:
    """Return the changes of code speed that landed, priced a year on the fleet, newest first."""
    what = "code-speed changes that landed"
    if isinstance(records, Unknown):
        return Unknown(what=what, why=records.why, how=records.how)
    if not records.of_branches:
        return Unknown(
            what=what,
            why=f"{records.origin} has no check of the default branch in the quarter, and of "
            f"{records.of_pull_requests} checks of pull requests nothing says which landed",
            how="run perfledger check --upload on pushes to the default branch",
        )
    return tuple(
        PricedChange(
            landed=one,
            prices=price_changes(
                (_measured(one),), pricing=Pricing(fleet=records.fleet), sheet=sheet
            ).prices,
        )
        for one in sorted(records.landed, key=lambda one: (one.day, one.workload), reverse=True)
    )


def efficiency_hours(
    changes: Sequence[PricedChange], *, accelerator: str, quarters: int
) -> Decimal | None:
    """Return the hours of an accelerator a quarter that landed changes add.

    None where one has no hours to count, unless it is on another accelerator. A change counts as if
    it had landed on the first day of the quarter.
    """
    prices = [
        price
        for change in changes
        for price in change.prices
        if price.rate is None or price.rate.accelerator == accelerator
    ]
    if any(price.usd is None or price.rate is None for price in prices):
        return None
    return sum((_hours(price) for price in prices), Decimal(0)) / quarters


def allocation_of(
    bill: Bill | None, teams: Sequence[Team], use: Use | None = None
) -> Allocation | Unknown:
    """Return the bill by team in whole cents, so that rows sum to it.

    Direct: what a team's own hours cost, of the devices that it held where usage files say so, else
    of those on its own rows. Idle: commitments and hours that nobody used, by entitlement.
    Overhead: all else on the bill, by use. Where nobody is entitled, idle is a row of its own.
    Raises AllocationError.
    """
    if bill is None:
        return Unknown(what="allocation and showback", why=NO_BILL, how=HOW_BILL)
    entitled = {Holder(one.name): one.entitled_hours for one in teams}
    if use is not None:
        return allocation_by_use(shared_bill(bill), use, bill_days(bill), entitled=entitled)
    return allocation_by_bill(bill, entitled=entitled)


def _measured(landed: Landed) -> MeasuredChange:
    return MeasuredChange(
        workload=landed.workload,
        change=landed.change,
        measured_on=landed.accelerator or landed.device,
    )


def _hours(price: ChangePrice) -> Decimal:
    rate = price.rate
    if price.usd is None or rate is None:  # pragma: no cover - looked for before
        return Decimal(0)
    return price.usd / rate.usd_per_device_hour


def _owns(team: Team, workload: str) -> bool:
    return any(pattern == workload or is_match(pattern, workload) for pattern in team.workloads)


def _accelerator_at(where: str, sheet: PriceSheet) -> str:
    try:
        return rate_of(sheet, where).accelerator
    except PriceMissingError:
        return ""
