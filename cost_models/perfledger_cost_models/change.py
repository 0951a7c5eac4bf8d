"""What changes did to step times and memory, and the fleet, into USD a year with an interval.

dC/year = sum over workloads of H · (head / base - 1) · rate · m: device-hours a year, relative
change, USD a device-hour, and the share of the hours that costs cash (1, but for devices that are
paid for anyway: `commitment`). Where the peak memory outgrows the device, the hours move to the
next one up (`boundary`). Changes, hours and rates are drawn together, so that every interval, the
sum's too, is a joint one.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from math import inf

import numpy as np

from perfledger.bundle import Commitment, FleetUse, Pricing
from perfledger.pattern import is_match
from perfledger_cost_models.boundary import Growth, may_outgrow, memory_of, next_rate
from perfledger_cost_models.commitment import cash_share, idle_hours, queue_effect
from perfledger_cost_models.draws import DRAWS, FloatArray
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.part import Drawn, MeasuredChange, Part, central, hours_of
from perfledger_cost_models.quote import ChangePrice, Interval, PricedChanges, QueueEffect, Rate
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.summed import Summing

MAX_CHANGE = 1e6  # relative; an upper end beyond it comes from an interval that has none
MAX_DEVICE_HOURS = 1e12  # a year; a hundred million accelerators, so a slip of the pen
# Each takes about five milliseconds; who has more workloads than this needs several checks.
MAX_PARTS = 4000

_HOW_TO_DECLARE = "[[tool.perfledger.fleet]] with workload, where and device_hours_per_year"
_NO_HOURS = (0.0, 0.0, 0.0)
_GIGABYTE = 1e9


class _Pool:
    """The hours more of all changes on one commitment: its idle devices take their sum."""

    def __init__(self, commitment: Commitment) -> None:
        self.commitment = commitment
        self.draws: FloatArray = np.zeros(DRAWS)
        self.mode: FloatArray = np.zeros(1)

    def add(self, part: Part) -> None:
        """Add a part's hours more."""
        self.draws = self.draws + part.draws().extra_hours
        self.mode = self.mode + part.modes().extra_hours

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Return the cash shares: draw by draw, and the most likely one."""
        idle = idle_hours(self.commitment)
        return cash_share(self.draws, idle), cash_share(self.mode, idle)

    def effect(self) -> QueueEffect:
        """Return what becomes of the queue."""
        share, mode = self.shares()
        return queue_effect(
            self.commitment, _interval(self.draws * (1 - share), self.mode * (1 - mode))
        )


def price_changes(
    changes: Sequence[MeasuredChange],
    *,
    pricing: Pricing,
    sheet: PriceSheet,
    today: date | None = None,
) -> PricedChanges:
    """Price changes on every entry of the fleet that runs their workloads, one by one and together.

    Savings are negative. Where hours and rate are certain, and no commitment or boundary is there,
    an interval is exactly the change's. What cannot be priced has usd None and a note that says
    why, never zero, and a sum that lacks it has no value.
    """
    found = _parts(changes, pricing=pricing, sheet=sheet, today=today)
    pools: dict[str, _Pool] = {}
    for part in found:
        if isinstance(part, Part) and part.commitment is not None:
            pools.setdefault(part.use.where, _Pool(part.commitment)).add(part)
    total = Summing()
    by_policy = tuple(Summing() for _ in pricing.policies)
    for part in found:
        price, draws = _priced(part, pools) if isinstance(part, Part) else (part, None)
        total.add(price, draws)
        for policy, summing in zip(pricing.policies, by_policy, strict=True):
            if any(is_match(pattern, price.workload) for pattern in policy.workloads):
                summing.add(price, draws)
    return PricedChanges(
        prices=tuple(total.prices),
        total=total.price(),
        by_policy=tuple(summing.price() for summing in by_policy),
        queues=tuple(pool.effect() for pool in pools.values()),
    )


def _parts(
    changes: Sequence[MeasuredChange],
    *,
    pricing: Pricing,
    sheet: PriceSheet,
    today: date | None,
) -> list[Part | ChangePrice]:
    """Return what can be priced, and what cannot as a price without an amount."""
    found: list[Part | ChangePrice] = []
    commitments = {each.where: each for each in pricing.commitments}
    for change in changes:
        uses = [use for use in pricing.fleet if is_match(use.workload, change.workload)]
        if not uses:
            note = f"no fleet entry matches {change.workload!r}: declare {_HOW_TO_DECLARE}"
            found.append(_unpriced(change, note, hours=_NO_HOURS, source=""))
        for use in uses:
            if len(found) < MAX_PARTS:
                found.append(_part(change, use, commitments.get(use.where), sheet, today))
            else:
                note = f"more than {MAX_PARTS} workloads on entries of the fleet: check fewer"
                found.append(_unpriced(change, note, hours=hours_of(use), source=use.source))
    return found


def _part(
    change: MeasuredChange,
    use: FleetUse,
    commitment: Commitment | None,
    sheet: PriceSheet,
    today: date | None,
) -> Part | ChangePrice:
    hours = hours_of(use)
    try:
        rate = runs_on = rate_of(sheet, use.where, today=today)
        if commitment is not None and commitment.overflow:
            rate = rate_of(sheet, commitment.overflow, today=today)
    except PriceMissingError as error:
        return _unpriced(change, str(error), hours=hours, source=use.source)
    problem = _problem(change.change, hours)
    if problem:
        return _unpriced(change, problem, hours=hours, source=use.source, rate=rate)
    part = Part(found=change, use=use, rate=rate, commitment=commitment)
    if change.memory is None or not may_outgrow(change.memory, runs_on.accelerator):
        return part
    limit, needed = memory_of(runs_on.accelerator) or inf, change.memory.head_bytes[-1]
    try:
        bigger = next_rate(sheet, use.where, needed_bytes=needed, today=today)
    except PriceMissingError as error:
        note = f"{_outgrowing(change.memory, limit)}: {error}"
        return _unpriced(change, note, hours=hours, source=use.source, rate=rate)
    return replace(part, limit_bytes=limit, bigger=bigger)


def _problem(change: Interval, hours: Interval) -> str:
    low, mode, high = hours
    if not 0 <= low <= mode <= high <= MAX_DEVICE_HOURS:
        return (
            f"device-hours a year {low}, {mode}, {high} are not 0 <= low <= most likely <= high "
            f"<= {MAX_DEVICE_HOURS:.0e}: correct the fleet entry"
        )
    if change[0] <= -1 or change[-1] > MAX_CHANGE:
        return "the change has no bounds yet: measure more pairs"
    return ""


def _priced(part: Part, pools: dict[str, _Pool]) -> tuple[ChangePrice, FloatArray]:
    drawn, modes = part.draws(), part.modes()
    share, mode_share = (np.ones(1), np.ones(1))
    absorbed = None
    if part.commitment is not None:
        share, mode_share = pools[part.use.where].shares()
        absorbed = _interval(drawn.extra_hours * (1 - share), modes.extra_hours * (1 - mode_share))
    cash = drawn.cash(share)
    usd, low, high = _plain(part, cash) if part.is_plain else _interval_usd(cash, modes, mode_share)
    outgrown = part.found.memory is not None and part.found.memory.head_bytes[0] > part.limit_bytes
    price = ChangePrice(
        workload=part.found.workload,
        rate=part.rate,
        device_hours_per_year=hours_of(part.use),
        hours_source=part.use.source,
        usd=usd,
        low=low,
        high=high,
        is_detectable=part.found.is_detectable or outgrown,
        note="; ".join(filter(None, (_elsewhere(part), _moving(part)))),
        absorbed_hours=absorbed,
        moves_to=part.bigger,
    )
    return price, cash


def _plain(part: Part, cash: FloatArray) -> tuple[Decimal, Decimal, Decimal]:
    """Return hours · change · rate, exactly, and its ends: the change's where all else is certain.

    The money cannot have another sign than the change has: what the draws say beyond zero when the
    change's interval ends there is the noise of simulation.
    """
    low, middle, high = map(to_decimal, part.found.change)
    hours, rate = hours_of(part.use), part.rate
    at_modes = to_decimal(hours[1]) * rate.usd_per_device_hour
    usd = at_modes * middle
    if hours[0] == hours[-1] and rate.low == rate.high:
        return usd, at_modes * low, at_modes * high
    least, most = map(to_decimal, central(cash))
    least = max(least, Decimal(0)) if low >= 0 else least
    most = min(most, Decimal(0)) if high <= 0 else most
    return usd, min(least, usd), max(most, usd)


def _interval_usd(
    cash: FloatArray, modes: Drawn, share: FloatArray
) -> tuple[Decimal, Decimal, Decimal]:
    low, usd, high = map(to_decimal, _interval(cash, modes.cash(share)))
    return usd, low, high


def _interval(draws: FloatArray, mode: FloatArray) -> Interval:
    """Return the central interval around the most likely figure."""
    low, high = central(draws)
    middle = float(mode[0])
    return min(low, middle), middle, max(high, middle)


def _elsewhere(part: Part) -> str:
    measured_on = part.found.measured_on
    if measured_on is None or measured_on == part.rate.accelerator:
        return ""
    where = measured_on or "a device that is not on the price sheet"
    return f"measured on {where}; assumes the same ratio on {part.rate.accelerator}"


def _moving(part: Part) -> str:
    memory, bigger = part.found.memory, part.bigger
    if memory is None or bigger is None:
        return ""
    said = _outgrowing(memory, part.limit_bytes)
    return f"{said}: its hours then move to {bigger.label}, at the same speed"


def _outgrowing(memory: Growth, limit_bytes: float) -> str:
    low, middle, _ = memory.head_bytes
    word = "no longer fits" if low > limit_bytes else "may no longer fit"
    return (
        f"needs {middle / _GIGABYTE:.3g} GB of device memory, {memory.base_bytes / _GIGABYTE:.3g} "
        f"before, and {word} the {limit_bytes / _GIGABYTE:.3g} GB that there are"
    )


def _unpriced(
    change: MeasuredChange,
    note: str,
    *,
    hours: Interval,
    source: str,
    rate: Rate | None = None,
) -> ChangePrice:
    return ChangePrice(
        workload=change.workload,
        rate=rate,
        device_hours_per_year=hours,
        hours_source=source,
        usd=None,
        low=None,
        high=None,
        is_detectable=change.is_detectable,
        note=note,
    )
