"""An hour's usage and the commitments that are held into what that hour is billed.

Reserved instances go first, then savings plans of one family in its region, then those for any
instance anywhere; each plan starts where it saves the largest share of the price on demand, of
equal shares at the lowest rate. What is left is on demand. A commitment is paid whether it is used
or not, and what is not used of it in its hour is lost. How AWS applies them, with five worked
scenarios: https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html. Azure's
savings plans are as those for any instance. Reservations are regional ones, which cover other sizes
of their family too where the provider says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.instance_size import size_of

ZERO = Decimal(0)


class CoverageError(ValueError):
    """Usage or commitments that no hour has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """So many of one thing in one hour, and what an hour of one costs on demand."""

    name: str
    quantity: Decimal
    on_demand_usd: Decimal

    def __post_init__(self) -> None:
        if not (self.quantity >= 0 and self.on_demand_usd > 0):
            msg = (
                f"{self.name}: {self.quantity} at {self.on_demand_usd} USD: give a quantity that "
                "is not negative, and a price above zero"
            )
            raise CoverageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """So many reserved instances of one kind, and what each costs an hour, used or not."""

    name: str  # of what is used
    count: Decimal
    usd_per_hour: Decimal

    def __post_init__(self) -> None:
        if not (self.count > 0 and self.usd_per_hour > 0):
            msg = f"{self.count} reserved {self.name} at {self.usd_per_hour} USD: both above zero"
            raise CoverageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A savings plan: money an hour, and what an hour of each thing that it covers counts."""

    name: str
    usd_per_hour: Decimal
    rates: Mapping[str, Decimal]  # USD by the name of what is used
    is_for_all: bool  # any instance anywhere, in place of one family in its region

    def __post_init__(self) -> None:
        if not (self.usd_per_hour > 0 and all(rate > 0 for rate in self.rates.values())):
            msg = f"the plan {self.name}: give a commitment and rates above zero"
            raise CoverageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredUse:
    """What was done with one thing that was used in an hour."""

    name: str
    quantity: Decimal
    reserved: Decimal  # covered by reserved instances
    planned: Decimal  # covered by savings plans
    planned_usd: Decimal  # of the plans' commitments
    on_demand: Decimal
    on_demand_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredHour:
    """What an hour is billed: reservations and commitments whole, and the rest on demand."""

    charges: tuple[CoveredUse, ...]
    reserved_usd: Decimal
    committed_usd: Decimal
    unused_usd: Decimal  # of both: what was paid and covered nothing
    list_usd: Decimal  # what all of it costs on demand

    @property
    def on_demand_usd(self) -> Decimal:
        """Return what is charged on demand."""
        return sum((each.on_demand_usd for each in self.charges), ZERO)

    @property
    def total_usd(self) -> Decimal:
        """Return the bill."""
        return self.reserved_usd + self.committed_usd + self.on_demand_usd


@dataclass(slots=True)
class _Open:
    """What of one thing is still to be covered."""

    used: Used
    left: Decimal
    reserved: Decimal = ZERO
    planned: Decimal = ZERO
    planned_usd: Decimal = ZERO


def covered_hour(
    used: Sequence[Used], *, reserved: Iterable[Reserved] = (), plans: Iterable[Plan] = ()
) -> CoveredHour:
    """Return the bill of one hour; raises CoverageError for one thing that is told twice."""
    by_name = {each.name: _Open(each, each.quantity) for each in used}
    if len(by_name) < len(used):
        msg = f"{', '.join(each.name for each in used)}: give each of them once in an hour"
        raise CoverageError(msg)
    unused = reserved_usd = committed_usd = ZERO
    for one in reserved:
        reserved_usd += one.count * one.usd_per_hour
        unused += _reserve(by_name, one) * one.usd_per_hour
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


def together(hours: Sequence[CoveredHour]) -> CoveredHour:
    """Return what hours come to: each was billed by itself, for nothing is carried over."""
    charges: dict[str, CoveredUse] = {}
    for each in (charge for hour in hours for charge in hour.charges):
        found = charges.get(each.name)
        charges[each.name] = each if found is None else _sum(found, each)
    return CoveredHour(
        charges=tuple(charges.values()),
        reserved_usd=sum((hour.reserved_usd for hour in hours), ZERO),
        committed_usd=sum((hour.committed_usd for hour in hours), ZERO),
        unused_usd=sum((hour.unused_usd for hour in hours), ZERO),
        list_usd=sum((hour.list_usd for hour in hours), ZERO),
    )


def _sum(one: CoveredUse, other: CoveredUse) -> CoveredUse:
    return CoveredUse(
        name=one.name,
        quantity=one.quantity + other.quantity,
        reserved=one.reserved + other.reserved,
        planned=one.planned + other.planned,
        planned_usd=one.planned_usd + other.planned_usd,
        on_demand=one.on_demand + other.on_demand,
        on_demand_usd=one.on_demand_usd + other.on_demand_usd,
    )


def _reserve(by_name: Mapping[str, _Open], one: Reserved) -> Decimal:
    """Cover with reserved instances, the smallest size first; return how many covered nothing."""
    size = size_of(one.name)
    whole = Decimal(1) if size is None else size.units
    alike: list[tuple[Decimal, _Open]] = []  # what one of it takes, in units of its family
    for name, found in by_name.items():
        other = size_of(name)
        if size is not None and other is not None and other.family == size.family:
            alike.append((other.units, found))
        elif name == one.name:
            alike.append((whole, found))
    left = one.count * whole
    for units, found in sorted(alike, key=lambda pair: pair[0]):
        taken, spent = _take(found, left, units)
        found.reserved += taken
        left -= spent
    return left / whole


def _spend(by_name: Mapping[str, _Open], plan: Plan) -> Decimal:
    """Cover with a plan, the largest saving first; return what is left of its commitment."""
    left = plan.usd_per_hour
    rates = [(plan.rates[name], found) for name, found in by_name.items() if name in plan.rates]
    for rate, found in sorted(rates, key=_by_saving):
        taken, spent = _take(found, left, rate)
        found.planned += taken
        found.planned_usd += spent
        left -= spent
    return left


def _take(found: _Open, left: Decimal, each: Decimal) -> tuple[Decimal, Decimal]:
    """Cover what `left` is enough for at so much each; return how many, and what they took.

    What is left afterwards is never less than nothing by a last digit.
    """
    needed = found.left * each
    spent = min(left, needed)
    taken = found.left if spent == needed else spent / each
    found.left -= taken
    return taken, spent


def _by_saving(pair: tuple[Decimal, _Open]) -> tuple[Decimal, Decimal]:
    """Order rates: the largest share saved of the price on demand first, then the lowest rate."""
    rate, found = pair
    return rate / found.used.on_demand_usd, rate


def _charge(found: _Open) -> CoveredUse:
    return CoveredUse(
        name=found.used.name,
        quantity=found.used.quantity,
        reserved=found.reserved,
        planned=found.planned,
        planned_usd=found.planned_usd,
        on_demand=found.left,
        on_demand_usd=found.left * found.used.on_demand_usd,
    )
