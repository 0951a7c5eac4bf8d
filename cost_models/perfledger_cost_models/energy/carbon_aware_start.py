"""Finds the cheapest or greenest time to run a deferrable job, with or without pauses.

Time is cut into ticks that divide all times involved, so that the best start is exact: a job's
cost is linear between the moments at which a value, the job or its deadline begins or ends, and all
of these are ticks.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfledger.rounding import digits, for_programs, integer
from perfledger.time_units import MINUTES_PER_HOUR, SECONDS_PER_HOUR
from perfledger_cost_models.arrays import BoolArray, FloatArray
from perfledger_cost_models.energy.energy import energy_kwh
from perfledger_cost_models.energy.hourly_csv import HourlySeries
from perfledger_cost_models.energy.start_objective import StartObjective
from perfledger_cost_models.money import Usd

_MINUTE_S = 60
# Ticks to the deadline times ticks of work; backtracking needs two bytes for each cell.
MAX_CELLS = 30_000_000
MAX_KW = 1e6  # a gigawatt: more than any site draws, so a wrong unit
# Tolerance for sums of the same values in another order.
SUM_TOLERANCE = 1e-12


class StartWindowError(ValueError):
    """An error for a job that does not fit before its deadline, or not into the known hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferrableJob:
    """A job that may start later; all of its devices together."""

    hours: float
    earliest_s: float  # since 1970, UTC
    deadline_s: float
    kw: float | None = None  # mean draw, the facility's share included; None: kilograms unknown
    pause_hours: float | None = None  # saving and loading, for each pause; None: it cannot pause


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """When a job runs and what that costs; figures are None if the file or the job lacks them."""

    runs: tuple[tuple[float, float], ...]  # start, end; seconds since 1970, UTC
    kg_per_kwh: float | None  # mean while it runs
    kg: float | None
    usd: Usd | None

    @property
    def hours(self) -> float:
        """Return how long it runs, including its pauses."""
        return sum(end - start for start, end in self.runs) / SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWindow:
    """The best plan and the plan of starting at once."""

    aim: StartObjective
    values: tuple[tuple[float, float, float], ...]  # start, end, value to minimise
    at_once: StartPlan
    best: StartPlan

    @property
    def saved_kg(self) -> float | None:
        """Return the kilograms of CO2 equivalent that waiting saves; below 0 it emits more."""
        return _difference(self.at_once.kg, self.best.kg)

    @property
    def saved_usd(self) -> Usd | None:
        """Return the money that waiting saves; below 0 it costs more."""
        saved = _difference(self.at_once.usd, self.best.usd)
        return None if saved is None else Usd(saved)


def start_window(task: DeferrableJob, series: HourlySeries, *, aim: StartObjective) -> StartWindow:
    """Return the best time to run a job; among equally good ones the earliest.

    Raises StartWindowError if the deadline is too early, the series does not reach it, or the
    series lacks the values to minimise.
    """
    series = _with_job_prices(series, task)
    values = series.kg_per_kwh if aim is StartObjective.KG else series.usd_per_hour
    if values is None:
        msg = f"the file has no values of {aim}: choose an objective that it has"
        if aim is StartObjective.USD and series.usd_per_kwh is not None:
            msg = "the file has prices of power: also give the job's mean power (--mean-kw)"
        raise StartWindowError(msg)
    grid = _grid(task, series)
    cost = _ticks(values, grid, series)
    start = _contiguous(cost, grid.work)
    best = [(start, start + grid.work)]
    if grid.pause is not None:
        best = _with_pauses(cost, work=grid.work, pause=grid.pause)
    return StartWindow(
        aim=aim,
        values=_stretches(values, task, series),
        at_once=_plan([(0, grid.work)], grid, task, series),
        best=_plan(best, grid, task, series),
    )


def _with_job_prices(series: HourlySeries, task: DeferrableJob) -> HourlySeries:
    """Return a series with the job's prices, if it has prices of power and the job has a power."""
    if series.usd_per_kwh is None or task.kw is None:
        return series
    return replace(series, usd_per_hour=tuple(usd * task.kw for usd in series.usd_per_kwh))


def _stretches(
    values: Sequence[float], task: DeferrableJob, series: HourlySeries
) -> tuple[tuple[float, float, float], ...]:
    """Return the values from the earliest start to the deadline, each with its start and end."""
    starts = (series.start_s + index * series.step_s for index in range(len(values)))
    return tuple(
        (max(start, task.earliest_s), min(start + series.step_s, task.deadline_s), value)
        for start, value in zip(starts, values, strict=True)
        if start + series.step_s > task.earliest_s and start < task.deadline_s
    )


@dataclass(frozen=True, slots=True)
class _Grid:
    """The times of a job in ticks from its earliest start."""

    tick_s: int
    start_s: int
    count: int  # to the deadline
    work: int
    pause: int | None


def _grid(task: DeferrableJob, series: HourlySeries) -> _Grid:
    if task.kw is not None and not 0 < task.kw <= MAX_KW:
        msg = (
            f"a power of {for_programs(task.kw)} kW: give the job's mean, above 0 and up to "
            f"{integer(MAX_KW)}"
        )
        raise StartWindowError(msg)
    start = math.ceil(_minutes(task.earliest_s, "the earliest start"))
    deadline = math.floor(_minutes(task.deadline_s, "the deadline"))
    work = math.ceil(_minutes(task.hours * SECONDS_PER_HOUR, "the job's length"))
    pause = None
    if task.pause_hours is not None:
        pause = math.ceil(_minutes(task.pause_hours * SECONDS_PER_HOUR, "a pause's length"))
    if work <= 0 or (pause is not None and pause < 0):
        msg = "give the job's hours above 0 and the minutes of a pause as 0 or more"
        raise StartWindowError(msg)
    if start + work > deadline:
        hours_late = (start + work - deadline) / MINUTES_PER_HOUR
        msg = (
            f"the job ends {digits(hours_late, 3)} h after the deadline even with an immediate "
            "start: move the deadline"
        )
        raise StartWindowError(msg)
    if series.start_s > start * _MINUTE_S or series.end_s < deadline * _MINUTE_S:
        msg = "the file does not cover the earliest start to the deadline: give more hours"
        raise StartWindowError(msg)
    offset = start - round(series.start_s / _MINUTE_S)
    pauses = [] if pause is None else [pause]
    tick = math.gcd(series.step_s // _MINUTE_S, offset, deadline - start, work, *pauses)
    count = (deadline - start) // tick
    if pause is not None and count * (work // tick) > MAX_CELLS:
        msg = f"there are too many ticks of {tick} min: round the times to quarters of an hour"
        raise StartWindowError(msg)
    return _Grid(
        tick_s=tick * _MINUTE_S,
        start_s=start * _MINUTE_S,
        count=count,
        work=work // tick,
        pause=None if pause is None else pause // tick,
    )


def _minutes(seconds: float, name: str) -> float:
    """Return minutes, rounded to drop floating-point noise."""
    if not math.isfinite(seconds):
        msg = f"{name} is {seconds}: give a number"
        raise StartWindowError(msg)
    return round(seconds / _MINUTE_S, 6)


def _ticks(values: Sequence[float], grid: _Grid, series: HourlySeries) -> FloatArray:
    """Return the value of each tick from the earliest start to the deadline."""
    moments_s = grid.start_s + grid.tick_s * np.arange(grid.count)
    indices = ((moments_s - series.start_s) // series.step_s).astype(np.int64)
    return np.array(values, np.float64)[indices]


def _contiguous(cost: FloatArray, work: int) -> int:
    total = np.concatenate([[0.0], np.cumsum(cost)])
    spent = total[work:] - total[:-work]
    return int(np.flatnonzero(spent <= spent.min() + _rounding(cost))[0])


def _rounding(cost: FloatArray) -> float:
    """Return how much two sums of costs may differ by rounding; costs may be negative."""
    return SUM_TOLERANCE * float(np.abs(cost).sum())


def _with_pauses(cost: FloatArray, *, work: int, pause: int) -> list[tuple[int, int]]:
    """Return the cheapest runs, by dynamic programming over ticks and completed work.

    `on[w]` is the least cost of having done w ticks of work and being ready for the next, `off[w]`
    that of having done them and being paused. Resuming costs `pause` ticks without work; the first
    start does not. At a negative price resuming counts as free, or a job would pause in order to be
    paid for resuming.
    """
    total = np.concatenate([[0.0], np.cumsum(np.maximum(cost, 0.0))])
    rounding = _rounding(cost)
    has_stopped, has_loaded = (np.zeros((len(total), work + 1), np.bool_) for _ in range(2))
    on = np.full(work + 1, np.inf)
    on[0] = 0.0
    before = deque([on.copy()], maxlen=pause + 1)  # of `off`, the last one now
    for tick, spent in enumerate(cost, start=1):
        # If resuming is free, the job may continue from a pause as if it had not stopped.
        on[1:] = (on if pause else before[-1])[:-1] + spent
        if 0 < pause <= tick:
            loaded = before[-pause] + (total[tick] - total[tick - pause])
            has_loaded[tick, 1:] = (loaded < on - rounding)[1:]
            on = np.where(has_loaded[tick], loaded, on)
        has_stopped[tick] = on < before[-1] - rounding
        before.append(np.where(has_stopped[tick], on, before[-1]))
    return _backtrack(has_stopped, has_loaded, work=work, pause=pause)


def _backtrack(
    has_stopped: BoolArray, has_loaded: BoolArray, *, work: int, pause: int
) -> list[tuple[int, int]]:
    """Return the stretches in which the job runs, by backtracking from the last tick.

    A stretch that resumes at once stays separate from the one before, because resuming takes time.
    """
    tick = len(has_stopped) - 1
    runs: list[tuple[int, int]] = []  # from the last to the first
    end: int | None = None  # of the run at this tick
    while work:
        if end is None:
            end = tick if has_stopped[tick, work] else None
            tick -= end is None
        elif has_loaded[tick, work]:
            tick -= pause
            runs.append((tick, end))
            end = None
        else:
            tick, work = tick - 1, work - 1
            if not work or not (pause or has_stopped[tick, work]):
                runs.append((tick, end))
                end = None
    return runs[::-1]


def _plan(
    runs: Sequence[tuple[int, int]], grid: _Grid, task: DeferrableJob, series: HourlySeries
) -> StartPlan:
    hours = grid.tick_s / SECONDS_PER_HOUR

    def spent(values: tuple[float, ...] | None) -> float | None:
        if values is None:
            return None
        ticks = _ticks(values, grid, series)
        return float(sum(ticks[start:end].sum() for start, end in runs)) * hours

    intensity_hours, usd = spent(series.kg_per_kwh), spent(series.usd_per_hour)
    ran = sum(end - start for start, end in runs)
    kg = None
    if intensity_hours is not None and task.kw is not None:
        mean = intensity_hours / (ran * hours)
        kwh = energy_kwh(power_w=task.kw * 1000, seconds=ran * grid.tick_s, pue=1.0)
        kg = kwh * mean
    return StartPlan(
        runs=tuple(
            (grid.start_s + start * grid.tick_s, grid.start_s + end * grid.tick_s)
            for start, end in runs
        ),
        kg_per_kwh=None if intensity_hours is None else intensity_hours / (ran * hours),
        kg=kg,
        usd=None if usd is None else Usd(usd),
    )


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else before - after
