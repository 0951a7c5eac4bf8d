"""A plan and prices into one model of what every way to get the hours costs over three years.

The model is text: named inputs, and formulas over them. Payments of a year are made at its end,
what is due up front and what is bought at its beginning. Existing supply carries the first hours
for all ways alike, and what it costs is no part of the decision: it is paid in any case.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum

from perfledger_cost_models.age import Shelf, shelf_of
from perfledger_cost_models.formula import Line
from perfledger_cost_models.input_words import INPUT_WORDS
from perfledger_cost_models.interruption import Interruptions, best_interval_h, expected_hours
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.onprem import HOURS_PER_YEAR, LICENCES, SERVERS, UTILIZATION, Server
from perfledger_cost_models.parameter import ParameterSheet
from perfledger_cost_models.procurement_plan import Plan, PlanError, PlannedOption, Range, Spot
from perfledger_cost_models.purchase import Mode, Payment, mode_of
from perfledger_cost_models.sheet import Price, PriceMissingError, PriceSheet

YEARS = 3
HOURS = "hours_a_year"
GROWTH = "hours_growth"
USE = "use_share"
WACC = "wacc"
RESIDUAL = "residual_value_36m"  # after the three years, when the model sells
NOT_IN_THE_MODEL = frozenset({"residual_value_60m", "depreciation_years"})


class Basis(StrEnum):
    """What a figure rests on."""

    MEASURED = "measured"
    QUOTED = "quoted"
    ASSUMED = "assumed"


class Kind(StrEnum):
    """How a way to get hours is paid for."""

    PAY_AS_YOU_GO = "pay as you go"
    SPOT = "spot"
    BLOCK = "capacity block"
    COMMITMENT = "commitment"
    OWNED = "owned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One named figure that the model starts from; `shelf` is how long it keeps, for prices."""

    name: str
    words: str
    unit: str
    low: Decimal
    mode: Decimal
    high: Decimal
    basis: Basis
    source: str
    as_of: date | None = None
    is_read_date: bool = False
    shelf: Shelf | None = None

    @property
    def is_certain(self) -> bool:
        """Whether it has no range."""
        return self.low == self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to get the hours: what it is, and the names of its figures in the model."""

    key: str  # "w1": begins the names of its inputs and lines
    name: str
    where: str
    kind: Kind
    accelerator: str
    devices: int | None  # committed to or bought; None where as many as needed are paid for
    years: int  # of a commitment
    upfront_share: Decimal
    lead_time: str
    note: str
    mode: Mode | None  # None where it is owned
    server: Server | None = None

    @property
    def rate(self) -> str:
        """Return the name of its price an hour; an owned one has that of the server instead."""
        return f"{self.key}_usd_per_hour" if self.server is None else self.server.price

    @property
    def paid(self) -> tuple[str, ...]:
        """Return the names of what is paid at the start and at the end of each year."""
        return tuple(f"{self.key}_paid_{year}" for year in range(YEARS + 1))

    @property
    def npv(self) -> str:
        """Return the name of what all its payments are worth today."""
        return f"{self.key}_npv_usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpriced:
    """A way that was asked for and has no price, and why."""

    name: str
    where: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """All ways over the same inputs; lines are in an order in which each needs only earlier."""

    accelerator: str
    inputs: tuple[Input, ...]
    lines: tuple[Line, ...]
    ways: tuple[Way, ...]
    keep: Way
    unpriced: tuple[Unpriced, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What ways are made from."""

    plan: Plan
    sheet: PriceSheet
    parameters: ParameterSheet


def hours_of(key: str) -> str:
    """Return the name of the ratio of hours of a way on another accelerator."""
    return f"{key}_hours_per_hour"


def ways_of(
    figures: Figures, *, need_hours: Decimal
) -> tuple[tuple[Way, ...], tuple[Unpriced, ...]]:
    """Return the plan's ways, and those without a price; `need_hours` is the first year's need.

    What is kept must have a price by use: raises PriceMissingError or PlanError.
    """
    ways: list[Way] = []
    unpriced: list[Unpriced] = []
    for place, option in enumerate(figures.plan.option, start=1):
        try:
            way = _way(f"w{place}", option, figures, need_hours)
        except (PriceMissingError, PlanError) as error:
            if option.where == figures.plan.demand.keep:
                raise
            unpriced.append(Unpriced(name=option.name, where=option.where, why=str(error)))
        else:
            ways.append(way)
    keep = next(way for way in ways if way.where == figures.plan.demand.keep)
    accelerator = figures.plan.demand.accelerator
    if keep.kind is not Kind.PAY_AS_YOU_GO or keep.accelerator != accelerator:
        msg = f"keep is {keep.where!r}: name one that sells {accelerator} on demand"
        raise PlanError(msg)
    return tuple(ways), tuple(unpriced)


def plan_inputs(figures: Figures, *, hours: Range, supply: Sequence[Decimal]) -> tuple[Input, ...]:
    """Return the inputs that all ways share: demand, use, supply, cost of capital."""
    demand = figures.plan.demand
    use = figures.parameters.find(UTILIZATION)
    return (
        _ranged(HOURS, f"useful {demand.accelerator} hours a year", "h/year", hours),
        _ranged(GROWTH, "growth of the hours", "per year", demand.growth),
        _ranged(USE, "share of hours held that is useful", "share", demand.use)
        if demand.use is not None
        else _parameter(figures, use.name, name=USE),
        *(
            Input(
                name=f"supply_{year}",
                words=f"devices there already, mean of year {year}",
                unit="devices",
                low=devices,
                mode=devices,
                high=devices,
                basis=Basis.QUOTED,
                source="[[supply]] of the plan, by its days",
            )
            for year, devices in enumerate(supply, start=1)
        ),
        _parameter(figures, WACC),
    )


def way_inputs(figures: Figures, ways: Sequence[Way]) -> tuple[Input, ...]:
    """Return the inputs of single ways: prices, ratios of hours, and what owning costs."""
    found: dict[str, Input] = {}
    for way in ways:
        for each in _own_inputs(figures, way):
            found.setdefault(each.name, each)
    return tuple(found.values())


def _own_inputs(figures: Figures, way: Way) -> tuple[Input, ...]:
    inputs: list[Input] = []
    if way.server is None:
        inputs.append(_rate(figures.sheet.find(way.where), way))
    else:
        inputs += [_parameter(figures, name) for name in (*way.server.inputs, RESIDUAL)]
        inputs = [each for each in inputs if each.name not in NOT_IN_THE_MODEL]
        inputs.append(_licence(figures))
    if way.kind is Kind.SPOT and figures.plan.spot is not None:
        inputs += _spot(way, figures.plan.spot)
    speed = next((one for one in figures.plan.speed if one.accelerator == way.accelerator), None)
    if way.accelerator != figures.plan.demand.accelerator and speed is not None:
        words = f"{way.accelerator} hours that do the work of one"
        inputs.append(_ranged(hours_of(way.key), words, "h/h", speed.hours))
    if way.devices is not None:
        inputs.append(_devices(way))
    return tuple(inputs)


def _way(key: str, option: PlannedOption, figures: Figures, need_hours: Decimal) -> Way:
    server = next((one for one in SERVERS if one.option == option.where), None)
    price = None if server is not None else figures.sheet.find(option.where)
    mode = None if price is None else mode_of(price)
    accelerator = price.accelerator if price is not None else server.accelerator if server else ""
    kind = _kind(price, mode)
    ratio = _ratio(figures.plan, accelerator)
    if kind is Kind.SPOT and figures.plan.spot is None:
        msg = "how often it is interrupted is not known: add [spot] to the plan"
        raise PlanError(msg)
    count = server.accelerators if server is not None else price.count if price is not None else 1
    is_sized = kind in {Kind.COMMITMENT, Kind.OWNED}
    if kind is Kind.COMMITMENT and mode is not None and mode.years not in {1, YEARS}:
        msg = f"a term of {mode.years} years: this review reckons with terms of 1 and {YEARS}"
        raise PlanError(msg)
    return Way(
        key=key,
        name=option.name,
        where=option.where,
        kind=kind,
        accelerator=accelerator,
        devices=_size(option, figures, need_hours * ratio, count) if is_sized else None,
        years=0 if mode is None else mode.years,
        upfront_share=Decimal(0) if mode is None else mode.upfront_share,
        lead_time=option.lead_time,
        note=option.note,
        mode=mode,
        server=server,
    )


def _kind(price: Price | None, mode: Mode | None) -> Kind:
    if price is None or mode is None:
        return Kind.OWNED
    if shelf_of(price.pricing_model) is Shelf.SPOT:
        return Kind.SPOT
    if mode.payment is Payment.USED:
        return Kind.PAY_AS_YOU_GO
    return Kind.COMMITMENT if mode.years else Kind.BLOCK


def _ratio(plan: Plan, accelerator: str) -> Decimal:
    if accelerator == plan.demand.accelerator:
        return Decimal(1)
    for speed in plan.speed:
        if speed.accelerator == accelerator:
            return speed.hours.mode
    msg = (
        f"nothing says how many {accelerator} hours do the work of one {plan.demand.accelerator} "
        "hour: measure a workload on both, or add [[speed]] to the plan"
    )
    raise PlanError(msg)


def _size(option: PlannedOption, figures: Figures, need_hours: Decimal, count: int) -> int:
    """Return how many devices are bought: as planned, else whole instances that carry the need."""
    if option.devices is not None:
        if option.devices % count:
            msg = f"{option.name}: {option.devices} devices, but one {option.where} has {count}"
            raise PlanError(msg)
        return option.devices
    planned = figures.plan.demand.use
    use = figures.parameters.find(UTILIZATION).mode if planned is None else planned.mode
    instances = need_hours / (HOURS_PER_YEAR * use * count)
    return count * max(1, int(instances.to_integral_value(rounding=ROUND_CEILING)))


def _rate(price: Price, way: Way) -> Input:
    usd = price.usd_per_device_hour
    region = f"{price.region}; " if price.region else ""
    return Input(
        name=way.rate,
        words=f"{way.name}: {price.accelerator}, {price.provider} {price.option}",
        unit="USD/h",
        low=usd,
        mode=usd,
        high=usd,
        basis=Basis.QUOTED if price.is_trusted else Basis.ASSUMED,
        source="; ".join(filter(None, (f"{region}{price.source}", price.note))),
        as_of=price.as_of,
        is_read_date=price.is_read_date,
        shelf=shelf_of(price.pricing_model),
    )


def _licence(figures: Figures) -> Input:
    """Return the price of licences: bought or not, so without a range unless the plan gives one."""
    found = _parameter(figures, LICENCES)
    if any(one.parameter == LICENCES for one in figures.plan.input):
        return found
    return replace(found, low=found.mode, high=found.mode)


def _spot(way: Way, spot: Spot) -> tuple[Input, ...]:
    """Return the overhead of saving and repeating work, and the share that falls back."""
    found = spot.interruptions_per_hour
    low, mode, high = (_overhead(spot, rate) for rate in (found.low, found.mode, found.high))
    words = f"hours paid for an hour of work: {found.mode} interruptions an hour"
    overhead = Range(low=low, mode=mode, high=high, source=found.source, basis=found.basis)
    share = f"share done on demand for want of {way.where}"
    return (
        _ranged(f"{way.key}_overhead", words, "h/h", overhead),
        _ranged(f"{way.key}_fallback", share, "share", spot.fallback),
    )


def _overhead(spot: Spot, per_hour: Decimal) -> Decimal:
    interruptions = Interruptions(
        per_hour=float(per_hour), save_h=float(spot.save_h), restart_h=float(spot.restart_h)
    )
    every_h = best_interval_h(interruptions)
    if math.isinf(every_h):
        return Decimal(1)
    return to_decimal(expected_hours(every_h, interruptions, interval_h=every_h) / every_h)


def _devices(way: Way) -> Input:
    devices = Decimal(way.devices or 0)
    return Input(
        name=f"{way.key}_devices",
        words=f"{way.name}: devices",
        unit="devices",
        low=devices,
        mode=devices,
        high=devices,
        basis=Basis.QUOTED,
        source="a choice: the plan's, or whole instances that carry the first year's need",
    )


def _parameter(figures: Figures, parameter: str, *, name: str = "") -> Input:
    found = figures.parameters.find(parameter)
    own = {one.parameter: Basis(one.value.basis) for one in figures.plan.input}
    is_price = any(server.price == parameter for server in SERVERS)
    return Input(
        name=name or found.name,
        words=INPUT_WORDS.get(parameter, found.name.replace("_", " ")),
        unit=found.unit,
        low=found.low,
        mode=found.mode,
        high=found.high,
        basis=own.get(parameter, Basis.ASSUMED if found.is_assumed else Basis.QUOTED),
        source="; ".join(filter(None, (found.source, found.note))),
        as_of=found.as_of,
        is_read_date=found.is_read_date,
        shelf=Shelf.HARDWARE if is_price else None,
    )


def _ranged(name: str, words: str, unit: str, found: Range) -> Input:
    return Input(
        name=name,
        words=words,
        unit=unit,
        low=found.low,
        mode=found.mode,
        high=found.high,
        basis=Basis(found.basis),
        source=found.source,
        as_of=found.as_of,
    )
