"""Computes needed hours, hours by team and workload, and the allocation of the bill."""

from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import exact, integer
from perfledger.time_units import DAYS_PER_YEAR, SECONDS_PER_DAY
from perfledger_cost_models.billing.bill_against_list import PriceKey, model_name, price_key
from perfledger_cost_models.billing.cost_allocation import CostOwner
from perfledger_cost_models.billing.focus import Bill, device_hours
from perfledger_cost_models.billing.showback import (
    CostAllocation,
    LabelledUsage,
    allocation_by_bill,
    allocation_by_use,
    bill_days,
    bill_to_allocate,
)
from perfledger_cost_models.change_price.device_transfer import DeviceTransfers
from perfledger_cost_models.change_price.fleet_entry import MeasuredChange
from perfledger_cost_models.change_price.fleet_weights import FleetSplitError, check_counted_once
from perfledger_cost_models.change_price.price import NO_TRANSFERS, price_changes
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.procurement.hour_shares import HourShare, HourShares
from perfledger_cost_models.procurement.plan import (
    HoursKind,
    InputRange,
    PlannedDemand,
    PlanTeam,
    ProcurementPlan,
    ProcurementPlanError,
)
from perfledger_cost_models.quote import ChangePrice
from perfledger_cost_models.review.document import (
    LandedChangePrice,
    TeamHours,
    UnknownFigure,
    WorkloadHours,
)
from perfledger_cost_models.review.measured_changes import (
    LandedChange,
    QuarterRecords,
    RepositoryFleet,
)
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.tco.hourly_rates import rate_of

_WILDCARDS = frozenset("*?")  # of the patterns that workload_pattern matches
NO_BILL = "there is no bill"
BILL_REMEDY = "--bill FILE: the quarter's bill in FOCUS 1.0 to 1.4, CSV or Parquet"


def demand_hours(
    plan: ProcurementPlan,
    *,
    bill: Bill | None,
    bill_name: str,
    records: QuarterRecords | None,
    sheet: PriceSheet,
) -> InputRange:
    """Return the hours a year: the plan's, else the bill's, else the configuration's.

    Raises ProcurementPlanError if none of them has any.
    """
    demand = plan.demand
    if demand.hours is not None:
        return demand.hours
    if bill is not None:
        days = billed_days(bill)
        used = billed_hours(bill, demand.accelerator)
        year = used * DAYS_PER_YEAR / days
        if year > 0:
            source = (
                f"{bill_name}: {exact(used)} hours in {integer(days)} days, times {DAYS_PER_YEAR}"
            )
            return InputRange(
                low=year,
                mode=year,
                high=year,
                source=source,
                basis="measured",
                as_of=bill.end.date(),
            )
    fleets = () if records is None else records.fleets
    _check_repositories_differ(fleets)
    uses = [
        use
        for fleet in fleets
        for use in _entries_counted_once(fleet)
        if _accelerator_at(use.where, sheet) == demand.accelerator
    ]
    if not uses:
        msg = (
            f"the {demand.accelerator} hours needed are unknown: add hours to [demand], "
            f"{BILL_REMEDY}, or [[fleet]] to perfledger.toml"
        )
        raise ProcurementPlanError(msg)
    modes = [use.device_hours_per_year for use in uses]
    lows = [mode if use.low is None else use.low for use, mode in zip(uses, modes, strict=True)]
    highs = [mode if use.high is None else use.high for use, mode in zip(uses, modes, strict=True)]
    return InputRange(
        low=to_decimal(sum(lows)),
        mode=to_decimal(sum(modes)),
        high=to_decimal(sum(highs)),
        source=f"{len(uses)} [[fleet]] entries of the configuration, in the newest bundles",
    )


def _check_repositories_differ(fleets: Sequence[RepositoryFleet]) -> None:
    """Raise ProcurementPlanError for two repositories that state the same hours of a workload."""
    owners: dict[tuple[object, ...], str] = {}
    for fleet in fleets:
        for use in fleet.entries:
            hours = use.device_hours_per_year
            key = use.workload, use.where, hours, use.low, use.high, use.source
            owner = owners.setdefault(key, fleet.repository)
            if owner != fleet.repository:
                msg = (
                    f"the hours needed are unknown: {owner} and {fleet.repository} have an equal "
                    f"[[fleet]] entry, {integer(hours)} hours of {use.workload!r} at "
                    f"{use.where}. If it is a copy, remove one; if the hours are different ones, "
                    "give each its own source"
                )
                raise ProcurementPlanError(msg)


def _entries_counted_once(fleet: RepositoryFleet) -> tuple[FleetUse, ...]:
    """Return a repository's entries; raise ProcurementPlanError if two may have the same hours."""
    single = {each.workload for each in fleet.entries if not _WILDCARDS & set(each.workload)}
    try:
        for use in fleet.entries:
            copies = [each for each in fleet.entries if each.workload == use.workload]
            check_counted_once(use, use.workload, copies)
        for workload in sorted({*single, *fleet.registered}):
            uses = [each for each in fleet.entries if is_match(each.workload, workload)]
            for use in uses:
                check_counted_once(use, workload, uses)
    except FleetSplitError as error:
        msg = f"the hours needed are unknown: {error}"
        raise ProcurementPlanError(msg) from error
    return fleet.entries


def hours_kind(demand: PlannedDemand, bill: Bill | None, shares: HourShares) -> HoursKind:
    """Return what `demand_hours` count: a bill's are paid, a configuration's are allocated.

    A configuration's hours count as paid if the allocated share is unknown.
    """
    if demand.hours is not None:
        return demand.hours_kind
    if bill is None and HourShare.ALLOCATED in shares.by_share:
        return HoursKind.ALLOCATED
    return HoursKind.PAID


def billed_days(bill: Bill) -> Decimal:
    """Return how many days the bill covers."""
    return Decimal(repr((bill.end - bill.start).total_seconds())) / SECONDS_PER_DAY


def billed_hours(bill: Bill, accelerator: str) -> Decimal:
    """Return an accelerator's hours in the bill, over all teams."""
    hours_of_team = device_hours(bill).items()
    return sum((hours for (_, name), hours in hours_of_team if name == accelerator), Decimal(0))


def billed_usd(bill: Bill, accelerator: str) -> Decimal:
    """Return the effective cost of an accelerator's hours, without unused commitments."""
    costs = (
        one.effective_usd
        for one in bill.usage
        if known_instances(one.provider)[one.sku].accelerator == accelerator
    )
    return sum(costs, Decimal(0))


def hours_by_mode(
    bill: Bill, unsure: Collection[PriceKey] = ()
) -> tuple[tuple[str, Decimal, Decimal], ...]:
    """Return the bill's rows of (accelerator and mode, accelerator-hours, effective USD).

    Hours of `unsure_models` have a mode with a question mark, and a row of their own.
    """
    totals: dict[str, tuple[Decimal, Decimal]] = {}
    for one in bill.usage:
        holds = known_instances(one.provider)[one.sku]
        mode = model_name(price_key(one), unsure).replace("_", " ")
        name = f"{holds.accelerator}, {mode}"
        hours, usd = totals.get(name, (Decimal(0), Decimal(0)))
        totals[name] = (hours + one.instance_hours * holds.count, usd + one.effective_usd)
    return tuple((name, *totals[name]) for name in sorted(totals))


def team_hours(bill: Bill | None) -> tuple[TeamHours, ...] | UnknownFigure:
    """Return the hours of each team and accelerator in the bill, the most first."""
    if bill is None:
        return UnknownFigure(name="hours by team", reason=NO_BILL, remedy=BILL_REMEDY)
    billed = device_hours(bill)
    totals: dict[str, Decimal] = {}
    for (_, accelerator), hours in billed.items():
        totals[accelerator] = totals.get(accelerator, Decimal(0)) + hours
    rows = (
        TeamHours(
            team=team,
            accelerator=accelerator,
            hours=hours,
            share=float(hours / totals[accelerator]) if totals[accelerator] else 0.0,
        )
        for (team, accelerator), hours in billed.items()
    )
    return tuple(sorted(rows, key=lambda row: (row.accelerator, -row.hours, row.team)))


def workload_hours(
    records: QuarterRecords | UnknownFigure, teams: Sequence[PlanTeam]
) -> tuple[WorkloadHours, ...] | UnknownFigure:
    """Return the hours and, by the plan's patterns, the team of each workload."""
    if isinstance(records, UnknownFigure):
        return UnknownFigure(name="hours by workload", reason=records.reason, remedy=records.remedy)
    if not records.fleet:
        return UnknownFigure(
            name="hours by workload",
            reason=f"no bundle of {records.origin} declares fleet hours",
            remedy="[[fleet]] in perfledger.toml, before the next check",
        )
    uses = [(one.repository, use) for one in records.fleets for use in one.entries]
    return tuple(
        WorkloadHours(
            repository=repository,
            workload=use.workload,
            team=next((one.name for one in teams if _owns(one, use.workload)), ""),
            where=use.where,
            hours=use.device_hours_per_year,
            low=use.low,
            high=use.high,
            source=use.source,
        )
        for repository, use in sorted(uses, key=lambda pair: -pair[1].device_hours_per_year)
    )


def changes_of(
    records: QuarterRecords | UnknownFigure,
    sheet: PriceSheet,
    *,
    transfers: DeviceTransfers = NO_TRANSFERS,
) -> tuple[LandedChangePrice, ...] | UnknownFigure:
    """Return the landed changes of code speed, priced per year, newest first.

    A change is priced on the fleet entries of its own repository.
    """
    name = "code-speed changes that landed"
    if isinstance(records, UnknownFigure):
        return UnknownFigure(name=name, reason=records.reason, remedy=records.remedy)
    if not records.branch_checks:
        return UnknownFigure(
            name=name,
            reason=f"{records.origin} has no check of an attested commit of the default branch in "
            f"the quarter ({records.unattested_checks} unattested), and which of its "
            f"{records.pull_request_checks} checks of pull requests landed is unknown",
            remedy="run perfledger check --upload-url on pushes to the default branch; perfledger "
            "server reorder attests earlier commits",
        )
    newest_first = sorted(
        records.landed_changes, key=lambda one: (one.day, one.workload), reverse=True
    )
    return tuple(
        LandedChangePrice(
            change=one, prices=_prices(one, records.fleet_of(one.repository), sheet, transfers)
        )
        for one in newest_first
    )


def efficiency_hours(
    changes: Sequence[LandedChangePrice], *, accelerator: str, quarter: Quarter
) -> Decimal | None:
    """Return the hours of an accelerator that landed changes add in a quarter.

    A change counts from the day it landed to the end of the quarter, at its yearly hours times the
    share of a year. Returns None if a change on this accelerator has no known hours.
    """
    prices = [
        (price, change.change.day)
        for change in changes
        for price in change.prices
        if price.rate is None or price.rate.accelerator == accelerator
    ]
    if any(price.usd is None and price.extra_hours is None for price, _ in prices):
        return None
    shares = (_hours(price) * _share_of_year(day, quarter) for price, day in prices)
    return sum(shares, Decimal(0))


def allocation_of(
    bill: Bill | None, teams: Sequence[PlanTeam], use: LabelledUsage | None = None
) -> CostAllocation | UnknownFigure:
    """Return the bill by team in whole cents, so that the rows sum to the bill.

    Direct: the cost of a team's own hours, from usage files if there are any, else from its own
    rows of the bill. Idle: unused commitments and hours, by entitlement. Overhead: the rest of the
    bill, by use. If no team has an entitlement, idle is a separate row. Raises AllocationError.
    """
    if bill is None:
        return UnknownFigure(name="allocation and showback", reason=NO_BILL, remedy=BILL_REMEDY)
    entitled = {CostOwner(one.name): one.entitled_hours for one in teams}
    if use is not None:
        return allocation_by_use(bill_to_allocate(bill), use, bill_days(bill), quotas=entitled)
    return allocation_by_bill(bill, quotas=entitled)


def _prices(
    landed: LandedChange, fleet: RepositoryFleet, sheet: PriceSheet, transfers: DeviceTransfers
) -> tuple[ChangePrice, ...]:
    return price_changes(
        (_measured_change(landed),),
        pricing=PricingConfig(fleet=fleet.entries),
        sheet=sheet,
        registered=fleet.registered,
        transfers=transfers,
    ).prices


def _measured_change(landed: LandedChange) -> MeasuredChange:
    return MeasuredChange(
        workload=landed.workload,
        change=landed.change,
        measured_on=landed.accelerator or landed.device,
    )


def _hours(price: ChangePrice) -> Decimal:
    if price.extra_hours is not None:
        return to_decimal(price.extra_hours[1])
    if price.usd is None or price.rate is None:  # pragma: no cover - checked by the caller
        return Decimal(0)
    return price.usd / price.rate.usd_per_device_hour


def _share_of_year(day: date, quarter: Quarter) -> Decimal:
    """Return the share of a year from a day, or the quarter's later start, to the quarter's end."""
    days = (quarter.after.first - max(day, quarter.first)).days
    return Decimal(max(days, 0)) / DAYS_PER_YEAR


def _owns(team: PlanTeam, workload: str) -> bool:
    return any(pattern == workload or is_match(pattern, workload) for pattern in team.workloads)


def _accelerator_at(where: str, sheet: PriceSheet) -> str:
    try:
        return rate_of(sheet, where).accelerator
    except PriceMissingError:
        return ""
