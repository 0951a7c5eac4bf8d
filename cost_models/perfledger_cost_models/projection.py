"""Turns a workload measured on one device into its speed and cost on devices not measured.

What comes out is of types of its own, so that nothing projected can be taken for measured.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import exp, inf
from statistics import median

from perfledger_cost_models.calibration import (
    Calibration,
    PublishedRatio,
    calibrate,
    other_designs,
    residuals_of,
)
from perfledger_cost_models.descriptor import Descriptor
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.roofs import (
    DeviceRoofs,
    MissingPeakError,
    ResourceSeconds,
    dtypes_used,
    reach,
    resource_seconds,
)
from perfledger_cost_models.unit_cost import Throughput, usd_per_million_units


class ProjectionError(ValueError):
    """A projection cannot be made from what was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """How many times as fast as its source a device not measured is taken to be: projected.

    `low` and `high` hold 90 % (`calibration.COVERAGE`) of what was published so far. Seconds are
    per unit of work at the roofs, not what was or will be measured. `unexplained` is the share of
    the measured time that the roofs do not explain, None where no time was given.
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
    dtypes: tuple[str, ...]  # that the target computes in
    unexplained: float | None
    is_calibrated: bool  # results between such designs of chip were published, on seven models


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProjected:
    """Why there is no projection."""

    workload: str
    source: str
    target: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedCost:
    """What a million units of work are projected to cost on one purchase option, in USD."""

    projection: Projection
    rate: Rate
    usd: Decimal
    low: Decimal
    high: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A published ratio beside its projection, calibrated without that model's results."""

    published: PublishedRatio
    projection: Projection

    @property
    def is_covered(self) -> bool:
        """Tell whether the interval holds what was published."""
        return self.projection.low <= self.published.speed <= self.projection.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionCheck:
    """How far off published ratios were projected, each without its own model's results."""

    ratios: int
    median_error: float  # of the point, relative
    covered: float  # share of the ratios inside their 90 % intervals


def project(
    descriptor: Descriptor,
    *,
    source: DeviceRoofs,
    target: DeviceRoofs,
    calibration: Calibration,
    measured_seconds: float | None = None,
) -> Projection | NotProjected:
    """Project a workload's speed from `source`, where it runs, onto `target`.

    Both are taken to reach the same share of their roofs, and the host's share of the time to take
    as long on either (Amdahl). `measured_seconds` are those of a unit on the source. Where the
    host's share is not known, what the roofs do not explain of them may be it: the interval then
    reaches to what the speed would be if all of it were. Raises ProjectionError for a time that is
    none.
    """
    if measured_seconds is not None and not 0 < measured_seconds < inf:
        msg = f"{measured_seconds} seconds a unit of {descriptor.name!r}: give a number above 0"
        raise ProjectionError(msg)
    try:
        return _projection(descriptor, source, target, calibration, measured_seconds)
    except MissingPeakError as error:
        return NotProjected(
            workload=descriptor.name, source=source.key, target=target.key, why=str(error)
        )


def projected_costs(
    projection: Projection, *, units_per_second: Throughput, rates: Sequence[Rate]
) -> tuple[ProjectedCost, ...]:
    """Price a million units of work on the projected device, from the speed of one source device.

    The interval takes throughput, projection and rate at their ends together, which is wider than
    they are jointly likely. Raises ProjectionError for a throughput that is none.
    """
    slow, middle, fast = units_per_second
    if not 0 < slow <= middle <= fast < inf:
        speeds = f"throughput {units_per_second} of {projection.workload!r}"
        msg = f"{speeds} is not 0 < low <= middle <= high"
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
    descriptors: Collection[Descriptor],
    roofs: Mapping[str, DeviceRoofs],
) -> tuple[Checked, ...]:
    """Project each published ratio with what all other models' results tell of the interval.

    Results of one model, trained or asked, in any precision, are left out together. Raises what
    `residuals_of` and `calibrate` raise.
    """
    residuals = residuals_of(ratios, descriptors, roofs)
    by_name = {each.name: each for each in descriptors}
    calibrations = {
        model: calibrate(each for each in residuals if each.model != model)
        for model in {each.model for each in residuals}
    }
    return tuple(
        Checked(
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


def check_of(checked: Sequence[Checked]) -> ProjectionCheck:
    """Return how far off projections of published ratios were; there is one at least."""
    errors = [abs(each.projection.speed / each.published.speed - 1) for each in checked]
    return ProjectionCheck(
        ratios=len(checked),
        median_error=median(errors),
        covered=sum(each.is_covered for each in checked) / len(checked),
    )


def _projection(
    descriptor: Descriptor,
    source: DeviceRoofs,
    target: DeviceRoofs,
    calibration: Calibration,
    measured_seconds: float | None,
) -> Projection:
    before = resource_seconds(descriptor, source)
    after = resource_seconds(descriptor, target)
    whole = before.total if measured_seconds is None else measured_seconds
    unexplained = max(1 - before.total / whole, 0.0)
    host = min(before.fixed / whole, 1.0)
    gain = before.device / after.device
    speed = _amdahl(gain, host=host)
    if_host = speed if descriptor.fixed is not None else _amdahl(gain, host=unexplained)
    distance = reach(before, after)
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
    """Return the speed-up of a whole whose share `host` gains nothing: exactly 1 for no gain."""
    return 1 / (1 + (1 - host) * (1 / gain - 1))
