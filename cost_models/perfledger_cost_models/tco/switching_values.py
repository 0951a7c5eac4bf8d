"""Finds the values of single inputs at which owning costs as much as another option."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.tco.buy_vs_rent import owned_usd
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet
from perfledger_cost_models.tco.onprem import (
    DEFAULT_OWNERSHIP,
    Ownership,
    ServerSpec,
    draw_inputs,
    inputs_of,
)

_HALVINGS = 30  # of a range: to nine digits


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchingInput:
    """The value of one input of owning, all others drawn, at which the median cost is equal."""

    parameter: str
    unit: str
    mode: float
    value: float


def switching_inputs(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    usd_per_hour: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> tuple[SwitchingInput, ...]:
    """Return the inputs whose range holds a value at which the median of owning is `usd_per_hour`.

    The input is fixed at that value in all draws. An input is left out if fixing it at its mode
    already changes which side costs less. The value nearest to its mode, relative to the mode,
    comes first.
    """
    draws = draw_inputs(server, sheet, terms=terms)

    def costs_more(figures: Mapping[str, FloatArray]) -> bool:
        return float(np.median(owned_usd(server, sheet, use, figures, terms))) > usd_per_hour

    def costs_more_at(parameter: str, value: float) -> bool:
        return costs_more({**draws, parameter: np.array([value])})

    is_above = costs_more(draws)
    switches: list[SwitchingInput] = []
    for name in inputs_of(server, terms):
        parameter = sheet.find(name)
        mode = float(parameter.mode)
        if costs_more_at(name, mode) is not is_above:
            continue
        for end in (float(parameter.low), float(parameter.high)):
            if costs_more_at(name, end) is is_above:
                continue
            value = _crossing(partial(costs_more_at, name), mode, end)
            switches.append(
                SwitchingInput(parameter=name, unit=parameter.unit, mode=mode, value=value)
            )
    return tuple(sorted(switches, key=lambda one: (_distance(one), one.parameter)))


def _distance(switch: SwitchingInput) -> float:
    """Return how far the value is from the mode, relative to it."""
    return abs(switch.value - switch.mode) / switch.mode if switch.mode else math.inf


def _crossing(is_above: Callable[[float], bool], near: float, far: float) -> float:
    """Return the first value found on the far side of the place where `is_above` changes."""
    side = is_above(near)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if is_above(middle) is side:
            near = middle
        else:
            far = middle
    return far
