"""Simulates a job log on a cluster under a scheduling policy."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perfledger.rounding import integer
from perfledger.time_units import DAYS_PER_YEAR
from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobLogError, JobTable
from perfledger_cost_models.scheduling.cluster import UNLIMITED, Cluster
from perfledger_cost_models.scheduling.device_time_accounting import (
    FRAGMENTATION_SAMPLES,
    NO_SAMPLES,
)
from perfledger_cost_models.scheduling.easy_pool import EasyPool
from perfledger_cost_models.scheduling.equal_nodes import EqualNodesPool, is_plain
from perfledger_cost_models.scheduling.event_loop import PoolSimulation
from perfledger_cost_models.scheduling.job_outcomes import JobOutcomes
from perfledger_cost_models.scheduling.late_jobs import LateJobs
from perfledger_cost_models.scheduling.policy import Backfill, SchedulingPolicy
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.units import MS_PER_DAY

# Of device time for each device. It is accounted for by day, so a longer replay would fill the
# memory, and a log that needs one has its run times in another unit than seconds.
MAX_REPLAY_YEARS = 10_000
_Pool = PoolSimulation | EqualNodesPool


def simulate(
    jobs: JobTable,
    cluster: Cluster,
    policy: SchedulingPolicy,
    *,
    reservations: Sequence[Reservation] = (),
    seed: int = 0,
    samples: int = FRAGMENTATION_SAMPLES,
) -> JobOutcomes:
    """Simulate all jobs with a known run time, each pool by itself.

    Jobs without a device count only if the nodes list their processors. With one pool in the
    cluster, the jobs' pools are ignored. A job that does not fit even on an empty pool is
    unplaceable and excluded from the other figures. `seed` is that of random placement. Without
    `samples` fragmentation stays unknown. Raises JobLogError if no job is left, and for jobs that
    would keep all devices for more than MAX_REPLAY_YEARS.
    """
    ran = _ran(jobs, cluster)
    _check_length(ran, cluster)
    until_ms = int(ran.submit_ms.max())
    start_ms, end_ms, ran_ms = (np.full(len(ran), -1, np.int64) for _ in range(3))
    pools: list[_Pool] = []
    for nodes, rows in _pools(ran, cluster):
        pool = _pool(
            ran.take(rows),
            cluster,
            nodes,
            policy,
            reservations,
            until_ms=until_ms,
            seed=seed,
            samples=samples,
        )
        pool.run()
        start_ms[rows], end_ms[rows], ran_ms[rows] = pool.start_ms, pool.end_ms, pool.ran_ms
        pools.append(pool)
    placed = end_ms >= 0
    if not placed.any():
        msg = "no job of the log fits the cluster: use larger nodes, or the log's pool names"
        raise JobLogError(msg)
    return JobOutcomes(
        policy=policy,
        jobs=ran.take(placed),
        start_ms=start_ms[placed],
        end_ms=end_ms[placed],
        ran_ms=ran_ms[placed],
        unplaceable=int((~placed).sum()),
        unknown=len(jobs) - len(ran),
        capacity_milli=cluster.total_devices * WHOLE_DEVICE,
        until_ms=until_ms,
        allocated=sum(sum(pool.meter.allocated.values()) for pool in pools),
        rounded=sum(pool.rounded for pool in pools),
        preemptions=sum(pool.preemptions for pool in pools),
        allocated_by_day=_by_day([pool.meter.allocated_before_end for pool in pools]),
        wasted_by_day=_by_day([pool.meter.wasted for pool in pools]),
        free_samples_by_day=_by_day([pool.meter.free_samples for pool in pools]),
        unusable_samples_by_day=_by_day([pool.meter.unusable_samples for pool in pools]),
        idle_demand_by_day=_by_day([pool.meter.idle_demand for pool in pools]),
    )


def meets_waits(
    jobs: JobTable, cluster: Cluster, policy: SchedulingPolicy, *, wait_s: float, share: float
) -> bool:
    """Return whether a share of the jobs waits at most `wait_s` in a simulation.

    It stops as soon as too many jobs have waited longer. A job that fits no node waits for ever.
    Raises JobLogError if no job is left.
    """
    ran = _ran(jobs, cluster)
    late = LateJobs(len(ran), wait_s=wait_s, met_share=share)
    pools = _pools(ran, cluster)
    late.leave_out(len(ran) - sum(len(rows) for _, rows in pools))
    for nodes, rows in pools:
        pool = _pool(
            ran.take(rows),
            cluster,
            nodes,
            policy,
            (),
            until_ms=int(ran.submit_ms.max()),
            seed=0,
            samples=NO_SAMPLES,
        )
        pool.run(late)
    return not late.are_too_many


def _pool(
    jobs: JobTable,
    cluster: Cluster,
    nodes: IntArray,
    policy: SchedulingPolicy,
    reservations: Sequence[Reservation],
    *,
    until_ms: int,
    seed: int,
    samples: int,
) -> _Pool:
    if is_plain(jobs, cluster, nodes, policy, reservations):
        plain_pool = EasyPool if policy.backfill is Backfill.EASY else EqualNodesPool
        return plain_pool(jobs, cluster, nodes, policy, until_ms=until_ms, samples=samples)
    return PoolSimulation(
        jobs,
        cluster,
        nodes,
        policy,
        reservations,
        until_ms=until_ms,
        seed=seed,
        samples=samples,
    )


def _ran(jobs: JobTable, cluster: Cluster) -> JobTable:
    """Return the jobs to simulate: with a run time and a request for counted resources."""
    asks = jobs.devices > 0
    if (cluster.cpu_milli < UNLIMITED).any():
        asks |= jobs.cpu_milli > 0
    ran = jobs.take(np.flatnonzero((jobs.run_ms >= 0) & asks))
    if not len(ran):
        msg = "no job of the log has both a run time and a device: export both columns"
        raise JobLogError(msg)
    return ran


def _check_length(jobs: JobTable, cluster: Cluster) -> None:
    device_ms = float(np.sum(jobs.milli.astype(np.float64) * jobs.run_ms)) / WHOLE_DEVICE
    years = device_ms / max(cluster.total_devices, 1) / (DAYS_PER_YEAR * MS_PER_DAY)
    if years > MAX_REPLAY_YEARS:
        msg = (
            f"the log's jobs would keep all {integer(cluster.total_devices)} devices for "
            f"{integer(round(years))} years: check that their run times are in seconds"
        )
        raise JobLogError(msg)


def _pools(jobs: JobTable, cluster: Cluster) -> list[tuple[IntArray, IntArray]]:
    """Return the nodes and jobs of each pool, without jobs of pools that the cluster lacks."""
    names = cluster.pool.names
    if len(names) == 1:
        return [(np.arange(len(cluster.devices)), np.arange(len(jobs)))]
    places = {name: index for index, name in enumerate(names)}
    codes = np.array([places.get(name, len(names)) for name in jobs.pool.names], np.int64)
    of_job = codes[jobs.pool.codes]
    pairs = zip(_places(cluster.pool.codes, names), _places(of_job, names), strict=True)
    return [(nodes, rows) for nodes, rows in pairs if len(rows) and cluster.devices[nodes].any()]


def _places(codes: IntArray, names: Sequence[str]) -> list[IntArray]:
    """Return the indices of each name's code, in order; there may be as many names as nodes."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return [order[start:stop] for start, stop in pairwise(ends.tolist())]


def _by_day(parts: Sequence[dict[int, int]]) -> tuple[int, ...]:
    totals = Counter[int]()
    for part in parts:
        totals.update(part)
    return tuple(totals[day] for day in range(max(totals, default=-1) + 1))
