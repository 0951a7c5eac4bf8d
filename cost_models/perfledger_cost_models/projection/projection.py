"""Projects a workload's speed and cost from a measured device to other devices.

Projections have separate types, so that they cannot be mistaken for measurements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import exp, inf

from perfledger_cost_models.projection.error import Calibration
from perfledger_cost_models.projection.roofline import (
    DeviceRoofs,
    MissingPeakError,
    ResourceSeconds,
    dtypes_of_both,
    dtypes_used,
    max_projection_error,
    resource_seconds,
)
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.unit_cost import Throughput, usd_per_million_units


class ProjectionError(ValueError):
    """Invalid input of a projection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The projected speed of a device relative to the source device.

    `low` and `high` cover 90 % (`error.COVERAGE`) of published results. Seconds are per unit of
    work at the roofs, not measured times. `unexplained` is the share of the measured time that the
    roofs do not explain; None without a measured time.
    """

    workload: str
    unit: str
    source: str  # keys of the devices
    target: str
    speed: float
    low: float
    high: float
    source_seconds: ResourceSeconds
    target_seconds: ResourceSeconds
    dtypes: tuple[str, ...]  # the types that the target computes in
    unexplained: float | None
    is_calibrated: bool  # published results check such a projection


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingProjection:
    """A missing projection, with the reason."""

    workload: str
    source: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedCost:
    """The projected cost in USD of a million units of work on one purchase option."""

    projection: Projection
    rate: HourlyRate
    usd: Decimal
    low: Decimal
    high: Decimal


def project(
    descriptor: WorkloadDescriptor,
    *,
    source: DeviceRoofs,
    target: DeviceRoofs,
    calibration: Calibration,
    measured_seconds: float | None = None,
) -> Projection | MissingProjection:
    """Project a workload's speed from `source`, where it was measured, to `target`.

    Both devices are assumed to reach the same share of their roofs, and the host to take the same
    time (Amdahl). `measured_seconds` is the time of a unit on the source. If the host's time is
    unknown, the interval extends to the speed for a host that takes all of the time that the roofs
    do not explain. Raises ProjectionError for an invalid time.
    """
    if measured_seconds is not None and not 0 < measured_seconds < inf:
        msg = f"a unit of {descriptor.name!r} takes {measured_seconds} s: use a number above 0"
        raise ProjectionError(msg)
    try:
        return projection_of(descriptor, source, target, calibration, measured_seconds)
    except MissingPeakError as error:
        return MissingProjection(
            workload=descriptor.name, source=source.key, target=target.key, reason=str(error)
        )


def projected_costs(
    projection: Projection, *, units_per_second: Throughput, rates: Sequence[HourlyRate]
) -> tuple[ProjectedCost, ...]:
    """Price a million units of work on the projected device, from the speed of the source device.

    The interval combines the ends of throughput, projection and rate, so it is wider than a joint
    one. Raises ProjectionError for an invalid throughput.
    """
    slow, middle, fast = units_per_second
    if not 0 < slow <= middle <= fast < inf:
        speeds = f"throughput {units_per_second} of {projection.workload!r}"
        msg = f"{speeds} violates 0 < low <= middle <= high"
        raise ProjectionError(msg)
    return tuple(
        ProjectedCost(
            projection=projection,
            rate=rate,
            usd=usd_per_million_units(rate.usd_per_device_hour, middle * projection.speed),
            low=usd_per_million_units(rate.low, fast * projection.high),
            high=usd_per_million_units(rate.high, slow * projection.low),
        )
        for rate in rates
    )


def projection_of(
    descriptor: WorkloadDescriptor,
    source: DeviceRoofs,
    target: DeviceRoofs,
    calibration: Calibration,
    measured_seconds: float | None = None,
) -> Projection:
    """Project as `project`, but raise MissingPeakError for an unknown peak."""
    before = resource_seconds(descriptor, source)
    after = resource_seconds(descriptor, target)
    step_seconds = before.total if measured_seconds is None else measured_seconds
    unexplained = max(1 - before.total / step_seconds, 0.0)
    host = min(before.fixed / step_seconds, 1.0)
    gain = before.device / after.device
    speed = _amdahl(gain, host=host)
    if_host = speed if descriptor.fixed is not None else _amdahl(gain, host=unexplained)
    distance = max_projection_error(before, after)
    dtypes = dtypes_of_both(descriptor, source, target)
    is_checked = calibration.has_checked(source, target, before, after, dtypes)
    half = calibration.log_half_width(
        distance=distance, source=source, target=target, is_checked=is_checked
    )
    return Projection(
        workload=descriptor.name,
        unit=descriptor.unit,
        source=source.key,
        target=target.key,
        speed=speed,
        low=min(speed, if_host) * exp(-half),
        high=max(speed, if_host) * exp(half),
        source_seconds=before,
        target_seconds=after,
        dtypes=dtypes_used(descriptor, target),
        unexplained=None if measured_seconds is None else unexplained,
        is_calibrated=is_checked,
    )


def _amdahl(gain: float, *, host: float) -> float:
    """Return the total speed-up if the share `host` gains nothing; exactly 1 for no gain."""
    return 1 / (1 + (1 - host) * (1 / gain - 1))
