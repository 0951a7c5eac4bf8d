"""Finds how much more or less work a step does: counted floating-point operations."""

from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger.metrics import FLOPS_PER_STEP
from perfledger.records import Side
from perfledger.step_work import FLOPS
from perfledger_baselines.estimation.estimators import location_estimates
from perfledger_baselines.estimation.work_counts import count_change


@dataclass(frozen=True, slots=True)
class WorkChange:
    """Floating-point operations of one step before and after: evidence, not a verdict."""

    base: float
    head: float

    @property
    def change(self) -> float:
        """Return head / base - 1."""
        return self.head / self.base - 1


def work_change(bundle: Bundle, workload: str) -> WorkChange | None:
    """Return the work of a workload's step on either side.

    A static count, made before anything ran, is preferred to what the measured processes counted.
    A count gets no verdict of its own: twice the operations in the same time harm nobody, and the
    time has its verdict. It says whether a slower step does more work. None where either side was
    not counted, or the base's count is zero.
    """
    count = count_change(bundle, workload, FLOPS)
    if count is not None and min(count.base, count.head) > 0:
        return WorkChange(count.base, count.head)
    base, head = (_count(bundle, workload, side) for side in (Side.BASE, Side.HEAD))
    return WorkChange(base, head) if base > 0 and head > 0 else None


def _count(bundle: Bundle, workload: str, side: Side) -> float:
    counts = [
        count
        for run in bundle.runs
        if run.workload == workload and run.side is side
        for count in run.samples.get(FLOPS_PER_STEP.name, ())
    ]
    return float(location_estimates([counts], scale=FLOPS_PER_STEP.scale)[0]) if counts else 0.0
