"""Builds the clusters that a replay tries: equal nodes that differ only in number."""

from dataclasses import dataclass
from math import ceil, gcd

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import Cluster, equal_nodes
from perfledger_cost_models.units import MS_PER_DAY

USUAL_DEVICES = 8  # of a server: most have as many
# Share of the log's time. Devices in use for less may be counted twice for a moment, if one job is
# logged to end after the next one began on them.
SUSTAINED_SHARE = 0.001


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The devices of each node; None if jobs take one device each, so nodes do not count."""

    devices: int | None

    @property
    def step(self) -> int:
        """Return the number of devices that one more node adds."""
        return self.devices or 1

    def cluster(self, nodes: int) -> Cluster:
        """Return a cluster of a number of nodes; single devices are those of one node."""
        if self.devices is None:
            return equal_nodes(1, devices=nodes)
        return equal_nodes(nodes, devices=self.devices)

    def fewest(self, devices: int) -> int:
        """Return the fewest nodes with at least this many devices."""
        return max(1, ceil(devices / self.step))


def node_shape(
    jobs: JobTable, *, devices: int | None = None, per_node: int | None = None
) -> NodeShape:
    """Return nodes of `per_node` devices, else the usual size that `devices` divide into."""
    if per_node is not None:
        return NodeShape(per_node)
    if (jobs.devices <= 1).all():
        return NodeShape(None)
    return NodeShape(USUAL_DEVICES if devices is None else gcd(devices, USUAL_DEVICES))


def peak_devices(jobs: JobTable) -> int | None:
    """Return the most devices that jobs held at one moment by the log; None without a start."""
    moments, levels = _recorded_levels(jobs)
    return _whole_devices(int(levels.max())) if len(moments) else None


def uncounted_reason(jobs: JobTable) -> str:
    """Return why a log without a peak shows no devices in use."""
    if not jobs.devices.any():
        return "no job of the log has a device (of sacct, AllocTRES names them)"
    return "the log records no starts (after submission), from which devices could be counted"


def sustained_devices(jobs: JobTable) -> int | None:
    """Return the most devices held for SUSTAINED_SHARE of the log's time; None without a start."""
    moments, levels = _recorded_levels(jobs)
    if not len(moments):
        return None
    order = np.argsort(-levels[:-1], kind="stable")
    lengths_ms: IntArray = (moments[1:] - moments[:-1])[order]
    held_ms = np.cumsum(lengths_ms)
    place = np.searchsorted(held_ms, SUSTAINED_SHARE * float(held_ms[-1]))
    return _whole_devices(int(levels[order[place]]))


def recorded_devices(jobs: JobTable, *, stated: int | None, replayed: int) -> int:
    """Return the devices that a log was recorded on, the denominator of its share in use.

    They are those that the log states, unless its jobs hold more of them on average. Else they are
    those of its replay, but never fewer than the log shows in use for long.
    """
    if stated is not None and _mean_in_use(jobs) <= stated:
        return stated
    return max(replayed if stated is None else stated, sustained_devices(jobs) or 0)


def mean_devices(jobs: JobTable) -> int:
    """Return the mean number of devices that the log shows in use until the last submission."""
    return ceil(_mean_in_use(jobs))


def busy_milli_ms(jobs: JobTable, *, until_ms: int) -> int:
    """Return the device time of jobs with a recorded start until a moment, in thousandths x ms."""
    start = jobs.submit_ms + jobs.wait_ms
    inside = np.clip(np.minimum(start + jobs.run_ms, until_ms) - start, 0, None)
    return int(np.sum(inside * jobs.milli))


def widest_job(jobs: JobTable) -> int:
    """Return the devices of the widest job that ran."""
    return int(jobs.take(jobs.run_ms >= 0).devices.max())


def unlimited_peak(jobs: JobTable) -> int:
    """Return the most devices that jobs would hold at one moment if none of them waited."""
    ran = jobs.take((jobs.run_ms > 0) & (jobs.devices > 0))
    _, levels = _levels(ran.submit_ms, ran.submit_ms + ran.run_ms, ran.milli)
    return _whole_devices(int(levels.max(initial=0)))


def days_of(jobs: JobTable) -> int:
    """Return the number of days from the first to the last submission."""
    return int(jobs.submit_ms[-1]) // MS_PER_DAY + 1


def _mean_in_use(jobs: JobTable) -> float:
    started_jobs = jobs.take((jobs.wait_ms >= 0) & (jobs.run_ms > 0))
    until_ms = max(int(jobs.submit_ms[-1]), 1)
    return busy_milli_ms(started_jobs, until_ms=until_ms) / (WHOLE_DEVICE * until_ms)


def _recorded_levels(jobs: JobTable) -> tuple[IntArray, IntArray]:
    started_jobs = jobs.take((jobs.wait_ms >= 0) & (jobs.run_ms > 0) & (jobs.devices > 0))
    start = started_jobs.submit_ms + started_jobs.wait_ms
    return _levels(start, start + started_jobs.run_ms, started_jobs.milli)


def _levels(start: IntArray, end: IntArray, milli: IntArray) -> tuple[IntArray, IntArray]:
    """Return the times of starts and ends, and the thousandths of devices held from each one on."""
    moments = np.concatenate((end, start))  # at one moment ends are before starts
    changes = np.concatenate((-milli, milli))
    order = np.argsort(moments, kind="stable")
    return moments[order], np.cumsum(changes[order])


def _whole_devices(milli: int) -> int:
    return ceil(milli / WHOLE_DEVICE)
