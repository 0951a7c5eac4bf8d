"""Whether what a noisy gate is advised decides its checks.

python benchmarks/baselines/gate_advice.py [--gates 20] [--seed 1]

Each gate has a few workloads that change nothing, whose pairs differ by another spread each, and a
margin that its pairs cannot show. Its ten checks give the advice of `gate_health`. The same
workloads are then judged by the suggested margin, and with the suggested pairs.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from perfledger.metrics import STEP_TIME
from perfledger.rounding import decimals
from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.planning.gate_health import (
    DetectableChange,
    GateCheck,
    GateHealth,
    GateSettings,
    gate_health,
)
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import planned_looks

CHECKS = 10  # of a gate before the advice, and after it
BUDGET_S = 600.0
SECONDS_PER_PAIR = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The spreads of a gate's workloads, and its settings."""

    spreads: Sequence[float]
    settings: GateSettings

    def checks(self, draw: np.random.Generator) -> list[GateCheck]:
        """Return checks of unchanged code."""
        return [self._check(draw) for _ in range(CHECKS)]

    def _check(self, draw: np.random.Generator) -> GateCheck:
        looks = planned_looks(self.settings.max_pairs)
        rule = DecisionRule(looks=looks, alpha=0.05, margin=self.settings.margin, floor=0.003)
        pairs = [draw.normal(0.0, sd, self.settings.max_pairs) for sd in self.spreads]
        stops: dict[int, int] = {}
        verdicts: tuple[Verdict, ...] = ()
        for look in looks:  # each workload stops at the first look that decides it
            verdicts = judge_tests(
                [
                    _test(number, logs[: stops.get(number, look)])
                    for number, logs in enumerate(pairs)
                ],
                rule=rule,
            )
            for number, verdict in enumerate(verdicts):
                if verdict.outcome is not Outcome.UNDECIDED:
                    stops.setdefault(number, look)
            if len(stops) == len(pairs):
                break
        detectable = tuple(
            DetectableChange(
                workload=each.workload,
                change=each.estimate.smallest_detectable,
                pairs=each.estimate.pairs,
            )
            for each in verdicts
            if each.estimate is not None
        )
        is_undecided = any(each.outcome is Outcome.UNDECIDED for each in verdicts)
        return GateCheck(
            undecided_metrics=(STEP_TIME.name,) if is_undecided else (),
            held_s=SECONDS_PER_PAIR * sum(each.pairs for each in detectable),
            detectable=detectable,
        )


def _test(number: int, logs: FloatArray) -> PairedTest:
    return PairedTest(
        workload=f"m:{number}",
        metric=STEP_TIME,
        base=(1.0,) * len(logs),
        head=tuple(np.exp(logs).tolist()),
        numbers=tuple(range(1, len(logs) + 1)),
    )


def main() -> None:
    """Print how many checks are undecided before the advice, and after either of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    settings = GateSettings(margin=0.01, budget_s=BUDGET_S, max_pairs=20)
    before: list[float] = []
    with_margin: list[float] = []
    with_pairs: list[float] = []
    while len(with_margin) < options.gates:
        spreads = draw.uniform(0.005, 0.05, draw.integers(1, 6)).tolist()
        gate = Gate(spreads=spreads, settings=settings)
        health = gate_health(gate.checks(draw), settings)
        if health.margin is None or health.longer is None:
            continue
        before.append(_undecided(health))
        wider = replace(settings, margin=health.margin)
        longer = replace(settings, max_pairs=health.longer.pairs)
        for after, shares in ((wider, with_margin), (longer, with_pairs)):
            again = Gate(spreads=spreads, settings=after)
            shares.append(_undecided(gate_health(again.checks(draw), after)))
    print(f"{options.gates} gates of 1 to 5 workloads, share of undecided checks (worst gate):")
    for name, shares in (("now", before), ("margin", with_margin), ("pairs", with_pairs)):
        print(f"{name} {decimals(fmean(shares), 2)} ({decimals(max(shares), 2)})")


def _undecided(health: GateHealth) -> float:
    return health.undecided / health.judged


if __name__ == "__main__":
    main()
