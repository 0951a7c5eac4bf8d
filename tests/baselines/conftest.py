"""Runs and bundles from bare numbers, so that a test says only what it is about."""

from dataclasses import replace

import pytest

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import METRICS
from perfledger.records import (
    Device,
    Failure,
    FailureReason,
    Machine,
    Revision,
    Run,
    Side,
    WorkloadSpec,
)

# Head over base of a quiet machine's pairs.
QUIET = (0.999, 1.001, 1.0, 1.0005, 0.9995, 1.0002)


class Build:
    """Builds what the judge takes in."""

    def changed(self, ratio, spread=1.0, pairs=6):
        """Return pairs of a metric whose head is `ratio` times its base, with a little noise."""
        return [(1.0, ratio * (1 + spread * (QUIET[k % 6] - 1))) for k in range(pairs)]

    def run(self, workload="m:f", side=Side.BASE, pair=0, *, process=0, **samples):
        return Run(
            workload=workload,
            side=side,
            pair=pair,
            position=0,
            process=process,
            started_at="2026-11-20T00:00:00Z",
            samples={
                name: tuple(value) if isinstance(value, tuple | list) else (value,)
                for name, value in samples.items()
                if value is not None
            },
        )

    def with_turns(self, run, turns):
        return replace(run, turns=turns)

    def pairs(self, workload="m:f", **metrics):
        """Return (base, head) runs from metric=[(base, head), ...]; None: not read."""
        numbers = range(max(len(pairs) for pairs in metrics.values()))
        return [
            tuple(
                self.run(
                    workload,
                    side,
                    number,
                    process=2 * number + place,
                    **{name: pairs[number][place] for name, pairs in metrics.items()},
                )
                for place, side in enumerate(Side)
            )
            for number in numbers
        ]

    def plan(self, looks=(4, 6, 8, 11, 15, 20), **values):
        return Plan(seed=1, order=(), looks=looks, **values)

    def bundle(self, workloads, *, plan=None, **values):
        """Return a bundle from {workload: {metric: [(base, head), ...]}}."""
        runs = tuple(
            run
            for workload, metrics in workloads.items()
            for pair in (self.pairs(workload, **metrics) if metrics else [])
            for run in pair
        )
        return Bundle(
            id="0" * 32,
            created_at="2026-11-20T00:00:00Z",
            base=Revision(sha="a" * 40),
            head=Revision(sha="b" * 40),
            machine=Machine(device=Device.CPU, model="made up"),
            plan=plan or self.plan(),
            workloads=tuple(self.spec(workload) for workload in workloads),
            metrics=values.pop("metrics", tuple(METRICS.values())),
            runs=values.pop("runs", runs),
            **values,
        )

    def spec(self, workload):
        return WorkloadSpec(id=workload, module="m", function="f")

    def failure(self, workload="m:f", side=Side.HEAD, why=FailureReason.RAISED, detail="boom"):
        return Failure(workload=workload, side=side, why=why, detail=detail)


@pytest.fixture(scope="session")
def build():
    return Build()
