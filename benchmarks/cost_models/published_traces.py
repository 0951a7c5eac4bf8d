"""Folders of public traces in, our simulator's figures beside the published ones out.

python benchmarks/cost_models/published_traces.py [--fgd DIR] [--muri DIR] [--alibaba DIR]
                                      [--seeds 3] [--workload NAME]

--fgd: a copy of hkust-adsl/kubernetes-scheduler-simulator (Weng et al., USENIX ATC 2023): the share
of devices allocated on Alibaba's openb traces by placement, against `analysis_allo_discrete.csv`;
--workload, repeatable, chooses traces (openb_pod_list_default). The limit is 0.7 points, and the
published order. --muri: a copy of Rivendile/Muri (Zhao et al., SIGCOMM 2022): the mean completion
time on four virtual clusters of Philly, by policy and with migration, as its program has it,
against `draw_fig9-10.py`. The limit is 5 %.
--alibaba: a copy of alibaba/clusterdata: the mean completion and wait of 20,000 jobs of its trace
of 2020 (Weng et al., NSDI 2022), by policy, against the log beside its simulator. The limit is 5 %.
No trace is part of this repository.
"""

import argparse
import ast
import csv
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from random import Random

from packing_experiment import pack, read_pods

from perfledger.rounding import decimals
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import Job, JobTable, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.job_outcomes import summarise_outcome
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    Backfill,
    PlacementPolicy,
    Preemption,
)
from perfledger_cost_models.scheduling.simulation import simulate

PLACEMENTS = {
    "01-Random": PlacementPolicy.RANDOM,
    "02-DotProd": PlacementPolicy.DOT_PRODUCT,
    "03-GpuClustering": PlacementPolicy.CLUSTERING,
    "04-GpuPacking": PlacementPolicy.PACKING,
    "05-BestFit": PlacementPolicy.BEST_FIT,
    "06-FGD": PlacementPolicy.FRAGMENTATION,
}
# Published means that are nearer to each other have no order: ten seeds differ by more.
NO_ORDER_POINTS = 0.2
MURI_POLICIES = {"srtf": "SRTF_JCT_raw", "srsf": "SRSF_JCT_raw"}
MURI_TRACES = tuple(f"trace{number}{kind}" for number in range(1, 5) for kind in ("", "_pr"))
# Of simulator/jobs.py: an iteration takes so much longer than profiled, and times are milliseconds.
MURI_OVERHEAD = 1.015
MURI_UNIT_S = 0.001
# Of simulator/run_simulator.py: jobs drawn, how many come each minute, and what they run on.
PAI_JOBS, PAI_PER_MINUTE, PAI_SEED = 20_000, 1000, 42
# Its 6,500 devices are one sum of hundredths: no part of a device is left over beside another.
PAI_HUNDREDTHS = 100
PAI_CLUSTER = "gpu,cpu_milli\n650000,150930000\n"
PAI_POLICIES = {"fifo": "FIFO", "sjf": "SJF"}
_PAI_RESULT = re.compile(r"^\((\w+) *, *\w+ *\),([\d.]+),([\d.]+),", re.MULTILINE)


def print_allocations(folder: Path, workloads: list[str], seeds: int) -> None:
    """Print by trace and placement the share allocated at 130 % of the demand."""
    published = allocations(folder / "experiments/analysis/expected_results")
    nodes = (folder / "data/csv/openb_node_list_gpu_node.csv").read_text(encoding="utf-8")
    cluster = read_cluster(nodes, devices=8)
    worst, wrong = 0.0, 0
    print(f"allocated, %: ours (mean of {seeds} seeds) / published (mean of ten)")
    for workload in workloads or sorted(published):
        jobs = read_pods(folder / f"data/csv/{workload}.csv")
        ours: dict[str, float] = {}
        for name, placement in PLACEMENTS.items():
            runs = [pack(jobs, cluster, placement, seed=seed) for seed in range(seeds)]
            ours[name] = 100 * sum(each.allocated for each in runs) / seeds
        theirs = published[workload]
        cells = (
            f"{name[3:]} {decimals(ours[name], 2)}/{decimals(theirs[name], 2)}" for name in ours
        )
        print(f"{workload:27}", *cells, sep="  ", flush=True)
        worst = max(worst, *(abs(ours[name] - theirs[name]) for name in ours))
        wrong += swapped(ours, theirs)
    print(f"farthest {decimals(worst, 2)} points; {wrong} pairs of placements in another order")


def allocations(folder: Path) -> Mapping[str, Mapping[str, float]]:
    """Return by workload and policy the mean over seeds of the column of 130 % arrived."""
    allocated_shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (folder / "analysis_allo_discrete.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            allocated_shares[row["workload"]][row["sc_policy"]].append(float(row["130"]))
    return {
        workload: {policy: sum(shares) / len(shares) for policy, shares in policies.items()}
        for workload, policies in allocated_shares.items()
    }


def swapped(ours: Mapping[str, float], theirs: Mapping[str, float]) -> int:
    """Return how many pairs that differ in the published results stand the other way round."""
    return sum(
        theirs[left] > theirs[right] + NO_ORDER_POINTS and ours[left] < ours[right]
        for left in theirs
        for right in theirs
    )


def print_completions(folder: Path) -> None:
    """Print by trace and policy the mean time from submission to end."""
    published = completions(folder / "simulator/draw_fig9-10.py")
    print("mean completion, s: ours / published")
    for policy in POLICIES:
        for trace in MURI_TRACES if policy.name in MURI_POLICIES else ():
            jobs = muri_jobs(folder / f"simulator/trace-data/{trace}.csv")
            free = replace(
                policy,
                preemption=Preemption.MIGRATION,
                placement=PlacementPolicy.FIRST_FIT,
                checkpoint_s=0,
            )
            ours = simulate(jobs, equal_nodes(8, devices=8), free).completion_s.mean()
            theirs = published[MURI_POLICIES[policy.name]][MURI_TRACES.index(trace)]
            off = ours / theirs - 1
            print(
                f"{policy.name} {trace:9} {ours:12,.0f} / {theirs:12,.0f}  {off:+.1%}", flush=True
            )


def completions(script: Path) -> Mapping[str, tuple[float, ...]]:
    """Return the lists of numbers that a plotting script assigns to names; it is not run."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    return {
        node.targets[0].id: tuple(ast.literal_eval(node.value))
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in MURI_POLICIES.values()
    }


def muri_jobs(path: Path) -> JobTable:
    """Return the jobs of a trace of Muri's, with the time that its simulator lets them run."""
    with path.open(encoding="utf-8", newline="") as lines:
        return table_of(
            Job(
                submit_s=float(row["submit_time"]) * MURI_UNIT_S,
                run_s=float(row["iterations"])
                * float(row["iteration_time"])
                * MURI_UNIT_S
                * MURI_OVERHEAD,
                devices=int(row["num_gpu"]),
            )
            for row in csv.DictReader(lines)
        )


def print_waits(folder: Path) -> None:
    """Print by policy the mean time to the end and the mean wait."""
    simulator = folder / "cluster-trace-gpu-v2020/simulator"
    (log,) = (simulator / "logs").glob("*.log")
    results = _PAI_RESULT.findall(log.read_text(encoding="utf-8"))
    published = {name: (float(completion), float(wait)) for name, completion, wait in results}
    trace = simulator / "traces/pai/pai_job_duration_estimate_100K.csv"
    jobs = pai_jobs(trace, count=PAI_JOBS, per_minute=PAI_PER_MINUTE)
    cluster = read_cluster(PAI_CLUSTER, devices=8)
    print("mean completion and wait, s: ours / published")
    for policy in (each for each in POLICIES if each.name in PAI_POLICIES):
        figures = summarise_outcome(
            simulate(jobs, cluster, replace(policy, backfill=Backfill.ALWAYS))
        )
        ours = (figures.completion_mean_s, figures.wait_mean_s)
        theirs = published[PAI_POLICIES[policy.name]]
        cells = (
            f"{mine:10,.2f} / {other:10,.2f}  {mine / other - 1:+.1%}"
            for mine, other in zip(ours, theirs, strict=True)
        )
        print(f"{policy.name:5}", *cells, flush=True)


def pai_jobs(path: Path, *, count: int, per_minute: int) -> JobTable:
    """Return the jobs that the trace's own simulator draws: so many a minute, in their order."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    Random(PAI_SEED).shuffle(rows)
    sorted_rows = sorted(
        rows[:count], key=lambda row: (float(row["submit_time"]), int(row["job_id"]))
    )
    for index, row in enumerate(sorted_rows):
        row["submit_time"] = str(index // per_minute * 60)
        row["num_gpu"] = str(round(PAI_HUNDREDTHS * float(row["num_gpu"] or 0)))
    sorted_rows.sort(key=lambda row: (int(row["submit_time"]), int(row["job_id"])))
    text = StringIO()
    writer = csv.DictWriter(text, fieldnames=list(sorted_rows[0]))
    writer.writeheader()
    writer.writerows(sorted_rows)
    return read_job_log(text.getvalue()).jobs


def main() -> None:
    """Compare with the folders that were given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fgd", type=Path)
    parser.add_argument("--muri", type=Path)
    parser.add_argument("--alibaba", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workload", action="append", default=[])
    options = parser.parse_args()
    if options.fgd:
        print_allocations(options.fgd, options.workload, options.seeds)
    if options.muri:
        print_completions(options.muri)
    if options.alibaba:
        print_waits(options.alibaba)


if __name__ == "__main__":
    main()
