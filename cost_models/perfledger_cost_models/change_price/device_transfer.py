"""Carries a measured change of step time over to another device: a projection, never a measurement.

Even if both devices have known peaks and the step is bound by the same resource on both, the part
that changed may gain more or less from the other device than the whole step does, by up to the
error of speed projections. The change is widened by that factor: c · e^±h, with the half-width h of
the log of a projected ratio at COVERAGE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log

from perfledger_cost_models.change_price.fleet_entry import COVERAGE, MeasuredChange
from perfledger_cost_models.projection.error import Calibration
from perfledger_cost_models.projection.roofline import (
    DeviceRoofs,
    MissingPeakError,
    ResourceSeconds,
    max_projection_error,
    resource_seconds,
)
from perfledger_cost_models.quote import Interval

# In order of preference: the types that most steps compute in.
_DTYPES = ("bfloat16", "float16", "float32")


class TransferError(ValueError):
    """An error for a change that cannot be carried over to another device, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTransfers:
    """The devices between which changes are carried over, by their names on the price sheet."""

    roofs: Mapping[str, DeviceRoofs] = field(default_factory=dict[str, DeviceRoofs])
    calibration: Calibration | None = None

    def factor(
        self, change: MeasuredChange, device: str, *, declared: float | None = None
    ) -> float:
        """Return the factor by which the change on `device` may differ; 1 if it was measured there.

        What the owner of the fleet has `declared` takes precedence over what the peaks imply.
        Raises TransferError if the step has another bound there, or if nothing is known.
        """
        measured_on = change.measured_on
        if measured_on is None or measured_on == device:
            return 1.0
        if declared is not None:
            return declared
        if self.calibration is None or not {measured_on, device} <= self.roofs.keys():
            unknown = device if measured_on in self.roofs else measured_on
            msg = f"the peaks of {unknown or 'the device'} are unknown"
            raise TransferError(msg)
        if change.bound_outside:
            msg = f"its step is bound by {change.bound_outside}, not by the device"
            raise TransferError(msg)
        source, target = self.roofs[measured_on], self.roofs[device]
        distance = _distance(change, source, target)
        return exp(
            self.calibration.log_half_width(
                distance=distance, source=source, target=target, coverage=COVERAGE
            )
        )


def carried_over(change: MeasuredChange, factor: float) -> MeasuredChange:
    """Return the change with its ends moved away from its middle by a factor of at least 1."""
    low, middle, high = change.change
    ends: Interval = (
        max(-1.0, min(low * factor, low / factor)),
        middle,
        max(high * factor, high / factor),
    )
    return replace(change, change=ends)


def _distance(change: MeasuredChange, source: DeviceRoofs, target: DeviceRoofs) -> float:
    """Return the spread of the resources' speed-ups; raise TransferError for another bound."""
    if change.work is None:
        dtype = next(
            (
                each
                for each in _DTYPES
                if each in source.flops_per_second.keys() & target.flops_per_second
            ),
            None,
        )
        if dtype is None:
            msg = f"{source.key} and {target.key} have no peak of the same data type"
            raise TransferError(msg)
        flops, memory = (
            log(target.flops_per_second[dtype] / source.flops_per_second[dtype]),
            log(target.bytes_per_second / source.bytes_per_second),
        )
        return max(0.0, flops, memory) - min(0.0, flops, memory)
    try:
        before, after = (resource_seconds(change.work, each) for each in (source, target))
    except MissingPeakError as error:
        raise TransferError(str(error)) from error
    bound, bound_there = _bound(before), _bound(after)
    if bound != bound_there:
        msg = (
            f"it is bound by {bound} on {source.key} and would be by {bound_there} on {target.key}"
        )
        raise TransferError(msg)
    return max_projection_error(before, after)


def _bound(seconds: ResourceSeconds) -> str:
    resources = {
        "arithmetic": seconds.arithmetic,
        "memory bandwidth": seconds.memory,
        "communication": seconds.communication,
        "the host": seconds.fixed,
    }
    return max(resources, key=lambda name: resources[name])
