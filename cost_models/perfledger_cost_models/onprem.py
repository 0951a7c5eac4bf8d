"""What a server costs to own, and how well it is used, into USD per useful accelerator-hour."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

import numpy as np

from perfledger_cost_models.age import Shelf, age_warnings
from perfledger_cost_models.draws import FloatArray, pert
from perfledger_cost_models.finance import capital_recovery_factor, sinking_fund_factor
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.parameter import ParameterSheet, packaged_parameters
from perfledger_cost_models.quote import Rate

HOURS_PER_YEAR = 8760
MONTHS_PER_YEAR = 12
QUANTILES = (0.05, 0.50, 0.95)
RATE_COVERAGE = QUANTILES[-1] - QUANTILES[0]  # the share of draws between a Rate's low and high

UTILIZATION = "utilization_baseline"
LICENCES = "software_licence_nvidia_ai_enterprise"
# What every server's cost is drawn from, besides its own price and power.
SHARED = (
    "network_share_of_capex",
    "storage_share_of_capex",
    "spares_pool",
    "depreciation_years",
    "wacc",
    "residual_value_60m",
    "support_contract",
    "average_load_power_fraction",
    "idle_power_server_fraction",
    "pue_enterprise",
    "electricity_us_industrial",
    "colo_price",
    "staff_fte_per_8gpu_node_small",
    "staff_cost_loaded",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that could be owned: its accelerators and where its price and power stand."""

    option: str
    label: str
    accelerator: str
    accelerators: int
    price: str  # a parameter's name
    max_power: str  # a parameter's name

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the parameters that its yearly cost is drawn from."""
        return (self.price, self.max_power, *SHARED)


SERVERS = (
    Server(
        option="onprem-8xH100",
        label="On-premises 8xH100",
        accelerator="H100-80GB",
        accelerators=8,
        price="server_price_8xH100_SXM",
        max_power="max_power_8xH100",
    ),
    Server(
        option="onprem-8xA100",
        label="On-premises 8xA100",
        accelerator="A100-80GB",
        accelerators=8,
        price="server_price_8xA100_80GB",
        max_power="max_power_8xA100",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class YearlyCost:
    """What owning one server costs a year, part by part, in USD; one entry per draw."""

    capital_usd: FloatArray
    support_usd: FloatArray
    energy_usd: FloatArray
    colocation_usd: FloatArray
    staff_usd: FloatArray
    licences_usd: float

    @property
    def total_usd(self) -> FloatArray:
        """Return the sum of the parts."""
        running = self.energy_usd + self.colocation_usd + self.staff_usd + self.licences_usd
        return self.capital_usd + self.support_usd + running


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyCost:
    """What a useful accelerator-hour costs: at all inputs' modes, and the draws' quantiles."""

    mode_usd: float
    p5_usd: float
    p50_usd: float
    p95_usd: float


def rate(
    server: Server,
    *,
    parameters: ParameterSheet | None = None,
    utilization: float | None = None,
    today: date | None = None,
) -> Rate:
    """Return the rate of an owned server: the draws' median, low their P5, high their P95.

    `utilization` is the share of all hours in which the accelerators do useful work; by default
    it is the sheet's most likely baseline, which is then listed as assumed where it is. Raises
    PriceMissingError when an input is missing.
    """
    sheet = packaged_parameters() if parameters is None else parameters
    inputs = server.inputs if utilization is not None else (*server.inputs, UTILIZATION)
    share = float(sheet.find(UTILIZATION).mode) if utilization is None else utilization
    cost = hourly_cost(server, sheet, utilization=share)
    price = sheet.find(server.price)
    return Rate(
        option=server.option,
        label=f"{server.label} at {share:.0%} use",
        accelerator=server.accelerator,
        usd_per_device_hour=to_decimal(cost.p50_usd),
        low=to_decimal(cost.p5_usd),
        high=to_decimal(cost.p95_usd),
        as_of=price.as_of,
        is_read_date=price.is_read_date,
        source=f"cost of ownership, inputs of {sheet.name}; server price: {price.source}",
        assumed=tuple(found.words for found in map(sheet.find, inputs) if found.is_assumed),
        warnings=age_warnings(
            price.as_of, today=today, shelf=Shelf.HARDWARE, is_read_date=price.is_read_date
        ),
    )


@lru_cache(maxsize=32)
def hourly_cost(server: Server, parameters: ParameterSheet, *, utilization: float) -> HourlyCost:
    """Return TCO / (8760 · accelerators · utilization), in USD per useful accelerator-hour."""
    if not 0 < utilization <= 1:
        msg = f"utilization {utilization} is not a share above 0 and up to 1"
        raise ValueError(msg)
    useful_hours = HOURS_PER_YEAR * server.accelerators * utilization

    licence = parameters.find(LICENCES).mode  # optional: bought or not, but not uncertain
    at_modes = yearly_cost(
        server, figures_of(parameters, {}), licence=licence, utilization=utilization
    )
    draws = yearly_cost(
        server,
        figures_of(parameters, drawn_inputs(server, parameters)),
        licence=licence,
        utilization=utilization,
    )
    p5, p50, p95 = np.quantile(draws.total_usd / useful_hours, QUANTILES).tolist()
    return HourlyCost(
        mode_usd=float(at_modes.total_usd[0]) / useful_hours, p5_usd=p5, p50_usd=p50, p95_usd=p95
    )


def drawn_inputs(server: Server, parameters: ParameterSheet) -> dict[str, FloatArray]:
    """Return draws of all that a server's yearly cost depends on, by the inputs' names."""
    found = map(parameters.find, server.inputs)
    return {
        each.name: pert(float(each.low), float(each.mode), float(each.high), name=each.name)
        for each in found
    }


def figures_of(
    parameters: ParameterSheet, known: Mapping[str, FloatArray]
) -> Callable[[str], FloatArray]:
    """Return what gives an input's value by its name: what is known of it, else its mode."""

    def figure(name: str) -> FloatArray:
        value = known.get(name)
        return np.array([float(parameters.find(name).mode)]) if value is None else value

    return figure


def yearly_cost(
    server: Server,
    figure: Callable[[str], FloatArray],
    *,
    licence: Decimal,
    utilization: float,
) -> YearlyCost:
    """Return what `server` costs a year in colocation; `figure` gives an input's value by name.

    capital = price·(1 + network + storage)·(1 + spares)·crf - residual·price·sff, with crf and sff
    at the weighted average cost of capital over the depreciation years; support = share·price;
    energy = kW·8760·PUE·price per kWh with kW = max·(load·u + idle·(1 - u)); colocation =
    max kW·12·price per kW-month; staff = FTE·salary; licences = `licence`·accelerators.
    """
    price, max_kw = figure(server.price), figure(server.max_power)
    wacc, years = figure("wacc"), figure("depreciation_years")
    extras = 1 + figure("network_share_of_capex") + figure("storage_share_of_capex")
    capex = price * extras * (1 + figure("spares_pool"))
    resale = figure("residual_value_60m") * price
    load = figure("average_load_power_fraction") * utilization
    idle = figure("idle_power_server_fraction") * (1 - utilization)
    energy_kwh = max_kw * (load + idle) * HOURS_PER_YEAR * figure("pue_enterprise")
    return YearlyCost(
        capital_usd=capex * capital_recovery_factor(wacc, years)
        - resale * sinking_fund_factor(wacc, years),
        support_usd=figure("support_contract") * price,
        energy_usd=energy_kwh * figure("electricity_us_industrial"),
        colocation_usd=max_kw * MONTHS_PER_YEAR * figure("colo_price"),
        staff_usd=figure("staff_fte_per_8gpu_node_small") * figure("staff_cost_loaded"),
        licences_usd=float(licence) * server.accelerators,
    )
