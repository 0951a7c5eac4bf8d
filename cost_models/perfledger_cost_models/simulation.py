"""A table of jobs, a cluster and a policy into when each job would have run: event by event."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perfledger_cost_models.cluster import UNLIMITED, Cluster
from perfledger_cost_models.jobs import IntArray, JobLogError, Jobs
from perfledger_cost_models.outcome import Outcome
from perfledger_cost_models.pool import Pool
from perfledger_cost_models.reservation import Reservation
from perfledger_cost_models.scheduling import Policy


def simulate(
    jobs: Jobs,
    cluster: Cluster,
    policy: Policy,
    *,
    reservations: Sequence[Reservation] = (),
    seed: int = 0,
) -> Outcome:
    """Run all jobs that have a known time through a cluster, each pool by itself.

    Jobs without a device run where the nodes list their processors, and are unknown elsewhere.
    Where the cluster has one pool, the jobs' pools do not count. A job that would not fit even on
    an empty pool is unplaceable and left out of all figures but its own. `seed` is that of random
    placement. Raises JobLogError where no job is left.
    """
    ran = _ran(jobs, cluster)
    until_ms = int(ran.submit_ms.max())
    start_ms, end_ms, ran_ms = (np.full(len(ran), -1, np.int64) for _ in range(3))
    pools: list[Pool] = []
    for nodes, rows in _pools(ran, cluster):
        pool = Pool(
            ran.taken(rows), cluster, nodes, policy, reservations, until_ms=until_ms, seed=seed
        )
        pool.run()
        start_ms[rows], end_ms[rows], ran_ms[rows] = pool.start_ms, pool.end_ms, pool.ran_ms
        pools.append(pool)
    placed = end_ms >= 0
    if not placed.any():
        msg = "no job of the log fits on the cluster: give larger nodes, or its pools' names"
        raise JobLogError(msg)
    return Outcome(
        policy=policy,
        jobs=ran.taken(placed),
        start_ms=start_ms[placed],
        end_ms=end_ms[placed],
        ran_ms=ran_ms[placed],
        unplaceable=int((~placed).sum()),
        unknown=len(jobs) - len(ran),
        capacity_milli=cluster.total_devices * 1000,
        until_ms=until_ms,
        taken=sum(sum(pool.meter.taken.values()) for pool in pools),
        rounded=sum(pool.rounded for pool in pools),
        preemptions=sum(pool.preemptions for pool in pools),
        taken_by_day=_by_day([pool.meter.taken_before_end for pool in pools]),
        wasted_by_day=_by_day([pool.meter.wasted for pool in pools]),
        free_seen_by_day=_by_day([pool.meter.free_seen for pool in pools]),
        unusable_seen_by_day=_by_day([pool.meter.unusable_seen for pool in pools]),
        wanted_by_day=_by_day([pool.meter.wanted for pool in pools]),
    )


def _ran(jobs: Jobs, cluster: Cluster) -> Jobs:
    """Return the jobs that are replayed: of a known time, and asking for what is counted."""
    asks = jobs.devices > 0
    if (cluster.cpu_milli < UNLIMITED).any():
        asks |= jobs.cpu_milli > 0
    ran = jobs.taken(np.flatnonzero((jobs.run_ms >= 0) & asks))
    if not len(ran):
        msg = "no job of the log has a known time and asks for a device: export both"
        raise JobLogError(msg)
    return ran


def _pools(jobs: Jobs, cluster: Cluster) -> list[tuple[IntArray, IntArray]]:
    """Return for each pool its nodes and its jobs; jobs of a pool that is not there are in none."""
    names = cluster.pool.names
    if len(names) == 1:
        return [(np.arange(len(cluster.devices)), np.arange(len(jobs)))]
    places = {name: place for place, name in enumerate(names)}
    codes = np.array([places.get(name, -1) for name in jobs.pool.names], np.int64)
    of_job = codes[jobs.pool.codes]
    pairs = zip(_places(cluster.pool.codes, names), _places(of_job, names), strict=True)
    return [(nodes, rows) for nodes, rows in pairs if len(rows) and cluster.devices[nodes].any()]


def _places(codes: IntArray, names: Sequence[str]) -> list[IntArray]:
    """Return for each name where its code stands, in order; there may be as many as nodes."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return [order[start:stop] for start, stop in pairwise(ends.tolist())]


def _by_day(parts: Sequence[dict[int, int]]) -> tuple[int, ...]:
    whole = Counter[int]()
    for part in parts:
        whole.update(part)
    return tuple(whole[day] for day in range(max(whole, default=-1) + 1))
