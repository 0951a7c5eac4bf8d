"""A model of ways to get hours into which one to take, how sure that is and what would change it.

All inputs are drawn once for all ways (common random numbers). The way to take is the one with the
lowest mean cost: that is also the one with the least mean regret, since regret is cost less that of
the best way, whichever it is. What is done today is only left for a way that is cheaper nearly
surely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from perfledger_cost_models.draws import FloatArray, pert
from perfledger_cost_models.formula import value_of
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.onprem import QUANTILES
from perfledger_cost_models.procurement import Input, Model, Way
from perfledger_cost_models.way_costs import NEED_WORTH

# Changing costs work and trust: it is worth it where nine futures of ten say so.
MIN_CHANCE = 0.9
# List prices moved by 44 % in one step (AWS P5, June 2025): a fourth to twice leaves room.
PRICE_FACTORS = (0.25, 2.0)
GRID = 41
ZOOMS = 4  # each narrows the place where the answer changes 40-fold

Band = tuple[Decimal, Decimal, Decimal]  # P5, P50, P95


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one way comes to; `mode` figures are those of the most likely inputs, in USD."""

    way: Way
    paid: tuple[Decimal, ...]  # at the start and at the end of each year, most likely
    cumulated: tuple[Band, ...]  # paid so far, at the same times
    npv: Decimal  # of what is paid, most likely
    npv_band: Band
    npv_mean: Decimal
    hour: Decimal | None  # a useful hour, most likely; None where no hour need be bought
    hour_band: Band | None
    chance_best: float
    chance_cheaper: float  # than what is done today


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """What one input does to the saving when it alone goes from its low to its high, in USD."""

    input: Input
    at_low: Decimal
    at_high: Decimal

    @property
    def width(self) -> Decimal:
        """Return how much the saving moves."""
        return abs(self.at_high - self.at_low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The value of one input at which, all others at their most likely, another way is cheapest."""

    input: Input
    value: Decimal
    to: str  # the other way's name
    is_price: bool  # looked for far beyond what is likely


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Which way to take."""

    take: str  # a way's key
    best_mean: str  # the way with the lowest mean: taken, or not sure enough to be
    is_clear: bool  # whether what is taken is cheaper than all others nearly surely
    saving: Band  # against what is done today
    regret_mean: Decimal  # what it costs more than the way that turns out best
    regret_p95: Decimal
    outcomes: tuple[Outcome, ...]  # in the model's order
    swings: tuple[Swing, ...]  # the widest first; of the best mean against what is done today
    switches: tuple[Switch, ...]

    def of(self, key: str) -> Outcome:
        """Return a way's outcome."""
        return next(one for one in self.outcomes if one.way.key == key)


def decide(model: Model) -> Decision:
    """Return the decision; the same model gives the same, for the draws are seeded by name."""
    drawn = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    likely = at_modes(model)
    table = np.array(np.broadcast_arrays(*(drawn[way.npv] for way in model.ways)))
    least = table.min(axis=0)
    is_least = table == least
    chances = (is_least / is_least.sum(axis=0)).mean(axis=1)
    kept = table[model.ways.index(model.keep)]
    outcomes = tuple(
        _outcome(way, drawn, likely, kept, float(chance))
        for way, chance in zip(model.ways, chances, strict=True)
    )
    best = int(table.mean(axis=1).argmin())
    is_sure = outcomes[best].chance_cheaper >= MIN_CHANCE
    take = best if is_sure else model.ways.index(model.keep)
    regret = table[take] - least
    return Decision(
        take=model.ways[take].key,
        best_mean=model.ways[best].key,
        is_clear=float(chances[take]) >= MIN_CHANCE,
        saving=_band(kept - table[take]),
        regret_mean=to_decimal(regret.mean()),
        regret_p95=to_decimal(np.quantile(regret, QUANTILES[-1])),
        outcomes=outcomes,
        swings=_swings(model, model.ways[best]),
        switches=_switches(model, model.ways[take]),
    )


def draws_of(given: Input) -> FloatArray:
    """Return an input's draws: PERT over its range, the same for all who draw it by its name."""
    return pert(float(given.low), float(given.mode), float(given.high), name=given.name)


def evaluate(model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return all inputs and lines by name; raises FormulaError for a line that needs another."""
    found = dict(values)
    for line in model.lines:
        found[line.name] = value_of(line.formula, found)
    return found


def at_modes(model: Model) -> dict[str, FloatArray]:
    """Return all figures of the model at the most likely inputs."""
    return evaluate(model, {each.name: np.array([float(each.mode)]) for each in model.inputs})


def _outcome(
    way: Way,
    drawn: Mapping[str, FloatArray],
    likely: Mapping[str, FloatArray],
    kept: FloatArray,
    chance: float,
) -> Outcome:
    npv, need = drawn[way.npv], drawn[NEED_WORTH]
    is_needed = bool(need.min() > 0)
    paid = np.array(np.broadcast_arrays(*(drawn[name] for name in way.paid), need)[:-1])
    return Outcome(
        way=way,
        paid=tuple(to_decimal(likely[name][0]) for name in way.paid),
        cumulated=tuple(_band(each) for each in np.cumsum(paid, axis=0)),
        npv=to_decimal(likely[way.npv][0]),
        npv_band=_band(npv),
        npv_mean=to_decimal(npv.mean()),
        hour=to_decimal(likely[way.npv][0] / likely[NEED_WORTH][0]) if is_needed else None,
        hour_band=_band(npv / need) if is_needed else None,
        chance_best=chance,
        chance_cheaper=float((npv < kept).mean()),
    )


def _swings(model: Model, way: Way) -> tuple[Swing, ...]:
    found = [
        Swing(
            input=each,
            at_low=to_decimal(_saving(model, way, each, each.low)),
            at_high=to_decimal(_saving(model, way, each, each.high)),
        )
        for each in model.inputs
        if not each.is_certain
    ]
    return tuple(sorted(found, key=lambda one: (-one.width, one.input.name)))


def _saving(model: Model, way: Way, given: Input, value: Decimal) -> float:
    values = _with(model, given, np.array([float(value)]))
    return float((values[model.keep.npv] - values[way.npv])[0])


def _with(model: Model, given: Input, values: FloatArray) -> dict[str, FloatArray]:
    likely = {each.name: np.array([float(each.mode)]) for each in model.inputs}
    return evaluate(model, likely | {given.name: values})


def _switches(model: Model, taken: Way) -> tuple[Switch, ...]:
    """Return where each input alone makes another way the cheapest, in either direction.

    Nothing is looked for where another is cheapest at the most likely inputs already.
    """
    found: list[Switch] = []
    if len(model.ways) == 1 or not _is_cheapest(model, taken):
        return ()
    rates = {way.rate for way in model.ways if way.server is None}
    for each in model.inputs:
        mode = float(each.mode)
        ends = (float(each.low), float(each.high))
        if each.name in rates:
            ends = (mode * PRICE_FACTORS[0], mode * PRICE_FACTORS[1])
        for end in ends:
            if end != mode:
                found += _switch(model, taken, each, end, is_price=each.name in rates)
    return tuple(found)


def _is_cheapest(model: Model, taken: Way) -> bool:
    likely = at_modes(model)
    return bool(likely[taken.npv][0] <= min(likely[way.npv][0] for way in model.ways))


def _switch(
    model: Model, taken: Way, given: Input, end: float, *, is_price: bool
) -> Sequence[Switch]:
    """Return the first value on the way from the mode to `end` at which another way is cheapest."""
    near, far = float(given.mode), end
    others = [way for way in model.ways if way.key != taken.key]
    to = taken
    for _ in range(ZOOMS):
        grid = np.linspace(near, far, GRID)
        values = _with(model, given, grid)
        least = np.array(np.broadcast_arrays(*(values[way.npv] for way in others), grid)[:-1])
        beaten = np.flatnonzero(least.min(axis=0) < values[taken.npv])
        if not len(beaten):
            return ()
        place = int(beaten[0])
        to = others[int(least[:, place].argmin())]
        near, far = float(grid[max(place - 1, 0)]), float(grid[place])
    return (Switch(input=given, value=to_decimal(far), to=to.name, is_price=is_price),)


def _band(values: FloatArray) -> Band:
    p5, p50, p95 = np.quantile(values, QUANTILES).tolist()
    return to_decimal(p5), to_decimal(p50), to_decimal(p95)
