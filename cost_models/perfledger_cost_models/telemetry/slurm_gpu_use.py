"""Reads an upper bound of each job's GPU use from Slurm's `sacct --parsable2` with gres/gpuutil.

https://slurm.schedmd.com/gres.html#Accounting: gpuutil and gpumem of TRESUsageIn... are high-water
marks of each rank, in percent of one GPU and bytes, summed over the step's ranks (Tot) or divided
by their number (Ave). They bound a job's use from above: it never exceeded the sum of its running
steps' marks. Needs, beside the columns for usage, TRESUsageInTot, or TRESUsageInAve with NTasks. A
job on parts of GPUs (MIG) has no such figures, and its zeros mean nothing. Jobstats' summary in
AdminComment takes precedence, because it is a mean and not a bound.
"""

import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec
import numpy as np

from perfledger.rounding import decimals
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.prices.accelerator_names import nominal_bytes
from perfledger_cost_models.prices.mig_profiles import mig_share
from perfledger_cost_models.telemetry.activity_samples import (
    MAX_SHARE,
    Activity,
    ActivityExport,
    DeviceOwner,
)
from perfledger_cost_models.telemetry.metric_names import PERCENT
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import MAX_DEVICES, UsageFileError
from perfledger_cost_models.usage.sacct import SacctRow, amounts_of, gpus_of, sacct_rows
from perfledger_cost_models.usage.slurm_allocations import COLUMNS, KIND

TOTAL, MEAN, RANKS = "TRESUsageInTot", "TRESUsageInAve", "NTasks"
UTIL, MEMORY = "gres/gpuutil", "gres/gpumem"
SUMMARY = "AdminComment"
NO_ACTIVITY_NOTE = (
    "every GPU-util is 0: if the GPUs were used, Slurm does not account for them here "
    "(AccountingStorageTRES=gres/gpuutil, AutoDetect=nvml)"
)
# Most pairs of runs and steps of a job that are matched. Each run of a requeued job is matched with
# all steps of that job: a hundred runs of a thousand steps are a hundred thousand pairs.
MAX_PAIRS = 2_000_000
# No job has more ranks on a GPU; Slurm's code for "unknown" is larger.
MAX_RANKS_A_GPU = 1000
# The moments before a job's first step and after its last one are unknown.
MIN_ACCOUNTED_SHARE = 0.99
MAX_ACTIVITIES = 1_000_000  # two for each GPU in Jobstats; a file has some 400,000 jobs
MIG_JOBS_NOTE = "jobs on parts of GPUs (MIG) are left out: Slurm does not record their use"

JOBSTATS = "JS1:"
# A job on a thousand nodes takes a hundred thousand bytes; more is not a summary. Names and figures
# compress four to ten times; a much higher ratio is a decompression bomb.
MAX_UNPACKED_BYTES = 2**20
MAX_RATIO = 50
_GZIP = 31  # zlib's window with a gzip header


@dataclass(frozen=True, slots=True)
class GpuSummary:
    """One GPU over a job: its mean GPU-util, and its highest memory; None if unknown."""

    gpu: str
    utilization: float
    memory: float | None


class _Node(msgspec.Struct):
    gpu_utilization: dict[str, float] = {}
    gpu_used_memory: dict[str, float] = {}
    gpu_total_memory: dict[str, float] = {}


class _Summary(msgspec.Struct):
    nodes: dict[str, _Node] = {}


_SUMMARY_DECODER = msgspec.json.Decoder(_Summary)


@dataclass(frozen=True, slots=True)
class _Step:
    """The marks of a step: GPUs busy at once, and bytes; None if it has none."""

    start: float
    end: float
    marks: Mapping[Signal, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A job with GPUs."""

    owner: DeviceOwner
    start: float
    end: float
    gpus: int
    model: str
    comment: str


def read_sacct_activity(text: str, name: str) -> ActivityExport:
    """Read jobs with GPUs and steps with marks; raise UsageFileError."""
    jobs: dict[
        tuple[str, str], list[_Job]
    ] = {}  # by cluster and id; a requeued job (sacct -D) has several runs
    steps: dict[tuple[str, str], list[_Step]] = {}
    moments: list[float] = []  # of all jobs, also of those without GPUs
    for row in sacct_rows(text, name, COLUMNS):
        key = row.get("Cluster"), row.job
        moments += row.span() or ()
        if row.step:
            steps.setdefault(key, []).extend(_step(row))
        else:
            jobs.setdefault(key, []).extend(_job(row))
    pairs = sum(len(of) * len(steps.get(key, ())) for key, of in jobs.items() if len(of) > 1)
    all_jobs = [(key, job) for key, of in jobs.items() for job in of]
    full_gpu_jobs = [(key, job) for key, job in all_jobs if mig_share(job.model) is None]
    job_activities = (
        each
        for key, job in full_gpu_jobs
        for each in _job_activities(key[1], job, steps.get(key, ()))
    )
    activities = tuple(islice(job_activities, MAX_ACTIVITIES + 1)) if pairs <= MAX_PAIRS else ()
    if pairs > MAX_PAIRS or len(activities) > MAX_ACTIVITIES:
        msg = f"{name} has too many runs, steps or GPUs: export fewer days"
        raise UsageFileError(msg)
    if not activities:
        msg = f"{name} has no {UTIL} of GPU jobs: add {TOTAL} to --format and keep the steps"
        raise UsageFileError(msg)
    notes = [*_missing_note([job for _, job in full_gpu_jobs], activities)]
    if len(full_gpu_jobs) < len(all_jobs):
        notes.append(MIG_JOBS_NOTE)
    if not any(each.shares.any() for each in activities if each.signal is Signal.GPU_UTIL):
        notes.append(NO_ACTIVITY_NOTE)
    return ActivityExport(
        name=name,
        kind=KIND,
        activities=activities,
        notes=tuple(notes),
        period=(min(moments), max(moments)),
    )


def summaries_of(comment: str) -> tuple[GpuSummary, ...]:
    """Return Jobstats' summaries of a job's GPUs in a comment, nothing for another comment.

    https://princetonuniversity.github.io/jobstats/setup/summaries/: "JS1:" and gzipped JSON in
    base64, by node and GPU: the mean of GPU-util in percent over the job, and the highest memory
    use. "JS1:Short" and "JS1:None" are empty. A part of a GPU (MIG) has no utilization.
    """
    if not comment.startswith(JOBSTATS):
        return ()
    unpacker = zlib.decompressobj(_GZIP)
    try:
        packed = b64decode(comment.removeprefix(JOBSTATS).strip(), validate=True)
        data = unpacker.decompress(packed, min(MAX_UNPACKED_BYTES, MAX_RATIO * len(packed) + 1))
        summary = _SUMMARY_DECODER.decode(data)
    except (ValueError, zlib.error, msgspec.DecodeError, RecursionError):
        return ()
    return tuple(each for name, node in summary.nodes.items() for each in _gpus(name, node))


def _gpus(name: str, node: _Node) -> Iterator[GpuSummary]:
    for gpu, percent in sorted(node.gpu_utilization.items()):
        utilization = _share(percent * PERCENT)
        if utilization is not None:
            memory = _memory_share(node.gpu_used_memory, node.gpu_total_memory, gpu)
            yield GpuSummary(f"{name} gpu {gpu}", utilization, memory)


def _memory_share(used: Mapping[str, float], total: Mapping[str, float], gpu: str) -> float | None:
    size = total.get(gpu, 0.0)
    return _share(used[gpu] / size) if gpu in used and size > 0 else None


def _share(value: float) -> float | None:
    """Return a share capped at 1, else None: counters read at different times exceed 1 slightly."""
    return min(value, 1.0) if 0 <= value <= MAX_SHARE else None


def _job(row: SacctRow) -> Iterator[_Job]:
    """Yield a row's job if it has GPUs; raise UsageFileError for an impossible number of GPUs."""
    span, gpus = row.span(), gpus_of(row.get("AllocTRES"))
    if gpus.count > MAX_DEVICES:
        msg = f"{row.where}: {gpus.count} GPUs, more than {MAX_DEVICES}: export it again"
        raise UsageFileError(msg)
    if gpus.count and span is not None and span[1] > span[0]:
        yield _Job(
            owner=_owner(row),
            start=span[0],
            end=span[1],
            gpus=gpus.count,
            model=gpus.model,
            comment=row.get(SUMMARY),
        )


def _step(row: SacctRow) -> Iterator[_Step]:
    """Yield a row's step; raise UsageFileError."""
    span = row.span()
    if span is not None and span[1] > span[0]:
        usage = _usage(row)
        marks = {Signal.GPU_UTIL: usage.get(UTIL), Signal.MEMORY: usage.get(MEMORY)}
        yield _Step(*span, marks)


def _missing_note(jobs: Sequence[_Job], activities: Sequence[Activity]) -> Iterator[str]:
    """Yield a note if part of the jobs' device-hours has no activity."""
    held_hours = sum(job.gpus * (job.end - job.start) for job in jobs) / SECONDS_PER_HOUR
    gpu_util = (each for each in activities if each.signal is Signal.GPU_UTIL)
    known_hours = (
        sum(each.devices * float((each.ends - each.starts).sum()) for each in gpu_util)
        / SECONDS_PER_HOUR
    )
    if known_hours < MIN_ACCOUNTED_SHARE * held_hours:
        yield (
            f"{decimals(held_hours - known_hours, 1)} of the {decimals(held_hours, 1)} "
            "device-hours of jobs have no activity: they are unknown and left out of means"
        )


def _owner(row: SacctRow) -> DeviceOwner:
    job = f"{row.job} {row.get('JobName')}".strip()
    team = row.get("Account") or row.get("User")
    return DeviceOwner(team=team, namespace=row.get("Partition"), job=job)


def _usage(row: SacctRow) -> Mapping[str, float]:
    """Return the usage of a step over all its ranks; raise UsageFileError."""
    if total := row.get(TOTAL):
        return amounts_of(total)
    mean = row.get(MEAN)
    if not mean:
        return {}
    number = row.get(RANKS)
    if not (number.isdecimal() and len(number) < 10):  # noqa: PLR2004 - no step has this many
        msg = f"{row.where}: {MEAN} is per rank: add {RANKS} or {TOTAL} to --format"
        raise UsageFileError(msg)
    return {name: float(number) * amount for name, amount in amounts_of(mean).items()}


def _job_activities(key: str, job: _Job, steps: Sequence[_Step]) -> Iterator[Activity]:
    summaries = summaries_of(job.comment)
    return _mean_activities(key, job, summaries) if summaries else _activities(key, job, steps)


def _mean_activities(key: str, job: _Job, summaries: Sequence[GpuSummary]) -> Iterator[Activity]:
    """Yield the means and highest values of a job's GPUs over its run."""
    for each in summaries:
        for signal, share in ((Signal.GPU_UTIL, each.utilization), (Signal.MEMORY, each.memory)):
            if share is not None:
                yield Activity(
                    owner=job.owner,
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
    for signal, scale in (
        (Signal.GPU_UTIL, job.gpus / PERCENT),
        (Signal.MEMORY, job.gpus * memory if memory else None),
    ):
        marked = [
            (each.start, each.end, mark)
            for each in steps
            if (mark := each.marks[signal]) is not None and mark <= MAX_RANKS_A_GPU * (scale or 0)
        ]
        if marked and scale:
            times, sums = _sum_marks(job, marked)
            is_known = ~np.isnan(sums)
            if is_known.any():
                yield Activity(
                    owner=job.owner,
                    device=f"job {device}",
                    signal=signal,
                    starts=times[:-1][is_known],
                    ends=times[1:][is_known],
                    shares=np.minimum(sums[is_known] / scale, 1.0),
                    model=job.model,
                    devices=float(job.gpus),
                    is_peak=True,
                )


def _sum_marks(
    job: _Job, marked: Sequence[tuple[float, float, float]]
) -> tuple[FloatArray, FloatArray]:
    """Return the times of a job, and between them the sums of its running steps' marks."""
    inside = [
        (max(start, job.start), min(end, job.end), mark)
        for start, end, mark in marked
        if max(start, job.start) < min(end, job.end)
    ]
    starts, ends, marks = np.array(inside, dtype=float).reshape(len(inside), 3).T
    times = np.unique(np.concatenate([[job.start, job.end], starts, ends]))
    changes, running = np.zeros(len(times)), np.zeros(len(times), dtype=np.int64)
    for moments, sign in ((starts, 1), (ends, -1)):
        places = np.searchsorted(times, moments)
        np.add.at(changes, places, sign * marks)
        np.add.at(running, places, sign)
    sums = np.maximum(np.cumsum(changes), 0.0)  # sums of differences are inexact
    return times, np.where(np.cumsum(running) > 0, sums, np.nan)[:-1]
