"""A bill and what each team used and was entitled to into rows that sum to the bill to the cent.

Cost = used device-hours at the rate + a share of what stood idle, by entitlement + a share of the
overhead, by what the use cost (FOCUS 1.3, split cost allocation; OpenCost specification). Whole
cents by largest remainder (Hamilton's method): those whose share was cut most get what is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import floor
from typing import TypeVar

CENT = Decimal("0.01")
NO_USD = Decimal("0.00")
UNALLOCATED = "(unallocated)"
# The scheduler's clock and the bill's are not the same: so much more use than hours paid for is
# taken for all of them. More says that one of the two is wrong.
MAX_OVERRUN = Fraction(1, 1000)
# Beyond these an amount is a slip; below them sums of Decimal are exact.
MAX_USD = Decimal(10) ** 12
MAX_HOURS = Decimal(10) ** 12
_FINEST = Decimal(1).scaleb(-12)  # USD and hours; what is finer would only make exact sums slow


class AllocationError(ValueError):
    """A bill that cannot be shared out as was asked."""


class Part(StrEnum):
    """What of the bill something is."""

    DIRECT = "direct"
    IDLE = "idle"
    OVERHEAD = "overhead"


@dataclass(frozen=True, slots=True, order=True)
class Holder:
    """Who pays; a team of "" is use that nothing says the owner of, so is a project of ""."""

    team: str
    project: str = ""


REST = Holder(UNALLOCATED)
Name = TypeVar("Name", str, Holder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Devices that cost the same an hour: what they cost, and the device-hours paid for."""

    name: str
    usd: Decimal
    hours: Decimal


@dataclass(frozen=True, slots=True)
class Claim:
    """Device-hours that somebody used of a pool."""

    holder: Holder
    pool: str
    used_hours: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one holder pays, in parts; each part of all rows sums to the bill's, to the cent."""

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

    def usd_of(self, part: Part) -> Decimal:
        """Return one part."""
        match part:
            case Part.DIRECT:
                return self.direct_usd
            case Part.IDLE:
                return self.idle_usd
            case Part.OVERHEAD:
                return self.overhead_usd


def allocate(
    claims: Sequence[Claim],
    pools: Sequence[Pool],
    *,
    entitled: Mapping[Holder, Decimal],
    unused_usd: Decimal = Decimal(0),
    overhead_usd: Decimal = Decimal(0),
) -> tuple[Row, ...]:
    """Share out what pools, commitments that nobody used and overhead cost in a period.

    An hour costs its pool's money over the hours paid for. What was not used is idle, as are the
    commitments. Raises AllocationError as `split` does, for a pool that is there twice or not at
    all, and for more hours used than MAX_OVERRUN above those paid for.
    """
    by_name = {pool.name: pool for pool in pools}
    used_of = dict.fromkeys(by_name, Fraction(0))
    if len(by_name) < len(pools):
        msg = f"pools {sorted(pool.name for pool in pools)}: name each of them once"
        raise AllocationError(msg)
    for claim in claims:
        if claim.pool not in by_name:
            msg = f"{claim.used_hours} hours of {claim.pool!r}, which the bill does not hold"
            raise AllocationError(msg)
        used_of[claim.pool] += _hours(claim.used_hours)
    rates = {name: _rate(pool, used_of[name]) for name, pool in by_name.items()}
    spent: dict[Holder, Fraction] = {}
    used: dict[Holder, Decimal] = {}
    for claim in claims:
        cost = rates[claim.pool] * _hours(claim.used_hours)
        spent[claim.holder] = spent.get(claim.holder, Fraction(0)) + cost
        used[claim.holder] = used.get(claim.holder, Decimal(0)) + claim.used_hours
    devices = sum((exact_usd(pool.usd) for pool in pools), Fraction(0))
    return split(
        spent,
        used=used,
        entitled=entitled,
        idle_usd=devices - sum(spent.values(), Fraction(0)) + exact_usd(unused_usd),
        overhead_usd=exact_usd(overhead_usd),
    )


def split(
    spent: Mapping[Holder, Fraction],
    *,
    used: Mapping[Holder, Decimal],
    entitled: Mapping[Holder, Decimal],
    idle_usd: Fraction,
    overhead_usd: Fraction,
) -> tuple[Row, ...]:
    """Round what each spent to cents, and share out idle and overhead; rows by name.

    The whole is rounded once, half to even, and all rows sum to it. Idle goes by entitlement; where
    nobody has one it is a row of its own, UNALLOCATED. Overhead goes by what was spent, by hours
    where nothing was. Raises AllocationError for negative hours, for more than MAX_USD, and for a
    team called UNALLOCATED.
    """
    if any(holder.team == UNALLOCATED for holder in (*spent, *used, *entitled)):
        msg = f"a team is called {UNALLOCATED}, which is the row of what nobody pays: rename it"
        raise AllocationError(msg)
    exact: dict[str, Fraction] = {
        Part.DIRECT: sum(spent.values(), Fraction(0)),
        Part.IDLE: idle_usd,
        Part.OVERHEAD: overhead_usd,
    }
    if any(abs(usd) > MAX_USD for usd in (*spent.values(), *exact.values())):
        msg = f"more than {MAX_USD:.0e} USD cannot be shared out: export the bill again"
        raise AllocationError(msg)
    parts = _in_cents(exact, round(100 * sum(exact.values(), Fraction(0))))
    direct = _in_cents(spent, int(parts[Part.DIRECT] / CENT))
    idle = share_out(parts[Part.IDLE], entitled, rest=REST)
    overhead = _shared(parts[Part.OVERHEAD], _by_use(spent, used), REST)
    rows = (
        Row(
            team=who.team,
            project=who.project,
            hours=used.get(who, Decimal(0)),
            direct_usd=direct.get(who, NO_USD),
            idle_usd=idle.get(who, NO_USD),
            overhead_usd=overhead.get(who, NO_USD),
        )
        for who in sorted({*spent, *used, *direct, *idle, *overhead}, key=_order)
    )
    return tuple(row for row in rows if row.hours or any(map(row.usd_of, Part)))


def share_out(usd: Decimal, weights: Mapping[Name, Decimal], *, rest: Name) -> dict[Name, Decimal]:
    """Return `usd` in whole cents by weight, summing exactly; without weight, all of it to `rest`.

    Raises AllocationError for an amount that is not whole cents, or a negative weight.
    """
    if not usd.is_finite() or abs(usd) > MAX_USD or usd % CENT:
        msg = f"{usd} USD cannot be shared out in cents: round the bill first"
        raise AllocationError(msg)
    return _shared(usd, {name: _hours(weight) for name, weight in weights.items()}, rest)


def exact_usd(usd: Decimal) -> Fraction:
    """Return an amount as a fraction; raises AllocationError for what is none, or too large."""
    if not usd.is_finite() or abs(usd) > MAX_USD:
        msg = f"{usd:.3e} USD is no amount up to {MAX_USD:.0e}: export the bill again"
        raise AllocationError(msg)
    return Fraction(usd.quantize(_FINEST))


def whole_cents(usd: Decimal) -> Decimal:
    """Return an amount rounded to cents, half to even; raises AllocationError as `exact_usd`."""
    return round(100 * exact_usd(usd)) * CENT


def _by_use(
    spent: Mapping[Holder, Fraction], used: Mapping[Holder, Decimal]
) -> Mapping[Holder, Fraction]:
    """Return the weights of overhead; who was given back more than was charged has none."""
    weights = {who: max(usd, Fraction(0)) for who, usd in spent.items()}
    if any(weights.values()):
        return weights
    return {who: _hours(max(each, Decimal(0))) for who, each in used.items()}


def _shared(usd: Decimal, weights: Mapping[Name, Fraction], rest: Name) -> dict[Name, Decimal]:
    total = sum(weights.values(), Fraction(0))
    if not total:
        return {rest: usd} if usd else {}
    exact = {name: Fraction(usd) * weight / total for name, weight in weights.items()}
    return _in_cents(exact, int(usd / CENT))


def _in_cents(exact: Mapping[Name, Fraction], cents: int) -> dict[Name, Decimal]:
    """Return amounts in cents that sum to `cents`: to their exact sum's floor or ceiling."""
    whole = {name: floor(100 * usd) for name, usd in exact.items()}
    left = cents - sum(whole.values())
    by_remainder = sorted(exact, key=lambda name: (whole[name] - 100 * exact[name], name))
    for name in by_remainder[:left]:
        whole[name] += 1
    return {name: count * CENT for name, count in whole.items()}


def _rate(pool: Pool, used: Fraction) -> Fraction:
    """Return USD an hour; raises AllocationError where more was used than there was."""
    paid = _hours(pool.hours)
    if used > paid * (1 + MAX_OVERRUN):
        msg = (
            f"{float(used):,.1f} device-hours were used of {float(paid):,.1f} of {pool.name} that "
            "were paid for: is all of what the usage tells of on the bill, and is none twice?"
        )
        raise AllocationError(msg)
    return exact_usd(pool.usd) / max(paid, used) if used else Fraction(0)


def _order(holder: Holder) -> tuple[bool, bool, Holder]:
    """Return what rows are sorted by: names, then what has none, then what nobody pays."""
    return holder == REST, not holder.team, holder


def _hours(hours: Decimal) -> Fraction:
    if not hours.is_finite() or not 0 <= hours <= MAX_HOURS:
        msg = f"{hours} hours: those used, entitled to and paid for are 0 to {MAX_HOURS:.0e}"
        raise AllocationError(msg)
    return Fraction(hours.quantize(_FINEST))
