"""Made-up job logs in, how fast and how exactly the simulator replays them out.

python benchmarks/cost_models/scheduling.py [--million] [--policy fifo] [--nodes 40]

82,000 jobs of 1 to 32 devices with heavy-tailed times, by 12 teams, on 40 nodes of 8 devices at
85 % load; the limit is 60 s of one core, and 15 minutes for a million jobs. --policy, repeatable,
chooses; without it all of them. M/M/c: random jobs of one device on 8, five seeds, against Erlang's
formula; the limit is 2 %.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np

from perfledger.rounding import decimals, percentage
from perfledger_cost_models.job_logs.table import Job, JobTable, table_of
from perfledger_cost_models.queueing.queue_formulas import mmc
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.job_outcomes import summarise_outcome
from perfledger_cost_models.scheduling.policy import POLICIES
from perfledger_cost_models.scheduling.simulation import simulate

NODES, DEVICES, LOAD = 40, 8, 0.85
MANY = 82_000
# So many that the mean of five seeds is within a per cent of the truth.
SERVERS, SERVICE_S, SHARE, ARRIVALS = 8, 600.0, 0.7, 200_000


def made_up(count: int, *, nodes: int = NODES, seed: int = 1) -> JobTable:
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 4, 8, 16, 32], count, p=[0.55, 0.15, 0.12, 0.12, 0.04, 0.02])
    run = rng.lognormal(6.5, 1.8, count)
    gap = float((size * run).mean()) / (nodes * DEVICES * LOAD)
    at = np.cumsum(rng.exponential(gap, count))
    team = rng.integers(0, 12, count)
    return table_of(
        Job(submit_s=submit, run_s=seconds, devices=devices, team=f"team {of}", priority=of % 3)
        for submit, seconds, devices, of in zip(
            at.tolist(), run.tolist(), size.tolist(), team.tolist(), strict=True
        )
    )


def print_policies(count: int, nodes: int, names: Sequence[str]) -> None:
    began = time.process_time()
    jobs = made_up(count, nodes=nodes)
    print(
        f"{count:,} jobs, drawn in {decimals(time.process_time() - began, 1)} s of processor time"
    )
    print("policy            seconds  conserved  mean wait, s  P95 wait, s  in use")
    for policy in (each for each in POLICIES if not names or each.name in names):
        began = time.process_time()
        outcome = simulate(jobs, equal_nodes(nodes, devices=DEVICES), policy)
        spent = time.process_time() - began
        summary = summarise_outcome(outcome)
        is_conserved = outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded
        print(
            f"{policy.name:16} {spent:8.1f}  {is_conserved!s:9}  {summary.wait_mean_s:12.0f}"
            f"  {summary.wait_p95_s:11.0f}  {summary.useful or 0:6.1%}",
            flush=True,
        )


def print_against_formula() -> None:
    rate = SHARE * SERVERS / SERVICE_S
    means: list[float] = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        at = np.cumsum(rng.exponential(1 / rate, ARRIVALS)).tolist()
        run = rng.exponential(SERVICE_S, ARRIVALS).tolist()
        jobs = table_of(
            Job(submit_s=submit, run_s=seconds, devices=1)
            for submit, seconds in zip(at, run, strict=True)
        )
        outcome = simulate(jobs, equal_nodes(1, devices=SERVERS), POLICIES[0])
        means.append(float(outcome.wait_s.mean()))
    exact = mmc(arrivals_per_s=rate, service_s=SERVICE_S, servers=SERVERS).wait_s
    mean = sum(means) / len(means)
    print(
        f"M/M/{SERVERS} at {percentage(SHARE)}: {decimals(mean, 1)} s against "
        f"{decimals(exact, 1)} s: {mean / exact - 1:+.2%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--policy", action="append", choices=[each.name for each in POLICIES])
    parser.add_argument("--nodes", type=int, default=NODES)
    options = parser.parse_args()
    count = 1_000_000 if options.million else MANY
    print_policies(count, options.nodes, options.policy or ())
    if not options.million:
        print_against_formula()


if __name__ == "__main__":
    main()
