"""Computes the energy and the carbon emissions of a useful accelerator-hour."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.draws import draw_pert
from perfledger_cost_models.energy.energy import CarbonEmissions, carbon_emissions
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet
from perfledger_cost_models.tco.onprem import (
    DEFAULT_OWNERSHIP,
    Ownership,
    ServerSpec,
    figures_of,
    mean_kw,
)

GRID = "carbon_intensity_us_location"
PUE_OWNED, PUE_CLOUD = "pue_enterprise", "pue_hyperscale"
QUANTILES = (0.05, 0.95)
# Accelerators whose servers draw as much as a known one: a DGX H200 is rated as the DGX H100, and a
# DGX A100 draws the same with 40 and with 80 GB.
POWER_SUBSTITUTES = {"A100-40GB": "A100-80GB", "H200-141GB": "H100-80GB"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonFootprint:
    """Energy and emissions of a useful hour or a piece of work, facility included."""

    where: str  # "owned" or "cloud"
    kwh_p5: float
    kwh_p95: float
    carbon: CarbonEmissions  # at all inputs' modes; its energy is the most likely value

    def times(self, hours: float) -> Self:
        """Return the footprint of `hours` useful accelerator-hours."""
        kg = [
            None if each is None else each * hours
            for each in (self.carbon.location_kg, self.carbon.market_kg)
        ]
        return replace(
            self,
            kwh_p5=self.kwh_p5 * hours,
            kwh_p95=self.kwh_p95 * hours,
            carbon=CarbonEmissions(
                energy_kwh=self.carbon.energy_kwh * hours, location_kg=kg[0], market_kg=kg[1]
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCarbon:
    """Emissions per kilowatt-hour; None is the packaged location factor, and unknown by market."""

    location_kg_per_kwh: float | None = None
    market_kg_per_kwh: float | None = None
    contract_share: float = 0.0  # of the energy, under contracts without emissions


def owned_footprint(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    grid: GridCarbon,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> CarbonFootprint:
    """Return the footprint of a useful hour on an owned server, which carries the idle hours.

    kWh = kW(u)·PUE / (accelerators·availability·u). Raises PriceMissingError and EnergyError.
    """
    share = server.accelerators * terms.availability * use
    return _footprint(
        "owned", server, sheet, use=use, grid=grid, terms=terms, pue=PUE_OWNED, share=share
    )


def cloud_footprint(
    server: ServerSpec, sheet: HardwareInputSheet, *, grid: GridCarbon
) -> CarbonFootprint:
    """Return the footprint of a useful hour in a cloud, on a server like `server`.

    kWh = kW under load·hyperscale PUE / accelerators: other hours belong to other users.
    """
    share = float(server.accelerators)
    return _footprint(
        "cloud",
        server,
        sheet,
        use=1.0,
        grid=grid,
        terms=DEFAULT_OWNERSHIP,
        pue=PUE_CLOUD,
        share=share,
    )


@lru_cache
def _footprint(
    where: str,
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    grid: GridCarbon,
    terms: Ownership,
    pue: str,
    share: float,
) -> CarbonFootprint:
    names = (server.max_power, "average_load_power_fraction", "idle_power_server_fraction", pue)
    draws = {
        each.name: draw_pert(float(each.low), float(each.mode), float(each.high), name=each.name)
        for each in map(sheet.find, names)
    }

    def kwh(figures: dict[str, FloatArray]) -> FloatArray:
        figure = figures_of(sheet, figures)
        return mean_kw(server, figure, utilization=use, terms=terms) * figure(pue) / share

    p5, p95 = np.quantile(kwh(draws), QUANTILES).tolist()
    location = grid.location_kg_per_kwh
    return CarbonFootprint(
        where=where,
        kwh_p5=p5,
        kwh_p95=p95,
        carbon=carbon_emissions(
            float(kwh({})[0]),
            location_kg_per_kwh=float(sheet.find(GRID).mode) if location is None else location,
            market_kg_per_kwh=grid.market_kg_per_kwh,
            contract_share=grid.contract_share,
        ),
    )
