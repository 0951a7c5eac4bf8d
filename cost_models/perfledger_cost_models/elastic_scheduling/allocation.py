"""Allocates devices of several accelerators to jobs, by the simplest policies of Gavel and Sia.

Both know a job's speed by accelerator, and Sia by number of devices as well: Narayanan et al.,
"Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020, section
4.1; Jayaram Subramanya et al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling",
SOSP 2023, section 3.4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.optimize import (  # noqa: TID251 - only `plan elastic` imports this module
    Bounds,
    LinearConstraint,
    linprog,
    milp,
)

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.elastic_scheduling.job_speeds import JobConfiguration

# Of Sia's published simulator: the power of the mean over jobs, and the cost of a job that waits.
SIA_POWER = -0.5
SIA_WAITING = 1.1
_STAY = 1e-3  # of a job's cost: no job moves for an equally good choice
_SLACK = 1e-6  # of the lowest speed, which rounding may miss
_MIN_SHARE = 1e-4  # of a job's time: slack moves less, and a smaller share is no time sharing


class ElasticPolicy(StrEnum):
    """How devices are shared out."""

    FIFO = "fifo"  # as many devices as recorded, of the first with enough free, to the end
    GAVEL = "gavel"  # as many devices as recorded, time on each accelerator, max-min fair
    SIA = "sia"  # any accelerator and number of devices, the best mean of the jobs' speed-ups


@dataclass(frozen=True, slots=True)
class TimeShare:
    """The share of its time that a job runs on a configuration."""

    configuration: JobConfiguration
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJob:
    """A job ready to run: its possible configurations, and its current one."""

    rigid: tuple[JobConfiguration, ...]  # with as many devices as recorded, one of each accelerator
    elastic: tuple[JobConfiguration, ...]
    current: tuple[TimeShare, ...] = ()


Allocation = tuple[tuple[TimeShare, ...], ...]  # of each job, in their order


def allocate(
    policy: ElasticPolicy, jobs: Sequence[WaitingJob], devices: Mapping[str, int]
) -> Allocation:
    """Return what each job runs on; `jobs` are in the order of submission."""
    match policy:
        case ElasticPolicy.FIFO:
            return _in_order(jobs, devices)
        case ElasticPolicy.GAVEL:
            return _max_min_fair(jobs, devices)
        case ElasticPolicy.SIA:
            return _best_speed_ups(jobs, devices)


def _in_order(jobs: Sequence[WaitingJob], devices: Mapping[str, int]) -> Allocation:
    free = dict(devices)
    for job in jobs:
        for each in job.current:
            free[each.configuration.accelerator] -= each.configuration.devices
    shares: list[tuple[TimeShare, ...]] = []
    is_blocked = False
    for job in jobs:
        if job.current:
            shares.append(job.current)
            continue
        fitting = [each for each in job.rigid if each.devices <= free[each.accelerator]]
        if is_blocked or not fitting:
            is_blocked = True
            shares.append(())
            continue
        free[fitting[0].accelerator] -= fitting[0].devices
        shares.append((TimeShare(fitting[0], 1.0),))
    return tuple(shares)


def _max_min_fair(jobs: Sequence[WaitingJob], devices: Mapping[str, int]) -> Allocation:
    """Maximise the lowest speed relative to an equal share of all, then the sum of speeds.

    The time shares x of a job sum to at most 1, and those of an accelerator, times devices, to at
    most its devices. A job is weighted by its number of devices.
    """
    pairs = [(index, each) for index, job in enumerate(jobs) for each in job.rigid]
    total = sum(devices.values())
    equal = [
        sum(each.speed * devices[each.accelerator] / total for each in job.rigid) for job in jobs
    ]
    gains = np.zeros((len(jobs), len(pairs)))
    for column, (index, each) in enumerate(pairs):
        gains[index, column] = each.speed / equal[index]
    weighted = gains * np.array([[job.rigid[0].devices] for job in jobs], np.float64)
    limits, bounds = _limits(pairs, len(jobs), devices)
    least = linprog(
        np.append(np.zeros(len(pairs)), -1.0),  # the last variable is the lowest speed of all
        A_ub=np.vstack(
            [
                np.pad(limits, ((0, 0), (0, 1))),
                np.pad(-weighted, ((0, 0), (0, 1)), constant_values=1.0),
            ]
        ),
        b_ub=np.append(bounds, np.zeros(len(jobs))),
    )
    floor = float(np.asarray(least.x, np.float64)[-1]) * (1 - _SLACK)
    fair = linprog(
        -gains.sum(axis=0),
        A_ub=np.vstack([limits, -weighted]),
        b_ub=np.append(bounds, np.full(len(jobs), -floor)),
    )
    return _shares(pairs, np.asarray(fair.x, np.float64), len(jobs))


def _best_speed_ups(jobs: Sequence[WaitingJob], devices: Mapping[str, int]) -> Allocation:
    """Choose at most one configuration per job; minimise the sum of speed-up^SIA_POWER.

    Speed-ups are relative to the job's slowest configuration; a waiting job costs SIA_WAITING.
    """
    pairs = [(index, each) for index, job in enumerate(jobs) for each in job.elastic]
    slowest = [min(each.speed for each in job.elastic) for job in jobs]
    costs = np.array(
        [
            (each.speed / slowest[place]) ** SIA_POWER
            - SIA_WAITING
            - _STAY * (jobs[place].current == (TimeShare(each, 1.0),))
            for place, each in pairs
        ]
    )
    limits, bounds = _limits(pairs, len(jobs), devices)
    chosen = milp(
        costs,
        constraints=LinearConstraint(limits, ub=bounds),
        integrality=np.ones(len(pairs), np.int64),
        bounds=Bounds(0, 1),
    )
    values: FloatArray = np.rint(np.asarray(chosen.x, np.float64))
    return _shares(pairs, values, len(jobs))


def _limits(
    pairs: Sequence[tuple[int, JobConfiguration]], jobs: int, devices: Mapping[str, int]
) -> tuple[FloatArray, FloatArray]:
    """Return the constraints' matrix and bounds: one configuration per job, no device twice."""
    accelerators = list(devices)
    limits = np.zeros((jobs + len(accelerators), len(pairs)))
    for column, (index, each) in enumerate(pairs):
        limits[index, column] = 1.0
        limits[jobs + accelerators.index(each.accelerator), column] = each.devices
    return limits, np.array([1.0] * jobs + [float(devices[each]) for each in accelerators])


def _shares(
    pairs: Sequence[tuple[int, JobConfiguration]], values: FloatArray, jobs: int
) -> Allocation:
    shares: list[list[TimeShare]] = [[] for _ in range(jobs)]
    for (place, each), value in zip(pairs, values.tolist(), strict=True):
        if value > _MIN_SHARE:
            share = value if value < 1 - _MIN_SHARE else 1.0
            shares[place].append(TimeShare(each, share))
    return tuple(map(tuple, shares))
