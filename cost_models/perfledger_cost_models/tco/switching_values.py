"""Finds where owning and a commitment, or one input of owning, change which of them costs less."""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.tco.buy_vs_rent import idle_and_busy_usd, owned_usd
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet
from perfledger_cost_models.tco.onprem import DEFAULT_OWNERSHIP, Ownership, ServerSpec, inputs_of
from perfledger_cost_models.units import HOURS_PER_YEAR

_HALVINGS = 60  # as many as a float has digits for


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchingInput:
    """The value of one input of owning, all others at their modes, at which its cost is equal."""

    parameter: str
    unit: str
    mode: float
    value: float


def equal_size_share(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    usd_per_hour: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> float | None:
    """Return the share up to which owning costs less than committing to as many devices.

    Both are paid for every hour. A year of the server costs c0 + c1 u, because only its energy
    depends on the share u; the commitment costs K times its rate over the same K hours, so that
    u* = (K rate - c0) / c1, at the median of the draws. 1 where owning costs less at any share,
    None where it never does. Raises PriceMissingError for an input missing on the sheet.
    """
    idle, busy = idle_and_busy_usd(server, sheet, terms)
    margin = HOURS_PER_YEAR * server.accelerators * terms.availability * usd_per_hour - idle
    energy = busy - idle
    always = np.where(margin > 0, 1.0, 0.0)
    shares = np.where(energy > 0, margin / np.where(energy > 0, energy, 1.0), always)
    share = float(np.median(np.clip(shares, 0.0, 1.0)))
    return share or None


def switching_inputs(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    usd_per_hour: float,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> tuple[SwitchingInput, ...]:
    """Return the inputs whose range holds a value at which owning costs `usd_per_hour`.

    The nearest to its mode, relative to it, comes first.
    """

    def difference(parameter: str, value: float) -> float:
        figures = {parameter: np.array([value])}
        return float(owned_usd(server, sheet, use, figures, terms)[0]) - usd_per_hour

    switches: list[SwitchingInput] = []
    for name in inputs_of(server, terms):
        parameter = sheet.find(name)
        mode = float(parameter.mode)
        for end in (float(parameter.low), float(parameter.high)):
            near, far = mode, end
            is_above = difference(name, mode) > 0
            if (difference(name, end) > 0) is is_above:
                continue
            for _ in range(_HALVINGS):
                middle = (near + far) / 2
                if (difference(name, middle) > 0) is is_above:
                    near = middle
                else:
                    far = middle
            switches.append(
                SwitchingInput(parameter=name, unit=parameter.unit, mode=mode, value=far)
            )
    return tuple(
        sorted(switches, key=lambda one: (abs(one.value / (one.mode or 1) - 1), one.parameter))
    )
