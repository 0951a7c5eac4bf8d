"""Finds how many devices keep most waits short, by bisection over replays of a job log."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from perfledger_cost_models.capacity.node_shape import (
    NodeShape,
    days_of,
    unlimited_peak,
    widest_job,
)
from perfledger_cost_models.capacity.resampled_log import resampled_log
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.queueing.server_count import WaitTarget
from perfledger_cost_models.scheduling.day_bootstrap import MIN_DAYS
from perfledger_cost_models.scheduling.policy import SchedulingPolicy
from perfledger_cost_models.scheduling.simulation import meets_waits

LADDER = 1.25  # step of the first search; the range between two steps is then halved
# A job more or less may change a whole schedule, so this many further nodes have to meet the
# target, too.
CONFIRMING_NODES = 2
MAX_LOGS = 20
# Replayed jobs of all resampled logs together, about half a minute.
MAX_REPLAYED_JOBS = 4_000_000
REPLAYS_PER_LOG = 8  # of the bisection, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicesNeeded:
    """The fewest devices with which a log's replay meets a target.

    `low` to `high` are the range over this log and `logs` logs resampled from its days; None if
    there are too few days. `devices` is None if more would be needed than any job could use.
    """

    devices: int | None
    low: int | None
    high: int | None
    logs: int


def devices_needed(
    jobs: JobTable, shape: NodeShape, policy: SchedulingPolicy, target: WaitTarget
) -> DevicesNeeded:
    """Return the devices that a log needs, and those of logs resampled from its days."""
    nodes = _nodes_needed(jobs, shape, policy, target, first=None)
    if nodes is None:
        return DevicesNeeded(devices=None, low=None, high=None, logs=0)
    logs = min(MAX_LOGS, MAX_REPLAYED_JOBS // (REPLAYS_PER_LOG * len(jobs)))
    resampled_logs = (
        resampled_log(jobs, seed=seed) for seed in range(logs if days_of(jobs) >= MIN_DAYS else 0)
    )
    # Where most days have no job, a log of drawn days may have none, and needs no device.
    sizes = [
        _nodes_needed(each, shape, policy, target, first=nodes)
        if ((each.run_ms >= 0) & (each.devices > 0)).any()
        else 0
        for each in resampled_logs
    ]
    node_counts = [each for each in sizes if each is not None]
    return DevicesNeeded(
        devices=nodes * shape.step,
        low=min(nodes, *node_counts) * shape.step if node_counts else None,
        high=max(nodes, *node_counts) * shape.step if node_counts else None,
        logs=len(node_counts),
    )


def _nodes_needed(
    jobs: JobTable,
    shape: NodeShape,
    policy: SchedulingPolicy,
    target: WaitTarget,
    *,
    first: int | None,
) -> int | None:
    widest = shape.fewest(widest_job(jobs))
    # With this many nobody waits, even if each job leaves the rest of its last node unused.
    most = 2 * shape.fewest(unlimited_peak(jobs)) + widest

    @cache
    def is_met(nodes: int) -> bool:
        cluster = shape.cluster(nodes)
        return meets_waits(jobs, cluster, policy, wait_s=target.wait_s, share=target.share)

    count = fewest_nodes(is_met, first=first or max(most // 4, 1), most=most)
    while count is not None:
        further = range(count + 1, min(count + CONFIRMING_NODES, most) + 1)
        missed = [nodes for nodes in further if not is_met(nodes)]
        if not missed:
            return count
        least = missed[-1] + 1
        count = fewest_nodes(is_met, first=least, most=most, least=least)
    return None


def fewest_nodes(
    is_met: Callable[[int], bool], *, first: int, most: int, least: int = 1
) -> int | None:
    """Return the fewest nodes that meet a target, from `least` to `most`; None if none do."""
    low, high = least - 1, max(min(first, most), least)
    if is_met(high):
        while high > least:
            lower = max(least, min(high - 1, int(high / LADDER)))
            if not is_met(lower):
                low = lower
                break
            high = lower
    else:
        while low < high:
            if high >= most:
                return None
            low, high = high, min(max(high + 1, int(high * LADDER)), most)
            if is_met(high):
                break
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_met(middle) else (middle, high)
    return high
