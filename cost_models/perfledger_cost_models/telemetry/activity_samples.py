"""Samples of device activity by owner, as shares that each hold for a period.

A sample holds until the next one. Where the next one is late it holds for one usual step, and the
rest of the gap is unknown: it never counts as idle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfledger.rounding import for_programs
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.usage.device_spans import EARLIEST, LATEST, UsageFileError

MAX_SAMPLES = 5_000_000  # some 400 MB while they are read
MAX_TIMELINES = 500_000
# Shares are ratios of two counters read at slightly different times, so they may exceed 1.
MAX_SHARE = 1.05
# Samplers are late by fractions of a step; from one and a half steps on a sample is missing.
LATE_STEPS = 1.5
NO_OWNER = "(nobody)"
UNKNOWN_OWNER = "(unknown)"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DeviceOwner:
    """The owner of a device; "" is unknown."""

    team: str = ""
    namespace: str = ""
    job: str = ""
    is_free: bool = False  # the file shows that it has no owner

    def at(self, level: OwnerLevel) -> str:
        """Return the owner's name on a level, else on the next known level."""
        if self.is_free:
            return NO_OWNER
        match level:
            case OwnerLevel.TEAM:
                return self.team or self.namespace or self.job or UNKNOWN_OWNER
            case OwnerLevel.NAMESPACE:
                return self.namespace or self.team or self.job or UNKNOWN_OWNER
            case OwnerLevel.JOB:  # two teams may each have a job of the same name
                group = self.namespace or self.team
                return "/".join(word for word in (group, self.job) if word) or UNKNOWN_OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityTimeline:
    """Samples as in a file: times, and the share from each time on; NaN is unknown."""

    owner: DeviceOwner
    device: str
    signal: Signal
    samples: Sequence[tuple[float, float]]
    model: str = ""
    devices: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Activity:
    """Shares of one signal of a device, each with its start and end, in the order of time.

    Times are seconds since 1970. `device` may stand for several, whose mean the shares are, or for
    a part of one. Shares that are the highest seen (`is_peak`) are an upper bound of the mean.
    """

    owner: DeviceOwner
    device: str
    signal: Signal
    starts: FloatArray
    ends: FloatArray
    shares: FloatArray
    model: str = ""
    devices: float = 1.0
    is_peak: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActivityExport:
    """The device activity of one file; `left_out` counts samples that are not shares.

    `period` is the time that the file covers if that includes time without activities, as in
    Slurm's accounting while no job has a GPU; None for the period of the activities.
    """

    name: str
    kind: str
    activities: tuple[Activity, ...]
    left_out: int = 0
    notes: tuple[str, ...] = ()
    period: tuple[float, float] | None = None


def export_of(
    name: str,
    kind: str,
    timelines: Sequence[ActivityTimeline],
    *,
    notes: Sequence[str] = (),
) -> ActivityExport:
    """Return the activity of a file's timelines; the usual step is the median over all of them.

    Leaves out values that are not shares, such as DCGM's codes for "not supported"; their time is
    unknown. Raises UsageFileError if nothing is left.
    """
    sorted_timelines = _sort_samples(name, timelines)
    gaps = np.concatenate([np.diff(times) for _, times, _ in sorted_timelines] or [np.empty(0)])
    if not len(gaps):
        msg = f"{name} has no device with two samples: export a longer period"
        raise UsageFileError(msg)
    step = float(np.percentile(gaps, 50, method="lower"))  # "lower": a gap that occurs
    activities: list[Activity] = []
    left_out = 0
    for each, times, shares in sorted_timelines:
        is_share = (shares >= 0) & (shares <= MAX_SHARE)  # NaN is neither
        left_out += int((~is_share & ~np.isnan(shares)).sum())
        if is_share.any():
            activities.append(
                Activity(
                    owner=each.owner,
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
        msg = f"{name} has no value that is a share: check its unit and its metric"
        raise UsageFileError(msg)
    return ActivityExport(
        name=name, kind=kind, activities=tuple(activities), left_out=left_out, notes=tuple(notes)
    )


def clip_export(export: ActivityExport, start: float, end: float) -> ActivityExport:
    """Return an export limited to a period; samples on its edges are cut there."""
    clipped: list[Activity] = []
    for each in export.activities:
        rows = (each.starts < end) & (each.ends > start)
        if rows.any():
            clipped.append(
                replace(
                    each,
                    starts=np.maximum(each.starts[rows], start),
                    ends=np.minimum(each.ends[rows], end),
                    shares=each.shares[rows],
                )
            )
    period = export.period
    if period is not None:
        period = max(period[0], start), min(period[1], end)
    is_empty = period is not None and period[0] >= period[1]
    return replace(export, activities=tuple(clipped), period=None if is_empty else period)


def _sort_samples(
    name: str, timelines: Sequence[ActivityTimeline]
) -> list[tuple[ActivityTimeline, FloatArray, FloatArray]]:
    samples = sum(len(each.samples) for each in timelines)
    if samples > MAX_SAMPLES or len(timelines) > MAX_TIMELINES:
        msg = (
            f"{name} has more than {MAX_SAMPLES} samples or {MAX_TIMELINES} series: export a "
            "shorter period or a longer step"
        )
        raise UsageFileError(msg)
    sorted_timelines: list[tuple[ActivityTimeline, FloatArray, FloatArray]] = []
    for each in timelines:
        if not each.samples:
            continue
        table = np.array(each.samples, dtype=float)
        times, shares = table[np.argsort(table[:, 0], kind="stable")].T
        if not (times[0] >= EARLIEST and times[-1] <= LATEST):
            msg = (
                f"{name}: sample times {for_programs(times[0])} to {for_programs(times[-1])} are "
                "impossible: export again"
            )
            raise UsageFileError(msg)
        if (np.diff(times) <= 0).any():
            msg = (
                f"{name} has two samples of one device at one time: keep the labels that identify "
                "devices (UUID, gpu and host, index and instance). If clocks were set back, export "
                "in UTC."
            )
            raise UsageFileError(msg)
        sorted_timelines.append((each, times, shares))
    return sorted_timelines


def _ends(times: FloatArray, step: float) -> FloatArray:
    """Return the end of each sample: the next one, or one step if that is late or missing."""
    following = np.append(times[1:], np.inf)
    return np.where(following - times <= LATE_STEPS * step, following, times + step)
