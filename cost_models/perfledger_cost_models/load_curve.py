"""Measured throughput and latencies by load into a checked curve of one kind of replica.

A replica is what serves requests: some whole devices, or a share of one. A point was measured in
closed loop, with so many requests always under way, or in open loop, with so many offered a second
at random times whatever became of those before them.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from perfledger.load import MAX_SERVERS, has_kept_up
from perfledger_cost_models.accelerator import ACCELERATORS, BYTES_PER_GB, accelerator_of

MAX_POINTS = 300  # of one curve; a sweep has a dozen, and a fit takes the cube of them
MAX_PER_DEVICE = 64  # replicas on one device: time slices of Kubernetes' plug-in end there
# Of latencies above the 95th percentile, where they fall off exponentially: ln(0.05 / 0.01); above
# the median: ln(0.5 / 0.01).
_TAIL_SPAN, _HALF_SPAN = math.log(5), math.log(50)
# Of the requests that were completed: their number and their rate are rounded.
_DRAINED = 0.99
# The ends of an interval of 95 % are so many standard deviations apart.
_INTERVAL_SDS = 2 * 1.959964
# A MIG device as the driver calls it: "NVIDIA A100-SXM4-80GB MIG 2g.20gb", of seven compute and
# eight memory slices: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
_MIG = re.compile(r"(?P<model>.+) MIG (?P<compute>[1-7])g\.(?P<memory>\d{1,3})gb(?:\+\S+)?")
_COMPUTE_SLICES, _MEMORY_SLICES = 7, 8
_MEMORY_GB = dict(ACCELERATORS.values())
_NUMBERS = (
    *("concurrency", "offered_per_second", "batch", "completed", "seconds"),
    *("throughput_per_second", "latency_p50_s", "latency_p95_s", "latency_p99_s"),
    *("latency_p99_low_s", "latency_p99_high_s", "memory_bytes"),
)


class LoadCurveError(ValueError):
    """A load curve that cannot be trusted as it is written."""


class LoadMode(StrEnum):
    """What decides when the next request comes."""

    CLOSED = "closed"  # an earlier one is done
    OPEN = "open"  # the clock


class Sharing(StrEnum):
    """What of a device a replica has."""

    WHOLE = "whole"
    MIG = "mig"  # slices with a memory of their own
    TIME_SLICED = "time-sliced"  # turns, and one memory for all


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """What one load came to. A request is one call, of `batch` items; None is what nobody knows.

    `latency_p99_low_s` to `latency_p99_high_s` is the 95 % interval of the 99th percentile.
    """

    mode: LoadMode
    concurrency: int | None = None  # requests under way, of a closed loop
    offered_per_second: float | None = None  # requests, of an open loop
    batch: int = 1
    completed: int | None = None
    seconds: float | None = None
    throughput_per_second: float  # requests
    latency_p50_s: float | None = None
    latency_p95_s: float | None = None
    latency_p99_s: float
    latency_p99_low_s: float | None = None
    latency_p99_high_s: float | None = None
    memory_bytes: int | None = None  # of one device

    def __post_init__(self) -> None:
        asked = self.concurrency if self.mode is LoadMode.CLOSED else self.offered_per_second
        if asked is None:
            key = "concurrency" if self.mode is LoadMode.CLOSED else "offered_per_second"
            msg = f"a point in {self.mode} loop has no {key}: say what was asked for"
            raise LoadCurveError(msg)
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                msg = f"{name} is {value}: give a number above zero, or leave it out"
                raise LoadCurveError(msg)
        _check_order(self.latency_p50_s, self.latency_p95_s, self.latency_p99_s)
        _check_order(self.latency_p99_low_s, self.latency_p99_s, self.latency_p99_high_s)

    @property
    def keeps_up(self) -> bool:
        """Whether as much is served as is offered; in a closed loop it always is.

        Other tools divide by the time until the last request is done, which is a latency longer
        than the requests came for.
        """
        if self.offered_per_second is None:
            return True
        served = self.throughput_per_second
        if self._is_drained and self.seconds is not None:
            served *= self.seconds / (self.seconds - (self.latency_p50_s or 0))
        return has_kept_up(offered=self.offered_per_second, served=served, completed=self.completed)

    @property
    def _is_drained(self) -> bool:
        """Whether its seconds last until the last request was done, which counts as served."""
        if self.seconds is None or (self.latency_p50_s or 0) >= self.seconds:
            return False
        return self.throughput_per_second * self.seconds >= _DRAINED * (self.completed or 0)

    @property
    def p99_spread(self) -> float | None:
        """Return the standard deviation of ln P99 by its interval; None without one.

        Whoever gave an interval knew what successive requests have in common. So few requests that
        they do not tell its upper end tell the lower one.
        """
        low, high = self.latency_p99_low_s, self.latency_p99_high_s
        if low is None or (high or self.latency_p99_s) <= low:
            return None
        ends = 1.0 if high is not None else 0.5
        return math.log((high or self.latency_p99_s) / low) / _INTERVAL_SDS / ends

    @property
    def independent_spread(self) -> float | None:
        """Return the standard deviation of ln P99 if requests were independent; None if not known.

        Of the count n: sqrt(p (1 - p) / n) over the density there, which is that of an exponential
        tail through the 95th percentile, else the median (vLLM's), and the 99th percentile.
        """
        below, span = self.latency_p95_s, _TAIL_SPAN
        if below is None:
            below, span = self.latency_p50_s, _HALF_SPAN
        if self.completed is None or below is None:
            return None
        scale = (self.latency_p99_s - below) / span / self.latency_p99_s
        return scale * math.sqrt(99 / self.completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurve:
    """Points of one workload on one kind of replica: `devices` whole ones, or a share of one."""

    workload: str
    device: str  # as it calls itself, or as the price sheets do
    devices: int
    points: tuple[LoadPoint, ...]
    time_slices: int = 1  # replicas that took turns on one device while this was measured
    servers: int = 1  # instances in one replica, which take requests from one queue
    # Its open loops' requests came at even times, or nobody knows: at random ones P99s are longer.
    has_even_arrivals: bool = False
    notes: tuple[str, ...] = ()  # what keeps its points from being believed, in words

    def __post_init__(self) -> None:
        if not 1 <= len(self.points) <= MAX_POINTS:
            msg = f"{len(self.points)} points: a load curve has 1 to {MAX_POINTS}"
            raise LoadCurveError(msg)
        if not 1 <= self.servers <= MAX_SERVERS:
            msg = f"{self.servers} servers in a replica: give 1 to {MAX_SERVERS}"
            raise LoadCurveError(msg)
        if self.devices < 1:
            msg = f"{self.devices} devices in a replica: give 1 or more"
            raise LoadCurveError(msg)
        if not 1 <= self.time_slices <= MAX_PER_DEVICE:
            msg = f"{self.time_slices} time slices of a device: give 1 to {MAX_PER_DEVICE}"
            raise LoadCurveError(msg)
        if self.time_slices > 1 and _MIG.fullmatch(self.device):
            msg = f"{self.device} in {self.time_slices} time slices: a MIG part is sized whole only"
            raise LoadCurveError(msg)
        if self.devices > 1 and self.sharing is not Sharing.WHOLE:
            msg = f"{self.devices} shared devices: a replica has whole devices or a share of one"
            raise LoadCurveError(msg)

    @property
    def sharing(self) -> Sharing:
        """Return what of a device a replica has."""
        if self.time_slices > 1:
            return Sharing.TIME_SLICED
        return Sharing.MIG if _MIG.fullmatch(self.device) else Sharing.WHOLE

    @property
    def accelerator(self) -> str | None:
        """Return the price sheet's name of the whole device, None for a device not known."""
        found = _MIG.fullmatch(self.device)
        model = found["model"] if found else self.device
        return model if model in _MEMORY_GB else accelerator_of(model, None)

    @property
    def per_device(self) -> int:
        """Return how many such replicas a device holds, 1 where a replica has devices of its own.

        Raises LoadCurveError for a MIG part of a device whose memory is not known.
        """
        found = _MIG.fullmatch(self.device)
        if self.sharing is not Sharing.MIG or found is None:
            return self.time_slices
        device_gb = _MEMORY_GB.get(self.accelerator or "")
        if device_gb is None:
            msg = f"{self.device}: no device of this name is known, nor how many parts it has"
            raise LoadCurveError(msg)
        memory = max(1, round(int(found["memory"]) * _MEMORY_SLICES / device_gb))
        parts = min(_COMPUTE_SLICES // int(found["compute"]), _MEMORY_SLICES // memory)
        return max(1, parts)

    def free_bytes(self, point: LoadPoint) -> float | None:
        """Return what a device's memory has left where it holds so many such replicas.

        Negative: they do not fit together. None where the memory is not known; a MIG part has its
        own, in which it was measured.
        """
        total_gb = _MEMORY_GB.get(self.accelerator or "")
        if total_gb is None or point.memory_bytes is None or self.sharing is Sharing.MIG:
            return None
        return total_gb * BYTES_PER_GB - self.per_device * point.memory_bytes


def _check_order(*values: float | None) -> None:
    known = [value for value in values if value is not None]
    if known != sorted(known):
        shown = ", ".join(f"{value:g} s" for value in known)
        msg = f"latencies {shown}: P50 <= P95 <= P99, and P99 within its interval"
        raise LoadCurveError(msg)
