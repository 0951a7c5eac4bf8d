"""A bundle in, how much more or less work a step of a workload does by count out."""

from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger.metrics import FLOPS_PER_STEP
from perfledger.records import Side
from perfledger.work import FLOPS
from perfledger_baselines.counted import counted_change
from perfledger_baselines.location import locations


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
    """Return the counted work of a workload's step on either side.

    What was counted before anything ran goes before what the measured processes counted.
    A count gets no verdict of its own: twice the operations in the same time harm nobody, and the
    time has its verdict. It says whether a slower step is one that does more. None where either
    side was not counted, or the base's count is zero and nothing can be said relative to it.
    """
    counted = counted_change(bundle, workload, FLOPS)
    if counted is not None and min(counted.base, counted.head) > 0:
        return WorkChange(counted.base, counted.head)
    base, head = (_count(bundle, workload, side) for side in (Side.BASE, Side.HEAD))
    return WorkChange(base, head) if base > 0 and head > 0 else None


def _count(bundle: Bundle, workload: str, side: Side) -> float:
    counts = [
        count
        for run in bundle.runs
        if run.workload == workload and run.side is side
        for count in run.samples.get(FLOPS_PER_STEP.name, ())
    ]
    return float(locations([counts], scale=FLOPS_PER_STEP.scale)[0]) if counts else 0.0
