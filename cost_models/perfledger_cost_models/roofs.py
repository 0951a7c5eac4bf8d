"""Turns a workload's descriptor and a device's peaks into seconds per unit of work, by resource."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import assert_never

from perfledger_cost_models.descriptor import Arithmetic, Communication, Descriptor, Pattern

# Two submitters' results on one board differ by 4 % (seven pairs of MLPerf Training and four of
# Inference v3.0): what the calibrated spread is at this reach.
LEAST_REACH = 0.1


class MissingPeakError(ValueError):
    """A device has no published peak for something that a workload needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRoofs:
    """What real programs reach of a device's peaks, dense and without sparsity.

    `design` is what devices of one make of chip share: "NVIDIA 9.0".
    """

    key: str
    vendor: str
    design: str
    flops_per_second: Mapping[str, float]  # by type, named as in torch and NumPy
    bytes_per_second: float
    interconnect_bytes_per_second: float | None  # one way; None where it has none, or not known

    def __post_init__(self) -> None:
        """Raise ValueError for a roof that is no positive number."""
        link = self.interconnect_bytes_per_second
        roofs = (
            *self.flops_per_second.values(),
            self.bytes_per_second,
            1.0 if link is None else link,
        )
        if not all(isfinite(roof) and roof > 0 for roof in roofs):
            msg = f"the peaks of {self.key!r} are not all positive numbers: {roofs}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSeconds:
    """How long one unit of work keeps each resource of a device busy."""

    arithmetic: float
    memory: float
    communication: float
    fixed: float

    @property
    def device(self) -> float:
        """Return the device's own: see `resource_seconds` for why nothing overlaps."""
        return self.arithmetic + self.memory + self.communication

    @property
    def total(self) -> float:
        """Return the device's time and the host's."""
        return self.device + self.fixed


def resource_seconds(descriptor: Descriptor, roofs: DeviceRoofs) -> ResourceSeconds:
    """Return work over roof (Williams, Waterman and Patterson 2009), resource by resource.

    A step is a sequence of kernels, each bound by one resource, so that the step's time is nearer
    to the sum over its resources than to their maximum, which only one kernel of all the work could
    reach. Raises MissingPeakError where a roof that is needed is not known.
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


def dtypes_used(descriptor: Descriptor, roofs: DeviceRoofs) -> tuple[str, ...]:
    """Return the types that the operations run in on a device, each once."""
    found = (_dtype(part, roofs) for part in descriptor.arithmetic)
    return tuple(dict.fromkeys(dtype for dtype in found if dtype is not None))


def reach(source: ResourceSeconds, target: ResourceSeconds) -> float:
    """Return how far apart a workload's resources move from one device to another.

    max - min of the logs of their speed-ups, with that of the host, which none makes faster: what
    a projection can be off by, if all of the time were another resource's than it was taken for.
    """
    pairs = (
        (source.arithmetic, target.arithmetic),
        (source.memory, target.memory),
        (source.communication, target.communication),
    )
    gains = [log(before / after) for before, after in pairs if before > 0 and after > 0]
    return max(0.0, *gains) - min(0.0, *gains)


def _peak(part: Arithmetic, roofs: DeviceRoofs) -> float:
    dtype = _dtype(part, roofs)
    if dtype is None:
        msg = f"{roofs.key} has no published peak for {' or '.join(part.dtypes)}"
        raise MissingPeakError(msg)
    return roofs.flops_per_second[dtype]


def _dtype(part: Arithmetic, roofs: DeviceRoofs) -> str | None:
    return next((dtype for dtype in part.dtypes if dtype in roofs.flops_per_second), None)


def _seconds(part: Communication, roofs: DeviceRoofs, *, devices: int) -> float:
    link = roofs.interconnect_bytes_per_second
    if link is None:
        msg = f"{roofs.key} has no published interconnect, and the workload communicates"
        raise MissingPeakError(msg)
    return part.bytes * _passes(part.pattern, devices) / link


def _passes(pattern: Pattern, devices: int) -> float:
    """Return how often a collective's bytes cross a device's link (nccl-tests, PERFORMANCE.md)."""
    match pattern:
        case Pattern.ALL_REDUCE:
            return 2 * (devices - 1) / devices
        case Pattern.ALL_GATHER | Pattern.REDUCE_SCATTER | Pattern.ALL_TO_ALL:
            return (devices - 1) / devices
        case Pattern.BROADCAST:
            return 1.0
        case _ as unreachable:
            assert_never(unreachable)
