"""Simulates a pool of equal nodes on which jobs take whole devices and run to their ends.

It gives the same times as the general event loop of `event_loop.py`, ten times as fast: nodes are
bits of one number for each count of free devices, and device time is accounted for once, from the
times of all jobs.
"""

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import UNLIMITED, Cluster, equal_nodes
from perfledger_cost_models.scheduling.device_time_accounting import DeviceTimeMeter, milli_by_day
from perfledger_cost_models.scheduling.expected_ends import NO_END, ExpectedEnds
from perfledger_cost_models.scheduling.fair_share import TeamShares
from perfledger_cost_models.scheduling.fragmentation import Fragmentation
from perfledger_cost_models.scheduling.free_devices import FreeDevices, ResourceRequest
from perfledger_cost_models.scheduling.policy import (
    Backfill,
    DeviceSharing,
    FairShareRule,
    JobOrder,
    Locality,
    PlacementPolicy,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.scheduling.wait_queue import QueueKey, QueueRank, WaitQueue
from perfledger_cost_models.units import MS_PER_DAY

# Scores are whole numbers up to 100: on wider nodes two counts of free devices may have one score.
MAX_WIDTH = 50
_ORDERS = frozenset({JobOrder.SUBMISSION, JobOrder.SHORTEST, JobOrder.PRIORITY})
# The device time that a team has used is the same before and after one of its jobs starts; its
# dominant share is not.
_SHARES = frozenset({FairShareRule.NONE, FairShareRule.FAIR})
_PLACEMENTS = frozenset(
    {PlacementPolicy.BEST_FIT, PlacementPolicy.FIRST_FIT, PlacementPolicy.WORST_FIT}
)


def is_plain(
    jobs: JobTable,
    cluster: Cluster,
    nodes: IntArray,
    policy: SchedulingPolicy,
    reservations: Sequence[Reservation],
) -> bool:
    """Return whether EqualNodesPool can simulate a pool, its jobs and a policy."""
    sizes = cluster.devices[nodes]
    is_one = len(nodes) == 1
    are_nodes_alike = (
        (sizes == sizes[0]).all()
        and (is_one or sizes[0] <= MAX_WIDTH)
        and (cluster.cpu_milli[nodes] >= UNLIMITED).all()
        and (cluster.memory_mib[nodes] >= UNLIMITED).all()
        and cluster.model.names == ("",)
    )
    is_whole = policy.sharing is DeviceSharing.WHOLE or (jobs.share_milli == WHOLE_DEVICE).all()
    is_simple = (
        policy.order in _ORDERS
        and policy.share in _SHARES
        and policy.preemption is Preemption.NEVER
        and (is_one or policy.placement in _PLACEMENTS)
        and (is_one or policy.locality is Locality.FEWEST)
    )
    return bool(are_nodes_alike and is_whole and is_simple and not reservations)


class EqualNodesPool:
    """The simulation of one pool of equal nodes."""

    preemptions = 0

    def __init__(
        self,
        jobs: JobTable,
        cluster: Cluster,
        nodes: IntArray,
        policy: SchedulingPolicy,
        *,
        until_ms: int,
        samples: int,
    ) -> None:
        self._table = jobs
        self._policy = policy
        self._size = int(cluster.devices[nodes[0]])
        self._nodes = _NodeBits(len(nodes), self._size, policy.placement)
        self._devices: list[int] = jobs.devices.tolist()
        self._run_ms: list[int] = jobs.run_ms.tolist()
        self._limit_ms: list[int] = jobs.limit_ms.tolist()
        self._keys = _sort_keys(jobs, policy.order)
        self._are_teams_equal = policy.share is FairShareRule.NONE
        self._team: list[int] = (
            [0] * len(jobs) if self._are_teams_equal else jobs.team.codes.tolist()
        )
        self._requests = {
            size: ResourceRequest(size, WHOLE_DEVICE, 0, 0, 0) for size in set(self._devices)
        }
        self._team_shares = TeamShares(
            policy.share, milli=len(nodes) * self._size * WHOLE_DEVICE, cpu=0, memory=0
        )
        self._starts = [-1] * len(jobs)
        self._ends = [-1] * len(jobs)
        self._portions: dict[
            int, tuple[tuple[int, int], ...]
        ] = {}  # nodes and their devices, by job
        self._events: list[tuple[int, int]] = []  # ends of running jobs
        self._expected_ends = ExpectedEnds()
        self._queue: list[tuple[int, int]] = []  # keys and jobs, if nobody may pass
        self._waiting = WaitQueue()  # if jobs may pass
        self._blocked: set[int] = set()  # sizes that have not fitted since devices were freed
        self._levels: list[tuple[tuple[int, int], ...]] = []  # nodes by free devices, by sample
        self.meter = DeviceTimeMeter(
            capacity_milli=len(nodes) * self._size * WHOLE_DEVICE,
            until_ms=until_ms,
            samples=samples,
        )
        self._sample_ms = self.meter.step_ms
        self.start_ms = self.end_ms = self.ran_ms = np.zeros(0, np.int64)
        self.rounded = 0

    def run(self) -> None:
        """Run all jobs to their ends."""
        submit_ms: list[int] = self._table.submit_ms.tolist()
        can_fit = {size: self._nodes.can_fit(size) for size in set(self._devices)}
        arrivals = [job for job, size in enumerate(self._devices) if can_fit[size]]
        events, queue = self._events, self._queue
        place, count = 0, len(arrivals)
        while place < count or events:
            now = events[0][0] if events else NO_END
            if place < count:
                now = min(now, submit_ms[arrivals[place]])
            if self._sample_ms <= now:
                self._sample(now)
            while events and events[0][0] == now:
                self._end(heapq.heappop(events)[1], now)
            while place < count and submit_ms[arrivals[place]] == now:
                self._wait(arrivals[place])
                place += 1
            while queue and self._start(queue[0][1], now):
                heapq.heappop(queue)
            if self._waiting:
                self._start_all(now)
        self._sample(self.meter.until_ms)  # other pools may still get jobs
        self._account()

    def _sample(self, now: int) -> None:
        """Sample the free devices of the time since the last sample, in which nothing changed."""
        until_ms = min(now, self.meter.until_ms)
        while self._sample_ms <= until_ms:
            self._levels.append(self._nodes.levels())
            self._sample_ms += self.meter.step_ms

    def _wait(self, job: int) -> None:
        if self._policy.backfill is Backfill.NEVER and self._are_teams_equal:
            heapq.heappush(self._queue, (self._keys[job], job))
            return
        self._waiting.add(
            (self._team[job], self._devices[job]),
            key=self._keys[job],
            job=job,
            limit_ms=self._limit_ms[job],
            milli=self._devices[job],
        )

    def _start_all(self, now: int) -> None:
        """Start waiting jobs in order; those behind one that does not fit may pass it."""
        waiting, backfill = self._waiting, self._policy.backfill
        shares = self._team_shares.shares(now)
        heads: list[tuple[QueueRank, QueueKey]] = [
            (waiting.rank(line, 0, shares), line)
            for line in waiting.lines()
            if backfill is not Backfill.ALWAYS or line[1] not in self._blocked
        ]
        heapq.heapify(heads)
        while heads:
            (_, _, job), line = heapq.heappop(heads)
            if self._start(job, now):
                waiting.leave(line, place=0, milli=self._devices[job])
                if waiting.size(line):
                    heapq.heappush(heads, (waiting.rank(line, 0, shares), line))
                continue
            if backfill is Backfill.EASY:
                self._backfill(job, now, shares)
            if backfill is not Backfill.ALWAYS:
                return

    def _start(self, job: int, now: int) -> bool:
        size = self._devices[job]
        if size in self._blocked:
            return False
        portions = self._nodes.take(size)
        if portions is None:
            self._blocked.add(size)
            return False
        self._portions[job] = portions
        self._starts[job] = now
        heapq.heappush(self._events, (now + self._run_ms[job], job))
        if self._policy.backfill is Backfill.EASY:
            self._expected_ends.add(self._expected_ms(job), job, size)
        self._team_shares.take(self._team[job], self._requests[size], now)
        return True

    def _end(self, job: int, now: int) -> None:
        self._nodes.give_back(self._portions.pop(job))
        self._ends[job] = now
        self._team_shares.give_back(self._team[job], self._requests[self._devices[job]], now)
        self._blocked.clear()
        if self._policy.backfill is Backfill.EASY:
            self._expected_ends.remove(self._expected_ms(job), job, self._devices[job])

    def _expected_ms(self, job: int) -> int:
        return self._starts[job] + max(self._limit_ms[job], 1)

    def _backfill(self, head: int, now: int, shares: Mapping[int, float]) -> None:
        """Start jobs that by their time limits do not delay the head (EASY backfill)."""
        waiting = self._waiting
        shadow, spare = self._expected_ends.shadow(
            self._devices[head], free_milli=self._nodes.free, now_ms=now
        )
        while candidates := [
            (waiting.rank(line, place, shares), line, place)
            for line in waiting.lines()
            if line[1] not in self._blocked
            and (place := self._backfill_place(line, shadow - now, spare)) is not None
        ]:
            (_, _, job), line, place = min(candidates)
            if self._start(job, now):
                waiting.leave(line, place=place, milli=line[1])
                if now + self._limit_ms[job] > shadow:
                    spare -= line[1]

    def _backfill_place(self, line: QueueKey, within_ms: int, spare: int) -> int | None:
        if line[1] <= spare:
            return 0
        return self._waiting.shortest(line, within_ms=within_ms, limits=self._limit_ms)

    def _account(self) -> None:
        """Account for the device time of all jobs, and for the samples of free devices."""
        self.start_ms = np.array(self._starts, np.int64)
        self.end_ms = np.array(self._ends, np.int64)
        ran = self.end_ms >= 0
        self.ran_ms = np.where(ran, self.end_ms - self.start_ms, 0)
        start, end, submit = self.start_ms[ran], self.end_ms[ran], self._table.submit_ms[ran]
        milli = self._table.devices[ran] * WHOLE_DEVICE
        self.rounded = int(np.sum((milli - self._table.milli[ran]) * self._table.run_ms[ran]))
        until_ms, last_ms = self.meter.until_ms, int(end.max(initial=0))
        self.meter.allocated = _by_day(milli_by_day(start, end, milli, until_ms=last_ms))
        self.meter.allocated_before_end = _by_day(
            milli_by_day(start, end, milli, until_ms=until_ms)
        )
        self.meter.idle_demand = _idle_demand(
            submit, start, end, milli, capacity_milli=self.meter.capacity_milli
        )
        self._account_samples()

    def _account_samples(self) -> None:
        mix = Fragmentation(self._table)
        state = FreeDevices(equal_nodes(1, devices=self._size), np.zeros(1, np.int64), self._table)
        places = np.arange(self._size)
        unusable: dict[int, float] = {}  # thousandths of devices of a node, by its free devices
        for sample, levels in enumerate(self._levels, start=1):
            free_milli, amount = 0, 0.0
            for free, count in levels:
                if free not in unusable:
                    state.left[0] = np.where(places < free, WHOLE_DEVICE, 0)
                    unusable[free] = float(mix.amount(state, np.zeros(1, np.int64))[0])
                free_milli += free * count * WHOLE_DEVICE
                amount += unusable[free] * count
            day = sample * self.meter.step_ms // MS_PER_DAY
            self.meter.add_sample(day, free_milli=free_milli, unusable_milli=round(amount))


class _NodeBits:
    """The free devices of equal nodes: for each number of them the nodes, as bits of an integer."""

    def __init__(self, nodes: int, size: int, placement: PlacementPolicy) -> None:
        self._size = size
        self._count = nodes
        self._placement = placement
        self._bits = [*[0] * size, (1 << nodes) - 1]
        self._idle = [size] * nodes
        self.free = nodes * size

    def can_fit(self, devices: int) -> bool:
        """Return whether a job fits on empty nodes."""
        return -(-devices // self._size) <= self._count

    def levels(self) -> tuple[tuple[int, int], ...]:
        """Return counts of free devices, each with the number of nodes that have it."""
        if self._count == 1:
            return ((self.free, 1),)
        return tuple((free, bits.bit_count()) for free, bits in enumerate(self._bits) if bits)

    def take(self, devices: int) -> tuple[tuple[int, int], ...] | None:
        """Take devices on one node, or whole nodes and part of one; None if they do not fit."""
        if devices > self.free:
            return None
        if devices <= self._size:
            node = self._node_for(devices)
            if node is None:
                return None
            self._move(node, devices)
            return ((node, devices),)
        return self._take_nodes(*divmod(devices, self._size))

    def _take_nodes(self, count: int, rest: int) -> tuple[tuple[int, int], ...] | None:
        if self._bits[self._size].bit_count() < count:
            return None
        portions: list[tuple[int, int]] = []
        for _ in range(count):
            portions.append((self._lowest(self._size), self._size))
            self._move(*portions[-1])
        if rest:
            node = self._node_for(rest)
            if node is None:
                self.give_back(portions)
                return None
            portions.append((node, rest))
            self._move(node, rest)
        return tuple(portions)

    def give_back(self, portions: Sequence[tuple[int, int]]) -> None:
        """Give back devices of nodes."""
        for node, devices in portions:
            self._move(node, -devices)

    def _node_for(self, devices: int) -> int | None:
        """Return the node with the best score, the first of several; None if none has room."""
        if self._count == 1:
            return 0 if self.free >= devices else None
        fitting = range(devices, self._size + 1)
        if self._placement is PlacementPolicy.FIRST_FIT:
            return min((self._lowest(free) for free in fitting if self._bits[free]), default=None)
        if self._placement is PlacementPolicy.WORST_FIT:
            fitting = fitting[::-1]
        for free in fitting:
            bits = self._bits[free]
            if bits:
                return (bits & -bits).bit_length() - 1
        return None

    def _lowest(self, free: int) -> int:
        bits = self._bits[free]
        return (bits & -bits).bit_length() - 1

    def _move(self, node: int, devices: int) -> None:
        """Take devices of a node, or give them back if negative."""
        free = self._idle[node]
        rest = free - devices
        bit = 1 << node
        self._bits[free] ^= bit
        self._bits[rest] |= bit
        self._idle[node] = rest
        self.free -= devices


def _sort_keys(jobs: JobTable, order: JobOrder) -> list[int]:
    """Return the sort keys of waiting jobs; the smallest is first."""
    keys: IntArray = np.zeros(len(jobs), np.int64)
    if order is JobOrder.SHORTEST:
        keys = jobs.run_ms
    elif order is JobOrder.PRIORITY:
        keys = -jobs.priority
    ranked: list[int] = keys.tolist()
    return ranked


def _idle_demand(
    submit: IntArray, start: IntArray, end: IntArray, milli: IntArray, *, capacity_milli: int
) -> dict[int, int]:
    """Return the device time that was free while jobs waited for it, by day."""
    last_ms = int(end.max(initial=0))
    moments = np.concatenate((submit, start, end))
    order = np.argsort(moments, kind="stable")
    zeros = np.zeros(len(milli), np.int64)
    free = capacity_milli + np.cumsum(np.concatenate((zeros, -milli, milli))[order])
    waiting = np.cumsum(np.concatenate((milli, -milli, zeros))[order])
    demand = np.minimum(free, waiting)[:-1]
    moments = moments[order]
    has_demand = demand > 0
    spans = moments[:-1][has_demand], moments[1:][has_demand], demand[has_demand]
    return _by_day(milli_by_day(*spans, until_ms=last_ms))


def _by_day(sums: IntArray) -> dict[int, int]:
    days: list[int] = sums.tolist()
    return dict(enumerate(days))
