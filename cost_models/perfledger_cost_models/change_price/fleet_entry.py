"""Draws the hours and the cost of one changed workload on one fleet entry."""

from dataclasses import dataclass
from math import inf

import numpy as np

from perfledger.bundle import Commitment, FleetUse
from perfledger_cost_models.arrays import BoolArray, FloatArray
from perfledger_cost_models.change_price.memory_upgrade import MemoryGrowth
from perfledger_cost_models.draws import DRAWS, draw_pert, draw_ratios
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor
from perfledger_cost_models.quote import HourlyRate, Interval
from perfledger_cost_models.tco.onprem import RATE_COVERAGE

COVERAGE = 0.95  # of the interval on money, and taken to be that of the change's own interval
ENDS = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredChange:
    """A change of one workload: head / base - 1 of its step time, and its peak memory.

    `measured_on` is the accelerator, or the device's own name; None if the ratio was not measured.
    `memory` is None if it is not device memory. `bound_outside` is what bounds the step outside the
    device: "input", "host"; "" if the device does or if it is unknown. `work` is the counted work
    of a step; None if unknown.
    """

    workload: str
    change: Interval
    measured_on: str | None = None
    memory: MemoryGrowth | None = None
    bound_outside: str = ""
    work: WorkloadDescriptor | None = None

    def __post_init__(self) -> None:
        low, middle, high = self.change
        if not -1 <= low <= middle <= high:
            msg = f"change {self.change} of {self.workload!r} violates -1 <= low <= middle <= high"
            raise ValueError(msg)

    @property
    def is_detectable(self) -> bool:
        """Return whether its interval excludes zero."""
        return self.change[0] > 0 or self.change[-1] < 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriceDraws:
    """Draws for one fleet entry, or its most likely figures as arrays of length one."""

    hours: FloatArray  # device-hours a year, before
    growth: FloatArray  # head / base of the step time
    usd_per_hour: FloatArray  # of extra hours
    freed_usd_per_hour: FloatArray  # of hours that a commitment stops paying for if it shrinks
    has_moved: BoolArray  # the workload no longer fits the device
    upgrade_usd_per_hour: FloatArray  # of the larger device

    @property
    def extra_hours(self) -> FloatArray:
        """Return the extra device-hours a year on the old device, minus all of them if it moved."""
        return np.where(self.has_moved, -self.hours, self.hours * (self.growth - 1))

    def cash(self, share: FloatArray, *, shrinks: BoolArray) -> FloatArray:
        """Return the extra USD a year if `share` of the extra hours are bought.

        In draws in which the commitment `shrinks` all of them are given back at its own rate.
        """
        upgrade_usd = self.has_moved * self.hours * self.growth * self.upgrade_usd_per_hour
        usd_per_hour = np.where(shrinks, self.freed_usd_per_hour, share * self.usd_per_hour)
        return self.extra_hours * usd_per_hour + upgrade_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEntryPrice:
    """A change on a fleet entry, with the rate of extra hours there."""

    change: MeasuredChange
    use: FleetUse
    rate: HourlyRate  # of extra hours
    own_rate: HourlyRate  # of its present hours
    commitment: Commitment | None = None
    limit_bytes: float = inf  # the device's memory; infinite if the peak stays below it
    upgrade_rate: HourlyRate | None = None  # of the larger device above the limit
    transfer_factor: float = 1.0  # by which the change may differ from the measured one

    @property
    def is_committed(self) -> bool:
        """Return whether its hours are paid for regardless of use."""
        return self.commitment is not None or self.own_rate.is_committed

    @property
    def is_closed_form(self) -> bool:
        """Return whether the price is hours times change times rate."""
        return not self.is_committed and self.upgrade_rate is None

    def draws(self) -> PriceDraws:
        """Return the joint draws.

        A workload's change has the same draws on all entries, an entry's hours have the same draws
        for all workloads, and the rates of owned hours share theirs, because they share most
        inputs.
        """
        growth = _ratios(
            tuple(1 + end for end in self.change.change), f"change {self.change.workload}"
        )
        bigger = self.rate if self.upgrade_rate is None else self.upgrade_rate
        return PriceDraws(
            hours=draw_pert(
                *hours_of(self.use), name=f"hours {self.use.workload} {self.use.where}"
            ),
            growth=growth,
            usd_per_hour=_rate_draws(self.rate),
            freed_usd_per_hour=_rate_draws(self.own_rate),
            has_moved=self._peaks() > self.limit_bytes,
            upgrade_usd_per_hour=_rate_draws(bigger),
        )

    def modes(self) -> PriceDraws:
        """Return the most likely figures."""
        bigger = self.rate if self.upgrade_rate is None else self.upgrade_rate
        memory = self.change.memory
        has_moved = memory is not None and memory.head_bytes[1] > self.limit_bytes
        return PriceDraws(
            hours=np.array([hours_of(self.use)[1]]),
            growth=np.array([1 + self.change.change[1]]),
            usd_per_hour=np.array([float(self.rate.usd_per_device_hour)]),
            freed_usd_per_hour=np.array([float(self.own_rate.usd_per_device_hour)]),
            has_moved=np.array([has_moved]),
            upgrade_usd_per_hour=np.array([float(bigger.usd_per_device_hour)]),
        )

    def _peaks(self) -> FloatArray:
        memory = self.change.memory
        if memory is None or self.upgrade_rate is None:
            return np.zeros(1)
        return _ratios(memory.head_bytes, f"memory {self.change.workload}")


def hours_of(use: FleetUse) -> Interval:
    """Return an entry's device-hours a year: low, most likely, high."""
    mode = use.device_hours_per_year
    return (mode if use.low is None else use.low, mode, mode if use.high is None else use.high)


def central_interval(draws: FloatArray) -> tuple[float, float]:
    """Return the ends of the central COVERAGE of the draws."""
    low, high = np.quantile(draws, ENDS).tolist()
    return low, high


def _ratios(ends: tuple[float, ...], name: str) -> FloatArray:
    low, middle, high = ends
    if low == high:
        return np.full(DRAWS, middle)
    return draw_ratios(low, middle, high, coverage=COVERAGE, name=name)


def _rate_draws(rate: HourlyRate) -> FloatArray:
    low, middle, high = float(rate.low), float(rate.usd_per_device_hour), float(rate.high)
    if low == high:
        return np.full(DRAWS, middle)
    return draw_ratios(low, middle, high, coverage=RATE_COVERAGE, name="rate")
