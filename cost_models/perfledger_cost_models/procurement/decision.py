"""Chooses a purchase option, with its probability of being best and what would change the choice.

All inputs are drawn once for all options (common random numbers). The choice is the option with the
lowest mean cost. It also has the lowest mean regret, since regret is the cost minus that of the
best option in each draw. Today's option is replaced only by one that is almost certainly cheaper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.draws import draw_pert
from perfledger_cost_models.formula import value_of
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import CostModel, ModelInput, PurchaseOption
from perfledger_cost_models.procurement.option_formulas import NEED_WORTH
from perfledger_cost_models.tco.onprem import QUANTILES

# Changing costs work and trust: it pays if the option is cheaper in nine draws of ten.
MIN_CHANCE = 0.9
# List prices moved by 44 % in one step (AWS P5, June 2025); a quarter to twice leaves a margin.
PRICE_FACTORS = (0.25, 2.0)
GRID = 41
ZOOMS = 4  # each narrows down the value at which the answer changes 40-fold

Band = tuple[Decimal, Decimal, Decimal]  # P5, P50, P95


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionOutcome:
    """The costs of one option in USD; single figures are at the most likely inputs."""

    option: PurchaseOption
    paid: tuple[Decimal, ...]  # at the start and in each year
    once: tuple[Decimal, ...]  # of these, at the start and at the end of each year
    cumulated: tuple[Band, ...]  # payments until the start and until the end of each year
    npv: Decimal  # of all payments
    npv_band: Band
    npv_mean: Decimal
    hour: Decimal | None  # per useful hour; None if no hours have to be bought
    hour_band: Band | None
    chance_best: float
    chance_cheaper: float  # than today's option


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingSwing:
    """The saving in USD at the low and the high end of one input, all others at their modes."""

    input: ModelInput
    at_low: Decimal
    at_high: Decimal

    @property
    def width(self) -> Decimal:
        """Return how much the saving moves."""
        return abs(self.at_high - self.at_low)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchingValue:
    """The value of one input at which another option becomes the cheapest, all others at modes."""

    input: ModelInput
    value: Decimal
    alternative: str  # the other option's name


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseDecision:
    """The recommended option, with its regret and what would change the recommendation."""

    recommendation: str  # an option's key
    best_mean: str  # the option with the lowest mean, recommended only if it is likely enough
    is_clear: bool  # whether the recommendation is almost certainly the cheapest
    saving: Band  # compared with today's option
    regret_mean: Decimal  # its cost minus that of the best option, in each draw
    regret_p95: Decimal
    regret_if_not_best: Decimal  # mean of the draws in which another option is cheaper; 0 if none
    outcomes: tuple[OptionOutcome, ...]  # in the model's order
    swings: tuple[SavingSwing, ...]  # of the best mean against today's option, the widest first
    switches: tuple[SwitchingValue, ...]

    def of(self, key: str) -> OptionOutcome:
        """Return an option's outcome."""
        return next(one for one in self.outcomes if one.option.key == key)


def decide(model: CostModel) -> PurchaseDecision:
    """Return the decision; it is reproducible, because the draws are seeded by name."""
    draws = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    likely = evaluate_at_modes(model)
    table = np.array(np.broadcast_arrays(*(draws[option.npv] for option in model.options)))
    least = table.min(axis=0)
    is_least = table == least
    chances = (is_least / is_least.sum(axis=0)).mean(axis=1)
    status_quo = table[model.options.index(model.keep)]
    outcomes = tuple(
        _outcome(option, draws, likely, status_quo, float(chance))
        for option, chance in zip(model.options, chances, strict=True)
    )
    best = int(table.mean(axis=1).argmin())
    is_sure = outcomes[best].chance_cheaper >= MIN_CHANCE
    recommendation = best if is_sure else model.options.index(model.keep)
    regret = table[recommendation] - least
    return PurchaseDecision(
        recommendation=model.options[recommendation].key,
        best_mean=model.options[best].key,
        is_clear=float(chances[recommendation]) >= MIN_CHANCE,
        saving=_band(status_quo - table[recommendation]),
        regret_mean=to_decimal(regret.mean()),
        regret_p95=to_decimal(np.quantile(regret, QUANTILES[-1])),
        regret_if_not_best=to_decimal(regret.sum() / max(1, np.count_nonzero(regret))),
        outcomes=outcomes,
        swings=_swings(model, model.options[best]),
        switches=_switches(model, model.options[recommendation]),
    )


def draws_of(model_input: ModelInput) -> FloatArray:
    """Return an input's draws: PERT over its range, the same wherever it is drawn by its name."""
    return draw_pert(
        float(model_input.low),
        float(model_input.mode),
        float(model_input.high),
        name=model_input.name,
    )


def evaluate(model: CostModel, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return all inputs and lines by name; raises FormulaError for a line with an unknown name."""
    amounts = dict(values)
    for line in model.lines:
        amounts[line.name] = value_of(line.formula, amounts)
    return amounts


def evaluate_at_modes(model: CostModel) -> dict[str, FloatArray]:
    """Return all figures of the model at the most likely inputs."""
    return evaluate(model, {each.name: np.array([float(each.mode)]) for each in model.inputs})


def _outcome(
    option: PurchaseOption,
    draws: Mapping[str, FloatArray],
    likely: Mapping[str, FloatArray],
    status_quo: FloatArray,
    chance: float,
) -> OptionOutcome:
    npv, need = draws[option.npv], draws[NEED_WORTH]
    is_needed = bool(need.min() > 0)
    paid = np.array(np.broadcast_arrays(*(draws[name] for name in option.paid), need)[:-1])
    return OptionOutcome(
        option=option,
        paid=tuple(to_decimal(likely[name][0]) for name in option.paid),
        once=tuple(_once(option, likely, year) for year in range(len(option.paid))),
        cumulated=tuple(_band(each) for each in np.cumsum(paid, axis=0)),
        npv=to_decimal(likely[option.npv][0]),
        npv_band=_band(npv),
        npv_mean=to_decimal(npv.mean()),
        hour=to_decimal(likely[option.npv][0] / likely[NEED_WORTH][0]) if is_needed else None,
        hour_band=_band(npv / need) if is_needed else None,
        chance_best=chance,
        chance_cheaper=float((npv < status_quo).mean()),
    )


def _once(option: PurchaseOption, likely: Mapping[str, FloatArray], year: int) -> Decimal:
    name = option.paid_at_end.get(year) if year else option.paid[0]
    return Decimal(0) if name is None else to_decimal(likely[name][0])


def _swings(model: CostModel, option: PurchaseOption) -> tuple[SavingSwing, ...]:
    swings = [
        SavingSwing(
            input=each,
            at_low=to_decimal(_saving(model, option, each, each.low)),
            at_high=to_decimal(_saving(model, option, each, each.high)),
        )
        for each in model.inputs
        if not each.is_certain
    ]
    return tuple(sorted(swings, key=lambda one: (-one.width, one.input.name)))


def _saving(
    model: CostModel, option: PurchaseOption, model_input: ModelInput, value: Decimal
) -> float:
    values = _with(model, model_input, np.array([float(value)]))
    return float((values[model.keep.npv] - values[option.npv])[0])


def _with(model: CostModel, model_input: ModelInput, values: FloatArray) -> dict[str, FloatArray]:
    likely = {each.name: np.array([float(each.mode)]) for each in model.inputs}
    return evaluate(model, likely | {model_input.name: values})


def _switches(model: CostModel, choice: PurchaseOption) -> tuple[SwitchingValue, ...]:
    """Return where each input alone makes another option the cheapest, in either direction.

    There are none if another option is already the cheapest at the most likely inputs.
    """
    switches: list[SwitchingValue] = []
    if len(model.options) == 1 or not _is_cheapest(model, choice):
        return ()
    rates = {option.rate for option in model.options if option.server is None}
    for each in model.inputs:
        mode = float(each.mode)
        ends = (float(each.low), float(each.high))
        if each.name in rates:
            ends = (mode * PRICE_FACTORS[0], mode * PRICE_FACTORS[1])
        for end in ends:
            if end != mode:
                switches += _switch(model, choice, each, end)
    return tuple(switches)


def _is_cheapest(model: CostModel, choice: PurchaseOption) -> bool:
    likely = evaluate_at_modes(model)
    return bool(likely[choice.npv][0] <= min(likely[option.npv][0] for option in model.options))


def _switch(
    model: CostModel, choice: PurchaseOption, model_input: ModelInput, end: float
) -> Sequence[SwitchingValue]:
    """Return the first value from the mode to `end` at which another option is the cheapest."""
    near, far = float(model_input.mode), end
    alternatives = [option for option in model.options if option.key != choice.key]
    to = choice
    for _ in range(ZOOMS):
        grid = np.linspace(near, far, GRID)
        values = _with(model, model_input, grid)
        least = np.array(
            np.broadcast_arrays(*(values[option.npv] for option in alternatives), grid)[:-1]
        )
        beaten = np.flatnonzero(least.min(axis=0) < values[choice.npv])
        if not len(beaten):
            return ()
        place = int(beaten[0])
        to = alternatives[int(least[:, place].argmin())]
        near, far = float(grid[max(place - 1, 0)]), float(grid[place])
    return (SwitchingValue(input=model_input, value=to_decimal(far), alternative=to.name),)


def _band(values: FloatArray) -> Band:
    p5, p50, p95 = np.quantile(values, QUANTILES).tolist()
    return to_decimal(p5), to_decimal(p50), to_decimal(p95)
