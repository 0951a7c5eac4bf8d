"""A change of step time and the fleet that runs the workload into USD a year, with an interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import inf

import numpy as np

from perfledger.bundle import FleetUse
from perfledger.pattern import is_match
from perfledger_cost_models.draws import DRAWS, FloatArray, pert, ratios
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.onprem import RATE_COVERAGE
from perfledger_cost_models.quote import ChangePrice, Rate
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import PriceMissingError, PriceSheet

COVERAGE = 0.95  # of the interval on money, and taken to be that of the change's own interval
MAX_CHANGE = 1e6  # relative; an upper end beyond it comes from an interval that has none
MAX_DEVICE_HOURS = 1e12  # a year; a hundred million accelerators, so a slip of the pen

Change = tuple[float, float, float]  # low, middle and high: head / base - 1 of the step time
Hours = tuple[float, float, float]  # low, most likely and high device-hours a year

_HOW_TO_DECLARE = "[[tool.perfledger.fleet]] with workload, where and device_hours_per_year"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amount:
    usd: Decimal
    low: Decimal
    high: Decimal


def price_of_change(
    *,
    workload: str,
    change: Change,
    fleet: Sequence[FleetUse],
    sheet: PriceSheet,
    today: date | None = None,
    measured_on: str = "",
) -> tuple[ChangePrice, ...]:
    """Price a relative change of step time on every entry of the fleet that runs `workload`.

    USD a year = device-hours a year · change · rate (saving is negative). The interval resamples
    hours, change and rate together; where hours and rate are certain it is exactly the change's.
    `measured_on` is the accelerator, or what else the device is called, that the change was
    measured on. What cannot be priced has usd None and a note that says why, never zero.
    """
    low, middle, high = change
    if not -1 <= low <= middle <= high:
        msg = f"change {change} of {workload!r} is not -1 <= low <= middle <= high"
        raise ValueError(msg)
    uses = [use for use in fleet if is_match(use.workload, workload)]
    if not uses:
        note = f"no fleet entry matches {workload!r}: declare {_HOW_TO_DECLARE}"
        return (_unpriced(workload, change, note, hours=(0.0, 0.0, 0.0), source=""),)
    return tuple(
        _price_use(workload, change, use, sheet=sheet, today=today, measured_on=measured_on)
        for use in uses
    )


def _price_use(
    workload: str,
    change: Change,
    use: FleetUse,
    *,
    sheet: PriceSheet,
    today: date | None,
    measured_on: str,
) -> ChangePrice:
    hours = _hours(use)
    problem = _problem(change, hours)
    try:
        rate = rate_of(sheet, use.where, today=today)
    except PriceMissingError as error:
        return _unpriced(workload, change, str(error), hours=hours, source=use.source)
    if problem:
        return _unpriced(workload, change, problem, hours=hours, source=use.source, rate=rate)
    amount = _amount(change, hours, rate)
    return ChangePrice(
        workload=workload,
        rate=rate,
        device_hours_per_year=hours,
        hours_source=use.source,
        usd=amount.usd,
        low=amount.low,
        high=amount.high,
        is_detectable=_is_detectable(change),
        note=_note(measured_on, rate.accelerator),
    )


def _hours(use: FleetUse) -> Hours:
    mode = use.device_hours_per_year
    return (mode if use.low is None else use.low, mode, mode if use.high is None else use.high)


def _problem(change: Change, hours: Hours) -> str:
    low, mode, high = hours
    if not 0 <= low <= mode <= high <= MAX_DEVICE_HOURS:
        return (
            f"device-hours a year {low}, {mode}, {high} are not 0 <= low <= most likely <= high "
            f"<= {MAX_DEVICE_HOURS:.0e}: correct the fleet entry"
        )
    if change[0] <= -1 or change[-1] > MAX_CHANGE:
        return "the change has no bounds yet: measure more pairs"
    return ""


def _is_detectable(change: Change) -> bool:
    low, _, high = change
    return low > 0 or high < 0


def _amount(change: Change, hours: Hours, rate: Rate) -> _Amount:
    at_modes = to_decimal(hours[1]) * rate.usd_per_device_hour
    usd = at_modes * to_decimal(change[1])
    if hours[0] == hours[-1] and rate.low == rate.high:
        ends = (at_modes * to_decimal(change[0]), at_modes * to_decimal(change[-1]))
    else:
        ends = _joint_interval(change, hours, rate)
    return _Amount(usd=usd, low=min(ends[0], usd), high=max(ends[1], usd))


def _joint_interval(change: Change, hours: Hours, rate: Rate) -> tuple[Decimal, Decimal]:
    """Return the central 95 % of hours · change · rate over joint draws, in USD a year.

    The money cannot have another sign than the change has: what the draws say beyond zero when the
    change's interval ends there is the noise of simulation.
    """
    growth = ratios(*(1 + end for end in change), coverage=COVERAGE, name="change")
    usd = pert(*hours, name="hours") * (growth - 1) * _rate_draws(rate)
    low, high = np.quantile(usd, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]).tolist()
    floor = 0.0 if change[0] >= 0 else -inf
    ceiling = 0.0 if change[-1] <= 0 else inf
    return to_decimal(max(low, floor)), to_decimal(min(high, ceiling))


def _rate_draws(rate: Rate) -> FloatArray:
    low, middle, high = float(rate.low), float(rate.usd_per_device_hour), float(rate.high)
    if low == high:
        return np.full(DRAWS, middle)
    return ratios(low, middle, high, coverage=RATE_COVERAGE, name="rate")


def _note(measured_on: str, accelerator: str) -> str:
    if measured_on == accelerator:
        return ""
    where = measured_on or "a device that is not on the price sheet"
    return f"measured on {where}; assumes the same ratio on {accelerator}"


def _unpriced(
    workload: str,
    change: Change,
    note: str,
    *,
    hours: Hours,
    source: str,
    rate: Rate | None = None,
) -> ChangePrice:
    return ChangePrice(
        workload=workload,
        rate=rate,
        device_hours_per_year=hours,
        hours_source=source,
        usd=None,
        low=None,
        high=None,
        is_detectable=_is_detectable(change),
        note=note,
    )
