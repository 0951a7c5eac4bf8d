"""Power and time into energy, and energy into the carbon that was emitted for it.

Location-based: with what the grid emits where the machine stands. Market-based: with what is
emitted for the electricity that was contracted, so that certificates and green contracts count.
Both are shown; neither replaces the other (GHG Protocol, Scope 2 Guidance, 2015).
"""

import math
from dataclasses import dataclass

JOULES_PER_KWH = 3.6e6
# More than this for a kilowatt-hour of computing is not a facility but a slip of the pen; the mean
# of all facilities is 1.5, the worst that are reported are near 3.
MAX_PUE = 4.0


class EnergyError(ValueError):
    """Power, time or a factor that cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carbon:
    """What was emitted, in kilograms of CO2 equivalent; None where the grid's factor is unknown."""

    energy_kwh: float
    location_kg: float | None
    market_kg: float | None


def energy_kwh(*, power_w: float, seconds: float, pue: float) -> float:
    """Return power · time · PUE in kilowatt-hours.

    `power_w` is the mean draw of all devices and hosts, `pue` the facility's total energy over its
    computers' (1 and up). Raises EnergyError.
    """
    _check("power_w", power_w)
    _check("seconds", seconds)
    if not 1 <= pue <= MAX_PUE:
        msg = f"a PUE of {pue}: give the facility's energy over the computers', 1 to {MAX_PUE:g}"
        raise EnergyError(msg)
    return power_w * seconds / JOULES_PER_KWH * pue


def carbon(
    kwh: float,
    *,
    location_kg_per_kwh: float | None,
    market_kg_per_kwh: float | None = None,
    covered_share: float = 0.0,
) -> Carbon:
    """Return what `kwh` emit by both methods; an unknown factor gives an unknown amount, not none.

    `covered_share` of the energy is covered by contracts without emissions; it lowers the
    market-based amount alone. Raises EnergyError.
    """
    _check("kwh", kwh)
    if not 0 <= covered_share <= 1:
        msg = f"covered_share is {covered_share}: give a share from 0 to 1"
        raise EnergyError(msg)
    for name, factor in (
        ("location_kg_per_kwh", location_kg_per_kwh),
        ("market_kg_per_kwh", market_kg_per_kwh),
    ):
        if factor is not None:
            _check(name, factor)
    return Carbon(
        energy_kwh=kwh,
        location_kg=None if location_kg_per_kwh is None else kwh * location_kg_per_kwh,
        market_kg=None
        if market_kg_per_kwh is None
        else kwh * (1 - covered_share) * market_kg_per_kwh,
    )


def _check(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        msg = f"{name} is {value}: give a number that is not negative"
        raise EnergyError(msg)
