"""Samples of devices' activity into the stretches in which jobs held devices and did not use them.

Each comes with what was seen and how sure that is. A sample sees a moment: of n that all show an
idle device, its busy share can still have been up to 1 - 0.05^(1/n) with 95 % confidence (about
3/n; Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?"), were they
independent. Averages over their time (CloudWatch's, or avg_over_time) see more than that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.activity import Holder, Signal
from perfledger_cost_models.activity_table import HOUR, ActivityTable, Samples
from perfledger_cost_models.utilization import IDLE_SHARE

# Shorter ones are loading, saving and looking at results; nobody could use a device for less.
SHORTEST_S = 3600.0
CONFIDENCE = 0.95
# What Slurm samples by if nobody says otherwise: slurm.conf's JobAcctGatherFrequency.
POLL_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleJob:
    """A job's device-hours in stretches without work, and the evidence.

    `highest` is the most that any sample in them showed, `memory` the mean share of memory held
    meanwhile, None where that is not known. `busy_at_most` is how busy a device can have been
    between the samples of the worst stretch, and `least_hours` what is surely left of the hours.
    """

    holder: Holder
    signal: Signal
    device_hours: float
    least_hours: float
    stretches: int
    devices: float
    start: float  # of the longest stretch
    end: float
    highest: float
    samples: int  # of all stretches; each on one device
    busy_at_most: float
    memory: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    holder: int
    device: int
    signal: Signal
    start: float
    end: float
    seconds: float
    highest: float
    samples: int
    memory: tuple[float, float]  # device-seconds of which it is known, times the share; and those

    @property
    def busy_at_most(self) -> float:
        """Return the busy share that so many idle samples still allow."""
        allowed: float = 1 - (1 - CONFIDENCE) ** (1 / self.samples)
        return allowed


def idle_jobs(table: ActivityTable) -> tuple[IdleJob, ...]:
    """Return the jobs that held devices without using them, the most device-hours first.

    GPU-util says whether any kernel ran; where it is not known, whether a multiprocessor or the
    engine was active does. What nobody held is not in it.
    """
    found: dict[int, list[_Stretch]] = {}
    seen: set[tuple[int, int]] = set()
    for signal in (Signal.GPU_UTIL, Signal.SM_ACTIVE, Signal.ENGINE_ACTIVE):
        samples = table.signals.get(signal)
        if samples is None:
            continue
        for stretch in _stretches(table, signal, samples):
            if (stretch.holder, stretch.device) not in seen:
                found.setdefault(stretch.holder, []).append(stretch)
        seen |= set(zip(samples.holder.tolist(), samples.device.tolist(), strict=True))
    jobs = [_job(table, holder, stretches) for holder, stretches in found.items()]
    return tuple(sorted(jobs, key=lambda job: (-job.device_hours, job.holder)))


def _stretches(table: ActivityTable, signal: Signal, samples: Samples) -> Iterator[_Stretch]:
    is_free = np.array([holder.is_free for holder in table.holders])
    is_idle = (samples.shares <= IDLE_SHARE) & ~is_free[samples.holder]
    goes_on = (
        (is_idle[1:] & is_idle[:-1])
        & (samples.device[1:] == samples.device[:-1])
        & (samples.holder[1:] == samples.holder[:-1])
        & (samples.starts[1:] <= samples.ends[:-1])
    )
    firsts = np.flatnonzero(is_idle & ~np.append(False, goes_on))
    lasts = np.flatnonzero(is_idle & ~np.append(goes_on, False))
    is_long = samples.ends[lasts] - samples.starts[firsts] >= SHORTEST_S
    memory = table.signals.get(Signal.MEMORY)
    for first, last in zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True):
        start, end = float(samples.starts[first]), float(samples.ends[last])
        holder, device = int(samples.holder[first]), int(samples.device[first])
        of_it = slice(first, last + 1)
        polled = max(int((end - start) / POLL_S), 1)
        yield _Stretch(
            holder=holder,
            device=device,
            signal=signal,
            start=start,
            end=end,
            seconds=float(samples.seconds[of_it].sum()),
            highest=float(samples.shares[of_it].max()),
            samples=polled if samples.is_peak[first] else last + 1 - first,
            memory=_held(memory, device, holder, start, end),
        )


def _held(
    memory: Samples | None, device: int, holder: int, start: float, end: float
) -> tuple[float, float]:
    """Return the memory that was held in a stretch times its device-seconds, and those."""
    if memory is None:
        return 0.0, 0.0
    # The samples lie by device, holder and time: so the stretch's are side by side.
    first, last = np.searchsorted(memory.device, (device, device + 1))
    low, high = first + np.searchsorted(memory.holder[first:last], (holder, holder + 1))
    begin, until = low + np.searchsorted(memory.starts[low:high], (start, end))
    of_it = slice(int(begin), int(until))
    seconds = memory.seconds[of_it]
    return float((memory.shares[of_it] * seconds).sum()), float(seconds.sum())


def _job(table: ActivityTable, holder: int, stretches: Sequence[_Stretch]) -> IdleJob:
    longest = max(stretches, key=lambda each: each.end - each.start)
    held, known = (sum(each.memory[place] for each in stretches) for place in (0, 1))
    devices = {each.device for each in stretches}
    return IdleJob(
        holder=table.holders[holder],
        signal=longest.signal,
        device_hours=sum(each.seconds for each in stretches) / HOUR,
        least_hours=sum(each.seconds * (1 - each.busy_at_most) for each in stretches) / HOUR,
        stretches=len(stretches),
        devices=float(sum(table.sizes[device] for device in devices)),
        start=longest.start,
        end=longest.end,
        highest=max(each.highest for each in stretches),
        samples=sum(each.samples for each in stretches),
        busy_at_most=max(each.busy_at_most for each in stretches),
        memory=held / known if known else None,
    )
