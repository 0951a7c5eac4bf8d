"""Runs the packing experiment of Weng et al., USENIX ATC 2023, section 6, on published traces.

python benchmarks/cost_models/packing_experiment.py PODS NODES [--seeds 10]

PODS is one of Alibaba's openb_pod_list_*.csv, NODES its openb_node_list_gpu_node.csv; neither is
part of this repository. The jobs of the log come in random order, then draws from it, until they
ask for `LOAD` times what there is. They stay; one that does not fit is turned away. Allocation is
the share of all devices that is taken.
"""

import argparse
import csv
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

from perfledger.rounding import decimals, percentage
from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.scheduling.cluster import Cluster, read_cluster
from perfledger_cost_models.scheduling.placement.fragmentation import Fragmentation
from perfledger_cost_models.scheduling.placement.free_devices import FreeDevices, resource_requests
from perfledger_cost_models.scheduling.placement.placement import JobPlacer
from perfledger_cost_models.scheduling.policy import PlacementPolicy

LOAD = 1.3  # of the capacity, as the paper's: by then hardly anything fits any more
DEVICES = 8  # of a node where the list does not say
REQUESTS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec")
_NODES = 1  # keeps the draw of the nodes' order apart from that of the jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """The allocation that one policy reached with one order of arrival; shares of all devices."""

    allocated: float  # in the end
    allocated_at_capacity: float  # when as much had been asked for as there is
    fragmented: float  # of what is free in the end, what typical jobs cannot use


def pack(jobs: JobTable, cluster: Cluster, placement: PlacementPolicy, *, seed: int) -> Packing:
    """Fill an empty cluster with jobs in random order; pools count as one."""
    # Among equal nodes the first is taken: a score with few values would else fill a list that is
    # sorted by model one model after the other.
    nodes = np.random.default_rng((seed, _NODES)).permutation(len(cluster.devices))
    free_devices = FreeDevices(cluster, nodes, jobs)
    shapes, places = resource_requests(jobs)
    arrivals = arrival_order(jobs, LOAD * free_devices.capacity_milli, seed)
    mix = Fragmentation(jobs)
    placer = JobPlacer(free_devices, placement, fragmentation=mix, seed=seed)
    demand, at_capacity = 0, 0
    for row, milli in zip(arrivals.tolist(), jobs.milli[arrivals].tolist(), strict=True):
        allocation = placer.place(shapes[places[row]])
        if allocation is not None:
            free_devices.take(allocation)
        demand += milli
        if demand <= free_devices.capacity_milli:
            at_capacity = free_devices.capacity_milli - free_devices.free_milli
    fragments = float(mix.amount(free_devices, np.arange(len(free_devices.size))).sum())
    return Packing(
        allocated=1 - free_devices.free_milli / free_devices.capacity_milli,
        allocated_at_capacity=at_capacity / free_devices.capacity_milli,
        fragmented=fragments / free_devices.free_milli if free_devices.free_milli else 0.0,
    )


def read_pods(path: Path) -> JobTable:
    """Read a list of pods by their requests; some lists have no times, and the order is drawn."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [
            {name: row[name] for name in REQUESTS if name in row} | {"creation_time": str(index)}
            for index, row in enumerate(csv.DictReader(lines))
        ]
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return read_job_log(text.getvalue()).jobs


def arrival_order(jobs: JobTable, demand_milli: float, seed: int) -> IntArray:
    """Return rows that ask for so much in all: each job once, then draws of any."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(jobs))
    total = int(jobs.milli.sum())
    if total > demand_milli:
        count = int(np.searchsorted(np.cumsum(jobs.milli[rows]), demand_milli, side="right"))
        return rows[:count]
    draws = (demand_milli - total) / jobs.milli.mean() * 2
    more = rng.integers(0, len(jobs), int(draws) + 100)
    count = int(np.searchsorted(total + np.cumsum(jobs.milli[more]), demand_milli, side="right"))
    return np.concatenate((rows, more[:count]))


def print_placement(placement: PlacementPolicy, runs: Sequence[Packing], seconds: float) -> None:
    shares = [each.allocated for each in runs]
    at_capacity = sum(each.allocated_at_capacity for each in runs) / len(runs)
    fragmented = sum(each.fragmented for each in runs) / len(runs)
    print(
        f"{placement:12} {sum(shares) / len(shares):6.2%} ({percentage(min(shares))} to "
        f"{percentage(max(shares))}),"
        f" {percentage(at_capacity)} when as much as there is was asked for; "
        f"{percentage(fragmented)} of what is "
        f"free is unusable; {decimals(seconds / len(runs), 1)} s a seed",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pods", type=Path)
    parser.add_argument("nodes", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    jobs = read_pods(options.pods)
    cluster = read_cluster(options.nodes.read_text(encoding="utf-8"), devices=DEVICES)
    print(
        f"{len(jobs):,} pods, {cluster.total_devices:,} devices: allocated, mean of "
        f"{options.seeds} seeds"
    )
    for placement in PlacementPolicy:
        began = time.process_time()
        runs = [pack(jobs, cluster, placement, seed=seed) for seed in range(options.seeds)]
        print_placement(placement, runs, time.process_time() - began)


if __name__ == "__main__":
    main()
