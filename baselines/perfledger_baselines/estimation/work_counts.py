"""Compares the counted work per step of base and head."""

from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger.metrics import FLOPS_PER_STEP
from perfledger.records import Side
from perfledger.step_work import FLOPS, Count, StepWork
from perfledger_baselines.estimation.estimators import location_estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class CountChange:
    """One count of a step on both sides.

    Complete counts are exact: any difference is a change. An incomplete count is a lower bound, and
    what it leaves out may be the whole difference.
    """

    name: str
    unit: str
    base: float
    head: float
    source: str
    base_is_complete: bool = True
    head_is_complete: bool = True

    @property
    def is_complete(self) -> bool:
        """Return whether both sides count all of the work."""
        return self.base_is_complete and self.head_is_complete

    @property
    def change(self) -> float | None:
        """Return head / base - 1; None if base is zero or a side is incomplete."""
        return self.head / self.base - 1 if self.base > 0 and self.is_complete else None

    @property
    def has_changed(self) -> bool:
        """Return whether the two sides differ."""
        return self.base != self.head


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkComparison:
    """Work per step of a workload on both sides, counted before it was measured.

    Evidence, not a verdict, like WorkChange. `limits` lists what the counts leave out.
    """

    workload: str
    counts: tuple[CountChange, ...]
    limits: tuple[str, ...]
    is_same_program: bool | None  # None if a side's program is unknown

    @property
    def changes(self) -> tuple[CountChange, ...]:
        """Return the counts in which the sides differ."""
        return tuple(count for count in self.counts if count.has_changed)


@dataclass(frozen=True, slots=True)
class WorkChange:
    """Floating-point operations of one step before and after: evidence, not a verdict."""

    base: float
    head: float


def work_comparisons(bundle: Bundle) -> tuple[WorkComparison, ...]:
    """Return the work of every workload that was counted on both sides.

    Counts are comparable when both sides counted in the same way. What one side could not count is
    listed in the limits, with the side's name.
    """
    work = {(each.workload, each.side): each.work for each in bundle.work}
    comparisons: list[WorkComparison] = []
    for spec in bundle.workloads:
        base, head = work.get((spec.id, Side.BASE)), work.get((spec.id, Side.HEAD))
        if base is not None and head is not None:
            comparisons.append(_comparison(spec.id, base, head))
    return tuple(comparisons)


def work_change(bundle: Bundle, workload: str) -> WorkChange | None:
    """Return the work of a workload's step on each side.

    A static count, made before anything ran, is preferred to what the measured processes counted. A
    count gets no verdict of its own: twice the operations in the same time harm nobody, and the
    time has its own verdict. The count shows whether a slower step does more work. None if either
    side was not counted or not counted completely, or if a count is zero.
    """
    count = count_change(bundle, workload, FLOPS)
    if count is not None and not count.is_complete:
        return None
    if count is not None and min(count.base, count.head) > 0:
        return WorkChange(count.base, count.head)
    base, head = (_count(bundle, workload, side) for side in (Side.BASE, Side.HEAD))
    return WorkChange(base, head) if base > 0 and head > 0 else None


def count_change(bundle: Bundle, workload: str, name: str) -> CountChange | None:
    """Return one count of a workload's step on both sides; None if they are not comparable."""
    counts = {
        side: count
        for side, work in bundle.work_of(workload).items()
        for count in work.counts
        if count.name == name
    }
    base, head = counts.get(Side.BASE), counts.get(Side.HEAD)
    if base is None or head is None or not _is_alike(base, head):
        return None
    return _change(base, head)


def _comparison(workload: str, base: StepWork, head: StepWork) -> WorkComparison:
    before = {count.name: count for count in base.counts}
    return WorkComparison(
        workload=workload,
        counts=tuple(
            _change(before[count.name], count)
            for count in head.counts
            if count.name in before and _is_alike(before[count.name], count)
        ),
        limits=_limits(base, head),
        is_same_program=base.program == head.program if base.program and head.program else None,
    )


def _change(base: Count, head: Count) -> CountChange:
    return CountChange(
        name=head.name,
        unit=head.unit,
        base=base.value,
        head=head.value,
        source=head.source,
        base_is_complete=base.is_complete,
        head_is_complete=head.is_complete,
    )


def _is_alike(base: Count, head: Count) -> bool:
    return (base.unit, base.source) == (head.unit, head.source)


def _limits(base: StepWork, head: StepWork) -> tuple[str, ...]:
    common = [limit for limit in base.limits if limit in head.limits]
    single = [
        f"{side}: {limit}"
        for side, work in ((Side.BASE, base), (Side.HEAD, head))
        for limit in work.limits
        if limit not in common
    ]
    return (*common, *single)


def _count(bundle: Bundle, workload: str, side: Side) -> float:
    counts = [
        count
        for run in bundle.runs_of(workload, side)
        for count in run.samples.get(FLOPS_PER_STEP.name, ())
    ]
    return float(location_estimates([counts], scale=FLOPS_PER_STEP.scale)[0]) if counts else 0.0
