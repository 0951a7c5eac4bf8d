"""A bill and what each team used and was entitled to into rows that sum to the bill to the cent.

Cost = used device-hours at the rate + a share of what stood idle, by entitlement + a share of the
overhead, by use (FOCUS 1.3, split cost allocation; OpenCost specification). Cents that are left
over go to those whose share was cut most (largest remainder, Hamilton's method).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

CENT = Decimal("0.01")
UNALLOCATED = "(unallocated)"


class AllocationError(ValueError):
    """A bill that cannot be shared out as was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one team used, and what it may use, in device-hours of the period."""

    team: str
    used_hours: Decimal
    entitled_hours: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one team pays, in parts; each part of all rows sums to the bill's, to the cent."""

    team: str
    direct_usd: Decimal
    idle_usd: Decimal
    overhead_usd: Decimal

    @property
    def total_usd(self) -> Decimal:
        """Return the sum of the parts."""
        return self.direct_usd + self.idle_usd + self.overhead_usd


def allocate(
    claims: Sequence[Claim],
    *,
    devices_usd: Decimal,
    capacity_hours: Decimal,
    overhead_usd: Decimal = Decimal(0),
) -> tuple[Row, ...]:
    """Share out what devices and overhead cost in a period; rows in the claims' order.

    `devices_usd` paid for `capacity_hours` device-hours. What was not used is idle, and is shared
    by entitlement; where nobody has one it is a row of its own, as is all of it where nobody used
    anything. Raises AllocationError for amounts that are not whole cents, negative hours, a team
    that is there twice, and more hours used than there were.
    """
    _check(claims, capacity_hours)
    for name, usd in (("devices_usd", devices_usd), ("overhead_usd", overhead_usd)):
        if not usd.is_finite() or usd % CENT:
            msg = f"{name} is {usd}: give whole cents"
            raise AllocationError(msg)
    used = {claim.team: claim.used_hours for claim in claims}
    entitled = {claim.team: claim.entitled_hours for claim in claims}
    used_hours = sum(used.values(), Decimal(0))
    idle_hours = capacity_hours - used_hours
    by_kind = share_out(devices_usd, {"used": used_hours, "idle": idle_hours})
    direct = share_out(by_kind.get("used", Decimal(0)), used)
    idle = share_out(by_kind.get("idle", Decimal(0)), entitled)
    overhead = share_out(overhead_usd, used)
    unknown = by_kind.get(UNALLOCATED, Decimal(0))
    teams = [*used, UNALLOCATED]
    rows = [
        Row(
            team=team,
            direct_usd=direct.get(team, Decimal(0)),
            idle_usd=idle.get(team, Decimal(0)) + (unknown if team == UNALLOCATED else 0),
            overhead_usd=overhead.get(team, Decimal(0)),
        )
        for team in teams
    ]
    return tuple(row for row in rows if row.team != UNALLOCATED or row.total_usd)


def share_out(usd: Decimal, weights: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Return `usd` in whole cents by weight, summing exactly; without weight, under UNALLOCATED.

    Raises AllocationError for an amount that is not whole cents, or a negative weight.
    """
    total = sum(weights.values(), Decimal(0))
    if any(weight < 0 or not weight.is_finite() for weight in weights.values()):
        msg = f"weights {dict(weights)}: none may be negative"
        raise AllocationError(msg)
    if usd % CENT:
        msg = f"{usd} USD cannot be shared out in cents: round the bill first"
        raise AllocationError(msg)
    if not total:
        return {UNALLOCATED: usd} if usd else {}
    sign = -1 if usd < 0 else 1
    cents = int(abs(usd) / CENT)
    exact = {name: cents * Fraction(weight) / Fraction(total) for name, weight in weights.items()}
    whole = {name: floor(part) for name, part in exact.items()}
    left = cents - sum(whole.values())
    by_remainder = sorted(weights, key=lambda name: (whole[name] - exact[name], name))
    for name in by_remainder[:left]:
        whole[name] += 1
    return {name: sign * count * CENT for name, count in whole.items()}


def _check(claims: Sequence[Claim], capacity_hours: Decimal) -> None:
    teams = [claim.team for claim in claims]
    if len(set(teams)) < len(teams) or UNALLOCATED in teams:
        msg = f"teams {teams}: name each of them once, and none {UNALLOCATED}"
        raise AllocationError(msg)
    hours = [hour for claim in claims for hour in (claim.used_hours, claim.entitled_hours)]
    if any(not hour.is_finite() or hour < 0 for hour in (*hours, capacity_hours)):
        msg = "hours used, entitled to and there to be used are numbers that are not negative"
        raise AllocationError(msg)
    used = sum((claim.used_hours for claim in claims), Decimal(0))
    if used > capacity_hours:
        msg = f"{used} device-hours were used of {capacity_hours}: one of the two is wrong"
        raise AllocationError(msg)
