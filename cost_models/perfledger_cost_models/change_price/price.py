"""Prices changes of step time and memory on the fleet in USD a year, with intervals.

dC/year = sum over workloads of H · (head / base - 1) · rate · m: device-hours a year, relative
change, USD per device-hour, and the share of the hours that costs cash (1, except on devices that
are paid for anyway: `idle_commitments`). Where the peak memory outgrows the device, the hours move
to the next larger one (`memory_upgrade`). Changes, hours and rates are drawn jointly, so that every
interval is a joint one, including that of the sum.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from math import inf

import numpy as np

from perfledger.bundle import Commitment, FleetUse, PricingConfig
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import decimals, digits, typed
from perfledger_cost_models.arrays import BoolArray, FloatArray
from perfledger_cost_models.change_price.device_transfer import (
    DeviceTransfers,
    TransferError,
    carried_over,
)
from perfledger_cost_models.change_price.fleet_entry import (
    FleetEntryPrice,
    MeasuredChange,
    PriceDraws,
    central_interval,
    hours_of,
)
from perfledger_cost_models.change_price.fleet_weights import FleetSplitError, hours_of_workload
from perfledger_cost_models.change_price.idle_commitments import (
    cash_share,
    idle_hours,
    queue_effect,
    renewal_devices,
)
from perfledger_cost_models.change_price.memory_upgrade import (
    MemoryGrowth,
    may_outgrow,
    memory_of,
    next_rate,
)
from perfledger_cost_models.change_price.total import JointPrice
from perfledger_cost_models.draws import DRAWS
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.accelerator_names import BYTES_PER_GB
from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.quote import (
    ChangePrice,
    HourlyRate,
    Interval,
    PricedChanges,
    QueueEffect,
)
from perfledger_cost_models.tco.hourly_rates import rate_of

MAX_CHANGE = 1e6  # relative; a higher upper end comes from an unbounded interval
MAX_DEVICE_HOURS = 1e12  # a year: a hundred million accelerators, so a typing error
MAX_PARTS = 4000  # each takes about five milliseconds; more workloads need several checks

_HOW_TO_DECLARE = "[[fleet]] to perfledger.toml, with workload, where and device_hours_per_year"
_NO_HOURS = (0.0, 0.0, 0.0)
NO_TRANSFERS = DeviceTransfers()


@dataclass(frozen=True, slots=True)
class _Market:
    """Prices of a day, and the devices that changes can be carried over between."""

    sheet: PriceSheet
    transfers: DeviceTransfers
    today: date | None


class _CommitmentUse:
    """The extra hours of all changes on one commitment, whose idle devices absorb their sum."""

    def __init__(self, commitment: Commitment) -> None:
        self.commitment = commitment
        self.draws: FloatArray = np.zeros(DRAWS)
        self.mode: FloatArray = np.zeros(1)

    def add(self, part: FleetEntryPrice) -> None:
        """Add the extra hours of a fleet entry."""
        self.draws = self.draws + part.draws().extra_hours
        self.mode = self.mode + part.modes().extra_hours

    def shrinks(self) -> tuple[BoolArray, BoolArray]:
        """Return in which draws the commitment gives hours back, and whether it likely does."""
        can_shrink = self.commitment.can_shrink
        return (self.draws < 0) & can_shrink, (self.mode < 0) & can_shrink

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Return the cash share of each draw, and the most likely one."""
        idle = idle_hours(self.commitment)
        return cash_share(self.draws, idle), cash_share(self.mode, idle)

    def effect(self) -> QueueEffect:
        """Return the effect on the queue."""
        share, mode = self.shares()
        shrinks, mode_shrinks = self.shrinks()
        hours = self.draws * (1 - share) * ~shrinks, self.mode * (1 - mode) * ~mode_shrinks
        return queue_effect(self.commitment, _interval(*hours))


def price_changes(
    changes: Sequence[MeasuredChange],
    *,
    pricing: PricingConfig,
    sheet: PriceSheet,
    today: date | None = None,
    registered: Collection[str] | None = (),
    transfers: DeviceTransfers = NO_TRANSFERS,
) -> PricedChanges:
    """Price changes on every fleet entry that runs their workloads, one by one and in sum.

    `registered` are all workloads of the repository, changed or not: a fleet entry that matches
    several of them divides its hours among them; None if unknown: entries with wildcards need
    weights. `transfers` carries changes over to devices that they were not measured on; a change
    that it cannot carry over has no price there.

    Savings are negative. If hours and rate are certain, without a commitment or a memory upgrade,
    an interval is exactly the change's. A change without a price has usd None and a note that says
    why, never zero, and a sum that lacks it has no value.
    """
    names = None if registered is None else {*registered, *(each.workload for each in changes)}
    market = _Market(sheet, transfers, today)
    parts = _parts(changes, pricing=pricing, market=market, registered=names)
    pools: dict[str, _CommitmentUse] = {}
    for part in parts:
        if isinstance(part, FleetEntryPrice) and part.commitment is not None:
            pools.setdefault(part.use.where, _CommitmentUse(part.commitment)).add(part)
    total = JointPrice()
    by_policy = tuple(JointPrice() for _ in pricing.policies)
    for part in parts:
        price, draws = _price(part, pools) if isinstance(part, FleetEntryPrice) else (part, None)
        total.add(price, draws)
        for policy, joint_price in zip(pricing.policies, by_policy, strict=True):
            if any(is_match(pattern, price.workload) for pattern in policy.workloads):
                joint_price.add(price, draws)
    return PricedChanges(
        prices=tuple(total.prices),
        total=total.price(),
        by_policy=tuple(joint_price.price() for joint_price in by_policy),
        queues=tuple(pool.effect() for pool in pools.values()),
    )


def _parts(
    changes: Sequence[MeasuredChange],
    *,
    pricing: PricingConfig,
    market: _Market,
    registered: Collection[str] | None,
) -> list[FleetEntryPrice | ChangePrice]:
    """Return the entries that can be priced, and a price without an amount for the others."""
    parts: list[FleetEntryPrice | ChangePrice] = []
    commitments = {each.where: each for each in pricing.commitments}
    for change in changes:
        uses = [use for use in pricing.fleet if is_match(use.workload, change.workload)]
        if not uses:
            note = f"no fleet entry matches {change.workload!r}: add {_HOW_TO_DECLARE}"
            parts.append(_no_price(change, note, hours=_NO_HOURS, source=""))
        for use in uses:
            if len(parts) >= MAX_PARTS:
                note = f"more than {MAX_PARTS} workloads on fleet entries: check fewer at once"
                parts.append(_no_price(change, note, hours=hours_of(use), source=use.source))
                continue
            try:
                entry = hours_of_workload(use, change.workload, registered=registered, uses=uses)
            except FleetSplitError as error:
                parts.append(_no_price(change, str(error), hours=_NO_HOURS, source=use.source))
                continue
            parts.append(_part(change, entry, commitments.get(use.where), market))
    return parts


def _part(
    change: MeasuredChange,
    use: FleetUse,
    commitment: Commitment | None,
    market: _Market,
) -> FleetEntryPrice | ChangePrice:
    hours, sheet, today = hours_of(use), market.sheet, market.today
    try:
        rate = runs_on = rate_of(sheet, use.where, today=today)
        if commitment is not None and commitment.overflow:
            rate = rate_of(sheet, commitment.overflow, today=today)
    except PriceMissingError as error:
        return _no_price(change, str(error), hours=hours, source=use.source)
    problem = _problem(change.change, hours)
    if problem:
        return _no_price(change, problem, hours=hours, source=use.source, rate=rate)
    try:
        factor = market.transfers.factor(change, runs_on.accelerator, declared=use.transfer_factor)
    except TransferError as error:
        note = f"measured on {change.measured_on}, which says nothing about {runs_on.accelerator}"
        return _no_price(change, f"{note}: {error}", hours=hours, source=use.source)
    part = FleetEntryPrice(
        change=carried_over(change, factor),
        use=use,
        rate=rate,
        own_rate=runs_on,
        commitment=commitment,
        transfer_factor=factor,
    )
    if change.memory is None or not may_outgrow(change.memory, runs_on.accelerator):
        return part
    limit, needed = memory_of(runs_on.accelerator) or inf, change.memory.head_bytes[-1]
    try:
        bigger = next_rate(sheet, use.where, needed_bytes=needed, today=today)
    except PriceMissingError as error:
        note = f"{_memory_text(change.memory, limit)}: {error}"
        return _no_price(change, note, hours=hours, source=use.source, rate=rate)
    return replace(part, limit_bytes=limit, upgrade_rate=bigger)


def _problem(change: Interval, hours: Interval) -> str:
    low, mode, high = hours
    if not 0 <= low <= mode <= high <= MAX_DEVICE_HOURS:
        return (
            f"device-hours a year {low}, {mode}, {high} violate 0 <= low <= most likely <= high "
            f"<= {typed(MAX_DEVICE_HOURS)}: correct the fleet entry"
        )
    if change[0] <= -1 or change[-1] > MAX_CHANGE:
        return "the change has no finite interval yet: measure more pairs"
    return ""


def _price(
    part: FleetEntryPrice, pools: dict[str, _CommitmentUse]
) -> tuple[ChangePrice, FloatArray | None]:
    draws, modes = part.draws(), part.modes()
    extra = _extra_hours(part, draws, modes) if part.is_committed else None
    share = mode_share = np.zeros(1) if part.is_committed else np.ones(1)
    shrinks = mode_shrinks = np.zeros(1, dtype=bool)
    absorbed = None
    if part.commitment is not None:
        share, mode_share = pools[part.use.where].shares()
        shrinks, mode_shrinks = pools[part.use.where].shrinks()
        absorbed = _interval(
            draws.extra_hours * (1 - share) * ~shrinks,
            modes.extra_hours * (1 - mode_share) * ~mode_shrinks,
        )
    elif extra is not None and extra[-1] > 0:
        return _of_unknown_cash(part, extra), None
    cash = draws.cash(share, shrinks=shrinks)
    usd, low, high = (
        _closed_form(part, cash)
        if part.is_closed_form
        else _interval_usd(cash, modes.cash(mode_share, shrinks=mode_shrinks))
    )
    outgrown = (
        part.change.memory is not None and part.change.memory.head_bytes[0] > part.limit_bytes
    )
    is_freed = extra is not None and extra[1] < 0
    price = ChangePrice(
        workload=part.change.workload,
        rate=part.own_rate if is_freed else part.rate,
        device_hours_per_year=hours_of(part.use),
        hours_source=part.use.source,
        usd=usd,
        low=low,
        high=high,
        is_detectable=part.change.is_detectable or outgrown,
        note="; ".join(filter(None, (_transfer_note(part), _upgrade_note(part), _wait_note(part)))),
        extra_hours=extra,
        absorbed_hours=absorbed,
        renewal_devices=None if extra is None else renewal_devices(extra, part.commitment),
        moves_to=part.upgrade_rate,
        projected_from=_projected_from(part),
    )
    return price, cash


def _extra_hours(part: FleetEntryPrice, draws: PriceDraws, modes: PriceDraws) -> Interval:
    """Return the hours that a change adds or frees, with the change's own interval if possible."""
    low, middle, high = _interval(draws.extra_hours, modes.extra_hours)
    if part.upgrade_rate is not None:
        return low, middle, high
    hours, change = hours_of(part.use), part.change.change
    if hours[0] == hours[-1]:
        return hours[1] * change[0], middle, hours[1] * change[-1]
    # If the change ends at zero, draws beyond zero are simulation noise.
    low = max(low, 0.0) if change[0] >= 0 else low
    return min(low, middle), middle, min(high, 0.0) if change[-1] <= 0 else high


def _of_unknown_cash(part: FleetEntryPrice, extra: Interval) -> ChangePrice:
    """Return the price of hours that idle devices may or may not absorb, which is unknown."""
    note = (
        f"hours on {part.own_rate.label} are paid for whether used or not, and it is unknown "
        "whether idle ones can take more: declare it in a [[commitment]] with devices and "
        "busy_hours_per_year"
    )
    price = _no_price(
        part.change,
        note,
        hours=hours_of(part.use),
        source=part.use.source,
        rate=part.own_rate,
    )
    return replace(price, extra_hours=extra)


def _closed_form(part: FleetEntryPrice, cash: FloatArray) -> tuple[Decimal, Decimal, Decimal]:
    """Return hours · change · rate exactly, and its interval; the change's if all else is certain.

    The cost has the sign of the change: where the change's interval ends at zero, draws beyond zero
    are simulation noise.
    """
    low, middle, high = map(to_decimal, part.change.change)
    hours, rate = hours_of(part.use), part.rate
    at_modes = to_decimal(hours[1]) * rate.usd_per_device_hour
    usd = at_modes * middle
    if hours[0] == hours[-1] and rate.low == rate.high:
        return usd, at_modes * low, at_modes * high
    least, most = map(to_decimal, central_interval(cash))
    least = max(least, Decimal(0)) if low >= 0 else least
    most = min(most, Decimal(0)) if high <= 0 else most
    return usd, min(least, usd), max(most, usd)


def _interval_usd(cash: FloatArray, mode: FloatArray) -> tuple[Decimal, Decimal, Decimal]:
    low, usd, high = map(to_decimal, _interval(cash, mode))
    return usd, low, high


def _interval(draws: FloatArray, mode: FloatArray) -> Interval:
    """Return the central interval around the most likely figure."""
    low, high = central_interval(draws)
    middle = float(mode[0])
    return min(low, middle), middle, max(high, middle)


def _projected_from(part: FleetEntryPrice) -> str:
    is_elsewhere = part.change.measured_on != part.own_rate.accelerator
    return (part.change.measured_on or "") if is_elsewhere else ""


def _transfer_note(part: FleetEntryPrice) -> str:
    if not _projected_from(part):
        return ""
    low, high = decimals(1 / part.transfer_factor, 2), decimals(part.transfer_factor, 2)
    return (
        f"projected, not measured: the change was measured on {part.change.measured_on}, and on "
        f"{part.own_rate.accelerator} it may be {low} to {high} times as large"
        + (", as the configuration declares" if part.use.transfer_factor is not None else "")
    )


def _wait_note(part: FleetEntryPrice) -> str:
    if part.commitment is not None or not part.is_committed:
        return ""
    return (
        "it is unknown how much less jobs would wait: declare a [[commitment]] with devices, "
        "busy_hours_per_year and job_hours"
    )


def _upgrade_note(part: FleetEntryPrice) -> str:
    memory, bigger = part.change.memory, part.upgrade_rate
    if memory is None or bigger is None:
        return ""
    upgrade_text = _memory_text(memory, part.limit_bytes)
    return f"{upgrade_text}; its hours then move to {bigger.label} at the same speed"


def _memory_text(memory: MemoryGrowth, limit_bytes: float) -> str:
    low, middle, _ = memory.head_bytes
    word = "no longer fits" if low > limit_bytes else "may no longer fit"
    needs, before, limit = (
        digits(each / BYTES_PER_GB, 3) for each in (middle, memory.base_bytes, limit_bytes)
    )
    return f"needs {needs} GB of device memory, {before} before, and {word} in {limit} GB"


def _no_price(
    change: MeasuredChange,
    note: str,
    *,
    hours: Interval,
    source: str,
    rate: HourlyRate | None = None,
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
