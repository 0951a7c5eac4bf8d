"""Computes energy from power and time, and carbon emissions from energy.

Location-based emissions use the factor of the grid where the machine stands. Market-based ones use
the factor of the contracted electricity, so that certificates and green contracts count. Both are
shown; neither replaces the other (GHG Protocol, Scope 2 Guidance, 2015).
"""

import math
from dataclasses import dataclass

from perfledger.rounding import typed

JOULES_PER_KWH = 3.6e6
# A higher PUE is a typing error: the mean of all facilities is 1.5, the worst reported are near 3.
MAX_PUE = 4.0


class EnergyError(ValueError):
    """An error for impossible power, time or factors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonEmissions:
    """Emissions in kilograms of CO2 equivalent; None if the grid's factor is unknown."""

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
        msg = f"PUE {pue} is not facility energy over IT energy, 1 to {typed(MAX_PUE)}"
        raise EnergyError(msg)
    return power_w * seconds / JOULES_PER_KWH * pue


def carbon_emissions(
    kwh: float,
    *,
    location_kg_per_kwh: float | None,
    market_kg_per_kwh: float | None = None,
    contract_share: float = 0.0,
) -> CarbonEmissions:
    """Return the emissions of `kwh` by both methods; an unknown factor gives None, not zero.

    `contract_share` of the energy is under contracts without emissions; it lowers the market-based
    amount alone. Raises EnergyError.
    """
    _check("kwh", kwh)
    if not 0 <= contract_share <= 1:
        msg = f"covered_share is {contract_share}: give a share from 0 to 1"
        raise EnergyError(msg)
    for name, factor in (
        ("location_kg_per_kwh", location_kg_per_kwh),
        ("market_kg_per_kwh", market_kg_per_kwh),
    ):
        if factor is not None:
            _check(name, factor)
    return CarbonEmissions(
        energy_kwh=kwh,
        location_kg=None if location_kg_per_kwh is None else kwh * location_kg_per_kwh,
        market_kg=None
        if market_kg_per_kwh is None
        else kwh * (1 - contract_share) * market_kg_per_kwh,
    )


def _check(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        msg = f"{name} is {value}: give a number of 0 or more"
        raise EnergyError(msg)
