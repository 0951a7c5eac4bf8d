"""Computes the accelerator-hours of one piece of work from its speed.

A piece costs its accelerator-hours times the cost of a useful hour, whatever the piece is: a step,
a million tokens or samples, a thousand inferences, a training run to its target.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.draws import draw_pert
from perfledger_cost_models.units import MILLION, THOUSAND

# MLPerf's scoring rule: of more runs than this the best and the worst are dropped.
MIN_SCORED = 3


class WorkError(ValueError):
    """An error for an impossible speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedWork:
    """The hours of one piece of work on one kind of accelerator."""

    accelerator: str  # as on the price sheet
    piece: str  # "a step", "a million tokens", "a thousand inferences", "a training to target"
    low_hours: float  # accelerator-hours
    hours: float
    high_hours: float
    source: str  # where the speed comes from: "measured on ...", "declared: ..."

    def __post_init__(self) -> None:
        is_range = 0 < self.low_hours <= self.hours <= self.high_hours < math.inf
        if not is_range:
            msg = (
                f"{self.piece} on {self.accelerator} takes {self.low_hours}, {self.hours}, "
                f"{self.high_hours} hours: give speeds above zero with low <= middle <= high"
            )
            raise WorkError(msg)

    @property
    def hour_draws(self) -> FloatArray:
        """Return PERT draws of the hours; a single entry if they are certain."""
        if self.low_hours == self.high_hours:
            return np.array([self.hours])
        name = f"{self.piece} on {self.accelerator}"
        return draw_pert(self.low_hours, self.hours, self.high_hours, name=name)


def step_work(
    accelerator: str, seconds: Sequence[float], *, accelerators: int, source: str
) -> PricedWork:
    """Return a step of these seconds (low, middle, high) on N accelerators: N·t / 3600."""
    low, middle, high = (accelerators * each / SECONDS_PER_HOUR for each in seconds)
    return _work(accelerator, "a step", (low, middle, high), source)


def units_work(
    accelerator: str, units_per_second: Sequence[float], *, unit: str, source: str
) -> PricedWork:
    """Return a million units of work at v units per second of one accelerator: 10^6 / (3600 v)."""
    return _work(accelerator, f"a million {unit}", _hours(units_per_second, MILLION), source)


def inference_work(
    accelerator: str, queries_per_second: Sequence[float], *, source: str
) -> PricedWork:
    """Return a thousand inferences at these queries per second of one accelerator: 1 / (3.6 q)."""
    hours = _hours(queries_per_second, THOUSAND)
    return _work(accelerator, "a thousand inferences", hours, source)


def training_work(
    accelerator: str,
    run_seconds: Sequence[float],
    *,
    accelerators: int,
    source: str,
    overhead: Sequence[float] = (1.0, 1.0, 1.0),
) -> PricedWork:
    """Return a training to its target: N·T·overhead, from the times of runs that reached it.

    T is the mean of the runs; of more than three the fastest and the slowest are dropped, as
    MLPerf scores. `overhead` (low, middle, high) covers the rest of a run on a fleet: restarts,
    evaluations, saves. Raises WorkError for no runs.
    """
    ordered = sorted(run_seconds)
    if not ordered:
        msg = "no run reached its target, so there is no time to train"
        raise WorkError(msg)
    scored = ordered[1:-1] if len(ordered) > MIN_SCORED else ordered
    hours = accelerators * mean(scored) / SECONDS_PER_HOUR
    low, middle, high = (hours * each for each in overhead)
    return _work(accelerator, "a training to target", (low, middle, high), source)


def _hours(per_second: Sequence[float], units: int) -> tuple[float, float, float]:
    if not all(speed > 0 for speed in per_second):
        msg = f"a speed of {min(per_second)} a second is not above zero"
        raise WorkError(msg)
    slow, middle, fast = (units / (speed * SECONDS_PER_HOUR) for speed in per_second)
    return fast, middle, slow


def _work(
    accelerator: str, piece: str, hours: tuple[float, float, float], source: str
) -> PricedWork:
    low, middle, high = hours
    return PricedWork(
        accelerator=accelerator,
        piece=piece,
        low_hours=low,
        hours=middle,
        high_hours=high,
        source=source,
    )
