"""Finds the periods in which jobs held devices without using them.

Each period comes with its evidence and its uncertainty. A sample sees one moment: if n independent
samples all show an idle device, its busy share can still have been up to 1 - 0.05^(1/n) with 95 %
confidence (about 3/n; Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all
right?"). Averages over time (CloudWatch's, or avg_over_time) see more than that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.sample_table import ActivityTable, SampleTable
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.telemetry.utilization import IDLE_SHARE

# Shorter periods are loading, saving and reading results, too short for another job.
MIN_S = float(SECONDS_PER_HOUR)
CONFIDENCE = 0.95
# Slurm's default sampling interval: slurm.conf's JobAcctGatherFrequency.
POLL_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleJob:
    """A job's device-hours in periods without work, and the evidence.

    `highest` is the highest sample in them, `memory` the mean share of memory held meanwhile; None
    if unknown. `busy_at_most` is how busy a device can have been between the samples of the worst
    period, and `least_hours` the part of the hours that is certainly idle.
    """

    owner: DeviceOwner
    signal: Signal
    device_hours: float
    least_hours: float
    stretches: int
    devices: float
    start: float  # of the longest stretch
    end: float
    highest: float
    samples: int  # of all periods; each on one device
    busy_at_most: float
    memory: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    owner: int
    device: int
    signal: Signal
    start: float
    end: float
    seconds: float
    highest: float
    samples: int
    memory: tuple[float, float]  # device-seconds with known memory, times the share; and those

    @property
    def busy_at_most(self) -> float:
        """Return the busy share that this many idle samples still allow."""
        allowed: float = 1 - (1 - CONFIDENCE) ** (1 / self.samples)
        return allowed


def idle_jobs(table: ActivityTable) -> tuple[IdleJob, ...]:
    """Return the jobs that held devices without using them, the most device-hours first.

    GPU-util shows whether any kernel ran; if it is unknown, SM-active or engine-active shows
    whether a multiprocessor or the engine was active. Free devices are not included.
    """
    stretches_by_owner: dict[int, list[_Stretch]] = {}
    known_devices: set[tuple[int, int]] = set()
    for signal in (Signal.GPU_UTIL, Signal.SM_ACTIVE, Signal.ENGINE_ACTIVE):
        samples = table.signals.get(signal)
        if samples is None:
            continue
        for stretch in _stretches(table, signal, samples):
            if (stretch.owner, stretch.device) not in known_devices:
                stretches_by_owner.setdefault(stretch.owner, []).append(stretch)
        known_devices |= set(zip(samples.owner.tolist(), samples.device.tolist(), strict=True))
    jobs = [_job(table, owner, stretches) for owner, stretches in stretches_by_owner.items()]
    return tuple(sorted(jobs, key=lambda job: (-job.device_hours, job.owner)))


def _stretches(table: ActivityTable, signal: Signal, samples: SampleTable) -> Iterator[_Stretch]:
    is_free = np.array([owner.is_free for owner in table.owners])
    is_idle = (samples.shares <= IDLE_SHARE) & ~is_free[samples.owner]
    goes_on = (
        (is_idle[1:] & is_idle[:-1])
        & (samples.device[1:] == samples.device[:-1])
        & (samples.owner[1:] == samples.owner[:-1])
        & (samples.starts[1:] <= samples.ends[:-1])
    )
    firsts = np.flatnonzero(is_idle & ~np.append(False, goes_on))
    lasts = np.flatnonzero(is_idle & ~np.append(goes_on, False))
    is_long = samples.ends[lasts] - samples.starts[firsts] >= MIN_S
    memory = table.signals.get(Signal.MEMORY)
    for first, last in zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True):
        start, end = float(samples.starts[first]), float(samples.ends[last])
        owner, device = int(samples.owner[first]), int(samples.device[first])
        rows = slice(first, last + 1)
        polled = max(int((end - start) / POLL_S), 1)
        yield _Stretch(
            owner=owner,
            device=device,
            signal=signal,
            start=start,
            end=end,
            seconds=float(samples.seconds[rows].sum()),
            highest=float(samples.shares[rows].max()),
            samples=polled if samples.is_peak[first] else last + 1 - first,
            memory=_memory_held(memory, device, owner, start, end),
        )


def _memory_held(
    memory: SampleTable | None, device: int, owner: int, start: float, end: float
) -> tuple[float, float]:
    """Return the memory held in a period times its device-seconds, and these device-seconds."""
    if memory is None:
        return 0.0, 0.0
    # The samples are sorted by device, owner and time, so the period's are adjacent.
    first, last = np.searchsorted(memory.device, (device, device + 1))
    low, high = first + np.searchsorted(memory.owner[first:last], (owner, owner + 1))
    begin, until = low + np.searchsorted(memory.starts[low:high], (start, end))
    rows = slice(int(begin), int(until))
    seconds = memory.seconds[rows]
    return float((memory.shares[rows] * seconds).sum()), float(seconds.sum())


def _job(table: ActivityTable, owner: int, stretches: Sequence[_Stretch]) -> IdleJob:
    longest = max(stretches, key=lambda each: each.end - each.start)
    memory_seconds, seconds = (sum(each.memory[place] for each in stretches) for place in (0, 1))
    devices = {each.device for each in stretches}
    return IdleJob(
        owner=table.owners[owner],
        signal=longest.signal,
        device_hours=sum(each.seconds for each in stretches) / SECONDS_PER_HOUR,
        least_hours=sum(each.seconds * (1 - each.busy_at_most) for each in stretches)
        / SECONDS_PER_HOUR,
        stretches=len(stretches),
        devices=float(sum(table.sizes[device] for device in devices)),
        start=longest.start,
        end=longest.end,
        highest=max(each.highest for each in stretches),
        samples=sum(each.samples for each in stretches),
        busy_at_most=max(each.busy_at_most for each in stretches),
        memory=memory_seconds / seconds if seconds else None,
    )
