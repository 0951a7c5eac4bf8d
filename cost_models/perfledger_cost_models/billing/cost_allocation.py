"""Splits a bill into rows by owner that sum to the bill to the cent.

Cost = used device-hours at the rate + a share of the idle cost, by quota + a share of the overhead,
by the cost of usage (FOCUS 1.3, split cost allocation; OpenCost specification). Cents are rounded
by largest remainder (Hamilton's method): the remaining cents go to the largest remainders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import floor
from typing import TypeVar

from perfledger.rounding import decimals, for_programs, typed
from perfledger_cost_models.money import CENT

NO_USD = Decimal("0.00")
UNALLOCATED = "(unallocated)"
# The clocks of scheduler and bill differ: up to this much more usage than paid hours counts as full
# use. More means that one of the two is wrong.
MAX_OVERRUN = Fraction(1, 1000)
# A larger amount is a typing error; below these, sums of Decimal are exact.
MAX_USD = Decimal(10) ** 12
MAX_HOURS = Decimal(10) ** 12  # a year of a hundred million accelerators: more is a typing error
_FINEST = Decimal(1).scaleb(-12)  # USD and hours; finer digits only slow exact sums down


class AllocationError(ValueError):
    """An error for a bill that cannot be allocated as requested."""


class BillPart(StrEnum):
    """The part of the bill that an amount belongs to."""

    DIRECT = "direct"
    IDLE = "idle"
    OVERHEAD = "overhead"


@dataclass(frozen=True, slots=True, order=True)
class CostOwner:
    """The team and project that pay; "" is usage without a known owner."""

    team: str
    project: str = ""


UNALLOCATED_OWNER = CostOwner(UNALLOCATED)
Name = TypeVar("Name", str, CostOwner)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPool:
    """Devices with one hourly price: their cost, and the device-hours paid for."""

    name: str
    usd: Decimal
    hours: Decimal


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Device-hours that an owner used of a pool."""

    owner: CostOwner
    pool: str
    used_hours: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRow:
    """What one owner pays, in parts; each part sums over all rows to the bill's, to the cent."""

    team: str
    project: str = ""
    hours: Decimal  # used, of all pools
    direct_usd: Decimal
    idle_usd: Decimal
    overhead_usd: Decimal

    @property
    def total_usd(self) -> Decimal:
        """Return the sum of the parts."""
        return self.direct_usd + self.idle_usd + self.overhead_usd

    def usd_of(self, part: BillPart) -> Decimal:
        """Return one part."""
        match part:
            case BillPart.DIRECT:
                return self.direct_usd
            case BillPart.IDLE:
                return self.idle_usd
            case BillPart.OVERHEAD:
                return self.overhead_usd


def allocate(
    usages: Sequence[PoolUsage],
    pools: Sequence[CostPool],
    *,
    quotas: Mapping[CostOwner, Decimal],
    unused_usd: Decimal = Decimal(0),
    overhead_usd: Decimal = Decimal(0),
) -> tuple[AllocationRow, ...]:
    """Allocate the cost of pools, unused commitments and overhead of a period.

    An hour costs the pool's cost divided by the hours paid for. Unused hours are idle cost, and so
    are unused commitments. Raises AllocationError like `split_costs`, for a pool that is given
    twice or is missing, and for usage that exceeds the hours paid for by more than MAX_OVERRUN.
    """
    by_name = {pool.name: pool for pool in pools}
    used_of = dict.fromkeys(by_name, Fraction(0))
    if len(by_name) < len(pools):
        msg = f"pools {sorted(pool.name for pool in pools)}: give each pool once"
        raise AllocationError(msg)
    for usage in usages:
        if usage.pool not in by_name:
            msg = f"{usage.used_hours} hours of {usage.pool!r}, which is not on the bill"
            raise AllocationError(msg)
        used_of[usage.pool] += _hours(usage.used_hours)
    rates = {name: _rate(pool, used_of[name]) for name, pool in by_name.items()}
    spent: dict[CostOwner, Fraction] = {}
    used: dict[CostOwner, Decimal] = {}
    for usage in usages:
        cost = rates[usage.pool] * _hours(usage.used_hours)
        spent[usage.owner] = spent.get(usage.owner, Fraction(0)) + cost
        used[usage.owner] = used.get(usage.owner, Decimal(0)) + usage.used_hours
    devices = sum((exact_usd(pool.usd) for pool in pools), Fraction(0))
    return split_costs(
        spent,
        used=used,
        quotas=quotas,
        idle_usd=devices - sum(spent.values(), Fraction(0)) + exact_usd(unused_usd),
        overhead_usd=exact_usd(overhead_usd),
    )


def split_costs(
    spent: Mapping[CostOwner, Fraction],
    *,
    used: Mapping[CostOwner, Decimal],
    quotas: Mapping[CostOwner, Decimal],
    idle_usd: Fraction,
    overhead_usd: Fraction,
) -> tuple[AllocationRow, ...]:
    """Round each owner's cost to cents, and split idle and overhead; rows are sorted by name.

    The total is rounded once, half to even, and all rows sum to it. Idle cost is split by quota;
    without quotas it is a row of its own, UNALLOCATED. Overhead is split by cost, or by hours if
    there is no cost. Raises AllocationError for negative hours, for more than MAX_USD, and for a
    team called UNALLOCATED.
    """
    if any(owner.team == UNALLOCATED for owner in (*spent, *used, *quotas)):
        msg = f"a team is called {UNALLOCATED}, the name of the unallocated row: rename it"
        raise AllocationError(msg)
    exact: dict[str, Fraction] = {
        BillPart.DIRECT: sum(spent.values(), Fraction(0)),
        BillPart.IDLE: idle_usd,
        BillPart.OVERHEAD: overhead_usd,
    }
    if any(abs(usd) > MAX_USD for usd in (*spent.values(), *exact.values())):
        msg = f"more than {typed(MAX_USD)} USD cannot be allocated: export the bill again"
        raise AllocationError(msg)
    parts = in_cents(exact, round(100 * sum(exact.values(), Fraction(0))))
    direct = in_cents(spent, int(parts[BillPart.DIRECT] / CENT))
    idle = share_out(parts[BillPart.IDLE], quotas, rest=UNALLOCATED_OWNER)
    overhead = _shares_of(parts[BillPart.OVERHEAD], _by_use(spent, used), UNALLOCATED_OWNER)
    rows = (
        AllocationRow(
            team=who.team,
            project=who.project,
            hours=used.get(who, Decimal(0)),
            direct_usd=direct.get(who, NO_USD),
            idle_usd=idle.get(who, NO_USD),
            overhead_usd=overhead.get(who, NO_USD),
        )
        for who in sorted({*spent, *used, *direct, *idle, *overhead}, key=_order)
    )
    return tuple(row for row in rows if row.hours or any(map(row.usd_of, BillPart)))


def share_out(usd: Decimal, weights: Mapping[Name, Decimal], *, rest: Name) -> dict[Name, Decimal]:
    """Split `usd` into cents by weight, summing exactly; without weights all of it goes to `rest`.

    Raises AllocationError for an amount that is not in cents, or a negative weight.
    """
    if not usd.is_finite() or abs(usd) > MAX_USD or usd % CENT:
        msg = f"{usd} USD cannot be split into cents: round the bill first"
        raise AllocationError(msg)
    return _shares_of(usd, {name: _hours(weight) for name, weight in weights.items()}, rest)


def exact_usd(usd: Decimal) -> Fraction:
    """Return an amount as a fraction; raise AllocationError if it is too large or not finite."""
    if not usd.is_finite() or abs(usd) > MAX_USD:
        msg = (
            f"{for_programs(usd)} USD is not an amount up to {typed(MAX_USD)}: export the bill "
            "again"
        )
        raise AllocationError(msg)
    return Fraction(usd.quantize(_FINEST))


def whole_cents(usd: Decimal) -> Decimal:
    """Round an amount to cents, half to even; raise AllocationError like `exact_usd`."""
    return round(100 * exact_usd(usd)) * CENT


def in_cents(exact: Mapping[Name, Fraction], cents: int) -> dict[Name, Decimal]:
    """Round amounts to cents that sum to `cents`, which is their exact sum's floor or ceiling."""
    floors = {name: floor(100 * usd) for name, usd in exact.items()}
    left = cents - sum(floors.values())
    by_remainder = sorted(exact, key=lambda name: (floors[name] - 100 * exact[name], name))
    for name in by_remainder[:left]:
        floors[name] += 1
    return {name: count * CENT for name, count in floors.items()}


def _by_use(
    spent: Mapping[CostOwner, Fraction], used: Mapping[CostOwner, Decimal]
) -> Mapping[CostOwner, Fraction]:
    """Return the weights of overhead; an owner with more credits than charges has none."""
    weights = {who: max(usd, Fraction(0)) for who, usd in spent.items()}
    if any(weights.values()):
        return weights
    return {who: _hours(max(each, Decimal(0))) for who, each in used.items()}


def _shares_of(usd: Decimal, weights: Mapping[Name, Fraction], rest: Name) -> dict[Name, Decimal]:
    total = sum(weights.values(), Fraction(0))
    if not total:
        return {rest: usd} if usd else {}
    exact = {name: Fraction(usd) * weight / total for name, weight in weights.items()}
    return in_cents(exact, int(usd / CENT))


def _rate(pool: CostPool, used: Fraction) -> Fraction:
    """Return USD per hour; raise AllocationError if more was used than paid for."""
    paid = _hours(pool.hours)
    if used > paid * (1 + MAX_OVERRUN):
        msg = (
            f"{decimals(float(used), 1)} device-hours of {pool.name} were used, "
            f"{decimals(float(paid), 1)} paid for. Check that the bill covers all usage and that "
            "no usage counts twice."
        )
        raise AllocationError(msg)
    return exact_usd(pool.usd) / max(paid, used) if used else Fraction(0)


def _order(owner: CostOwner) -> tuple[bool, bool, CostOwner]:
    """Return the sort key of rows: named owners, then usage without an owner, then UNALLOCATED."""
    return owner == UNALLOCATED_OWNER, not owner.team, owner


def _hours(hours: Decimal) -> Fraction:
    if not hours.is_finite() or not 0 <= hours <= MAX_HOURS:
        msg = f"{hours} hours: give used, quota and paid hours from 0 to {typed(MAX_HOURS)}"
        raise AllocationError(msg)
    return Fraction(hours.quantize(_FINEST))
