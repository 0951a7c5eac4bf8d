"""Computes seconds per unit of work by resource from a descriptor and a device's roofs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import assert_never

from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    CommunicationPattern,
    CommunicationVolume,
    WorkloadDescriptor,
)

# Least distance of a projection that its interval is scaled with. Results of two submitters on one
# board differ by 4 % (seven pairs of MLPerf Training and four of Inference v3.0), which is the
# calibrated spread at this reach.
MIN_REACH = 0.1


class MissingPeakError(ValueError):
    """A missing peak of a device that a workload needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRoofs:
    """The peak rates that real programs reach on a device, without sparsity.

    `design` is the chip design: "NVIDIA 9.0".
    """

    key: str
    vendor: str
    design: str
    flops_per_second: Mapping[str, float]  # by type, named as in torch and NumPy
    bytes_per_second: float
    interconnect_bytes_per_second: float | None  # in one direction; None if none or unknown

    def __post_init__(self) -> None:
        """Raise ValueError for a roof that is not a positive number."""
        link = self.interconnect_bytes_per_second
        roofs = (
            *self.flops_per_second.values(),
            self.bytes_per_second,
            1.0 if link is None else link,
        )
        if not all(isfinite(roof) and roof > 0 for roof in roofs):
            msg = f"the peaks of {self.key!r} must be positive numbers: {roofs}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSeconds:
    """The busy time of each resource of a device per unit of work."""

    arithmetic: float
    memory: float
    communication: float
    fixed: float

    @property
    def device(self) -> float:
        """Return the device's time; `resource_seconds` says why resources do not overlap."""
        return self.arithmetic + self.memory + self.communication

    @property
    def total(self) -> float:
        """Return the time of the device and the host."""
        return self.device + self.fixed

    @property
    def memory_share(self) -> float:
        """Return the share of the device's time that memory takes."""
        return self.memory / self.device

    @property
    def communication_share(self) -> float:
        """Return the share of the device's time that communication takes."""
        return self.communication / self.device


def resource_seconds(descriptor: WorkloadDescriptor, roofs: DeviceRoofs) -> ResourceSeconds:
    """Return work over roof (Williams, Waterman and Patterson 2009) for each resource.

    A step is a sequence of kernels, each bound by one resource, so its time is closer to the sum
    over resources than to their maximum, which only a single kernel could reach. Raises
    MissingPeakError for an unknown roof that the work needs.
    """
    fixed = descriptor.fixed
    return ResourceSeconds(
        arithmetic=sum(part.flops / _peak(part, roofs) for part in descriptor.arithmetic),
        memory=sum(part.bytes for part in descriptor.memory) / roofs.bytes_per_second,
        communication=sum(
            _seconds(part, roofs, devices=descriptor.devices) for part in descriptor.communication
        ),
        fixed=0.0 if fixed is None else fixed.seconds,
    )


def dtypes_used(descriptor: WorkloadDescriptor, roofs: DeviceRoofs) -> tuple[str, ...]:
    """Return the distinct types in which the operations run on a device."""
    dtypes = (_dtype(part, roofs) for part in descriptor.arithmetic)
    return tuple(dict.fromkeys(dtype for dtype in dtypes if dtype is not None))


def dtypes_of_both(
    descriptor: WorkloadDescriptor, source: DeviceRoofs, target: DeviceRoofs
) -> frozenset[str]:
    """Return the types in which the operations run on either of two devices."""
    return frozenset((*dtypes_used(descriptor, source), *dtypes_used(descriptor, target)))


def max_projection_error(source: ResourceSeconds, target: ResourceSeconds) -> float:
    """Return the spread of a workload's resource speed-ups between two devices.

    It is max - min of the logs of the speed-ups, with 0 for the host: the error of a projection if
    all of the time were spent on a different resource than assumed.
    """
    pairs = (
        (source.arithmetic, target.arithmetic),
        (source.memory, target.memory),
        (source.communication, target.communication),
    )
    gains = [log(before / after) for before, after in pairs if before > 0 and after > 0]
    return max(0.0, *gains) - min(0.0, *gains)


def _peak(part: ArithmeticWork, roofs: DeviceRoofs) -> float:
    dtype = _dtype(part, roofs)
    if dtype is None:
        msg = f"{roofs.key} has no published peak for {' or '.join(part.dtypes)}"
        raise MissingPeakError(msg)
    return roofs.flops_per_second[dtype]


def _dtype(part: ArithmeticWork, roofs: DeviceRoofs) -> str | None:
    return next((dtype for dtype in part.dtypes if dtype in roofs.flops_per_second), None)


def _seconds(part: CommunicationVolume, roofs: DeviceRoofs, *, devices: int) -> float:
    link = roofs.interconnect_bytes_per_second
    if link is None:
        msg = f"{roofs.key} has no published interconnect, which the workload needs"
        raise MissingPeakError(msg)
    return part.bytes * _passes(part.pattern, devices) / link


def _passes(pattern: CommunicationPattern, devices: int) -> float:
    """Return how often a collective's bytes cross a device's link (nccl-tests, PERFORMANCE.md)."""
    match pattern:
        case CommunicationPattern.ALL_REDUCE:
            return 2 * (devices - 1) / devices
        case (
            CommunicationPattern.ALL_GATHER
            | CommunicationPattern.REDUCE_SCATTER
            | CommunicationPattern.ALL_TO_ALL
        ):
            return (devices - 1) / devices
        case CommunicationPattern.BROADCAST:
            return 1.0
        case _ as unreachable:
            assert_never(unreachable)
