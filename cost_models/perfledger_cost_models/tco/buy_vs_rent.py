"""Compares what a useful accelerator-hour costs on each purchase option.

Every uncertain input is drawn once for all options (common random numbers): inputs that the options
share cannot decide between them, and each draw is one scenario for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.discounting import capital_recovery_factor
from perfledger_cost_models.draws import DRAWS, draw_pert
from perfledger_cost_models.money import Usd
from perfledger_cost_models.tco.hardware_inputs import WACC, HardwareInputSheet
from perfledger_cost_models.tco.onprem import (
    DEFAULT_OWNERSHIP,
    QUANTILES,
    Ownership,
    ServerSpec,
    YearlyCost,
    draw_inputs,
    figures_of,
    inputs_of,
    yearly_cost,
)
from perfledger_cost_models.tco.purchase_modes import PurchaseTerms
from perfledger_cost_models.tco.server_site import ServerSite

NO_BREAK_EVEN_USE = 1e9  # stands for infinity, which has no quantiles
_CACHED_SERVERS = 16  # servers on their terms: a comparison has a few of them


class ComparisonError(ValueError):
    """An error for options that cannot be compared."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OptionCost:
    """An option's cost per useful accelerator-hour in USD, at all modes and for every draw."""

    name: str
    accelerator: str
    mode_usd: float
    draws_usd: FloatArray  # (DRAWS,)
    assumed: tuple[str, ...] = ()  # low-confidence inputs, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionComparison:
    """One option's cost and its chance to be the cheapest."""

    name: str
    accelerator: str
    mode_usd: Usd
    p5_usd: Usd
    p50_usd: Usd
    p95_usd: Usd
    chance_cheapest: float  # over the draws; ties are shared out
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """The use, a share of all hours, from which owning costs less; None if it never does."""

    p5: float | None
    p50: float | None
    p95: float | None
    chance_ever: float  # that such a use exists


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSwing:
    """How the cost moves when a single input goes from its low to its high."""

    parameter: str
    low_usd: Usd  # per useful hour at the input's low
    high_usd: Usd
    rank_correlation: float  # Spearman's, of input and cost over all draws

    @property
    def width_usd(self) -> Usd:
        """Return how far the cost moves."""
        return Usd(abs(self.high_usd - self.low_usd))


def owned_option(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> OptionCost:
    """Return an owned server's cost per useful hour at a share `use` of the hours that it is up.

    Raises PriceMissingError for an input missing on the sheet, ComparisonError for an impossible
    `use`.
    """
    _check_use(use)
    return OptionCost(
        name=server.option,
        accelerator=server.accelerator,
        mode_usd=float(owned_usd(server, sheet, use, {}, terms)[0]),
        draws_usd=owned_usd(server, sheet, use, draw_inputs(server, sheet, terms=terms), terms),
        assumed=tuple(
            parameter.label
            for parameter in map(sheet.find, inputs_of(server, terms))
            if parameter.is_assumed
        ),
    )


def worked_option(
    option: OptionCost, hours: FloatArray | float, *, mode_hours: float
) -> OptionCost:
    """Return the cost of a piece of work that takes `hours` useful hours on an option."""
    return replace(
        option, mode_usd=option.mode_usd * mode_hours, draws_usd=option.draws_usd * hours
    )


def bought_option(
    mode: PurchaseTerms, sheet: HardwareInputSheet, *, use: float, accelerator: str
) -> OptionCost:
    """Return a bought hour's cost at a share `use` of the hours paid for.

    The price is certain; the cost of capital, which spreads upfront payments, is not.
    """
    _check_use(use)
    wacc = sheet.find(WACC)
    usd = float(mode.usd_per_useful_hour(use, wacc=float(wacc.mode)))
    draws = np.full(DRAWS, usd)
    if mode.upfront_share:
        even = float(mode.usd_per_hour) / use
        # n crf(r, n) times the cost of the same money spread without interest.
        wacc_draws = draw_pert(float(wacc.low), float(wacc.mode), float(wacc.high), name=WACC)
        years = np.array([float(mode.years)])
        interest = years * capital_recovery_factor(wacc_draws, years)
        draws = even * (1 + float(mode.upfront_share) * (interest - 1))
    return OptionCost(name=mode.option, accelerator=accelerator, mode_usd=usd, draws_usd=draws)


def compare(options: Sequence[OptionCost]) -> tuple[OptionComparison, ...]:
    """Compare options, the lowest median first.

    Raises ComparisonError for no options, equal names, or costs that are not positive numbers: an
    option without a price cannot be the cheapest and must not be dropped silently.
    """
    names = [option.name for option in options]
    if not options or len(set(names)) < len(names):
        msg = f"options {names}: give at least one, and each only once"
        raise ComparisonError(msg)
    table = np.array([option.draws_usd for option in options])
    if not (np.isfinite(table) & (table > 0)).all():
        bad = [name for name, row in zip(names, table, strict=True) if not (row > 0).all()]
        msg = f"no cost per hour for {', '.join(bad) or 'an option'}: leave it out or price it"
        raise ComparisonError(msg)
    is_least = table == table.min(axis=0)
    chances = (is_least / is_least.sum(axis=0)).mean(axis=1)
    quantiles = np.quantile(table, QUANTILES, axis=1).T
    comparisons = [
        OptionComparison(
            name=option.name,
            accelerator=option.accelerator,
            mode_usd=Usd(option.mode_usd),
            p5_usd=Usd(p5),
            p50_usd=Usd(p50),
            p95_usd=Usd(p95),
            chance_cheapest=float(chance),
            assumed=option.assumed,
        )
        for option, (p5, p50, p95), chance in zip(options, quantiles, chances, strict=True)
    ]
    return tuple(sorted(comparisons, key=lambda one: (one.p50_usd, one.name)))


def chance_cheaper(option: OptionCost, rival: OptionCost) -> float:
    """Return the share of the draws in which an option costs less than its rival."""
    return float((option.draws_usd < rival.draws_usd).mean())


def owned_curve(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    uses: Sequence[float],
    *,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> tuple[tuple[float, float, float], ...]:
    """Return P5, P50 and P95 of an owned useful hour at each of these uses: (c0 + c1 u) / (K u)."""
    idle, busy = idle_and_busy_usd(server, sheet, terms)
    hours = HOURS_PER_YEAR * server.accelerators * terms.availability
    points: list[tuple[float, float, float]] = []
    for use in uses:
        _check_use(use)
        p5, p50, p95 = np.quantile((idle + (busy - idle) * use) / (hours * use), QUANTILES).tolist()
        points.append((p5, p50, p95))
    return tuple(points)


def break_even(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    usd_per_hour: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> BreakEven:
    """Return the use from which owning costs less than hours at this price.

    A year of the server costs c0 + c1 u, because only its energy depends on the use u. With K hours
    of all accelerators a year the useful hour costs (c0 + c1 u) / (K u), so that
    u* = c0 / (K price - c1), for each draw. A commitment counts at its rate and is as large as the
    use. Raises ComparisonError for an impossible price, PriceMissingError for an input missing on
    the sheet.
    """
    if not 0 < usd_per_hour < np.inf:
        msg = f"{usd_per_hour} USD an hour is not a price: give one above zero"
        raise ComparisonError(msg)
    idle, busy = idle_and_busy_usd(server, sheet, terms)
    up_hours = HOURS_PER_YEAR * terms.availability * server.accelerators
    margin = up_hours * usd_per_hour - (busy - idle)
    never = np.full_like(idle, NO_BREAK_EVEN_USE)
    uses = np.divide(idle, margin, out=never, where=margin > 0)
    p5, p50, p95 = (use if use <= 1 else None for use in np.quantile(uses, QUANTILES).tolist())
    return BreakEven(p5=p5, p50=p50, p95=p95, chance_ever=float((uses <= 1).mean()))


def tornado(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> tuple[CostSwing, ...]:
    """Return the swing of an owned server's hourly cost with each input, the widest first."""
    _check_use(use)
    draws = draw_inputs(server, sheet, terms=terms)
    ranks = _ranks(owned_usd(server, sheet, use, draws, terms))
    bars: list[CostSwing] = []
    for name in inputs_of(server, terms):
        parameter = sheet.find(name)
        low, high = (
            Usd(owned_usd(server, sheet, use, {name: np.array([float(end)])}, terms)[0])
            for end in (parameter.low, parameter.high)
        )
        correlation = float(np.corrcoef(_ranks(draws[name]), ranks)[0, 1]) if low != high else 0.0
        bars.append(
            CostSwing(parameter=name, low_usd=low, high_usd=high, rank_correlation=correlation)
        )
    return tuple(sorted(bars, key=lambda bar: (-bar.width_usd, bar.parameter)))


def yearly_parts(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> tuple[tuple[str, Usd, Usd, Usd], ...]:
    """Return each part of the yearly cost of owning in USD: name, P5, most likely and P95.

    The most likely parts sum to the most likely total; the quantiles do not.
    """
    _check_use(use)
    likely, draws_cost = (
        yearly_cost(server, figures_of(sheet, figures), utilization=use, terms=terms)
        for figures in ({}, draw_inputs(server, sheet, terms=terms))
    )
    parts: list[tuple[str, Usd, Usd, Usd]] = []
    for (name, draws), (_, at_mode) in zip(
        _parts(draws_cost, terms), _parts(likely, terms), strict=True
    ):
        p5, _, p95 = np.quantile(draws, QUANTILES).tolist()
        parts.append((name, Usd(p5), Usd(at_mode[0]), Usd(p95)))
    return tuple(parts)


def owned_usd(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    use: float,
    figures: Mapping[str, FloatArray],
    terms: Ownership,
) -> FloatArray:
    """Return USD per useful hour; inputs without given figures are at their modes."""
    hours = HOURS_PER_YEAR * server.accelerators * terms.availability * use
    return _yearly_usd(server, sheet, use, figures, terms) / hours


@lru_cache(maxsize=_CACHED_SERVERS)
def idle_and_busy_usd(
    server: ServerSpec, sheet: HardwareInputSheet, terms: Ownership
) -> tuple[FloatArray, FloatArray]:
    """Return the yearly cost at no use and at full use, for each draw."""
    draws = draw_inputs(server, sheet, terms=terms)
    idle, busy = (_yearly_usd(server, sheet, use, draws, terms) for use in (0.0, 1.0))
    return idle, busy


def _parts(cost: YearlyCost, terms: Ownership) -> tuple[tuple[str, FloatArray], ...]:
    """Return the cost parts that a server has on these terms."""
    is_colocated = terms.site is ServerSite.COLOCATION
    return (
        ("capital", cost.capital_usd),
        ("support", cost.support_usd) if terms.has_support else ("failures", cost.failures_usd),
        ("energy", cost.energy_usd),
        ("colocation", cost.colocation_usd) if is_colocated else ("facility", cost.facility_usd),
        ("staff", cost.staff_usd),
        ("licences", np.array([cost.licences_usd])),
    )


def _check_use(use: float) -> None:
    if not 0 < use <= 1:
        msg = f"use {use} is not a share of useful hours above 0 and up to 1"
        raise ComparisonError(msg)


def _yearly_usd(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    use: float,
    figures: Mapping[str, FloatArray],
    terms: Ownership,
) -> FloatArray:
    figure = figures_of(sheet, figures)
    return yearly_cost(server, figure, utilization=use, terms=terms).total_usd


def _ranks(values: FloatArray) -> FloatArray:
    return np.argsort(np.argsort(values)).astype(np.float64)
