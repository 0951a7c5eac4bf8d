"""Prices a million units of a workload's work at measured or declared throughputs."""

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite

from perfledger.bundle import DeclaredThroughput
from perfledger.records import WorkloadSpec
from perfledger.registration.workload_pattern import is_match
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.quote import HourlyRate, Provenance, UnitCost
from perfledger_cost_models.units import MILLION

Throughput = tuple[float, float, float]  # low, middle and high units per second of one device


def unit_costs(
    *,
    spec: WorkloadSpec,
    units_per_second: Throughput | None,
    device_model: str,
    device_memory_bytes: int | None,
    declared: Sequence[DeclaredThroughput],
    rates: Sequence[HourlyRate],
) -> tuple[UnitCost, ...]:
    """Price a million units of work on every rate: MEASURED, DECLARED or UNKNOWN, never guessed.

    A measurement counts only for the accelerator it was made on; `units_per_second` is that of one
    device, None when nothing was measured. The first matching declaration counts. The interval
    combines the ends of throughput and rate, which is wider than their joint interval.
    """
    if units_per_second is not None and not _is_interval(units_per_second):
        msg = f"throughput {units_per_second} of {spec.id!r} is not 0 < low <= middle <= high"
        raise ValueError(msg)
    here = accelerator_of(device_model, device_memory_bytes)

    def cost(rate: HourlyRate) -> UnitCost:
        if units_per_second is not None and here == rate.accelerator:
            return _known_cost(spec, rate, units_per_second, Provenance.MEASURED)
        entry = _declaration(declared, spec.id, rate.accelerator)
        if entry is None:
            return _unknown_cost(spec, rate, _unknown_reason(units_per_second, device_model))
        speed = entry.units_per_second
        if not _is_interval((speed, speed, speed)):
            problem = "is not a positive number: correct it in the configuration"
            return _unknown_cost(spec, rate, f"declared throughput {speed} {problem}")
        reason = f"declared: {entry.source}"
        return _known_cost(spec, rate, (speed, speed, speed), Provenance.DECLARED, reason=reason)

    return tuple(cost(rate) for rate in rates)


def usd_per_million_units(usd_per_device_hour: Decimal, units_per_second: float) -> Decimal:
    """Return rate / (units per second · 3600 / 10^6), in USD per million units."""
    units_per_hour = to_decimal(units_per_second) * SECONDS_PER_HOUR
    return usd_per_device_hour * MILLION / units_per_hour


def _is_interval(units_per_second: Throughput) -> bool:
    low, middle, high = units_per_second
    return 0 < low <= middle <= high and isfinite(high)


def _declaration(
    declared: Sequence[DeclaredThroughput], workload: str, accelerator: str
) -> DeclaredThroughput | None:
    for entry in declared:
        if entry.device == accelerator and is_match(entry.workload, workload):
            return entry
    return None


def _unknown_reason(units_per_second: Throughput | None, device_model: str) -> str:
    if units_per_second is None:
        return "unavailable on this device: not measured anywhere"
    return f"unavailable on this device: measured on {device_model or 'an unnamed device'}"


def _known_cost(
    spec: WorkloadSpec,
    rate: HourlyRate,
    units_per_second: Throughput,
    provenance: Provenance,
    *,
    reason: str = "",
) -> UnitCost:
    slow, middle, fast = units_per_second
    return UnitCost(
        workload=spec.id,
        unit=spec.unit,
        rate=rate,
        provenance=provenance,
        usd=usd_per_million_units(rate.usd_per_device_hour, middle),
        low=usd_per_million_units(rate.low, fast),
        high=usd_per_million_units(rate.high, slow),
        reason=reason,
    )


def _unknown_cost(spec: WorkloadSpec, rate: HourlyRate, reason: str) -> UnitCost:
    return UnitCost(
        workload=spec.id,
        unit=spec.unit,
        rate=rate,
        provenance=Provenance.UNKNOWN,
        usd=None,
        low=None,
        high=None,
        reason=reason,
    )
