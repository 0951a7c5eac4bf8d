"""Projects a workload's speed and cost from a measured device to other devices.

Projections have separate types, so that they cannot be mistaken for measurements.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import exp, inf
from statistics import median

from perfledger_cost_models.projection.projection_error import (
    Calibration,
    PublishedRatio,
    calibrate,
    other_designs,
    residuals_of,
)
from perfledger_cost_models.projection.roofline import (
    DeviceRoofs,
    MissingPeakError,
    ResourceSeconds,
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

    `low` and `high` cover 90 % (`projection_error.COVERAGE`) of the published results. Seconds are
    per unit of work at the roofs, not measured times. `unexplained` is the share of the measured
    time that the roofs do not explain, None without a measured time.
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
    is_calibrated: bool  # both chip designs are calibrated with published results


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProjection:
    """A published ratio and its projection, calibrated without that model's results."""

    published: PublishedRatio
    projection: Projection

    @property
    def is_covered(self) -> bool:
        """Return whether the interval contains the published ratio."""
        return self.projection.low <= self.published.speed <= self.projection.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionCheck:
    """The errors of projections of published ratios, each without its own model's results."""

    ratios: int
    median_error: float  # relative error of the point
    covered_share: float  # share of the ratios in their 90 % intervals


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
        return _projection(descriptor, source, target, calibration, measured_seconds)
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


def leave_one_model_out(
    ratios: Sequence[PublishedRatio],
    descriptors: Collection[WorkloadDescriptor],
    roofs: Mapping[str, DeviceRoofs],
) -> tuple[CheckedProjection, ...]:
    """Project each published ratio, with the interval calibrated on the other models' results.

    All results of a model, from training and inference and in any precision, are excluded together.
    Raises the errors of `residuals_of` and `calibrate`.
    """
    residuals = residuals_of(ratios, descriptors, roofs)
    by_name = {each.name: each for each in descriptors}
    calibrations = {
        model: calibrate(each for each in residuals if each.model != model)
        for model in {each.model for each in residuals}
    }
    return tuple(
        CheckedProjection(
            published=residual.ratio,
            projection=_projection(
                by_name[residual.ratio.workload],
                roofs[residual.ratio.source_device],
                roofs[residual.ratio.target_device],
                calibrations[residual.model],
                None,
            ),
        )
        for residual in residuals
    )


def check_of(checked: Sequence[CheckedProjection]) -> ProjectionCheck:
    """Summarise the errors of at least one projection of a published ratio."""
    errors = [abs(each.projection.speed / each.published.speed - 1) for each in checked]
    return ProjectionCheck(
        ratios=len(checked),
        median_error=median(errors),
        covered_share=sum(each.is_covered for each in checked) / len(checked),
    )


def _projection(
    descriptor: WorkloadDescriptor,
    source: DeviceRoofs,
    target: DeviceRoofs,
    calibration: Calibration,
    measured_seconds: float | None,
) -> Projection:
    before = resource_seconds(descriptor, source)
    after = resource_seconds(descriptor, target)
    step_seconds = before.total if measured_seconds is None else measured_seconds
    unexplained = max(1 - before.total / step_seconds, 0.0)
    host = min(before.fixed / step_seconds, 1.0)
    gain = before.device / after.device
    speed = _amdahl(gain, host=host)
    if_host = speed if descriptor.fixed is not None else _amdahl(gain, host=unexplained)
    distance = max_projection_error(before, after)
    half = calibration.log_half_width(distance=distance, source=source, target=target)
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
        is_calibrated=not other_designs(source, target),
    )


def _amdahl(gain: float, *, host: float) -> float:
    """Return the total speed-up if the share `host` gains nothing; exactly 1 for no gain."""
    return 1 / (1 + (1 - host) * (1 / gain - 1))
