"""Sizes the options of a model, sweeps the number of devices of each, and ladders terms."""

import math
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

import numpy as np

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.formula import value_of
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import (
    COMMITMENT_UTILIZATION,
    PLAN_YEARS,
    YEARS,
    CostModel,
    PurchaseMode,
    PurchaseOption,
    SizeBasis,
)
from perfledger_cost_models.procurement.decision import draws_of, evaluate, evaluate_at_modes
from perfledger_cost_models.procurement.option_formulas import end_worth

MAX_SIZES = 24  # of a sweep: more do not fit in a table that people read
# Sizes extend to the number that meets the need of all but one draw in a hundred, in the largest
# year.
MAX_NEED_QUANTILE = 0.99
# Each sweep around the best size has steps that are this many times shorter, down to one instance.
NARROWING = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedCost:
    """What an option costs with a number of devices, in today's money over all years."""

    devices: int
    npv: Decimal  # at the most likely inputs
    npv_mean: Decimal  # over the draws


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentSweep:
    """The cost of an option by its size; with 0 devices all hours are bought as today."""

    option: PurchaseOption
    sizes: tuple[SizedCost, ...]

    @property
    def best(self) -> SizedCost:
        """Return the size with the lowest mean cost."""
        return min(self.sizes, key=lambda one: (one.npv_mean, one.devices))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentLadder:
    """Commitments of a long term below one-year ones, whose size is chosen again each year."""

    long: PurchaseOption
    short: PurchaseOption
    long_devices: int
    short_devices: tuple[int, ...]  # by year
    npv: Decimal  # at the most likely inputs
    npv_mean: Decimal  # over the draws


def with_least_cost(model: CostModel) -> tuple[PurchaseOption, ...]:
    """Return the options, each with the number of devices that costs least on average.

    That is over the draws and all years, in today's money. A number that the plan gives stays, and
    so does the first year's need where no number costs less than today's option. The mean cost is
    convex in the number (devices cost alike, and each replaces fewer hours than the one before), so
    the search narrows down around the best of a sweep to single instances.
    """
    draws = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    return tuple(_at_least_cost(model, option, draws) for option in model.options)


def _at_least_cost(
    model: CostModel, option: PurchaseOption, draws: Mapping[str, FloatArray]
) -> PurchaseOption:
    if option.devices is None or option.size_basis is SizeBasis.PLANNED:
        return option
    best = _cheapest_size(model, option, draws)
    if not best:
        return option
    return replace(option, devices=best, size_basis=SizeBasis.LEAST_COST)


def _cheapest_size(
    model: CostModel, option: PurchaseOption, draws: Mapping[str, FloatArray]
) -> int:
    """Return the number of devices with the lowest mean cost; 0 means today's option."""
    step = option.sold_together
    most = _most_devices(option, draws, step)
    stride = _stride(most, step)
    usd: dict[int, float] = {}
    sizes: Sequence[int] = range(0, most + 1, stride)
    while True:
        for devices in sizes:
            if devices not in usd:
                usd[devices] = float(_npv(model, option, devices, draws).mean())
        best = min(usd, key=lambda devices: (usd[devices], devices))
        if stride == step:
            return best
        near, stride = stride, step * math.ceil(stride / step / NARROWING)
        sizes = range(max(0, best - near), min(most, best + near) + 1, stride)


def commitment_sweeps(model: CostModel) -> tuple[CommitmentSweep, ...]:
    """Return the sweep of each option with a number of devices, in the model's order.

    Each point is the model itself, evaluated with another number of devices.
    """
    options = [option for option in model.options if option.devices is not None]
    draws = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    likely = evaluate_at_modes(model)
    return tuple(
        CommitmentSweep(
            option=option,
            sizes=tuple(
                SizedCost(
                    devices=devices,
                    npv=to_decimal(_npv(model, option, devices, likely)[0]),
                    npv_mean=to_decimal(_npv(model, option, devices, draws).mean()),
                )
                for devices in _sizes(model, option, draws)
            ),
        )
        for option in options
    )


def commitment_ladder(model: CostModel) -> CommitmentLadder | None:
    """Return the cheapest ladder of a commitment for all years and commitments for one year.

    Each year's one-year commitment has the size with the lowest mean cost, as known today. Of all
    pairs of a long and a short option, the one with the cheapest ladder on average counts. None if
    the plan lacks options of both terms for the model's own accelerator. A ladder of L devices for
    all years and S_y in year y pays for both terms as the model does, and for MAX(0, need_y - (L +
    S_y) 8760 utilization) hours on demand.
    """
    pairs = tuple(product(_commitments(model, YEARS), _commitments(model, 1)))
    if not pairs:
        return None
    draws = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    likely = evaluate_at_modes(model)
    ladders = [_ladder(model, pair, draws, likely) for pair in pairs]
    return min(ladders, key=lambda ladder: ladder.npv_mean)


def _ladder(
    model: CostModel,
    terms: tuple[PurchaseOption, PurchaseOption],
    draws: Mapping[str, FloatArray],
    likely: Mapping[str, FloatArray],
) -> CommitmentLadder:
    """Return the sizes of a long and a short option that cost least on average.

    The cost is convex in all sizes: the search narrows down around the best ones, as in
    `_cheapest_size`.
    """
    long, short = terms
    step = math.lcm(long.sold_together, short.sold_together)
    most = _most_devices(model.keep, draws, step)
    stride = _stride(most, step)
    totals = tuple(range(0, most + stride, stride))
    while True:
        costs = _ladder_costs(model, terms, totals, draws)
        usd, sizes = min(costs.best_with(index) for index in range(len(totals)))
        if stride == step:
            break
        near, stride = stride, step * math.ceil(stride / step / NARROWING)
        best_totals = {sizes[0], *(sizes[0] + devices for devices in sizes[1:])}
        totals = _around(best_totals, near, stride)
    return CommitmentLadder(
        long=long,
        short=short,
        long_devices=sizes[0],
        short_devices=sizes[1:],
        npv=to_decimal(_ladder_costs(model, terms, totals, likely).usd_of(sizes)),
        npv_mean=to_decimal(usd),
    )


def _around(places: AbstractSet[int], near: int, stride: int) -> tuple[int, ...]:
    """Return numbers of devices, and those at multiples of a stride near them, ascending."""
    neighbours = {place + offset for place in places for offset in range(-near, near + 1, stride)}
    return tuple(sorted(devices for devices in {*places, *neighbours} if devices >= 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _LadderCosts:
    """Mean present values of the parts of a ladder."""

    totals: tuple[int, ...]  # devices of both terms, ascending
    long_usd: float  # of one device over all years
    short_usd: tuple[float, ...]  # of one device, by year
    beyond_usd: tuple[tuple[float, ...], ...]  # hours on demand, by year and total

    def best_with(self, place: int) -> tuple[float, tuple[int, ...]]:
        """Return the lowest cost with `totals[place]` devices of the long term, and all sizes."""
        base = self.totals[place]
        sizes = [base]
        for short_usd, beyond in zip(self.short_usd, self.beyond_usd, strict=True):
            costs = [
                (total - base) * short_usd + usd
                for total, usd in zip(self.totals[place:], beyond[place:], strict=True)
            ]
            sizes.append(self.totals[place + costs.index(min(costs))] - base)
        return self.usd_of(tuple(sizes)), tuple(sizes)

    def usd_of(self, sizes: tuple[int, ...]) -> float:
        """Return the cost of devices of the long term and, by year, of the short one."""
        base, *short = sizes
        years = zip(short, self.short_usd, self.beyond_usd, strict=True)
        return base * self.long_usd + sum(
            devices * usd + beyond[self.totals.index(base + devices)]
            for devices, usd, beyond in years
        )


def _ladder_costs(
    model: CostModel,
    terms: tuple[PurchaseOption, PurchaseOption],
    totals: tuple[int, ...],
    values: Mapping[str, FloatArray],
) -> _LadderCosts:
    long, short = terms
    years = PLAN_YEARS
    return _LadderCosts(
        totals=totals,
        long_usd=_long_usd(long, values),
        short_usd=tuple(_short_usd(short, year, values) for year in years),
        beyond_usd=tuple(_beyond_usd(model, year, totals, values) for year in years),
    )


def _commitments(model: CostModel, years: int) -> tuple[PurchaseOption, ...]:
    """Return the options of a term for the model's own accelerator."""
    return tuple(
        option
        for option in model.options
        if option.mode is PurchaseMode.COMMITMENT
        and option.years == years
        and option.accelerator == model.accelerator
    )


def _long_usd(option: PurchaseOption, values: Mapping[str, FloatArray]) -> float:
    """Return the mean present value of one device over all years of its term."""
    upfront = float(option.upfront_share)
    discounts = sum(values[f"discount_{year}"] for year in PLAN_YEARS)
    yearly = values[option.rate] * HOURS_PER_YEAR
    return float(np.mean(yearly * (upfront * option.years + (1 - upfront) * discounts)))


def _short_usd(option: PurchaseOption, year: int, values: Mapping[str, FloatArray]) -> float:
    """Return the mean present value of one device for one year, paid before and within it."""
    upfront = float(option.upfront_share)
    before = values[end_worth(year - 1)] if year > 1 else np.ones(1)
    yearly = values[option.rate] * HOURS_PER_YEAR
    within = values[f"discount_{year}"]
    return float(np.mean(yearly * (upfront * before + (1 - upfront) * within)))


def _beyond_usd(
    model: CostModel, year: int, totals: Sequence[int], values: Mapping[str, FloatArray]
) -> tuple[float, ...]:
    """Return the mean present value of a year's on-demand hours, by number of devices."""
    carried = HOURS_PER_YEAR * values[COMMITMENT_UTILIZATION]
    worth = values[model.keep.rate] * values[f"discount_{year}"]
    need = values[f"need_{year}"]
    return tuple(
        float(np.mean(np.maximum(0.0, need - total * carried) * worth)) for total in totals
    )


def _sizes(
    model: CostModel, option: PurchaseOption, draws: Mapping[str, FloatArray]
) -> tuple[int, ...]:
    """Return 0, whole instances up to the need of nearly every draw, its own and the best size."""
    best = _cheapest_size(model, option, draws)
    most = _most_devices(option, draws, option.sold_together)
    stride = _stride(most, option.sold_together)
    return tuple(sorted({*range(0, most + 1, stride), option.devices or 0, best}))


def _most_devices(option: PurchaseOption, draws: Mapping[str, FloatArray], step: int) -> int:
    need = np.max(
        np.array(np.broadcast_arrays(*(draws[f"need_{year}"] for year in PLAN_YEARS))),
        axis=0,
    )
    ratio = draws[option.hours_ratio] if option.hours_ratio else 1.0
    devices = need * ratio / (HOURS_PER_YEAR * draws[COMMITMENT_UTILIZATION])
    return step * math.ceil(float(np.quantile(devices, MAX_NEED_QUANTILE)) / step)


def _stride(most: int, step: int) -> int:
    return step * max(1, math.ceil(most / step / (MAX_SIZES - 1)))


def _npv(
    model: CostModel, option: PurchaseOption, devices: int, values: Mapping[str, FloatArray]
) -> FloatArray:
    """Return an option's present value with another number of devices; 0 means today's option."""
    if devices == 0:
        return values[model.keep.npv]
    amounts = {**values, f"{option.key}_devices": np.array([float(devices)])}
    for line in model.lines:
        if line.name.startswith(f"{option.key}_"):
            amounts[line.name] = value_of(line.formula, amounts)
    return amounts[option.npv]
