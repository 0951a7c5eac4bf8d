"""Turn a profile's steps into the share of a step that each candidate for its bottleneck has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.bottleneck import Bottleneck
from perfledger_profiles.xla_host import XLA_RUNTIME


@dataclass(frozen=True, slots=True)
class Marks:
    """From which share of a step on an overhead is worth a word, and from which it is the label."""

    moderate: float
    high: float


# xprof's and torch_tb_profiler's marks for input (5 / 20 %), collectives (3 / 15 %) and all that is
# neither (3 / 15 %); what a host may take before the device is starved was checked on 11 labelled
# traces.
MARKS: Mapping[Bottleneck, Marks] = {
    Bottleneck.INPUT: Marks(0.05, 0.20),
    Bottleneck.COMMUNICATION: Marks(0.03, 0.15),
    Bottleneck.TRANSFER: Marks(0.05, 0.10),
    Bottleneck.HOST: Marks(0.15, 0.25),
}
# What stands for the time of the device until it is known what binds it there.
ON_DEVICE = Bottleneck.COMPUTE

# What each bucket counts for.
BOTTLENECKS: Mapping[Bucket, Bottleneck] = {
    Bucket.COMPUTE: ON_DEVICE,
    Bucket.COMMUNICATION: Bottleneck.COMMUNICATION,
    Bucket.COPY: Bottleneck.TRANSFER,
    Bucket.MEMSET: Bottleneck.TRANSFER,
    Bucket.INPUT: Bottleneck.INPUT,
    Bucket.SYNC: Bottleneck.HOST,
    Bucket.RUNTIME: Bottleneck.HOST,
    Bucket.CPU: Bottleneck.HOST,
    Bucket.OTHER: Bottleneck.HOST,
}
_CANDIDATES = (*MARKS, ON_DEVICE)
# Operators that torch dispatches by themselves: only without a device are they what computes.
_OPERATOR = re.compile(r"(aten|prims|mkldnn|quantized|torchvision|c10d)::[\w.]+")


def median_shares(profile: Profile) -> dict[Bottleneck, float]:
    """Return each candidate's exclusive share of the step: the median over the kept steps.

    Means would mislead: one step of six that something else held up moves them across a mark. The
    medians of several steps need not sum to one. Where only the mean step is known it is taken.
    Empty where nothing took time.
    """
    rows = [
        _shares(dict(zip(Bucket, step.buckets, strict=False)), step.seconds)
        for step in profile.each_step
    ]
    rows = [row for row in rows or [_mean_shares(profile)] if row]
    if not rows:
        return {}
    shares = {name: median(row[name] for row in rows) for name in _CANDIDATES}
    return _without_transfers(shares) if is_on_cpu(profile) else shares


def typical_step_seconds(profile: Profile) -> float:
    """Return the median of the kept steps, which is judged; the mean where only it is known."""
    lengths = [step.seconds for step in profile.each_step]
    return median(lengths) if lengths else profile.step_seconds


def is_on_cpu(profile: Profile) -> bool:
    """Tell whether the profile is of work on the CPU, where operators compute and copies are work.

    The readers name the device where there is one. Without it the operations tell: those that
    compute are dispatched operators (torch), or XLA's runtime executes them on the host's threads.
    """
    if profile.device is not None:
        return "cpu" in profile.device.name.lower()
    if profile.kernels:
        return False
    return any(_is_on_cpu(operation) for operation in profile.operations)


def overheads(shares: Mapping[Bottleneck, float]) -> Sequence[tuple[Bottleneck, float]]:
    """Return what is not the device's own work, the largest share first."""
    found = [(name, shares[name]) for name in MARKS if name in shares]
    return sorted(found, key=lambda pair: -pair[1])


def _is_on_cpu(operation: Operation) -> bool:
    if operation.name == XLA_RUNTIME:
        return True
    return operation.bucket is Bucket.COMPUTE and _OPERATOR.fullmatch(operation.name) is not None


def _mean_shares(profile: Profile) -> dict[Bottleneck, float]:
    return _shares(profile.bucket_seconds(), profile.step_seconds)


def _shares(spent: Mapping[Bucket, float], seconds: float) -> dict[Bottleneck, float]:
    if not seconds > 0:
        return {}
    shares = dict.fromkeys(_CANDIDATES, 0.0)
    for bucket, spent_seconds in spent.items():
        shares[BOTTLENECKS[bucket]] += spent_seconds / seconds
    return shares if sum(shares.values()) > 0 else {}


def _without_transfers(shares: Mapping[Bottleneck, float]) -> dict[Bottleneck, float]:
    """Return the shares of a CPU: a copy there crosses no bus, it is work like any other."""
    moved = shares[Bottleneck.TRANSFER]
    return {
        **shares,
        Bottleneck.TRANSFER: 0.0,
        ON_DEVICE: shares[ON_DEVICE] + moved,
    }
