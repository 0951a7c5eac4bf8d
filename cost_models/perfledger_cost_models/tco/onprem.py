"""Computes the cost of an owned server per useful accelerator-hour."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

import numpy as np

from perfledger.rounding import integer
from perfledger.time_units import HOURS_PER_YEAR, MONTHS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.discounting import capital_recovery_factor, sinking_fund_factor
from perfledger_cost_models.draws import draw_pert
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.staleness import MaxAge, staleness_warnings
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet, packaged_hardware_inputs
from perfledger_cost_models.tco.horizon import RESIDUALS, Horizon
from perfledger_cost_models.tco.server_site import ServerSite

MAX_KW = 1000  # more is not one server
MAX_CACHED_DRAWS = 16  # servers whose drawn inputs are kept, some megabytes each
QUANTILES = (0.05, 0.50, 0.95)
RATE_COVERAGE = QUANTILES[-1] - QUANTILES[0]  # the share of draws between a rate's low and high

UTILIZATION = "utilization_baseline"
LICENCES = "software_licence_nvidia_ai_enterprise"  # bought or not, but never drawn
# The inputs of every server's cost, besides its own price and power.
SHARED_INPUTS = (
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
SUPPORT = "support_contract"
DEPRECIATION = "depreciation_years"
COLOCATION = "colo_price"
# Inputs that depend on the ownership terms.
FACILITY = ("facility_capex", "facility_years", "facility_operation")
FAILURE_RATE = "gpu_annual_failure_rate"
MODELLED_POWER = ("average_load_power_fraction", "idle_power_server_fraction")


class OwnershipError(ValueError):
    """An error for impossible ownership terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The terms on which a server is owned; by default its use is a share of all hours."""

    site: ServerSite = ServerSite.COLOCATION
    has_support: bool = True  # else accelerators that fail are replaced at the owner's cost
    availability: float = 1.0  # the share of all hours that it is up; its use is a share of these
    drawn_kw: float | None = None  # the server's measured mean draw at its use; None: modelled
    years: Horizon = Horizon.FIVE  # five: the years of depreciation; three: kept just so long

    def __post_init__(self) -> None:
        if not 0 < self.availability <= 1:
            msg = f"availability {self.availability}: give a share above 0 and up to 1"
            raise OwnershipError(msg)
        if self.drawn_kw is not None and not 0 < self.drawn_kw < MAX_KW:
            msg = f"a power of {self.drawn_kw} kW: give a server's, above 0 and below {MAX_KW}"
            raise OwnershipError(msg)


DEFAULT_OWNERSHIP = Ownership()
KeptYears = tuple[Decimal, Decimal, Decimal]  # low, most likely, high


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A server that could be owned: its accelerators and the inputs with its price and power."""

    option: str
    label: str
    accelerator: str
    accelerators: int
    price: str  # a parameter's name
    max_power: str  # a parameter's name
    card: str = ""  # a parameter's name: the price of one accelerator as a replacement

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the inputs of its yearly cost."""
        return (self.price, self.max_power, *SHARED_INPUTS)


SERVERS = (
    ServerSpec(
        option="onprem-8xH100",
        label="On-premises 8xH100",
        accelerator="H100-80GB",
        accelerators=8,
        price="server_price_8xH100_SXM",
        max_power="max_power_8xH100",
        card="gpu_used_price_H100_SXM",
    ),
    ServerSpec(
        option="onprem-8xA100",
        label="On-premises 8xA100",
        accelerator="A100-80GB",
        accelerators=8,
        price="server_price_8xA100_80GB",
        max_power="max_power_8xA100",
        card="gpu_used_price_A100",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class YearlyCost:
    """The yearly cost of owning one server in USD, by part, with one entry per draw."""

    capital_usd: FloatArray
    support_usd: FloatArray
    energy_usd: FloatArray
    colocation_usd: FloatArray
    staff_usd: FloatArray
    licences_usd: float
    facility_usd: FloatArray
    failures_usd: FloatArray

    @property
    def total_usd(self) -> FloatArray:
        """Return the sum of the parts."""
        return self.capital_usd + self.running_usd

    @property
    def running_usd(self) -> FloatArray:
        """Return the sum of the parts except the capital."""
        site = self.energy_usd + self.colocation_usd + self.facility_usd
        people = self.staff_usd + self.licences_usd
        return self.support_usd + self.failures_usd + site + people


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyCost:
    """The cost of a useful accelerator-hour: at all inputs' modes, and the draws' quantiles."""

    mode_usd: float
    p5_usd: float
    p50_usd: float
    p95_usd: float


def owned_rate(
    server: ServerSpec,
    *,
    parameters: HardwareInputSheet | None = None,
    today: date | None = None,
) -> HourlyRate:
    """Return the rate of an owned server: the draws' median, low their P5, high their P95.

    The share of all hours in which the accelerators do useful work is the sheet's most likely
    baseline, which is listed as assumed if it is. Raises PriceMissingError for a missing input.
    """
    sheet = packaged_hardware_inputs() if parameters is None else parameters
    share = float(sheet.find(UTILIZATION).mode)
    cost = hourly_cost(server, sheet, utilization=share)
    price = sheet.find(server.price)
    return HourlyRate(
        option=server.option,
        label=f"{server.label} at {integer(100 * share)} % use",
        accelerator=server.accelerator,
        usd_per_device_hour=to_decimal(cost.p50_usd),
        low=to_decimal(cost.p5_usd),
        high=to_decimal(cost.p95_usd),
        as_of=price.as_of,
        is_read_date=price.is_read_date,
        source=f"cost of ownership, inputs of {sheet.name}; server price: {price.source}",
        source_url=price.source_url,
        assumed=tuple(
            parameter.label
            for parameter in map(sheet.find, (*server.inputs, UTILIZATION))
            if parameter.is_assumed
        ),
        warnings=staleness_warnings(
            price.as_of, today=today, max_age=MaxAge.HARDWARE, is_read_date=price.is_read_date
        ),
        is_committed=True,
    )


@lru_cache
def hourly_cost(
    server: ServerSpec, parameters: HardwareInputSheet, *, utilization: float
) -> HourlyCost:
    """Return TCO / (8760 · accelerators · availability · utilization), USD per useful hour."""
    if not 0 < utilization <= 1:
        msg = f"utilization {utilization} is not a share above 0 and up to 1"
        raise ValueError(msg)
    availability = DEFAULT_OWNERSHIP.availability
    useful_hours = HOURS_PER_YEAR * server.accelerators * availability * utilization
    at_modes, draws = (
        yearly_cost(server, figures_of(parameters, figures), utilization=utilization)
        for figures in ({}, draw_inputs(server, parameters))
    )
    p5, p50, p95 = np.quantile(draws.total_usd / useful_hours, QUANTILES).tolist()
    return HourlyCost(
        mode_usd=float(at_modes.total_usd[0]) / useful_hours, p5_usd=p5, p50_usd=p50, p95_usd=p95
    )


def inputs_of(server: ServerSpec, terms: Ownership) -> tuple[str, ...]:
    """Return the names of the inputs of a server's yearly cost on these terms.

    Raises OwnershipError for a server without support whose replacement accelerators have no price.
    """
    is_colocated = terms.site is ServerSite.COLOCATION
    is_depreciated = terms.years is Horizon.FIVE
    left_out = {
        *(() if is_depreciated else (DEPRECIATION, RESIDUALS[Horizon.FIVE])),
        *(() if is_colocated else (COLOCATION,)),
        *(() if terms.has_support else (SUPPORT,)),
        *(() if terms.drawn_kw is None else MODELLED_POWER),
    }
    if not (terms.has_support or server.card):
        msg = f"{server.option} without support needs a price of its accelerators: give its card"
        raise OwnershipError(msg)
    return (
        *(name for name in server.inputs if name not in left_out),
        *(() if is_depreciated else (RESIDUALS[terms.years],)),
        *(() if is_colocated else FACILITY),
        *(() if terms.has_support else (FAILURE_RATE, server.card)),
    )


def kept_years(parameters: HardwareInputSheet, *, terms: Ownership) -> KeptYears:
    """Return the years that a server is kept: low, most likely and high; equal if they are set."""
    if terms.years is not Horizon.FIVE:
        years = Decimal(int(terms.years))
        return years, years, years
    depreciation = parameters.find(DEPRECIATION)
    return depreciation.low, depreciation.mode, depreciation.high


def draw_inputs(
    server: ServerSpec, parameters: HardwareInputSheet, *, terms: Ownership = DEFAULT_OWNERSHIP
) -> dict[str, FloatArray]:
    """Return draws of all inputs of a server's yearly cost, by name."""
    return dict(_draw_cached(server, parameters, terms))


def figures_of(
    parameters: HardwareInputSheet, figures: Mapping[str, FloatArray]
) -> Callable[[str], FloatArray]:
    """Return a function from an input's name to its given figure, else to its mode."""

    def figure(name: str) -> FloatArray:
        value = figures.get(name)
        return np.array([float(parameters.find(name).mode)]) if value is None else value

    return figure


def yearly_cost(
    server: ServerSpec,
    figure: Callable[[str], FloatArray],
    *,
    utilization: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> YearlyCost:
    """Return what `server` costs a year; `figure` gives an input's value by name.

    capital = price·(1 + network + storage)·(1 + spares)·crf - residual·price·sff, with crf and sff
    at the weighted average cost of capital over the years that the server is kept, those of
    depreciation or the three of `terms`, and residual after as many; support = share·price;
    energy = kW·8760·PUE·price per kWh with kW = max·(load·u + idle·(1 - u)), u of all hours, or as
    measured; colocation = max kW·12·price per kW-month, or a facility = max kW·capex per
    kW·(crf over its years + operation); failures without support = rate·accelerators·card's price;
    staff = FTE·salary; licences = price·accelerators.
    """
    price, max_kw = figure(server.price), figure(server.max_power)
    is_depreciated = terms.years is Horizon.FIVE
    years = figure(DEPRECIATION) if is_depreciated else np.array([float(terms.years)])
    wacc, resale = figure("wacc"), figure(RESIDUALS[terms.years]) * price
    energy_kwh = mean_kw(server, figure, utilization=utilization, terms=terms) * HOURS_PER_YEAR
    nothing = np.zeros(1)
    is_colocated = terms.site is ServerSite.COLOCATION
    rent = max_kw * MONTHS_PER_YEAR * figure(COLOCATION) if is_colocated else nothing
    facility = nothing if is_colocated else max_kw * _facility_usd_per_kw(figure)
    failures = nothing if terms.has_support else figure(FAILURE_RATE) * figure(server.card)
    return YearlyCost(
        capital_usd=capex_usd(server, figure) * capital_recovery_factor(wacc, years)
        - resale * sinking_fund_factor(wacc, years),
        support_usd=figure(SUPPORT) * price if terms.has_support else nothing,
        energy_usd=energy_kwh * figure("pue_enterprise") * figure("electricity_us_industrial"),
        colocation_usd=rent,
        staff_usd=figure("staff_fte_per_8gpu_node_small") * figure("staff_cost_loaded"),
        licences_usd=float(figure(LICENCES)[0]) * server.accelerators,
        facility_usd=facility,
        failures_usd=failures * server.accelerators,
    )


def capex_usd(server: ServerSpec, figure: Callable[[str], FloatArray]) -> FloatArray:
    """Return the price of a server with its network, storage and spares."""
    extras = 1 + figure("network_share_of_capex") + figure("storage_share_of_capex")
    return figure(server.price) * extras * (1 + figure("spares_pool"))


def mean_kw(
    server: ServerSpec, figure: Callable[[str], FloatArray], *, utilization: float, terms: Ownership
) -> FloatArray:
    """Return a server's mean draw without the facility's: measured, else modelled from its use."""
    if terms.drawn_kw is not None:
        return np.array([terms.drawn_kw])
    busy = utilization * terms.availability
    load, idle = (figure(name) for name in MODELLED_POWER)
    return figure(server.max_power) * (load * busy + idle * (1 - busy))


@lru_cache(maxsize=MAX_CACHED_DRAWS)
def _draw_cached(
    server: ServerSpec, parameters: HardwareInputSheet, terms: Ownership
) -> Mapping[str, FloatArray]:
    """Return the draws of a server's inputs, which are equal for every option compared with it."""
    inputs = map(parameters.find, inputs_of(server, terms))
    return {
        each.name: draw_pert(float(each.low), float(each.mode), float(each.high), name=each.name)
        for each in inputs
    }


def _facility_usd_per_kw(figure: Callable[[str], FloatArray]) -> FloatArray:
    """Return the yearly cost of a kilowatt in one's own facility."""
    capex, years, operation = (figure(name) for name in FACILITY)
    return capex * (capital_recovery_factor(figure("wacc"), years) + operation)
