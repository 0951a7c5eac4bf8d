"""Holds load curves: validated throughput and latency by load of one kind of replica.

A replica serves requests on some whole devices, or on a share of one. A point is measured in closed
loop, with a constant number of requests in progress, or in open loop, with a constant rate of
requests at random times, independent of earlier requests.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from perfledger.load import MAX_SERVERS, has_served_offered_load
from perfledger.rounding import typed
from perfledger_cost_models.prices.accelerator_names import (
    BYTES_PER_GB,
    MEMORY_GB,
    accelerator_of,
)
from perfledger_cost_models.prices.mig_profiles import mig_share

MAX_POINTS = 300  # a sweep has a dozen, and the time of a fit grows with their cube
MAX_PER_DEVICE = 64  # replicas on one device: the limit of time slices of Kubernetes' plug-in
# Span of an exponential tail from the 95th to the 99th percentile, ln(0.05 / 0.01), and from the
# median, ln(0.5 / 0.01).
_TAIL_SPAN, _HALF_SPAN = math.log(5), math.log(50)
# Share of the completed requests; their number and their rate are rounded.
DRAINED_SHARE = 0.99
# Width of a 95 % interval in standard deviations.
INTERVAL_SDS = 2 * 1.959964
# The driver's name of a MIG device: "NVIDIA A100-SXM4-80GB MIG 2g.20gb".
_MIG = re.compile(r"(?P<model>.+) MIG (?P<profile>[1-7]g\.\d{1,3}gb)(?:\+\S+)?")
_NUMBERS = (
    *("concurrency", "offered_per_second", "batch", "completed", "seconds"),
    *("throughput_per_second", "latency_p50_s", "latency_p95_s", "latency_p99_s"),
    *("latency_p99_low_s", "latency_p99_high_s", "memory_bytes"),
)


class LoadCurveError(ValueError):
    """An invalid load curve."""


class LoadMode(StrEnum):
    """What triggers the next request."""

    CLOSED = "closed"  # the end of an earlier request
    OPEN = "open"  # the clock


class ReplicaSharing(StrEnum):
    """How replicas share a device."""

    WHOLE = "whole"
    MIG = "mig"  # slices with separate memory
    TIME_SLICED = "time-sliced"  # time slices with common memory


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """The measurement at one load. A request is one call of `batch` items; None is unknown.

    `latency_p99_low_s` to `latency_p99_high_s` is the 95 % interval of the 99th percentile.
    """

    mode: LoadMode
    concurrency: int | None = None  # requests in progress in a closed loop
    offered_per_second: float | None = None  # requests in an open loop
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
        offered = self.concurrency if self.mode is LoadMode.CLOSED else self.offered_per_second
        if offered is None:
            key = "concurrency" if self.mode is LoadMode.CLOSED else "offered_per_second"
            msg = f"a point in {self.mode} loop has no {key}: add it"
            raise LoadCurveError(msg)
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                msg = f"{name} is {value}: use a number above zero, or omit it"
                raise LoadCurveError(msg)
        _check_order(self.latency_p50_s, self.latency_p95_s, self.latency_p99_s)
        _check_order(self.latency_p99_low_s, self.latency_p99_s, self.latency_p99_high_s)

    @property
    def keeps_up(self) -> bool:
        """Return whether the server keeps up with the offered load; a closed loop always does.

        Other tools divide by the time until the last request is done, which is one latency longer
        than the time in which requests arrive.
        """
        if self.offered_per_second is None:
            return True
        return has_served_offered_load(
            offered=self.offered_per_second,
            served=self._served_per_second,
            completed=self.completed,
        )

    @property
    def _served_per_second(self) -> float:
        """Return the throughput while requests arrive, if `seconds` end with the last answer."""
        served, seconds, latency_s = (
            self.throughput_per_second,
            self.seconds,
            self.latency_p50_s,
        )
        if seconds is None or latency_s is None or latency_s >= seconds:
            return served
        if self.completed is not None and served * seconds < DRAINED_SHARE * self.completed:
            return served  # some still waited when time was up
        return served * seconds / (seconds - latency_s)

    @property
    def p99_spread(self) -> float | None:
        """Return the standard deviation of ln P99 by its interval; None without one.

        An interval accounts for the correlation of successive requests. With too few requests for
        its upper end, the lower end is used.
        """
        low, high = self.latency_p99_low_s, self.latency_p99_high_s
        if low is None or (high or self.latency_p99_s) <= low:
            return None
        ends = 1.0 if high is not None else 0.5
        return math.log((high or self.latency_p99_s) / low) / INTERVAL_SDS / ends

    @property
    def independent_spread(self) -> float | None:
        """Return the standard deviation of ln P99 for independent requests; None if unknown.

        For n requests it is sqrt(p (1 - p) / n) over the density at the P99, which is that of an
        exponential tail through the 95th percentile, else the median (vLLM), and the 99th.
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
    """The points of one workload on one kind of replica: whole `devices`, or a share of one."""

    workload: str
    device: str  # its own name, or the price sheets' name
    devices: int
    points: tuple[LoadPoint, ...]
    time_slices: int = 1  # replicas on one device during the measurement
    servers: int = 1  # instances of one replica, which share one queue
    # Requests of its open loops arrived at even or unknown times: random arrivals have longer P99s.
    has_even_arrivals: bool = False
    notes: tuple[str, ...] = ()  # reasons to doubt its points

    def __post_init__(self) -> None:
        if not 1 <= len(self.points) <= MAX_POINTS:
            msg = f"the load curve has {len(self.points)} points: use 1 to {MAX_POINTS}"
            raise LoadCurveError(msg)
        if not 1 <= self.servers <= MAX_SERVERS:
            msg = f"a replica has {self.servers} servers: use 1 to {MAX_SERVERS}"
            raise LoadCurveError(msg)
        if self.devices < 1:
            msg = f"a replica has {self.devices} devices: use 1 or more"
            raise LoadCurveError(msg)
        if not 1 <= self.time_slices <= MAX_PER_DEVICE:
            msg = f"a device has {self.time_slices} time slices: use 1 to {MAX_PER_DEVICE}"
            raise LoadCurveError(msg)
        if self.time_slices > 1 and _MIG.fullmatch(self.device):
            msg = f"{self.device} has {self.time_slices} time slices: use 1 for a MIG device"
            raise LoadCurveError(msg)
        if self.devices > 1 and self.sharing is not ReplicaSharing.WHOLE:
            msg = f"a replica shares {self.devices} devices: use whole devices or a share of one"
            raise LoadCurveError(msg)

    @property
    def sharing(self) -> ReplicaSharing:
        """Return how replicas share a device."""
        if self.time_slices > 1:
            return ReplicaSharing.TIME_SLICED
        return ReplicaSharing.MIG if _MIG.fullmatch(self.device) else ReplicaSharing.WHOLE

    @property
    def accelerator(self) -> str | None:
        """Return the price sheet's name of the whole device; None for an unknown device."""
        mig_slice = _MIG.fullmatch(self.device)
        model = mig_slice["model"] if mig_slice else self.device
        return model if model in MEMORY_GB else accelerator_of(model, None)

    @property
    def per_device(self) -> int:
        """Return how many such replicas fit a device; 1 for replicas with whole devices.

        Raises LoadCurveError for a MIG slice of a device with unknown memory.
        """
        mig_slice = _MIG.fullmatch(self.device)
        if self.sharing is not ReplicaSharing.MIG or mig_slice is None:
            return self.time_slices
        device_gb = MEMORY_GB.get(self.accelerator or "")
        if device_gb is None:
            msg = f"{self.device} is an unknown device: use the name that the driver prints"
            raise LoadCurveError(msg)
        share = mig_share(mig_slice["profile"], gpu_bytes=float(device_gb * BYTES_PER_GB))
        return 1 if share is None else int(1 / share)

    def free_bytes(self, point: LoadPoint) -> float | None:
        """Return the free memory of a device with `per_device` such replicas.

        It is negative if they do not fit together, and None if the memory is unknown and for MIG
        slices, which have separate memory.
        """
        total_gb = MEMORY_GB.get(self.accelerator or "")
        if total_gb is None or point.memory_bytes is None or self.sharing is ReplicaSharing.MIG:
            return None
        return total_gb * BYTES_PER_GB - self.per_device * point.memory_bytes


def _check_order(*values: float | None) -> None:
    measured = [value for value in values if value is not None]
    if measured != sorted(measured):
        listing = ", ".join(f"{typed(value)} s" for value in measured)
        msg = f"latencies {listing}: they must have P50 <= P95 <= P99, and P99 in its interval"
        raise LoadCurveError(msg)
