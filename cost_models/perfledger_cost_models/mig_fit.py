"""Samples of devices' activity into the jobs that a part of their device (MIG) would be enough for.

What a job needs is its highest memory and the 99th percentile of SM-active; where that is not
known, of engine-active, else of GPU-util, which are never less. Both are shares of the whole
device, as a part's multiprocessors and memory are. A kernel that fills the device for a moment
takes longer on a part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.activity import Holder, Signal
from perfledger_cost_models.activity_table import HOUR, ActivityTable, Samples, grouped, quantiles

# Allocators keep a reserve, and a part holds its own copy of the driver's few hundred MiB.
MEMORY_HEADROOM = 1.1
PERCENTILE = 0.99
# Less than a day does not show what a job needs at its busiest.
FEWEST_HOURS = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A part of a device; what it has, and what it takes away from others, as shares of it."""

    name: str
    multiprocessors: float
    memory: float
    occupied: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MigCandidate:
    """A job and the smallest part that it fits on."""

    holder: Holder
    model: str
    part: Slice
    device_hours: float
    memory: float  # the highest share of the device's that it held
    activity: float  # the 99th percentile of `signal`
    signal: Signal

    @property
    def freed_hours(self) -> float:
        """Return the device-hours that are left to others, if they fit beside it."""
        return self.device_hours * (1 - self.part.occupied)


def mig_candidates(
    table: ActivityTable, parts: Mapping[str, Sequence[Slice]]
) -> tuple[MigCandidate, ...]:
    """Return the jobs that fit on a part, the most hours freed first.

    `parts` are those of each model. Looked at are jobs on one whole device: parts cannot talk to
    each other, so a job on several devices stays there.
    """
    memory = table.signals.get(Signal.MEMORY)
    if memory is None:
        return ()
    count = len(table.holders)
    each_holder = np.arange(count)
    held = grouped(memory, each_holder, count)
    active = {
        signal: grouped(samples, each_holder, count)
        for signal in (Signal.SM_ACTIVE, Signal.ENGINE_ACTIVE, Signal.GPU_UTIL)
        if (samples := table.signals.get(signal)) is not None
    }
    found: list[MigCandidate] = []
    for place, holder in enumerate(table.holders):
        known = next(((key, of[place]) for key, of in active.items() if len(of[place])), None)
        if known is not None and not holder.is_free and len(held[place]):
            found += _fitting(table, held[place], *known, parts)
    return tuple(sorted(found, key=lambda each: (-each.freed_hours, each.holder)))


def _fitting(
    table: ActivityTable,
    held: Samples,
    signal: Signal,
    samples: Samples,
    parts: Mapping[str, Sequence[Slice]],
) -> Sequence[MigCandidate]:
    """Return one holder's job with the smallest part that it fits on, or nothing."""
    devices = np.union1d(held.device, samples.device)
    hours = float(samples.seconds.sum()) / HOUR
    if len(devices) != 1 or table.sizes[devices[0]] != 1 or hours < FEWEST_HOURS:
        return ()
    model = table.models[int(devices[0])]
    memory, activity = float(held.shares.max()), quantiles(samples, PERCENTILE)[0]
    fits = [
        part
        for part in parts.get(model, ())
        if part.memory >= memory * MEMORY_HEADROOM and part.multiprocessors >= activity
    ]
    if not fits:
        return ()
    candidate = MigCandidate(
        holder=table.holders[int(samples.holder[0])],
        model=model,
        part=min(fits, key=lambda part: part.occupied),
        device_hours=hours,
        memory=memory,
        activity=activity,
        signal=signal,
    )
    return (candidate,)
