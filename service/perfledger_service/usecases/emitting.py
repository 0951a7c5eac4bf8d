"""Accelerator-hours and what they draw in, their energy and what was emitted for it out."""

import re
from dataclasses import dataclass

from perfledger_cost_models.energy import Carbon, carbon, energy_kwh
from perfledger_cost_models.footprint import GRID, PUE_CLOUD, Grid
from perfledger_service.errors import UsageError
from perfledger_service.usecases.price_books import Books
from perfledger_service.usecases.translating import translated

SECONDS_PER_HOUR = 3600
HOURS_OF = {"h": 1, "d": 24, "": 1}
_HOURS = re.compile(
    r"(?:(?P<count>\d{1,7})x)?(?P<time>\d{1,10}(?:\.\d{1,9})?)(?P<unit>[hd]?)", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """What each accelerator draws with its share of the host, and the facility around it."""

    watts: float
    pue: float | None  # None: the packaged one of large facilities
    grid: Grid


def emitted(
    books: Books, times: tuple[str, ...], draw: Draw
) -> tuple[float, Carbon, tuple[str, ...]]:
    """Return the accelerator-hours, their energy and carbon, and what was assumed, in words.

    Raises UsageError for times, power or factors that cannot be.
    """
    hours = sum(map(_hours, times))
    sheet, grid = books.parameters, draw.grid
    assumed: list[str] = []
    pue, located = draw.pue, grid.location_kg_per_kwh
    if pue is None:
        pue = float(sheet.find(PUE_CLOUD).mode)
        assumed.append(f"PUE {pue:g} ({PUE_CLOUD.replace('_', ' ')})")
    if located is None:
        located = float(sheet.find(GRID).mode)
        assumed.append(f"{located:g} kg of CO2 a kWh ({GRID.replace('_', ' ')})")
    with translated():
        kwh = energy_kwh(power_w=draw.watts, seconds=hours * SECONDS_PER_HOUR, pue=pue)
        found = carbon(
            kwh,
            location_kg_per_kwh=located,
            market_kg_per_kwh=grid.market_kg_per_kwh,
            covered_share=grid.covered_share,
        )
    return hours, found, tuple(assumed)


def _hours(text: str) -> float:
    """Read "1022362", "1022362h" or "512x20d" as accelerator-hours."""
    found = _HOURS.fullmatch(text.replace(",", ""))
    if found is None:
        msg = f"{text[:80]!r}: write accelerator-hours, 1022362, or how many how long, 512x20d"
        raise UsageError(msg)
    return int(found["count"] or 1) * float(found["time"]) * HOURS_OF[found["unit"]]
