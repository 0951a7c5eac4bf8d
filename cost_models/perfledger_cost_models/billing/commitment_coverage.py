"""Computes the bill of an hour from its usage and the commitments in force.

Reserved instances apply first, then savings plans for one family in its region, then those for any
instance anywhere. Each plan first covers the usage where it saves the largest share of the
on-demand price, and among equal shares that with the lowest rate. The rest is on demand. A
commitment is paid whether used or not, and its unused part expires with the hour. AWS's rules, with
five worked scenarios: https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html.
Azure's savings plans work like those for any instance. Reservations are regional, and also cover
other sizes of their family if the provider says so.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

ZERO = Decimal(0)

# A regional reservation of one size covers other sizes of its family, by these units; for a RIGID
# family it covers its own size only. Both rules are AWS's:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html, read 2026-11-22.
UNITS = {
    "nano": Decimal("0.25"),
    "micro": Decimal("0.5"),
    "small": Decimal(1),
    "medium": Decimal(2),
    "large": Decimal(4),
    "xlarge": Decimal(8),
}
RIGID = frozenset(
    ("g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "hpc7a", "inf1", "inf2", "p5")
)
_LARGER = re.compile(r"([1-9][0-9]{0,3})xlarge")


@dataclass(frozen=True, slots=True)
class InstanceSize:
    """A size within a family."""

    family: str
    units: Decimal  # one for a "small"


class CoverageError(ValueError):
    """An error for impossible usage or commitments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyUsage:
    """The quantity of one item in one hour, and its on-demand price per hour."""

    name: str
    quantity: Decimal
    on_demand_usd: Decimal

    def __post_init__(self) -> None:
        if not (self.quantity >= 0 and self.on_demand_usd > 0):
            msg = (
                f"{self.name}: {self.quantity} at {self.on_demand_usd} USD: give a quantity of 0 "
                "or more and a price above zero"
            )
            raise CoverageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedInstances:
    """Reserved instances of one kind, and the hourly cost of each, used or not."""

    name: str  # of the item
    count: Decimal
    usd_per_hour: Decimal

    def __post_init__(self) -> None:
        if not (self.count > 0 and self.usd_per_hour > 0):
            msg = (
                f"{self.count} reserved {self.name} at {self.usd_per_hour} USD: give two numbers "
                "above zero"
            )
            raise CoverageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentPlan:
    """A savings plan: its hourly commitment, and the rate of each item that it covers."""

    name: str
    usd_per_hour: Decimal
    rates: Mapping[str, Decimal]  # USD by the name of the item
    is_for_all: bool  # any instance anywhere, not one family in its region

    def __post_init__(self) -> None:
        if not (self.usd_per_hour > 0 and all(rate > 0 for rate in self.rates.values())):
            msg = f"the plan {self.name}: give a commitment and rates above zero"
            raise CoverageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredUsage:
    """How one item's usage in an hour is covered and billed."""

    name: str
    quantity: Decimal
    reserved_quantity: Decimal  # covered by reserved instances
    plan_quantity: Decimal  # covered by savings plans
    plan_usd: Decimal  # taken from the plans' commitments
    on_demand_quantity: Decimal
    on_demand_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredHour:
    """The bill of an hour: reservations and commitments in full, and the rest on demand."""

    charges: tuple[CoveredUsage, ...]
    reserved_usd: Decimal
    committed_usd: Decimal
    unused_usd: Decimal  # the part of both that covered nothing
    list_usd: Decimal  # the cost of all usage on demand

    @property
    def on_demand_usd(self) -> Decimal:
        """Return the on-demand charges."""
        return sum((each.on_demand_usd for each in self.charges), ZERO)

    @property
    def total_usd(self) -> Decimal:
        """Return the total of the bill."""
        return self.reserved_usd + self.committed_usd + self.on_demand_usd


@dataclass(slots=True)
class _UncoveredUsage:
    """The quantity of one item that is still to be covered."""

    used: HourlyUsage
    left: Decimal
    reserved_quantity: Decimal = ZERO
    plan_quantity: Decimal = ZERO
    plan_usd: Decimal = ZERO


def covered_hour(
    used: Sequence[HourlyUsage],
    *,
    reserved: Iterable[ReservedInstances] = (),
    plans: Iterable[CommitmentPlan] = (),
) -> CoveredHour:
    """Return the bill of one hour; raise CoverageError for an item given twice."""
    by_name = {each.name: _UncoveredUsage(each, each.quantity) for each in used}
    if len(by_name) < len(used):
        msg = f"{', '.join(each.name for each in used)}: give each item once an hour"
        raise CoverageError(msg)
    unused = reserved_usd = committed_usd = ZERO
    for reservation in reserved:
        reserved_usd += reservation.count * reservation.usd_per_hour
        unused += _reserve(by_name, reservation) * reservation.usd_per_hour
    for plan in sorted(plans, key=lambda plan: plan.is_for_all):
        committed_usd += plan.usd_per_hour
        unused += _spend(by_name, plan)
    return CoveredHour(
        charges=tuple(_charge(each) for each in by_name.values()),
        reserved_usd=reserved_usd,
        committed_usd=committed_usd,
        unused_usd=unused,
        list_usd=sum((each.quantity * each.on_demand_usd for each in used), ZERO),
    )


def sum_hours(hours: Sequence[CoveredHour]) -> CoveredHour:
    """Return the sum of hours, each billed on its own: nothing carries over."""
    charges: dict[str, CoveredUsage] = {}
    for each in (charge for hour in hours for charge in hour.charges):
        total = charges.get(each.name)
        charges[each.name] = each if total is None else _sum(total, each)
    return CoveredHour(
        charges=tuple(charges.values()),
        reserved_usd=sum((hour.reserved_usd for hour in hours), ZERO),
        committed_usd=sum((hour.committed_usd for hour in hours), ZERO),
        unused_usd=sum((hour.unused_usd for hour in hours), ZERO),
        list_usd=sum((hour.list_usd for hour in hours), ZERO),
    )


def size_of(name: str) -> InstanceSize | None:
    """Return an instance's size, "p3.8xlarge" is 64 of p3; None for an inflexible family."""
    family, _, size = name.partition(".")
    if family in RIGID:
        return None
    larger = _LARGER.fullmatch(size)
    if larger is not None:
        return InstanceSize(family, int(larger[1]) * UNITS["xlarge"])
    return InstanceSize(family, UNITS[size]) if size in UNITS else None


def _sum(left: CoveredUsage, right: CoveredUsage) -> CoveredUsage:
    return CoveredUsage(
        name=left.name,
        quantity=left.quantity + right.quantity,
        reserved_quantity=left.reserved_quantity + right.reserved_quantity,
        plan_quantity=left.plan_quantity + right.plan_quantity,
        plan_usd=left.plan_usd + right.plan_usd,
        on_demand_quantity=left.on_demand_quantity + right.on_demand_quantity,
        on_demand_usd=left.on_demand_usd + right.on_demand_usd,
    )


def _reserve(by_name: Mapping[str, _UncoveredUsage], reservation: ReservedInstances) -> Decimal:
    """Apply reserved instances, the smallest size first; return how many remain unused."""
    size = size_of(reservation.name)
    size_units = Decimal(1) if size is None else size.units
    matches: list[
        tuple[Decimal, _UncoveredUsage]
    ] = []  # what one of them takes, in units of its family
    for name, item in by_name.items():
        item_size = size_of(name)
        if size is not None and item_size is not None and item_size.family == size.family:
            matches.append((item_size.units, item))
        elif name == reservation.name:
            matches.append((size_units, item))
    left = reservation.count * size_units
    for units, item in sorted(matches, key=lambda pair: pair[0]):
        quantity, spent = _take(item, left, units)
        item.reserved_quantity += quantity
        left -= spent
    return left / size_units


def _spend(by_name: Mapping[str, _UncoveredUsage], plan: CommitmentPlan) -> Decimal:
    """Apply a plan, the largest saving first; return the unused rest of its commitment."""
    left = plan.usd_per_hour
    rates = [(plan.rates[name], item) for name, item in by_name.items() if name in plan.rates]
    for rate, item in sorted(rates, key=_by_saving):
        quantity, spent = _take(item, left, rate)
        item.plan_quantity += quantity
        item.plan_usd += spent
        left -= spent
    return left


def _take(item: _UncoveredUsage, left: Decimal, price: Decimal) -> tuple[Decimal, Decimal]:
    """Cover as much as `left` allows at `price` each; return the quantity and its cost.

    Rounding never makes the rest of `left` negative.
    """
    full_cost = item.left * price
    spent = min(left, full_cost)
    quantity = item.left if spent == full_cost else spent / price
    item.left -= quantity
    return quantity, spent


def _by_saving(pair: tuple[Decimal, _UncoveredUsage]) -> tuple[Decimal, Decimal]:
    """Return the sort key of a rate: the saved share of the on-demand price, then the rate."""
    rate, item = pair
    return rate / item.used.on_demand_usd, rate


def _charge(item: _UncoveredUsage) -> CoveredUsage:
    return CoveredUsage(
        name=item.used.name,
        quantity=item.used.quantity,
        reserved_quantity=item.reserved_quantity,
        plan_quantity=item.plan_quantity,
        plan_usd=item.plan_usd,
        on_demand_quantity=item.left,
        on_demand_usd=item.left * item.used.on_demand_usd,
    )
