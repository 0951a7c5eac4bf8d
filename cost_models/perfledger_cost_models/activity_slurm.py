"""Slurm's `sacct --parsable2` with gres/gpuutil into the most that each job can have used.

https://slurm.schedmd.com/gres.html#Accounting: gpuutil and gpumem of TRESUsageIn... are high-water
marks of each rank, in percent of one GPU and bytes, added up over the step's ranks (Tot) or divided
by their number (Ave). So a job's use is known from above: at no time was it more than its running
steps' marks together. Wanted beside what usage is read of: TRESUsageInTot, or TRESUsageInAve with
NTasks. A job on parts of GPUs (MIG) has no such figures, and its zeros mean nothing. Where Jobstats
left its summary in AdminComment, that goes before: it is a mean, and no bound.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from perfledger_cost_models.activity import Activity, Export, FloatArray, Holder, Signal
from perfledger_cost_models.activity_jobstats import GpuSummary, summaries_of
from perfledger_cost_models.activity_readings import nominal_bytes
from perfledger_cost_models.activity_table import HOUR
from perfledger_cost_models.usage import MAX_DEVICES, UsageFileError
from perfledger_cost_models.usage_slurm import KIND, begun_rows, gpus_of, times_of

TOTAL, MEAN, RANKS = "TRESUsageInTot", "TRESUsageInAve", "NTasks"
UTIL, MEMORY = "gres/gpuutil", "gres/gpumem"
SUMMARY = "AdminComment"
NOTHING_SEEN = (
    "every mark of GPU-util is 0: if that is not so, Slurm does not account for GPUs here "
    "(AccountingStorageTRES=gres/gpuutil, AutoDetect=nvml)"
)
# Each run of a requeued job is held against all steps of that job: a hundred runs of a thousand
# steps are a hundred thousand.
MAX_PAIRS = 2_000_000
# No job has so many on one; what Slurm writes for "not known" is more.
MAX_RANKS_A_GPU = 1000
# Between a job's begin and its first step's, and after its last, are moments of which none is told.
TOLD_SHARE = 0.99
MAX_ACTIVITIES = 1_000_000  # two of each GPU that Jobstats tells of: a file has some 400,000 jobs
PARTS_LEFT_OUT = "jobs on parts of GPUs (MIG) are left out: Slurm does not know how busy those are"

_PERCENT = 0.01
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,6})?)([KMGTP]?)")
_BYTES = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_PART = re.compile(r"\dg\.\d{1,4}gb")


@dataclass(frozen=True, slots=True)
class _Step:
    """The marks of a step: GPUs that were busy at once, and bytes; None where it has none."""

    start: float
    end: float
    marks: Mapping[Signal, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A job that holds GPUs."""

    holder: Holder
    start: float
    end: float
    gpus: int
    model: str
    comment: str


def read_sacct_activity(text: str, name: str) -> Export:
    """Read jobs that have GPUs and steps with marks; raises UsageFileError."""
    jobs: dict[str, list[_Job]] = {}  # a job that was requeued (sacct -D) has several
    steps: dict[str, list[_Step]] = {}
    for where, row in begun_rows(text, name):
        key, _, step = row["JobID"].partition(".")
        if step:
            steps.setdefault(key, []).extend(_step(row, where))
        else:
            jobs.setdefault(key, []).extend(_job(row, where))
    pairs = sum(len(of) * len(steps.get(key, ())) for key, of in jobs.items() if len(of) > 1)
    every = [(key, job) for key, of in jobs.items() for job in of]
    whole = [(key, job) for key, job in every if not _PART.search(job.model)]
    told = (each for key, job in whole for each in _told(key, job, steps.get(key, ())))
    activities = tuple(islice(told, MAX_ACTIVITIES + 1)) if pairs <= MAX_PAIRS else ()
    if pairs > MAX_PAIRS or len(activities) > MAX_ACTIVITIES:
        msg = f"{name} tells of more runs, steps or GPUs than fit one file: export fewer days"
        raise UsageFileError(msg)
    if not activities:
        msg = f"{name} has no {UTIL} of a job with GPUs: add {TOTAL} to --format, keep the steps"
        raise UsageFileError(msg)
    notes = [*_untold([job for _, job in whole], activities)]
    if len(whole) < len(every):
        notes.append(PARTS_LEFT_OUT)
    if not any(each.shares.any() for each in activities if each.signal is Signal.GPU_UTIL):
        notes.append(NOTHING_SEEN)
    return Export(name=name, kind=KIND, activities=activities, notes=tuple(notes))


def _job(row: Mapping[str, str], where: str) -> Iterator[_Job]:
    """Yield a row's job if it holds GPUs; raises UsageFileError for more than there are."""
    start, end = times_of(row, where)
    gpus, kind = gpus_of(row["AllocTRES"])
    if gpus > MAX_DEVICES:
        msg = f"{where}: {gpus} GPUs are not 0 to {MAX_DEVICES}: export it again"
        raise UsageFileError(msg)
    if gpus and end > start:
        yield _Job(
            holder=_holder(row),
            start=start,
            end=end,
            gpus=gpus,
            model=kind,
            comment=row.get(SUMMARY, ""),
        )


def _step(row: Mapping[str, str], where: str) -> Iterator[_Step]:
    """Yield a row's step; raises UsageFileError."""
    start, end = times_of(row, where)
    if end > start:
        usage = _usage(row, where)
        marks = {Signal.GPU_UTIL: usage.get(UTIL), Signal.MEMORY: usage.get(MEMORY)}
        yield _Step(start, end, marks)


def _untold(jobs: Sequence[_Job], activities: Sequence[Activity]) -> Iterator[str]:
    """Yield a sentence where nothing is told of a part of what jobs held."""
    held = sum(job.gpus * (job.end - job.start) for job in jobs) / HOUR
    told = (each for each in activities if each.signal is Signal.GPU_UTIL)
    known = sum(each.devices * float((each.ends - each.starts).sum()) for each in told) / HOUR
    if known < TOLD_SHARE * held:
        yield (
            f"of {held - known:,.1f} of the {held:,.1f} device-hours that jobs held nothing is "
            "told: they are not known, and in no mean"
        )


def _holder(row: Mapping[str, str]) -> Holder:
    job = f"{row['JobID']} {row.get('JobName', '')}".strip()
    team = row.get("Account") or row.get("User", "")
    return Holder(team=team, namespace=row.get("Partition", ""), job=job)


def _usage(row: Mapping[str, str], where: str) -> dict[str, float]:
    """Return what a step used, over all of its ranks; raises UsageFileError."""
    ranks = 1.0
    told = row.get(TOTAL, "")
    if not told and (told := row.get(MEAN, "")):
        number = row.get(RANKS, "")
        if not (number.isdecimal() and len(number) < 10):  # noqa: PLR2004 - no step has so many
            msg = f"{where}: {MEAN} is of one rank: add {RANKS}, or {TOTAL}, to --format"
            raise UsageFileError(msg)
        ranks = float(number)
    pairs = (each.partition("=") for each in told.split(","))
    found = ((key, _AMOUNT.fullmatch(amount)) for key, _, amount in pairs if key in (UTIL, MEMORY))
    return {
        key: ranks * float(match[1]) * _BYTES[match[2]] for key, match in found if match is not None
    }


def _told(key: str, job: _Job, steps: Sequence[_Step]) -> Iterator[Activity]:
    summaries = summaries_of(job.comment)
    return _summarized(key, job, summaries) if summaries else _activities(key, job, steps)


def _summarized(key: str, job: _Job, summaries: Sequence[GpuSummary]) -> Iterator[Activity]:
    """Yield the means and highest values of a job's GPUs, over all of its time."""
    for each in summaries:
        for signal, share in (
            (Signal.GPU_UTIL, each.utilization),
            (Signal.MEMORY, each.memory),
        ):
            if share is not None:
                yield Activity(
                    holder=job.holder,
                    device=f"job {key} {each.gpu}",
                    signal=signal,
                    starts=np.array([job.start]),
                    ends=np.array([job.end]),
                    shares=np.array([share]),
                    model=job.model,
                    is_peak=signal is Signal.MEMORY,
                )


def _activities(device: str, job: _Job, steps: Sequence[_Step]) -> Iterator[Activity]:
    memory = nominal_bytes(job.model)
    for signal, whole in (
        (Signal.GPU_UTIL, job.gpus / _PERCENT),
        (Signal.MEMORY, job.gpus * memory if memory else None),
    ):
        marked = [
            (each.start, each.end, mark)
            for each in steps
            if (mark := each.marks[signal]) is not None and mark <= MAX_RANKS_A_GPU * (whole or 0)
        ]
        if marked and whole:
            times, sums = _together(job, marked)
            is_known = ~np.isnan(sums)
            if is_known.any():
                yield Activity(
                    holder=job.holder,
                    device=f"job {device}",
                    signal=signal,
                    starts=times[:-1][is_known],
                    ends=times[1:][is_known],
                    shares=np.minimum(sums[is_known] / whole, 1.0),
                    model=job.model,
                    devices=float(job.gpus),
                    is_peak=True,
                )


def _together(
    job: _Job, marked: Sequence[tuple[float, float, float]]
) -> tuple[FloatArray, FloatArray]:
    """Return moments of a job, and between them the sums of its running steps' marks."""
    inside = [
        (max(start, job.start), min(end, job.end), mark)
        for start, end, mark in marked
        if max(start, job.start) < min(end, job.end)
    ]
    starts, ends, marks = np.array(inside, dtype=float).reshape(-1, 3).T
    times = np.unique(np.concatenate([[job.start, job.end], starts, ends]))
    changes, running = np.zeros(len(times)), np.zeros(len(times), dtype=np.int64)
    for moments, sign in ((starts, 1), (ends, -1)):
        places = np.searchsorted(times, moments)
        np.add.at(changes, places, sign * marks)
        np.add.at(running, places, sign)
    sums = np.maximum(np.cumsum(changes), 0.0)  # what was added and taken away is inexact
    return times, np.where(np.cumsum(running) > 0, sums, np.nan)[:-1]
