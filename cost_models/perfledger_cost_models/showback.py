"""A bill or an amount, and usage files, into who pays which part of it and for what.

Without usage files a bill's own teams pay what their rows cost. With them what the bill's devices
cost is shared by who held them: an account that rents a cluster is not who used it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from perfledger_cost_models.allocation import (
    AllocationError,
    Holder,
    Part,
    Pool,
    Row,
    allocate,
    exact_usd,
    split,
    whole_cents,
)
from perfledger_cost_models.bulk import known_instances
from perfledger_cost_models.focus import Bill, device_hours
from perfledger_cost_models.held_hours import (
    DEVICES,
    Days,
    HeatMap,
    LabelNames,
    claims_of,
    days_between,
    heat_map,
)
from perfledger_cost_models.usage import EARLIEST, LATEST, Usage

# Usage that begins or ends so much inside of the period is said: what it does not tell of is idle.
TOLD_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The bill by team and project, in cents: rows sum to it."""

    rows: tuple[Row, ...]
    effective_usd: Decimal
    billed_usd: Decimal
    list_usd: Decimal  # at list prices; what was billed where the bill does not say it
    contracted_usd: Decimal  # at negotiated prices, before commitments; likewise
    start: date
    end: date  # the day after the last
    paid_hours: Decimal  # device-hours that were paid for, used or not
    source: str  # what says who used them
    notes: tuple[str, ...] = ()
    weeks: HeatMap | None = None  # None without usage files

    @property
    def used_hours(self) -> Decimal:
        """Return the device-hours that somebody used."""
        return sum((row.hours for row in self.rows), Decimal(0))

    def sum_of(self, part: Part) -> Decimal:
        """Return what all rows pay of one part."""
        return sum((row.usd_of(part) for row in self.rows), Decimal(0))

    def by_team(self) -> tuple[Row, ...]:
        """Return the rows with each team's projects together, in the order of the teams."""
        found: dict[str, Row] = {}
        for row in self.rows:
            known = found.get(row.team)
            found[row.team] = replace(row, project="") if known is None else _together(known, row)
        return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What usage files tell, and by which labels."""

    usages: tuple[Usage, ...]
    labels: LabelNames


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBill:
    """What is to be shared out: devices by kind, commitments that nobody used, all else."""

    pools: tuple[Pool, ...]
    unused_usd: Decimal
    overhead_usd: Decimal
    billed_usd: Decimal
    list_usd: Decimal | None = None
    contracted_usd: Decimal | None = None


def bill_days(bill: Bill) -> Days:
    """Return the whole days of a bill; raises AllocationError where it has no sane ones."""
    if not EARLIEST <= bill.start.timestamp() <= bill.end.timestamp() <= LATEST:
        msg = f"the bill is of {bill.start} to {bill.end}, which is no period: export it again"
        raise AllocationError(msg)
    return days_between(bill.start.timestamp(), bill.end.timestamp())


def shared_bill(bill: Bill, *, overhead_usd: Decimal = Decimal(0)) -> SharedBill:
    """Return a bill as what is to be shared out; a device without an hour is overhead."""
    hours: dict[str, Decimal] = {}
    usd: dict[str, Decimal] = {}
    for (_, accelerator), each in device_hours(bill).items():
        hours[accelerator] = hours.get(accelerator, Decimal(0)) + each
    for one in bill.usage:
        accelerator = known_instances(one.provider)[one.sku].accelerator
        usd[accelerator] = usd.get(accelerator, Decimal(0)) + one.effective_usd
    none = sum((usd[name] for name in usd if hours[name] <= 0), Decimal(0))
    return SharedBill(
        pools=tuple(
            Pool(name=name, usd=usd[name], hours=hours[name])
            for name in sorted(hours)
            if hours[name] > 0
        ),
        unused_usd=bill.unused_usd,
        overhead_usd=bill.other_usd + none + overhead_usd,
        billed_usd=bill.billed_usd + overhead_usd,
        list_usd=None if bill.list_usd is None else bill.list_usd + overhead_usd,
        contracted_usd=None if bill.contracted_usd is None else bill.contracted_usd + overhead_usd,
    )


def allocation_by_use(
    shared: SharedBill, use: Use, days: Days, *, entitled: Mapping[Holder, Decimal]
) -> Allocation:
    """Share out a bill by who held devices in a period.

    Hours of different accelerators cost differently where every job names its own; where one does
    not all hours cost the same, which a note says. Raises AllocationError.
    """
    names = [pool.name for pool in shared.pools]
    pools, notes = shared.pools, [*_untold(use.usages, days), *_alike(use.usages)]
    claims = claims_of(use.usages, use.labels, days, names)
    if claims is None:
        pools = (_mean_pool(shared.pools),)
        claims = claims_of(use.usages, use.labels, days, [DEVICES]) or ()
        if len(names) > 1:
            notes.append(
                f"not every job names its accelerator: hours of {', '.join(names)} all count at "
                "their mean price"
            )
    rows = allocate(
        claims,
        pools,
        entitled=entitled,
        unused_usd=shared.unused_usd,
        overhead_usd=shared.overhead_usd,
    )
    return _allocation(
        rows,
        shared,
        days,
        source=_source(use),
        notes=(*notes, *_unowned(rows)),
        weeks=heat_map(use.usages, use.labels, days),
    )


def allocation_by_bill(
    bill: Bill, *, entitled: Mapping[Holder, Decimal], overhead_usd: Decimal = Decimal(0)
) -> Allocation:
    """Share out a bill by its own teams: direct is what a team's own rows cost.

    Raises AllocationError.
    """
    spent: dict[Holder, Fraction] = {}
    used: dict[Holder, Decimal] = {}
    for one in bill.usage:
        holder = Holder(one.team)
        spent[holder] = spent.get(holder, Fraction(0)) + exact_usd(one.effective_usd)
    for (team, _), hours in device_hours(bill).items():
        used[Holder(team)] = used.get(Holder(team), Decimal(0)) + hours
    rows = split(
        spent,
        used=used,
        entitled=entitled,
        idle_usd=exact_usd(bill.unused_usd),
        overhead_usd=exact_usd(bill.other_usd) + exact_usd(overhead_usd),
    )
    return _allocation(
        rows,
        shared_bill(bill, overhead_usd=overhead_usd),
        bill_days(bill),
        source="the bill's own teams",
        notes=_unowned(rows),
    )


def _together(one: Row, other: Row) -> Row:
    return Row(
        team=one.team,
        hours=one.hours + other.hours,
        direct_usd=one.direct_usd + other.direct_usd,
        idle_usd=one.idle_usd + other.idle_usd,
        overhead_usd=one.overhead_usd + other.overhead_usd,
    )


def _mean_pool(pools: Sequence[Pool]) -> Pool:
    return Pool(
        name=DEVICES,
        usd=sum((pool.usd for pool in pools), Decimal(0)),
        hours=sum((pool.hours for pool in pools), Decimal(0)),
    )


def _allocation(
    rows: tuple[Row, ...],
    shared: SharedBill,
    days: Days,
    *,
    source: str,
    notes: tuple[str, ...],
    weeks: HeatMap | None = None,
) -> Allocation:
    return Allocation(
        rows=rows,
        effective_usd=sum((row.total_usd for row in rows), Decimal(0)),
        billed_usd=whole_cents(shared.billed_usd),
        list_usd=whole_cents(_told_or_billed(shared.list_usd, shared)),
        contracted_usd=whole_cents(_told_or_billed(shared.contracted_usd, shared)),
        start=days.start,
        end=days.end,
        paid_hours=sum((pool.hours for pool in shared.pools), Decimal(0)),
        source=source,
        notes=notes,
        weeks=weeks,
    )


def _told_or_billed(usd: Decimal | None, shared: SharedBill) -> Decimal:
    """Return a cost, else what was billed, as FOCUS has it of a charge without a price."""
    return shared.billed_usd if usd is None else usd


def _source(use: Use) -> str:
    kinds = " and ".join(sorted({usage.kind for usage in use.usages}))
    project = f", project by {use.labels.project}" if use.labels.project else ""
    return f"{kinds}: team by {use.labels.team}{project}"


def _untold(usages: Sequence[Usage], days: Days) -> Sequence[str]:
    """Return a sentence where usage files tell of a part of the period alone."""
    start, end = (moment.timestamp() for moment in days.moments)
    first, last = min(each.start for each in usages), max(each.end for each in usages)
    if max(0.0, min(last, end) - max(first, start)) >= TOLD_SHARE * (end - start):
        return ()
    told, paid = (
        " to ".join(f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}" for moment in ends)
        for ends in ((first, last), (start, end))
    )
    sentence = (
        f"the usage files tell of {told}, of {paid} that were paid for: what they do not tell of "
        "counts as idle"
    )
    return (sentence,)


def _alike(usages: Sequence[Usage]) -> Sequence[str]:
    """Return a sentence where files tell the same of the same time: exports that overlap do."""
    known: set[int] = set()  # hashes: millions of entries would not fit
    count = 0
    for usage in usages if len(usages) > 1 else ():
        told = {
            hash((span.start, span.end, span.devices, *sorted(span.labels.items())))
            for span in usage.spans
        }
        count += len(told & known)
        known |= told
    sentence = (
        f"{count:,} entries of one usage file stand alike in another: if they are of one cluster "
        "their hours count twice, so cut exports at their days"
    )
    return (sentence,) if count else ()


def _unowned(rows: Sequence[Row]) -> tuple[str, ...]:
    hours = sum((row.hours for row in rows if not row.team), Decimal(0))
    if not hours:
        return ()
    return (f"nothing says who used {hours:,.1f} device-hours: they are a row of their own",)
