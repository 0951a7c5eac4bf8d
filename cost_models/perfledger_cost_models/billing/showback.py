"""Allocates a bill or an amount to teams, by usage files or by the bill's own teams.

Without usage files each of the bill's teams pays for its own rows. With them the cost of the bill's
devices is split by who held them, because the account that rents a cluster is not its user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from perfledger.rounding import decimals
from perfledger_cost_models.billing.allocated_hours import (
    DEVICES,
    DayRange,
    HeatMap,
    LabelNames,
    days_between,
    heat_map,
    pool_usages,
)
from perfledger_cost_models.billing.cost_allocation import (
    AllocationError,
    AllocationRow,
    BillPart,
    CostOwner,
    CostPool,
    allocate,
    exact_usd,
    split_costs,
    whole_cents,
)
from perfledger_cost_models.billing.focus import Bill, device_hours
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.usage.device_spans import EARLIEST, LATEST, DeviceUsage

# Usage files that cover less of the period get a note, because uncovered time counts as idle.
MIN_COVERED_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAllocation:
    """The bill by team and project, in cents; the rows sum to it."""

    rows: tuple[AllocationRow, ...]
    effective_usd: Decimal
    billed_usd: Decimal
    list_usd: Decimal  # at list prices; the billed cost where the bill lacks them
    contracted_usd: Decimal  # at negotiated prices, before commitments; else billed cost
    start: date
    end: date  # the day after the last
    paid_hours: Decimal  # device-hours paid for, used or not
    source: str  # of the owners of the usage
    notes: tuple[str, ...] = ()
    weeks: HeatMap | None = None  # None without usage files

    @property
    def used_hours(self) -> Decimal:
        """Return the device-hours in use."""
        return sum((row.hours for row in self.rows), Decimal(0))

    def sum_of(self, part: BillPart) -> Decimal:
        """Return one part summed over all rows."""
        return sum((row.usd_of(part) for row in self.rows), Decimal(0))

    def by_team(self) -> tuple[AllocationRow, ...]:
        """Return one row per team, summed over its projects, in the order of the teams."""
        teams: dict[str, AllocationRow] = {}
        for row in self.rows:
            team_row = teams.get(row.team)
            teams[row.team] = (
                replace(row, project="") if team_row is None else _sum_rows(team_row, row)
            )
        return tuple(teams.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledUsage:
    """Usage files and the labels that name team and project."""

    usages: tuple[DeviceUsage, ...]
    labels: LabelNames


@dataclass(frozen=True, slots=True, kw_only=True)
class BillToAllocate:
    """A bill's parts to allocate: devices by kind, unused commitments, everything else."""

    pools: tuple[CostPool, ...]
    unused_usd: Decimal
    overhead_usd: Decimal
    billed_usd: Decimal
    list_usd: Decimal | None = None
    contracted_usd: Decimal | None = None


def bill_days(bill: Bill) -> DayRange:
    """Return the days of a bill; raise AllocationError for an impossible period."""
    if not EARLIEST <= bill.start.timestamp() <= bill.end.timestamp() <= LATEST:
        msg = f"the bill's period {bill.start} to {bill.end} is impossible: export it again"
        raise AllocationError(msg)
    return days_between(bill.start.timestamp(), bill.end.timestamp())


def bill_to_allocate(bill: Bill, *, overhead_usd: Decimal = Decimal(0)) -> BillToAllocate:
    """Return the parts of a bill; the cost of a device without hours counts as overhead."""
    hours: dict[str, Decimal] = {}
    usd: dict[str, Decimal] = {}
    for (_, accelerator), each in device_hours(bill).items():
        hours[accelerator] = hours.get(accelerator, Decimal(0)) + each
    for usage in bill.usage:
        accelerator = known_instances(usage.provider)[usage.sku].accelerator
        usd[accelerator] = usd.get(accelerator, Decimal(0)) + usage.effective_usd
    unpriced_usd = sum((usd[name] for name in usd if hours[name] <= 0), Decimal(0))
    return BillToAllocate(
        pools=tuple(
            CostPool(name=name, usd=usd[name], hours=hours[name])
            for name in sorted(hours)
            if hours[name] > 0
        ),
        unused_usd=bill.unused_usd,
        overhead_usd=bill.other_usd + unpriced_usd + overhead_usd,
        billed_usd=bill.billed_usd + overhead_usd,
        list_usd=None if bill.list_usd is None else bill.list_usd + overhead_usd,
        contracted_usd=None if bill.contracted_usd is None else bill.contracted_usd + overhead_usd,
    )


def allocation_by_use(
    shared: BillToAllocate,
    use: LabelledUsage,
    days: DayRange,
    *,
    quotas: Mapping[CostOwner, Decimal],
) -> CostAllocation:
    """Allocate a bill by who held devices in a period.

    Different accelerators have different prices if every job names its own. Otherwise all hours
    have one price, as a note states. Raises AllocationError.
    """
    names = [pool.name for pool in shared.pools]
    pools, notes = shared.pools, [*_coverage_note(use.usages, days), *_duplicates_note(use.usages)]
    usages = pool_usages(use.usages, use.labels, days, names)
    if usages is None:
        pools = (_mean_pool(shared.pools),)
        usages = pool_usages(use.usages, use.labels, days, [DEVICES]) or ()
        if len(names) > 1:
            notes.append(
                f"not every job names its accelerator, so hours of {', '.join(names)} all count at "
                "their mean price"
            )
    rows = allocate(
        usages, pools, quotas=quotas, unused_usd=shared.unused_usd, overhead_usd=shared.overhead_usd
    )
    return _allocation(
        rows,
        shared,
        days,
        source=_source(use),
        notes=(*notes, *_owner_note(rows)),
        weeks=heat_map(use.usages, use.labels, days),
    )


def allocation_by_bill(
    bill: Bill, *, quotas: Mapping[CostOwner, Decimal], overhead_usd: Decimal = Decimal(0)
) -> CostAllocation:
    """Allocate a bill to its own teams: the direct cost of a team is that of its rows.

    Raises AllocationError.
    """
    spent: dict[CostOwner, Fraction] = {}
    used: dict[CostOwner, Decimal] = {}
    for usage in bill.usage:
        owner = CostOwner(usage.team)
        spent[owner] = spent.get(owner, Fraction(0)) + exact_usd(usage.effective_usd)
    for (team, _), hours in device_hours(bill).items():
        used[CostOwner(team)] = used.get(CostOwner(team), Decimal(0)) + hours
    rows = split_costs(
        spent,
        used=used,
        quotas=quotas,
        idle_usd=exact_usd(bill.unused_usd),
        overhead_usd=exact_usd(bill.other_usd) + exact_usd(overhead_usd),
    )
    return _allocation(
        rows,
        bill_to_allocate(bill, overhead_usd=overhead_usd),
        bill_days(bill),
        source="the bill's own teams",
        notes=_owner_note(rows),
    )


def _sum_rows(left: AllocationRow, right: AllocationRow) -> AllocationRow:
    return AllocationRow(
        team=left.team,
        hours=left.hours + right.hours,
        direct_usd=left.direct_usd + right.direct_usd,
        idle_usd=left.idle_usd + right.idle_usd,
        overhead_usd=left.overhead_usd + right.overhead_usd,
    )


def _mean_pool(pools: Sequence[CostPool]) -> CostPool:
    return CostPool(
        name=DEVICES,
        usd=sum((pool.usd for pool in pools), Decimal(0)),
        hours=sum((pool.hours for pool in pools), Decimal(0)),
    )


def _allocation(
    rows: tuple[AllocationRow, ...],
    shared: BillToAllocate,
    days: DayRange,
    *,
    source: str,
    notes: tuple[str, ...],
    weeks: HeatMap | None = None,
) -> CostAllocation:
    return CostAllocation(
        rows=rows,
        effective_usd=sum((row.total_usd for row in rows), Decimal(0)),
        billed_usd=whole_cents(shared.billed_usd),
        list_usd=whole_cents(_or_billed(shared.list_usd, shared)),
        contracted_usd=whole_cents(_or_billed(shared.contracted_usd, shared)),
        start=days.start,
        end=days.end,
        paid_hours=sum((pool.hours for pool in shared.pools), Decimal(0)),
        source=source,
        notes=notes,
        weeks=weeks,
    )


def _or_billed(usd: Decimal | None, shared: BillToAllocate) -> Decimal:
    """Return a cost, or else the billed cost, as FOCUS prescribes for a charge without a price."""
    return shared.billed_usd if usd is None else usd


def _source(use: LabelledUsage) -> str:
    kinds = " and ".join(sorted({usage.kind for usage in use.usages}))
    project = f", project by {use.labels.project}" if use.labels.project else ""
    return f"{kinds}: team by {use.labels.team}{project}"


def _coverage_note(usages: Sequence[DeviceUsage], days: DayRange) -> Sequence[str]:
    """Return a note if usage files cover only part of the period."""
    start, end = (moment.timestamp() for moment in days.moments)
    first, last = min(each.start for each in usages), max(each.end for each in usages)
    if min(last, end) - max(first, start) >= MIN_COVERED_SHARE * (end - start):
        return ()
    usage_text, paid_text = (
        " to ".join(f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}" for moment in ends)
        for ends in ((first, last), (start, end))
    )
    sentence = (
        f"the usage files cover {usage_text} of the paid period {paid_text}: uncovered time counts "
        "as idle"
    )
    return (sentence,)


def _duplicates_note(usages: Sequence[DeviceUsage]) -> Sequence[str]:
    """Return a note if files have equal entries for one time, as overlapping exports do."""
    entries: set[int] = set()  # hashes: millions of entries would not fit
    count = 0
    for file in usages if len(usages) > 1 else ():
        file_entries = {
            hash((span.start, span.end, span.devices, *sorted(span.labels.items())))
            for span in file.spans
        }
        count += len(file_entries & entries)
        entries |= file_entries
    sentence = (
        f"{count:,} entries appear in two usage files: for one cluster their hours count twice, so "
        "cut exports at day boundaries"
    )
    return (sentence,) if count else ()


def _owner_note(rows: Sequence[AllocationRow]) -> tuple[str, ...]:
    hours = sum((row.hours for row in rows if not row.team), Decimal(0))
    if not hours:
        return ()
    return (f"{decimals(hours, 1)} device-hours have no known owner and are a row of their own",)
