"""Jobs as a log tells of them into one checked table of columns, sorted by when they came.

Times inside are whole milliseconds from the first submission: sums of whole numbers are exact, so
that what goes into a simulation can be held against what comes out of it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_JOBS = 5_000_000
MAX_DEVICES = 1_000_000
MAX_SECONDS = 1e11  # three thousand years; sums over MAX_JOBS stay whole in 64 bits
MAX_NAME = 200
MAX_AMOUNT = 10**12  # milli-CPUs and MiB: more than any machine has
WHOLE = 1000  # thousandths of a device

IntArray = NDArray[np.int64]


class JobLogError(ValueError):
    """A job log, or a list of nodes, that cannot be read as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of a log; what the log does not say is None, or 0 where nothing is asked for."""

    submit_s: float
    run_s: float | None
    devices: int
    share_milli: int = WHOLE  # of each device: 1000 is all of it
    wait_s: float | None = None  # as the log recorded it
    limit_s: float | None = None  # the time that was asked for
    cpu_milli: int = 0
    memory_mib: int = 0
    priority: int = 0  # higher is more urgent
    team: str = ""
    pool: str = ""
    models: str = ""  # accelerators that will do, joined by "|"; "" is any


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column of few different words: each row's place among the names."""

    codes: IntArray
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jobs:
    """A table of jobs, a column a field of `Job`; -1 stands for an unknown time."""

    start_s: float  # the first submission, as the log counts time
    submit_ms: IntArray
    run_ms: IntArray
    wait_ms: IntArray
    limit_ms: IntArray  # what was asked for, else the time that it ran
    devices: IntArray
    share_milli: IntArray
    cpu_milli: IntArray
    memory_mib: IntArray
    priority: IntArray
    team: Labels
    pool: Labels
    models: Labels

    def __len__(self) -> int:
        return len(self.submit_ms)

    @property
    def milli(self) -> IntArray:
        """Return the thousandths of devices that each job takes."""
        return self.devices * self.share_milli

    def taken(self, rows: NDArray[np.bool_] | IntArray) -> "Jobs":
        """Return some of the rows, in their order."""
        return Jobs(
            start_s=self.start_s,
            submit_ms=self.submit_ms[rows],
            run_ms=self.run_ms[rows],
            wait_ms=self.wait_ms[rows],
            limit_ms=self.limit_ms[rows],
            devices=self.devices[rows],
            share_milli=self.share_milli[rows],
            cpu_milli=self.cpu_milli[rows],
            memory_mib=self.memory_mib[rows],
            priority=self.priority[rows],
            team=Labels(self.team.codes[rows], self.team.names),
            pool=Labels(self.pool.codes[rows], self.pool.names),
            models=Labels(self.models.codes[rows], self.models.names),
        )


def table_of(jobs: Iterable[Job]) -> Jobs:
    """Return the table of jobs, sorted by submission; ties stay in the log's order.

    Raises JobLogError for no job at all, too many of them, and figures that no job has.
    """
    rows: list[Job] = []
    for job in jobs:
        _check(job, len(rows) + 1)
        rows.append(job)
    if not rows:
        msg = "the log has no job that can be used: is it the format that was named?"
        raise JobLogError(msg)
    rows.sort(key=lambda job: job.submit_s)
    start_s = rows[0].submit_s
    run_ms = _milliseconds([job.run_s for job in rows])
    limit_ms = _milliseconds([job.limit_s for job in rows])
    return Jobs(
        start_s=start_s,
        submit_ms=_milliseconds([job.submit_s - start_s for job in rows]),
        run_ms=run_ms,
        wait_ms=_milliseconds([job.wait_s for job in rows]),
        limit_ms=np.where(limit_ms > 0, limit_ms, run_ms),
        devices=_whole([job.devices for job in rows]),
        share_milli=_whole([job.share_milli for job in rows]),
        cpu_milli=_whole([job.cpu_milli for job in rows]),
        memory_mib=_whole([job.memory_mib for job in rows]),
        priority=_whole([job.priority for job in rows]),
        team=labels_of([job.team for job in rows]),
        pool=labels_of([job.pool for job in rows]),
        models=labels_of([job.models for job in rows]),
    )


def labels_of(words: Sequence[str]) -> Labels:
    """Return words as a column of labels; the names are sorted."""
    names = sorted(set(words))
    places = {name: place for place, name in enumerate(names)}
    return Labels(_whole([places[word] for word in words]), tuple(names))


def _check(job: Job, row: int) -> None:
    if row > MAX_JOBS:
        msg = f"the log has more than {MAX_JOBS} jobs: simulate a shorter period"
        raise JobLogError(msg)
    times = [job.submit_s, *(each for each in (job.run_s, job.wait_s, job.limit_s) if each)]
    if any(not math.isfinite(each) or not 0 <= each <= MAX_SECONDS for each in times):
        msg = f"job {row}: times in seconds must lie between 0 and {MAX_SECONDS:g}, not {times}"
        raise JobLogError(msg)
    if not 0 <= job.devices <= MAX_DEVICES or not 0 <= job.share_milli <= WHOLE:
        msg = f"job {row} asks for {job.devices} devices of {job.share_milli}/1000: correct it"
        raise JobLogError(msg)
    amounts = (job.cpu_milli, job.memory_mib, abs(job.priority))
    if any(not 0 <= each <= MAX_AMOUNT for each in amounts):
        msg = f"job {row}: milli-CPUs, MiB and priority must be at most {MAX_AMOUNT:g}: {amounts}"
        raise JobLogError(msg)
    if any(len(each) > MAX_NAME for each in (job.team, job.pool, job.models)):
        msg = f"job {row}: a name has more than {MAX_NAME} characters: shorten it"
        raise JobLogError(msg)


def _milliseconds(seconds: Sequence[float | None]) -> IntArray:
    return _whole([-1 if each is None else round(each * 1000) for each in seconds])


def _whole(numbers: Sequence[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)
