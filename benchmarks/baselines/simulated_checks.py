"""Measures made-up pairs as a check does, and learns from them as the service does.

`measured_check` asks GroupSequentialStopping for pairs until it is satisfied and returns the
bundle; `History` keeps the differences of earlier checks' pairs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import Metric
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.pair_spreads import PairDifferences, pair_differences
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.interim_looks import (
    MIN_PAIRS_WITH_HISTORY,
    planned_looks,
)
from perfledger_baselines.significance.spread_prior import (
    PriorError,
    SpreadPrior,
    prior_from_checks,
)

Draws = NDArray[np.float64]
Places = NDArray[np.int64]
Pairs = Sequence[tuple[Run, Run]]
Priors = Mapping[tuple[str, str], SpreadPrior]


@dataclass
class History:
    """What earlier checks left behind, the newest first; it stays empty unless it is kept."""

    is_kept: bool = True
    differences: list[PairDifferences] = field(default_factory=list)

    def keep(
        self, tests: Iterable[PairedTest], machines: Mapping[tuple[str, Side], Machine]
    ) -> None:
        if self.is_kept:
            self.differences[:0] = pair_differences(tests, machines)

    def priors(self, metric: Metric) -> dict[tuple[str, str], SpreadPrior]:
        by_workload: dict[str, list[tuple[float, ...]]] = {}
        for each in self.differences:
            by_workload.setdefault(each.workload, []).append(each.values)
        priors = {}
        for workload, checks in by_workload.items():
            try:
                priors[workload, metric.name] = prior_from_checks(checks)
            except PriorError:
                continue
        return priors


def plan_of(most_pairs: int, *, has_history: bool) -> Plan:
    """Return the plan of a check of at most so many pairs, as `perfledger check` makes it."""
    looks = (
        planned_looks(most_pairs, fewest=MIN_PAIRS_WITH_HISTORY)
        if has_history
        else planned_looks(most_pairs)
    )
    return Plan(seed=0, order=(), looks=looks)


def pairs_of(values: Draws, *, metric: Metric, workload: str, head_position: Places) -> Pairs:
    """Return the runs of (pairs, 2, samples) values in the order of time."""
    positions = {Side.BASE: 1 - head_position, Side.HEAD: head_position}
    base, head = (
        [
            Run(
                workload=workload,
                side=side,
                pair=number,
                position=int(positions[side][number]),
                process=2 * number + int(positions[side][number]),
                started_at="",
                samples={metric.name: tuple(values[number, int(positions[side][number])].tolist())},
            )
            for number in range(len(values))
        ]
        for side in (Side.BASE, Side.HEAD)
    )
    return tuple(zip(base, head, strict=True))


def measured_check(
    pairs: Mapping[str, Pairs], *, plan: Plan, metric: Metric, priors: Priors
) -> Bundle:
    """Return the bundle of a check that measures pairs of each workload until it may stop."""
    rule = GroupSequentialStopping(
        looks=plan.looks,
        alpha=plan.alpha,
        margin=plan.margin,
        floor=plan.floor,
        metrics=(metric,),
        priors=priors,
    )
    rule.start(tuple(pairs))
    runs: list[Run] = []
    for number in range(plan.looks[-1]):
        for name in sorted(rule.unfinished()):
            rule.add(*pairs[name][number])
            runs += pairs[name][number]
    return bundle_of(tuple(pairs), runs, metric, plan)


def bundle_of(names: Sequence[str], runs: Sequence[Run], metric: Metric, plan: Plan) -> Bundle:
    return Bundle(
        id="0" * 32,
        created_at="",
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=Machine(device=Device.CPU, model="made up"),
        plan=plan,
        workloads=tuple(WorkloadSpec(id=name, module="made_up", function=name) for name in names),
        metrics=(metric,),
        runs=tuple(runs),
    )
