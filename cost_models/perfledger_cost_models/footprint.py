"""A useful accelerator-hour into the energy that it takes and the carbon that is emitted for it."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from perfledger_cost_models.draws import FloatArray, pert
from perfledger_cost_models.energy import Carbon, carbon
from perfledger_cost_models.onprem import AS_STUDIED, Ownership, Server, figures_of, mean_kw
from perfledger_cost_models.parameter import ParameterSheet

GRID = "carbon_intensity_us_location"
PUE_OWNED, PUE_CLOUD = "pue_enterprise", "pue_hyperscale"
QUANTILES = (0.05, 0.95)
# Instances whose accelerators are in a server of the same power as one that is known: a DGX H200 is
# rated as the DGX H100, a DGX A100 alike with 40 and with 80 GB.
SAME_POWER = {"A100-40GB": "A100-80GB", "H200-141GB": "H100-80GB"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What a useful hour, or a piece of work, takes, facility included: at modes and P5 to P95."""

    where: str  # "owned" or "cloud"
    kwh_p5: float
    kwh_p95: float
    carbon: Carbon  # at all modes; its energy is the most likely one

    def times(self, hours: float) -> Self:
        """Return what so many useful accelerator-hours take."""
        kg = [
            None if each is None else each * hours
            for each in (self.carbon.location_kg, self.carbon.market_kg)
        ]
        return replace(
            self,
            kwh_p5=self.kwh_p5 * hours,
            kwh_p95=self.kwh_p95 * hours,
            carbon=Carbon(
                energy_kwh=self.carbon.energy_kwh * hours, location_kg=kg[0], market_kg=kg[1]
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What a kilowatt-hour emits; None is the packaged location, and unknown by market."""

    location_kg_per_kwh: float | None = None
    market_kg_per_kwh: float | None = None
    covered_share: float = 0.0  # of the energy, by contracts without emissions


def owned_footprint(
    server: Server,
    sheet: ParameterSheet,
    *,
    use: float,
    grid: Grid,
    terms: Ownership = AS_STUDIED,
) -> Footprint:
    """Return what a useful hour takes on an owned server: idle hours are paid for by the useful.

    kWh = kW(u)·PUE / (accelerators·availability·u). Raises PriceMissingError and EnergyError.
    """
    share = server.accelerators * terms.availability * use
    return _footprint(
        "owned", server, sheet, use=use, grid=grid, terms=terms, pue=PUE_OWNED, share=share
    )


def cloud_footprint(server: Server, sheet: ParameterSheet, *, grid: Grid) -> Footprint:
    """Return what a useful hour takes in a cloud, on a server like `server`.

    kWh = kW under load·hyperscale PUE / accelerators: who used it in other hours, pays for them.
    """
    share = float(server.accelerators)
    return _footprint(
        "cloud", server, sheet, use=1.0, grid=grid, terms=AS_STUDIED, pue=PUE_CLOUD, share=share
    )


@lru_cache(maxsize=32)
def _footprint(
    where: str,
    server: Server,
    sheet: ParameterSheet,
    *,
    use: float,
    grid: Grid,
    terms: Ownership,
    pue: str,
    share: float,
) -> Footprint:
    names = (server.max_power, "average_load_power_fraction", "idle_power_server_fraction", pue)
    drawn = {
        each.name: pert(float(each.low), float(each.mode), float(each.high), name=each.name)
        for each in map(sheet.find, names)
    }

    def kwh(known: dict[str, FloatArray]) -> FloatArray:
        figure = figures_of(sheet, known)
        return mean_kw(server, figure, utilization=use, terms=terms) * figure(pue) / share

    p5, p95 = np.quantile(kwh(drawn), QUANTILES).tolist()
    location = grid.location_kg_per_kwh
    return Footprint(
        where=where,
        kwh_p5=p5,
        kwh_p95=p95,
        carbon=carbon(
            float(kwh({})[0]),
            location_kg_per_kwh=float(sheet.find(GRID).mode) if location is None else location,
            market_kg_per_kwh=grid.market_kg_per_kwh,
            covered_share=grid.covered_share,
        ),
    )
