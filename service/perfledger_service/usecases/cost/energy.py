"""Computes the energy and emissions of accelerator-hours."""

import re
from dataclasses import dataclass

from perfledger.rounding import typed
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.energy.carbon_footprint import GRID, PUE_CLOUD, GridCarbon
from perfledger_cost_models.energy.energy import CarbonEmissions, carbon_emissions, energy_kwh
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import PriceBooks

HOURS_OF = {"h": 1, "d": 24, "": 1}
_HOURS = re.compile(
    r"(?:(?P<count>\d{1,7})x)?(?P<time>\d{1,10}(?:\.\d{1,9})?)(?P<unit>[hd]?)", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerDraw:
    """Mean power of each accelerator with its share of the host, and the facility's factors."""

    watts: float
    pue: float | None  # None: the packaged one of large facilities
    grid: GridCarbon


def energy_use(
    books: PriceBooks, times: tuple[str, ...], draw: PowerDraw
) -> tuple[float, CarbonEmissions, tuple[str, ...]]:
    """Return the accelerator-hours, their energy and carbon, and the assumptions.

    Raises UsageError for invalid times, power or factors.
    """
    hours = sum(map(_hours, times))
    sheet, grid = books.parameters, draw.grid
    assumptions: list[str] = []
    pue, location_kg = draw.pue, grid.location_kg_per_kwh
    if pue is None:
        pue = float(sheet.find(PUE_CLOUD).mode)
        assumptions.append(f"PUE {typed(pue)} ({PUE_CLOUD.replace('_', ' ')})")
    if location_kg is None:
        location_kg = float(sheet.find(GRID).mode)
        assumptions.append(f"{typed(location_kg)} kg of CO2 a kWh ({GRID.replace('_', ' ')})")
    with translate_errors():
        kwh = energy_kwh(power_w=draw.watts, seconds=hours * SECONDS_PER_HOUR, pue=pue)
        emissions = carbon_emissions(
            kwh,
            location_kg_per_kwh=location_kg,
            market_kg_per_kwh=grid.market_kg_per_kwh,
            contract_share=grid.contract_share,
        )
    return hours, emissions, tuple(assumptions)


def _hours(text: str) -> float:
    """Read "1022362", "1022362h" or "512x20d" as accelerator-hours."""
    match = _HOURS.fullmatch(text.replace(",", ""))
    if match is None:
        msg = f"{text[:80]!r}: write accelerator-hours (1022362) or COUNTxTIME (512x20d)"
        raise UsageError(msg)
    return int(match["count"] or 1) * float(match["time"]) * HOURS_OF[match["unit"]]
