"""Repeats published runs of the packing experiment with their own arrivals and order of nodes.

python benchmarks/cost_models/published_arrivals.py FOLDER RNG_GO [--seed 42] [--workload NAME]

FOLDER is a copy of hkust-adsl/kubernetes-scheduler-simulator (Weng et al., USENIX ATC 2023), whose
`analysis_allo_discrete.csv` has the share of devices allocated when 0 to 130 % of them had been
asked for, by seed. Its random numbers are Go's (`math/rand`): RNG_GO is src/math/rand/rng.go of any
Go, for its table. Random placement is left out, since the order of its draws is not known. For each
trace and placement it prints how many of the 131 points are equal to the second decimal.
"""

import argparse
import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from packing_experiment import DEVICES, LOAD, read_pods
from published_traces import PLACEMENTS

from perfledger.rounding import decimals
from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import Cluster, read_cluster
from perfledger_cost_models.scheduling.placement.fragmentation import Fragmentation
from perfledger_cost_models.scheduling.placement.free_devices import FreeDevices, resource_requests
from perfledger_cost_models.scheduling.placement.placement import JobPlacer
from perfledger_cost_models.scheduling.policy import PlacementPolicy

POINTS = 131  # 0 to 130 % of the devices
# Kubernetes' informers draw a timeout each between the pods and the order of the nodes.
INFORMER_DRAWS = 10
_LENGTH, _TAP = 607, 273
_MASK = 2**63 - 1
_PRIME = 2**31 - 1


class GoRandom:
    """Go's math/rand: an additive lagged Fibonacci generator (Mitchell and Reeds)."""

    def __init__(self, seed: int, table: Sequence[int]) -> None:
        self._tap, self._feed = 0, _LENGTH - _TAP
        state = seed % _PRIME or 89482311
        parts: list[int] = []
        for _ in range(20 + 3 * _LENGTH):
            state = state * 48271 % _PRIME
            parts.append(state)
        triples = zip(parts[20::3], parts[21::3], parts[22::3], table, strict=True)
        self._values = [
            ((high << 40) ^ (middle << 20) ^ low ^ each) & _MASK
            for high, middle, low, each in triples
        ]

    def bits(self) -> int:
        """Return 63 random bits."""
        self._tap = (self._tap - 1) % _LENGTH
        self._feed = (self._feed - 1) % _LENGTH
        value = (self._values[self._feed] + self._values[self._tap]) & _MASK
        self._values[self._feed] = value
        return value

    def below(self, count: int) -> int:
        """Return a number below a count, as Intn does."""
        if count & (count - 1) == 0:
            return (self.bits() >> 32) & (count - 1)
        value = self.bits() >> 32
        while value > _PRIME - 2**31 % count:
            value = self.bits() >> 32
        return value % count

    def shuffle(self, items: list[int]) -> None:
        """Shuffle a list, as Shuffle does (Lemire 2016)."""
        for last in range(len(items) - 1, 0, -1):
            product = (self.bits() >> 31) * (last + 1)
            while product & (2**32 - 1) < 2**32 % (last + 1):
                product = (self.bits() >> 31) * (last + 1)
            other = product >> 32
            items[last], items[other] = items[other], items[last]

    def permutation(self, count: int) -> list[int]:
        """Return a permutation, as Perm does."""
        items = [0] * count
        for index in range(count):
            other = self.below(index + 1)
            items[index] = items[other]
            items[other] = index
        return items


def read_table(path: Path) -> tuple[int, ...]:
    """Return the table of Go's rng.go."""
    _, _, rest = path.read_text(encoding="utf-8").partition("ooked")
    body = rest[rest.index("[...]") :]
    return tuple(map(int, re.findall(r"-?\d{10,}", body[: body.index("\n\t}")])))


def published_arrivals(milli: Sequence[int], capacity_milli: int, go: GoRandom) -> list[int]:
    """Return the rows of pods in the order of a published run.

    The pods are shuffled; then some leave, or draws from all of them follow, until they ask for
    LOAD times the capacity.
    """
    go.bits()  # for a line of its log
    rows = list(range(len(milli)))
    go.shuffle(rows)
    demand, most = sum(milli), LOAD * capacity_milli
    while demand > most:
        demand -= milli[rows.pop(go.below(len(rows)))]
    while len(rows) >= len(milli):
        pod = go.below(len(milli))
        if demand + min(milli[pod], WHOLE_DEVICE) > most:  # as theirs: of one device
            break
        demand += milli[pod]
        rows.append(pod)
    return rows


def allocated_shares(
    jobs: JobTable, cluster: Cluster, rows: Sequence[int], nodes: IntArray, policy: PlacementPolicy
) -> list[float]:
    """Return the percentage allocated at each whole percentage asked for."""
    free_devices = FreeDevices(cluster, nodes, jobs)
    shapes, places = resource_requests(jobs)
    placer = JobPlacer(free_devices, policy, fragmentation=Fragmentation(jobs))
    demand = np.cumsum(jobs.milli[np.array(rows)]) / free_devices.capacity_milli * 100
    shares = np.zeros(len(rows))
    for index, row in enumerate(rows):
        placer.claim(shapes[places[row]])
        free = free_devices.free_milli / free_devices.capacity_milli
        shares[index] = round(100 * (1 - free), 2)
    return [round(float(shares[np.rint(demand) == point].mean()), 2) for point in range(POINTS)]


def published_shares(folder: Path, workload: str, seed: int) -> dict[str, list[float]]:
    """Return by placement the published percentages of a trace and seed."""
    path = folder / "experiments/analysis/expected_results/analysis_allo_discrete.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        return {
            row["sc_policy"]: [float(row[str(point)]) for point in range(POINTS)]
            for row in csv.DictReader(lines)
            if row["workload"] == workload and row["seed"] == str(seed)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rng_go", type=Path)
    parser.add_argument("--seed", type=int, default=42, help="42 to 51 are published")
    parser.add_argument("--workload", action="append", default=[])
    options = parser.parse_args()
    table = read_table(options.rng_go)
    nodes_csv = options.folder / "data/csv/openb_node_list_gpu_node.csv"
    cluster = read_cluster(nodes_csv.read_text(encoding="utf-8"), devices=DEVICES)
    for workload in options.workload or ["openb_pod_list_default"]:
        jobs = read_pods(options.folder / f"data/csv/{workload}.csv")
        go = GoRandom(options.seed, table)
        rows = published_arrivals(jobs.milli.tolist(), cluster.total_devices * WHOLE_DEVICE, go)
        for _ in range(INFORMER_DRAWS):
            go.bits()
        nodes = np.argsort(np.array(go.permutation(len(cluster.devices))))
        for name, theirs in published_shares(options.folder, workload, options.seed).items():
            if PLACEMENTS[name] is PlacementPolicy.RANDOM:
                continue
            ours = allocated_shares(jobs, cluster, rows, nodes, PLACEMENTS[name])
            equal = sum(mine == other for mine, other in zip(ours, theirs, strict=True))
            print(
                f"{workload:27} {name:16} {equal} of {POINTS} points equal; at 130 %: "
                f"{decimals(ours[-1], 2)} / {decimals(theirs[-1], 2)} published",
                flush=True,
            )


if __name__ == "__main__":
    main()
