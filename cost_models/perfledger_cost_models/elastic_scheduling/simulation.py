"""Replays jobs whose speed depends on the accelerator and number of their devices.

Between two arrivals or ends of jobs every job runs at a constant speed. Devices of an accelerator
are counted and not located on nodes, and time shares are exact, as in the policies' own programs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from perfledger.rounding import for_programs, typed
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.elastic_scheduling.allocation import (
    ElasticPolicy,
    TimeShare,
    WaitingJob,
    allocate,
)
from perfledger_cost_models.elastic_scheduling.job_speeds import (
    JobConfiguration,
    SpeedTable,
    speed_on,
)
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobLogError, JobTable

MAX_ELASTIC_JOBS = 2000  # each arrival and end of a job solves one program over all present jobs
ROUND_S = 360.0  # of Gavel: a job that shares a device in time moves once a round
MAX_RESTART_S = 300.0  # a job that moves every round must also run in it
_MILLI = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticJob:
    """A job with the work of its recorded run: seconds times speed."""

    submit_s: float
    work: float
    rigid: tuple[JobConfiguration, ...]
    elastic: tuple[JobConfiguration, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ElasticOutcome:
    """The outcome of the jobs under a policy."""

    policy: ElasticPolicy
    completion_s: FloatArray  # of each job, from its submission
    makespan_s: float  # from the first submission
    device_hours: Mapping[str, float]  # that jobs held, by accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticJobs:
    """The jobs of a log that the table of speeds covers, and how many it does not."""

    jobs: tuple[ElasticJob, ...]
    left_out: int


def elastic_jobs(
    table: JobTable, speeds: SpeedTable, *, recorded_on: str, devices: Mapping[str, int]
) -> ElasticJobs:
    """Return the jobs with their work; `recorded_on` is the accelerator that they ran on.

    Jobs without a run time, of parts of devices, or without a speed are left out. Raises
    JobLogError if none is left, or too many are.
    """
    jobs: list[ElasticJob] = []
    for row in range(len(table)):
        count, run_ms = int(table.devices[row]), int(table.run_ms[row])
        kind = table.team.names[int(table.team.codes[row])]
        elastic = tuple(
            each
            for each in speeds.configurations(kind)
            if each.devices <= devices.get(each.accelerator, 0)
        )
        recorded = speed_on(speeds.configurations(kind), recorded_on, count)
        rigid = tuple(
            JobConfiguration(name, count, speed)
            for name, most in devices.items()
            if count <= most
            and (speed := speed_on(speeds.configurations(kind), name, count)) is not None
        )
        is_whole = int(table.share_milli[row]) == WHOLE_DEVICE
        if run_ms > 0 and is_whole and recorded is not None and rigid and elastic:
            jobs.append(
                ElasticJob(
                    submit_s=float(table.submit_ms[row]) / _MILLI,
                    work=run_ms / _MILLI * recorded,
                    rigid=rigid,
                    elastic=elastic,
                )
            )
    if not 1 <= len(jobs) <= MAX_ELASTIC_JOBS:
        msg = (
            f"{len(jobs)} of {len(table)} jobs have a run time, whole devices and a speed in the "
            f"table: there must be 1 to {MAX_ELASTIC_JOBS}"
        )
        raise JobLogError(msg)
    return ElasticJobs(jobs=tuple(jobs), left_out=len(table) - len(jobs))


def simulate_elastic(
    jobs: Sequence[ElasticJob],
    devices: Mapping[str, int],
    policy: ElasticPolicy,
    *,
    restart_s: float,
) -> ElasticOutcome:
    """Run jobs, in the order of submission, on a number of devices of each accelerator.

    A job that gets other devices stands still for `restart_s`; one that shares devices in time
    loses that much of every round of ROUND_S. Raises JobLogError for a time out of range.
    """
    if not 0 <= restart_s <= MAX_RESTART_S:
        msg = f"a restart of {for_programs(restart_s)} s: give 0 to {typed(MAX_RESTART_S)}"
        raise JobLogError(msg)
    running: dict[int, _Running] = {}
    completion = np.zeros(len(jobs))
    hours = dict.fromkeys(devices, 0.0)
    now, coming = 0.0, 0
    while running or coming < len(jobs):
        next_submit = jobs[coming].submit_s if coming < len(jobs) else inf
        ends = {place: each.end(now) for place, each in running.items()}
        then = min(next_submit, *ends.values()) if ends else next_submit
        _run_all(running.values(), now, then, hours)
        now = then
        for place, end in ends.items():
            if end <= now:
                completion[place] = now - jobs[place].submit_s
                del running[place]
        while coming < len(jobs) and jobs[coming].submit_s <= now:
            running[coming] = _Running(jobs[coming], restart_s)
            coming += 1
        if running:
            waiting = [each.waiting for each in running.values()]
            for each, shares in zip(
                running.values(), allocate(policy, waiting, devices), strict=True
            ):
                each.move(shares)
    return ElasticOutcome(
        policy=policy,
        completion_s=completion,
        makespan_s=now - jobs[0].submit_s,
        device_hours=hours,
    )


def _run_all(
    running: Iterable["_Running"], now: float, then: float, hours: dict[str, float]
) -> None:
    """Run jobs for a span of time, and add the device-hours that they hold."""
    for each in running:
        each.run(now, then)
        for share in each.shares:
            held_s = share.configuration.devices * share.share * (then - now)
            hours[share.configuration.accelerator] += held_s / SECONDS_PER_HOUR


class _Running:
    """The state of a job between its submission and its end."""

    def __init__(self, job: ElasticJob, restart_s: float) -> None:
        self._job = job
        self._restart_s = restart_s
        self._left = job.work
        self._still_s = 0.0  # until it runs again
        self._has_run = False
        self.shares: tuple[TimeShare, ...] = ()

    @property
    def waiting(self) -> WaitingJob:
        """Return the job as a policy sees it."""
        return WaitingJob(rigid=self._job.rigid, elastic=self._job.elastic, current=self.shares)

    def end(self, now: float) -> float:
        """Return when the job ends on its devices."""
        speed = self._current_speed
        return now + self._still_s + self._left / speed if speed else inf

    def run(self, now: float, then: float) -> None:
        """Subtract the work of a span of time."""
        still = min(self._still_s, then - now)
        self._still_s -= still
        self._left -= self._current_speed * (then - now - still)

    def move(self, shares: tuple[TimeShare, ...]) -> None:
        """Give the job other devices; its first ones do not need a restart."""
        is_whole = len(shares) == 1 and shares[0].share == 1.0
        if is_whole and shares != self.shares and self._has_run:
            self._still_s = self._restart_s
        self._has_run = self._has_run or bool(shares)
        self.shares = shares

    @property
    def _current_speed(self) -> float:
        speed = sum(each.share * each.configuration.speed for each in self.shares)
        is_shared = len(self.shares) > 1 or any(each.share < 1 for each in self.shares)
        lost = self._restart_s / ROUND_S if is_shared else 0.0
        return speed * (1 - lost)
