"""Computes each bottleneck candidate's share of a step."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.xla.host_events import XLA_RUNTIME


@dataclass(frozen=True, slots=True)
class OverheadThresholds:
    """The shares of a step from which an overhead is moderate, and high enough to be the label."""

    moderate: float
    high: float


# Thresholds of xprof and torch_tb_profiler for input (5 / 20 %), collectives (3 / 15 %) and the
# rest (3 / 15 %); those for the host are checked on 11 labelled traces.
OVERHEAD_THRESHOLDS: Mapping[Bottleneck, OverheadThresholds] = {
    Bottleneck.INPUT: OverheadThresholds(0.05, 0.20),
    Bottleneck.COMMUNICATION: OverheadThresholds(0.03, 0.15),
    Bottleneck.TRANSFER: OverheadThresholds(0.05, 0.10),
    Bottleneck.HOST: OverheadThresholds(0.15, 0.25),
}
# The device's own time, before it is known what its kernels are bound by.
ON_DEVICE = Bottleneck.DEVICE

# The candidate that each bucket belongs to.
BOTTLENECKS: Mapping[Bucket, Bottleneck] = {
    Bucket.COMPUTE: ON_DEVICE,
    Bucket.COMMUNICATION: Bottleneck.COMMUNICATION,
    Bucket.COPY: Bottleneck.TRANSFER,
    Bucket.PEER_COPY: Bottleneck.COMMUNICATION,
    Bucket.DEVICE_COPY: ON_DEVICE,
    Bucket.MEMSET: ON_DEVICE,
    Bucket.INPUT: Bottleneck.INPUT,
    Bucket.SYNC: Bottleneck.HOST,
    Bucket.RUNTIME: Bottleneck.HOST,
    Bucket.CPU: Bottleneck.HOST,
    Bucket.OTHER: Bottleneck.HOST,
}
_CANDIDATES = (*OVERHEAD_THRESHOLDS, ON_DEVICE)
# Operators dispatched by torch; they compute only if there is no device.
_OPERATOR = re.compile(r"(aten|prims|mkldnn|quantized|torchvision|c10d)::[\w.]+")


def median_shares(profile: Profile) -> dict[Bottleneck, float]:
    """Return each candidate's exclusive share of the step: the median over the kept steps.

    Means would mislead: one outlier among six steps moves them across a threshold. The medians need
    not sum to one. If only the mean step is known, it is used. Empty if nothing takes time.
    """
    rows = [
        _shares(dict(zip(Bucket, step.buckets, strict=False)), step.seconds)
        for step in profile.each_step
    ]
    rows = [row for row in rows or [_shares(profile.bucket_seconds(), profile.step_seconds)] if row]
    if not rows:
        return {}
    shares = {name: median(row[name] for row in rows) for name in _CANDIDATES}
    return _without_transfers(shares) if is_on_cpu(profile) else shares


def typical_step_seconds(profile: Profile) -> float:
    """Return the median of the kept steps, which is judged, or the mean if only that is known."""
    lengths = [step.seconds for step in profile.each_step]
    return median(lengths) if lengths else profile.step_seconds


def is_on_cpu(profile: Profile) -> bool:
    """Return whether the profile is of work on the CPU, where operators compute.

    Readers name the device if there is one. Otherwise the operations decide: torch's dispatched
    operators compute, or XLA's runtime runs on the host's threads.
    """
    if profile.device is not None:
        return "cpu" in profile.device.name.lower()
    if profile.kernels:
        return False
    return any(_is_on_cpu(operation) for operation in profile.operations)


def is_sum_of_kernels(profile: Profile) -> bool:
    """Return whether the profile only sums kernels' times, without a timeline."""
    return bool(profile.kernels) and not (profile.has_steps or profile.each_step)


def whole_name(profile: Profile) -> str:
    """Return what shares refer to: the step, or the kernels' time if only that was recorded."""
    return "the kernels' time" if is_sum_of_kernels(profile) else "the step"


def overhead_shares(shares: Mapping[Bottleneck, float]) -> Sequence[tuple[Bottleneck, float]]:
    """Return the overheads beside the device's own work, the largest share first."""
    overheads = [(name, shares[name]) for name in OVERHEAD_THRESHOLDS if name in shares]
    return sorted(overheads, key=lambda pair: -pair[1])


def _is_on_cpu(operation: Operation) -> bool:
    if operation.name == XLA_RUNTIME:
        return True
    return operation.bucket is Bucket.COMPUTE and _OPERATOR.fullmatch(operation.name) is not None


def _shares(spent: Mapping[Bucket, float], seconds: float) -> dict[Bottleneck, float]:
    if not seconds > 0:
        return {}
    shares = dict.fromkeys(_CANDIDATES, 0.0)
    for bucket, spent_seconds in spent.items():
        shares[BOTTLENECKS[bucket]] += spent_seconds / seconds
    return shares if sum(shares.values()) > 0 else {}


def _without_transfers(shares: Mapping[Bottleneck, float]) -> dict[Bottleneck, float]:
    """Return a CPU's shares: its copies cross no bus and count as compute."""
    transfer_share = shares[Bottleneck.TRANSFER]
    return {**shares, Bottleneck.TRANSFER: 0.0, ON_DEVICE: shares[ON_DEVICE] + transfer_share}
