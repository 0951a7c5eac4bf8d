"""Samples of how busy devices were, and who held them, as shares that stand for stretches of time.

A sample stands for the time until the next one. Where the next one is late it stands for one usual
step, and what follows is not known: it is never counted as idle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.usage import EARLIEST, LATEST, UsageFileError

MAX_SAMPLES = 5_000_000  # some 400 MB while they are read
MAX_TIMELINES = 500_000
# Shares are quotients of two counters that are read at slightly different times.
MAX_SHARE = 1.05
# Samplers come late by fractions of a step; from one and a half on one sample at least is missing.
LATE_STEPS = 1.5
NOBODY = "(nobody)"
NOT_TOLD = "(not told)"

FloatArray = NDArray[np.float64]


class Signal(StrEnum):
    """What a share is a share of.

    They are not the same: a kernel of one thread makes a device all busy, and one in a hundred of
    its multiprocessors active.
    """

    GPU_UTIL = "gpu_util"  # time in which any kernel ran; of a TPU its duty cycle
    SM_ACTIVE = "sm_active"  # multiprocessors with work, on average over time
    TENSOR_ACTIVE = "tensor_active"  # of what the matrix units could have done
    MEMORY = "memory"  # of the device's memory, held
    # Time in which the engine had work, which SM-active never exceeds. dcgm-exporter has it unless
    # told otherwise, and of the parts of a device (MIG), for which there is no GPU-util.
    ENGINE_ACTIVE = "gr_engine_active"


class Level(StrEnum):
    """Whose utilization is told."""

    TEAM = "team"
    NAMESPACE = "namespace"
    JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Holder:
    """Who held a device; "" is not told."""

    team: str = ""
    namespace: str = ""
    job: str = ""
    is_free: bool = False  # the file says that nobody held it

    def at(self, level: Level) -> str:
        """Return the holder's name on a level, else on the next one that is told."""
        if self.is_free:
            return NOBODY
        match level:
            case Level.TEAM:
                return self.team or self.namespace or self.job or NOT_TOLD
            case Level.NAMESPACE:
                return self.namespace or self.team or self.job or NOT_TOLD
            case Level.JOB:  # two teams may each have a job of the same name
                whose = self.namespace or self.team
                return "/".join(word for word in (whose, self.job) if word) or NOT_TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Samples as a file has them: moments, and the share from each on; NaN is not known."""

    holder: Holder
    device: str
    signal: Signal
    samples: Sequence[tuple[float, float]]
    model: str = ""
    devices: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Activity:
    """Shares of one signal of a device, each from its start to its end, in the order of time.

    Times are seconds since 1970. `device` may stand for several, of which the shares are the mean,
    or for a part of one. The highest that was seen (`is_peak`) is an upper bound of the mean.
    """

    holder: Holder
    device: str
    signal: Signal
    starts: FloatArray
    ends: FloatArray
    shares: FloatArray
    model: str = ""
    devices: float = 1.0
    is_peak: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Export:
    """What one file tells of devices' activity; `left_out` samples of it are no shares."""

    name: str
    kind: str
    activities: tuple[Activity, ...]
    left_out: int = 0
    notes: tuple[str, ...] = ()


def export_of(
    name: str,
    kind: str,
    timelines: Sequence[Timeline],
    *,
    left_out: int = 0,
    notes: Sequence[str] = (),
) -> Export:
    """Return timelines as what a file tells. The usual step is the median over all of them.

    Values that are no share (DCGM's words for "not supported" among them) are left out and their
    time is not known. Raises UsageFileError where nothing is left.
    """
    found = _sorted(name, timelines)
    gaps = np.concatenate([np.diff(times) for _, times, _ in found] or [np.empty(0)])
    if not len(gaps):
        msg = f"{name} has no two samples of one device: export a stretch of time"
        raise UsageFileError(msg)
    step = float(np.percentile(gaps, 50, method="lower"))  # of few, one that there is
    activities: list[Activity] = []
    for each, times, shares in found:
        is_share = (shares >= 0) & (shares <= MAX_SHARE)  # NaN is neither
        left_out += int((~is_share & ~np.isnan(shares)).sum())
        if is_share.any():
            activities.append(
                Activity(
                    holder=each.holder,
                    device=each.device,
                    signal=each.signal,
                    starts=times[is_share],
                    ends=_ends(times, step)[is_share],
                    shares=np.minimum(shares[is_share], 1.0),
                    model=each.model,
                    devices=each.devices,
                )
            )
    if not activities:
        msg = f"{name} has no value that is a share: is it of percent, or of another metric?"
        raise UsageFileError(msg)
    return Export(
        name=name, kind=kind, activities=tuple(activities), left_out=left_out, notes=tuple(notes)
    )


def within(export: Export, start: float, end: float) -> Export:
    """Return what an export tells of a period; a sample that lies on its edge is cut off there."""
    kept: list[Activity] = []
    for each in export.activities:
        rows = (each.starts < end) & (each.ends > start)
        if rows.any():
            kept.append(
                replace(
                    each,
                    starts=np.maximum(each.starts[rows], start),
                    ends=np.minimum(each.ends[rows], end),
                    shares=each.shares[rows],
                )
            )
    return replace(export, activities=tuple(kept))


def _sorted(
    name: str, timelines: Sequence[Timeline]
) -> list[tuple[Timeline, FloatArray, FloatArray]]:
    samples = sum(len(each.samples) for each in timelines)
    if samples > MAX_SAMPLES or len(timelines) > MAX_TIMELINES:
        msg = (
            f"{name} has more than {MAX_SAMPLES} samples or {MAX_TIMELINES} series: export less "
            "time, or with a longer step"
        )
        raise UsageFileError(msg)
    found: list[tuple[Timeline, FloatArray, FloatArray]] = []
    for each in timelines:
        if not each.samples:
            continue
        table = np.array(each.samples, dtype=float)
        times, shares = table[np.argsort(table[:, 0], kind="stable")].T
        if not (times[0] >= EARLIEST and times[-1] <= LATEST):
            msg = f"{name}: samples from {times[0]:g} to {times[-1]:g} are of no time: export again"
            raise UsageFileError(msg)
        if (np.diff(times) <= 0).any():
            msg = (
                f"{name} has two samples of one device and one time: keep the labels that tell "
                "devices apart (UUID, gpu and host, index and instance), and export in UTC where "
                "clocks were put back"
            )
            raise UsageFileError(msg)
        found.append((each, times, shares))
    return found


def _ends(times: FloatArray, step: float) -> FloatArray:
    """Return until when samples stand: the next one, or a step where that is late or none."""
    following = np.append(times[1:], np.inf)
    ends: FloatArray = np.where(following - times <= LATE_STEPS * step, following, times + step)
    return ends
