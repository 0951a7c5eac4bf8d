"""Finds the jobs that would fit on a part of their device (MIG).

A job needs its highest memory and the 99th percentile of SM-active; where that is unknown, of
engine-active, else of GPU-util, which are never lower. Both are shares of the full device, as are a
part's multiprocessors and memory. A kernel that fills the device for a moment takes longer on a
part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.sample_table import (
    ActivityTable,
    SampleTable,
    group_samples,
    quantiles,
)
from perfledger_cost_models.telemetry.signals import Signal

# Allocators keep a reserve, and a part holds its own copy of the driver's few hundred MiB.
MEMORY_HEADROOM = 1.1
PERCENTILE = 0.99  # of the activity of SMs, which a part must have
# Less than a day does not show a job's peak needs.
MIN_HOURS = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MigSlice:
    """A part of a device: its resources and what it blocks for others, as shares of the device."""

    name: str
    multiprocessors: float
    memory: float
    occupied: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MigCandidate:
    """A job and the smallest part that it fits on."""

    owner: DeviceOwner
    model: str
    part: MigSlice
    device_hours: float
    memory: float  # the highest share of the device's that it held
    activity: float  # the 99th percentile of `signal`
    signal: Signal

    @property
    def freed_hours(self) -> float:
        """Return the device-hours left for other jobs that fit beside it."""
        return self.device_hours * (1 - self.part.occupied)


def mig_candidates(
    table: ActivityTable, parts: Mapping[str, Sequence[MigSlice]]
) -> tuple[MigCandidate, ...]:
    """Return the jobs that fit on a part, the most freed hours first.

    `parts` are those of each model. Only jobs on one full device count: parts cannot communicate
    with each other, so a job on several devices stays there.
    """
    memory = table.signals.get(Signal.MEMORY)
    if memory is None:
        return ()
    count = len(table.owners)
    owner_codes = np.arange(count)
    memory_by_owner = group_samples(memory, owner_codes, count)
    active = {
        signal: group_samples(samples, owner_codes, count)
        for signal in (Signal.SM_ACTIVE, Signal.ENGINE_ACTIVE, Signal.GPU_UTIL)
        if (samples := table.signals.get(signal)) is not None
    }
    candidates: list[MigCandidate] = []
    for index, owner in enumerate(table.owners):
        activity = next(((key, of[index]) for key, of in active.items() if len(of[index])), None)
        if activity is not None and not owner.is_free and len(memory_by_owner[index]):
            candidates += _fitting(table, memory_by_owner[index], *activity, parts)
    return tuple(sorted(candidates, key=lambda each: (-each.freed_hours, each.owner)))


def _fitting(
    table: ActivityTable,
    memory_samples: SampleTable,
    signal: Signal,
    samples: SampleTable,
    parts: Mapping[str, Sequence[MigSlice]],
) -> Sequence[MigCandidate]:
    """Return one owner's job with the smallest part that it fits on, or nothing."""
    devices = np.union1d(memory_samples.device, samples.device)
    hours = float(samples.seconds.sum()) / SECONDS_PER_HOUR
    if len(devices) != 1 or table.sizes[devices[0]] != 1 or hours < MIN_HOURS:
        return ()
    model = table.models[int(devices[0])]
    memory, activity = float(memory_samples.shares.max()), quantiles(samples, PERCENTILE)[0]
    fits = [
        part
        for part in parts.get(model, ())
        if part.memory >= memory * MEMORY_HEADROOM and part.multiprocessors >= activity
    ]
    if not fits:
        return ()
    candidate = MigCandidate(
        owner=table.owners[int(samples.owner[0])],
        model=model,
        part=min(fits, key=lambda part: part.occupied),
        device_hours=hours,
        memory=memory,
        activity=activity,
        signal=signal,
    )
    return (candidate,)
