"""Collects the named inputs of a cost model from a plan, a price sheet and hardware inputs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.price_sheet import Price
from perfledger_cost_models.prices.staleness import MaxAge, max_age_of
from perfledger_cost_models.procurement.cost_model import (
    ALLOCATED_SHARE,
    BUSY_SHARE,
    COMMITMENT_UTILIZATION,
    GROWTH,
    HOURS,
    NOT_IN_THE_MODEL,
    RESIDUAL,
    InputBasis,
    ModelInput,
    PlanData,
    PurchaseMode,
    PurchaseOption,
)
from perfledger_cost_models.procurement.hour_shares import HourShare, HourShares
from perfledger_cost_models.procurement.plan import HoursKind, InputRange, SpotTerms
from perfledger_cost_models.source_address import named_address
from perfledger_cost_models.tco.hardware_inputs import WACC
from perfledger_cost_models.tco.input_phrases import input_phrase
from perfledger_cost_models.tco.onprem import LICENCES, SERVERS
from perfledger_cost_models.tco.spot_interruption import (
    InterruptionModel,
    best_interval_h,
    expected_hours,
)


def plan_inputs(
    figures: PlanData, *, hours: InputRange, kind: HoursKind, supply: Sequence[Decimal]
) -> tuple[ModelInput, ...]:
    """Return the inputs that all options share: demand, shares, supply, cost of capital.

    Raises ProcurementPlanError for an unknown share.
    """
    demand, shares = figures.plan.demand, figures.shares
    utilization = shares.required(HourShare.COMMITMENT_UTILIZATION)
    return (
        _range_input(HOURS, f"{kind} {demand.accelerator} hours a year", "h/year", hours),
        _range_input(GROWTH, "growth of the hours", "per year", demand.growth),
        *_conversions(shares, kind),
        _range_input(
            COMMITMENT_UTILIZATION,
            "commitment utilization",
            "share",
            utilization,
        ),
        *(
            _device_count(
                f"supply_{year}",
                f"existing devices, mean of year {year}",
                devices,
                source="[[supply]] of the plan, by its days",
            )
            for year, devices in enumerate(supply, start=1)
        ),
        _parameter(figures, WACC),
    )


def _conversions(shares: HourShares, kind: HoursKind) -> Iterator[ModelInput]:
    """Yield the shares that turn hours of a kind into paid hours."""
    if kind is not HoursKind.PAID:
        allocated = shares.required(HourShare.ALLOCATED)
        yield _range_input(ALLOCATED_SHARE, "allocated share, of paid hours", "share", allocated)
    if kind is HoursKind.BUSY:
        busy = shares.required(HourShare.BUSY)
        yield _range_input(BUSY_SHARE, "busy share, of allocated hours", "share", busy)


def option_inputs(figures: PlanData, options: Sequence[PurchaseOption]) -> tuple[ModelInput, ...]:
    """Return the inputs of single options: prices, hours ratios, and the costs of ownership."""
    inputs: dict[str, ModelInput] = {}
    for option in options:
        for each in _own_inputs(figures, option):
            inputs.setdefault(each.name, each)
    return tuple(inputs.values())


def _own_inputs(figures: PlanData, option: PurchaseOption) -> tuple[ModelInput, ...]:
    inputs: list[ModelInput] = []
    if option.server is None:
        inputs.append(_rate(figures.sheet.find(option.where), option))
    else:
        inputs += [_parameter(figures, name) for name in (*option.server.inputs, RESIDUAL)]
        inputs = [each for each in inputs if each.name not in NOT_IN_THE_MODEL]
        inputs.append(_licence(figures))
    if option.mode is PurchaseMode.SPOT and figures.plan.spot is not None:
        inputs += _spot(option, figures.plan.spot)
    if option.hours_ratio:
        hours = next(
            one.hours for one in figures.plan.speed if one.accelerator == option.accelerator
        )
        label = f"{option.accelerator} hours that replace one"
        inputs.append(_range_input(option.hours_ratio, label, "h/h", hours))
    if option.devices is not None:
        label = f"{option.name}: devices"
        devices = Decimal(option.devices)
        inputs.append(
            _device_count(f"{option.key}_devices", label, devices, source=option.size_basis)
        )
    return tuple(inputs)


def _rate(price: Price, option: PurchaseOption) -> ModelInput:
    usd = price.usd_per_device_hour
    in_region = f"{price.region}; " if price.region else ""
    return ModelInput(
        name=option.rate,
        label=f"{option.name}: {price.accelerator}, {price.provider} {price.option}",
        unit="USD/h",
        low=usd,
        mode=usd,
        high=usd,
        basis=InputBasis.QUOTED if price.is_trusted else InputBasis.ASSUMED,
        source="; ".join(filter(None, (f"{in_region}{price.source}", price.note))),
        source_url=price.source_url,
        as_of=price.as_of,
        is_read_date=price.is_read_date,
        max_age=max_age_of(price.pricing_model),
        region=price.region,
    )


def _licence(figures: PlanData) -> ModelInput:
    """Return the licence price, without a range unless the plan gives one."""
    licence = _parameter(figures, LICENCES)
    if any(one.parameter == LICENCES for one in figures.plan.input):
        return licence
    return replace(licence, low=licence.mode, high=licence.mode)


def _spot(option: PurchaseOption, spot: SpotTerms) -> tuple[ModelInput, ...]:
    """Return the overhead of saving and repeating work, and the share done on demand."""
    interruptions = spot.interruptions_per_hour
    low, mode, high = (
        _overhead(spot, rate)
        for rate in (interruptions.low, interruptions.mode, interruptions.high)
    )
    label = f"hours paid per hour of work, at {interruptions.mode} interruptions an hour"
    overhead = InputRange(
        low=low, mode=mode, high=high, source=interruptions.source, basis=interruptions.basis
    )
    share = f"share done on demand when {option.where} is unavailable"
    return (
        _range_input(f"{option.key}_overhead", label, "h/h", overhead),
        _range_input(f"{option.key}_fallback", share, "share", spot.fallback),
    )


def _overhead(spot: SpotTerms, per_hour: Decimal) -> Decimal:
    interruptions = InterruptionModel(
        per_hour=float(per_hour), save_h=float(spot.save_h), restart_h=float(spot.restart_h)
    )
    every_h = best_interval_h(interruptions)
    if math.isinf(every_h):
        return Decimal(1)
    return to_decimal(expected_hours(every_h, interruptions, interval_h=every_h) / every_h)


def _device_count(name: str, label: str, devices: Decimal, *, source: str) -> ModelInput:
    return ModelInput(
        name=name,
        label=label,
        unit="devices",
        low=devices,
        mode=devices,
        high=devices,
        basis=InputBasis.QUOTED,
        source=source,
    )


def _parameter(figures: PlanData, parameter: str) -> ModelInput:
    figure = figures.parameters.find(parameter)
    input_bases = {one.parameter: InputBasis(one.value.basis) for one in figures.plan.input}
    is_price = any(server.price == parameter for server in SERVERS)
    return ModelInput(
        name=figure.name,
        label=input_phrase(parameter),
        unit=figure.unit,
        low=figure.low,
        mode=figure.mode,
        high=figure.high,
        basis=input_bases.get(
            parameter, InputBasis.ASSUMED if figure.is_assumed else InputBasis.QUOTED
        ),
        source="; ".join(filter(None, (figure.source, figure.note))),
        source_url=figure.source_url,
        as_of=figure.as_of,
        is_read_date=figure.is_read_date,
        max_age=MaxAge.HARDWARE if is_price else None,
    )


def _range_input(name: str, label: str, unit: str, input_range: InputRange) -> ModelInput:
    return ModelInput(
        name=name,
        label=label,
        unit=unit,
        low=input_range.low,
        mode=input_range.mode,
        high=input_range.high,
        basis=InputBasis(input_range.basis),
        source=input_range.source,
        source_url=named_address(input_range.source),
        as_of=input_range.as_of,
    )
