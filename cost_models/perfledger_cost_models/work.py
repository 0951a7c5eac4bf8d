"""How fast work is done into the accelerator-hours that one piece of it takes.

What a piece costs is its accelerator-hours times what a useful one costs, whatever the piece is: a
step, a million tokens or samples, a thousand inferences, a training to its target.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from perfledger_cost_models.draws import FloatArray, pert

SECONDS_PER_HOUR = 3600
MILLION, THOUSAND = 1_000_000, 1_000
# MLPerf's own rule of scoring: of more runs than this the best and the worst are dropped.
MIN_SCORED = 3


class WorkError(ValueError):
    """A speed that no work has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one piece of work takes on one kind of accelerator."""

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
                f"{self.high_hours} hours: give a speed above zero, low <= middle <= high"
            )
            raise WorkError(msg)

    @property
    def drawn_hours(self) -> FloatArray:
        """Return draws of the hours, from PERT; one entry where they are certain."""
        if self.low_hours == self.high_hours:
            return np.array([self.hours])
        name = f"{self.piece} on {self.accelerator}"
        return pert(self.low_hours, self.hours, self.high_hours, name=name)


def step_work(
    accelerator: str, seconds: Sequence[float], *, accelerators: int, source: str
) -> Work:
    """Return a step of so many seconds (low, middle, high) on so many accelerators: N·t / 3600."""
    low, middle, high = (accelerators * each / SECONDS_PER_HOUR for each in seconds)
    return _work(accelerator, "a step", (low, middle, high), source)


def units_work(
    accelerator: str, units_per_second: Sequence[float], *, unit: str, source: str
) -> Work:
    """Return a million units of work at so many a second of one accelerator: 10^6 / (3600 v)."""
    return _work(accelerator, f"a million {unit}", _hours(units_per_second, MILLION), source)


def inference_work(accelerator: str, queries_per_second: Sequence[float], *, source: str) -> Work:
    """Return a thousand inferences at so many a second of one accelerator: 1 / (3.6 q)."""
    hours = _hours(queries_per_second, THOUSAND)
    return _work(accelerator, "a thousand inferences", hours, source)


def training_work(
    accelerator: str,
    run_seconds: Sequence[float],
    *,
    accelerators: int,
    source: str,
    overhead: Sequence[float] = (1.0, 1.0, 1.0),
) -> Work:
    """Return a training to its target: N·T·overhead, from the times of runs that reached it.

    T is the mean of the runs; with more than three the fastest and the slowest are dropped, as
    MLPerf scores. `overhead` (low, middle, high) is for all that a run on a fleet takes besides:
    restarts, evaluations, saves. Raises WorkError for no runs.
    """
    ordered = sorted(run_seconds)
    if not ordered:
        msg = "no run reached its target: there is no time to train"
        raise WorkError(msg)
    scored = ordered[1:-1] if len(ordered) > MIN_SCORED else ordered
    hours = accelerators * mean(scored) / SECONDS_PER_HOUR
    low, middle, high = (hours * each for each in overhead)
    return _work(accelerator, "a training to target", (low, middle, high), source)


def _hours(per_second: Sequence[float], units: int) -> tuple[float, float, float]:
    if not all(speed > 0 for speed in per_second):
        msg = f"a speed of {min(per_second)} a second: give one above zero"
        raise WorkError(msg)
    slow, middle, fast = (units / (speed * SECONDS_PER_HOUR) for speed in per_second)
    return fast, middle, slow


def _work(accelerator: str, piece: str, hours: tuple[float, float, float], source: str) -> Work:
    low, middle, high = hours
    return Work(
        accelerator=accelerator,
        piece=piece,
        low_hours=low,
        hours=middle,
        high_hours=high,
        source=source,
    )
