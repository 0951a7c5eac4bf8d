"""Builds one checked table of columns from the jobs of a log, sorted by submission time.

Times are whole milliseconds from the first submission: sums of integers are exact, so that the
inputs of a simulation can be compared with its outputs.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from perfledger.rounding import typed
from perfledger_cost_models.arrays import BoolArray, IntArray
from perfledger_cost_models.units import MS_PER_SECOND

MAX_JOBS = 5_000_000  # of one log
MAX_DEVICES = 1_000_000
MAX_SECONDS = 1e11  # three thousand years; sums over MAX_JOBS stay exact in 64 bits
MAX_NAME = 200
MAX_AMOUNT = 10**12  # milli-CPUs and MiB: more than any machine has
WHOLE_DEVICE = 1000  # thousandths of a device
# Jobs submitted at once may be equal. If two fifths of a log are copies, the log is in there nearly
# twice: jobs of an array differ in their starts or run times.
MAX_COPIES = 0.4
MIN_COPIES = 20  # of jobs; fewer may be alike by chance


class JobLogError(ValueError):
    """An error for a job log or a list of nodes that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of a log; unknown values are None, and 0 means that nothing is requested."""

    submit_s: float
    run_s: float | None
    devices: int
    share_milli: int = WHOLE_DEVICE  # of each device: 1000 is all of it
    wait_s: float | None = None  # as the log recorded it
    # It may have run before `submit_s`, where the log shows only a part: its wait is unknown.
    is_cut: bool = False
    limit_s: float | None = None  # the requested time limit
    cpu_milli: int = 0
    memory_mib: int = 0
    priority: int = 0  # higher is more urgent
    team: str = ""
    pool: str = ""
    models: str = ""  # acceptable accelerators, joined by "|"; "" is any
    id: str = ""  # the log's own in full, since ids that are cut may be equal; "" if it has none


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """A column with few distinct words: each row's index into the names."""

    codes: IntArray
    names: tuple[str, ...]

    def __getitem__(self, rows: BoolArray | IntArray) -> "LabelColumn":
        return LabelColumn(self.codes[rows], self.names)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobTable:
    """A table of jobs with a column for each field of `Job` except `id`; -1 is an unknown time."""

    start_s: float  # the first submission, in the log's time
    submit_ms: IntArray
    run_ms: IntArray
    wait_ms: IntArray
    is_cut: BoolArray
    limit_ms: IntArray  # the requested limit, else the run time
    devices: IntArray
    share_milli: IntArray
    cpu_milli: IntArray
    memory_mib: IntArray
    priority: IntArray
    team: LabelColumn
    pool: LabelColumn
    models: LabelColumn

    def __len__(self) -> int:
        return len(self.submit_ms)

    @property
    def has_wait(self) -> BoolArray:
        """Return which jobs have a known wait; those with a wait of -1 or a cut start have none."""
        return (self.wait_ms >= 0) & ~self.is_cut

    @property
    def cut_jobs(self) -> int:
        """Return how many jobs with devices have an unknown wait because the log cuts their run."""
        return int((self.is_cut & (self.devices > 0)).sum())

    @property
    def milli(self) -> IntArray:
        """Return the thousandths of devices that each job takes."""
        return self.devices * self.share_milli

    def take(self, rows: BoolArray | IntArray) -> "JobTable":
        """Return some of the rows, in their order."""
        columns = [field.name for field in fields(self) if field.name != "start_s"]
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


def table_of(jobs: Iterable[Job]) -> JobTable:
    """Return the table of jobs, sorted by submission; ties keep the log's order.

    Raises JobLogError for no job at all, too many jobs, impossible figures, and a job that appears
    twice, because its load would count twice.
    """
    rows: list[Job] = []
    runs: dict[Hashable, int] = {}
    for job in jobs:
        _check(job, len(rows) + 1)
        rows.append(job)
        _check_is_new(job, len(rows), runs)
    _check_repeats(rows, runs)
    if not rows:
        msg = "the log has no usable job: check its format"
        raise JobLogError(msg)
    rows.sort(key=lambda job: job.submit_s)
    start_s = rows[0].submit_s
    run_ms = _milliseconds([job.run_s for job in rows])
    limit_ms = _milliseconds([job.limit_s for job in rows])
    return JobTable(
        start_s=start_s,
        submit_ms=_milliseconds([job.submit_s - start_s for job in rows]),
        run_ms=run_ms,
        wait_ms=_milliseconds([job.wait_s for job in rows]),
        is_cut=np.array([job.is_cut for job in rows], dtype=np.bool_),
        limit_ms=np.where(limit_ms > 0, limit_ms, run_ms),
        devices=_int_array([job.devices for job in rows]),
        share_milli=_int_array([job.share_milli for job in rows]),
        cpu_milli=_int_array([job.cpu_milli for job in rows]),
        memory_mib=_int_array([job.memory_mib for job in rows]),
        priority=_int_array([job.priority for job in rows]),
        team=labels_of([job.team for job in rows]),
        pool=labels_of([job.pool for job in rows]),
        models=labels_of([job.models for job in rows]),
    )


def labels_of(words: Sequence[str]) -> LabelColumn:
    """Return words as a column of labels; the names are sorted."""
    names = sorted(set(words))
    codes = {name: code for code, name in enumerate(names)}
    return LabelColumn(_int_array([codes[word] for word in words]), tuple(names))


def _check(job: Job, row: int) -> None:
    if row > MAX_JOBS:
        msg = f"the log has more than {MAX_JOBS} jobs: simulate a shorter period"
        raise JobLogError(msg)
    times = [job.submit_s, *(each for each in (job.run_s, job.wait_s, job.limit_s) if each)]
    if any(not math.isfinite(each) or not 0 <= each <= MAX_SECONDS for each in times):
        msg = f"job {row}: times in seconds must be from 0 to {typed(MAX_SECONDS)}, not {times}"
        raise JobLogError(msg)
    if not 0 <= job.devices <= MAX_DEVICES or not 0 <= job.share_milli <= WHOLE_DEVICE:
        msg = f"job {row} requests {job.devices} devices of {job.share_milli}/1000: correct it"
        raise JobLogError(msg)
    amounts = (job.cpu_milli, job.memory_mib, abs(job.priority))
    if any(not 0 <= each <= MAX_AMOUNT for each in amounts):
        msg = (
            f"job {row}: milli-CPUs, MiB and priority must be at most {typed(MAX_AMOUNT)}: "
            f"{amounts}"
        )
        raise JobLogError(msg)
    if any(len(each) > MAX_NAME for each in (job.team, job.pool, job.models)):
        msg = f"job {row}: a name has more than {MAX_NAME} characters: shorten it"
        raise JobLogError(msg)


def _check_is_new(job: Job, row: int, runs: dict[Hashable, int]) -> None:
    """Raise JobLogError for a job with an id that is in `runs`; else add it.

    Id, submission and start identify a run, as in sacct: a requeued job has several. A job without
    an id is identified by all of its columns.
    """
    run = (job.id, job.submit_s, job.wait_s) if job.id else job
    first = runs.setdefault(run, row)
    if job.id and first != row:
        msg = (
            f"job {job.id[:40]!r} appears twice, as jobs {first} and {row} of the log with one "
            "submission and start, and its load would count twice. Remove one of its rows, or "
            "export periods that do not overlap."
        )
        raise JobLogError(msg)


def _check_repeats(rows: Sequence[Job], runs: Mapping[Hashable, int]) -> None:
    """Raise JobLogError if jobs without ids are mostly copies of others.

    Single copies may be jobs that were submitted together.
    """
    copies = len(rows) - len(runs)
    if copies > MAX_COPIES * len(rows) and copies >= MIN_COPIES:
        msg = (
            f"{copies} of {len(rows)} jobs are copies of others, as in exports that overlap, and "
            "their load would count twice: remove them, or add a column job_id"
        )
        raise JobLogError(msg)


def _milliseconds(seconds: Sequence[float | None]) -> IntArray:
    return _int_array([-1 if each is None else round(each * MS_PER_SECOND) for each in seconds])


def _int_array(numbers: Sequence[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)
