"""One changed workload on one entry of the fleet into draws of its hours and of what they cost."""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from perfledger.bundle import Commitment, FleetUse
from perfledger_cost_models.boundary import Growth
from perfledger_cost_models.draws import DRAWS, FloatArray, pert, ratios
from perfledger_cost_models.onprem import RATE_COVERAGE
from perfledger_cost_models.quote import Interval, Rate

COVERAGE = 0.95  # of the interval on money, and taken to be that of the change's own interval
ENDS = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredChange:
    """What a change did to one workload: head / base - 1 of its step time, and its peak memory.

    `measured_on` is the accelerator, or what else the device is called, that it was measured on;
    None where a ratio was told. `memory` is None where it says nothing about a device.
    """

    workload: str
    change: Interval
    measured_on: str | None = None
    memory: Growth | None = None

    def __post_init__(self) -> None:
        low, middle, high = self.change
        if not -1 <= low <= middle <= high:
            msg = f"change {self.change} of {self.workload!r} is not -1 <= low <= middle <= high"
            raise ValueError(msg)

    @property
    def is_detectable(self) -> bool:
        """Whether its interval is on one side of zero."""
        return self.change[0] > 0 or self.change[-1] < 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Draws of one part, or its most likely figures as arrays of one."""

    hours: FloatArray  # device-hours a year, before
    growth: FloatArray  # head / base of the step time
    usd_per_hour: FloatArray
    has_moved: NDArray[np.bool_]  # no longer fits the device
    bigger_usd_per_hour: FloatArray  # of the device that it moves to

    @property
    def extra_hours(self) -> FloatArray:
        """Return the device-hours a year more where it ran before; all are gone if it moved."""
        more: FloatArray = np.where(self.has_moved, -self.hours, self.hours * (self.growth - 1))
        return more

    def cash(self, share: FloatArray | float) -> FloatArray:
        """Return USD a year more; `share` of the hours more where it ran are bought."""
        moved = self.has_moved * self.hours * self.growth * self.bigger_usd_per_hour
        spent: FloatArray = self.extra_hours * share * self.usd_per_hour + moved
        return spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A change on an entry of the fleet, with the rate at which hours more are bought there."""

    found: MeasuredChange
    use: FleetUse
    rate: Rate
    commitment: Commitment | None = None
    limit_bytes: float = inf  # the device's memory; infinite where its peak stays below
    bigger: Rate | None = None  # of the device that it moves to above the limit

    @property
    def is_plain(self) -> bool:
        """Whether hours, change and rate are only multiplied."""
        return self.commitment is None and self.bigger is None

    def draws(self) -> Drawn:
        """Return the joint draws.

        A workload's change is one stream wherever it runs, an entry's hours are one whatever runs
        there, and all rates of owned hours are one: their inputs are mostly the same.
        """
        growth = _ratios(
            tuple(1 + end for end in self.found.change), f"change {self.found.workload}"
        )
        bigger = self.rate if self.bigger is None else self.bigger
        return Drawn(
            hours=pert(*hours_of(self.use), name=f"hours {self.use.workload} {self.use.where}"),
            growth=growth,
            usd_per_hour=_rate_draws(self.rate),
            has_moved=self._peaks() > self.limit_bytes,
            bigger_usd_per_hour=_rate_draws(bigger),
        )

    def modes(self) -> Drawn:
        """Return the most likely figures."""
        bigger = self.rate if self.bigger is None else self.bigger
        memory = self.found.memory
        peak = 0.0 if memory is None else memory.head_bytes[1]
        return Drawn(
            hours=np.array([hours_of(self.use)[1]]),
            growth=np.array([1 + self.found.change[1]]),
            usd_per_hour=np.array([float(self.rate.usd_per_device_hour)]),
            has_moved=np.array([peak > self.limit_bytes]),
            bigger_usd_per_hour=np.array([float(bigger.usd_per_device_hour)]),
        )

    def _peaks(self) -> FloatArray:
        memory = self.found.memory
        if memory is None or self.bigger is None:
            return np.zeros(1)
        return _ratios(memory.head_bytes, f"memory {self.found.workload}")


def hours_of(use: FleetUse) -> Interval:
    """Return an entry's device-hours a year: low, most likely, high."""
    mode = use.device_hours_per_year
    return (mode if use.low is None else use.low, mode, mode if use.high is None else use.high)


def central(draws: FloatArray) -> tuple[float, float]:
    """Return the ends between which the central COVERAGE of the draws lies."""
    low, high = np.quantile(draws, ENDS).tolist()
    return low, high


def _ratios(ends: tuple[float, ...], name: str) -> FloatArray:
    low, middle, high = ends
    if low == high:
        return np.full(DRAWS, middle)
    return ratios(low, middle, high, coverage=COVERAGE, name=name)


def _rate_draws(rate: Rate) -> FloatArray:
    low, middle, high = float(rate.low), float(rate.usd_per_device_hour), float(rate.high)
    if low == high:
        return np.full(DRAWS, middle)
    return ratios(low, middle, high, coverage=RATE_COVERAGE, name="rate")
