"""A bundle in, what a step of each workload asks for before and after, by count, out."""

from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger.work import Count, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class CountChange:
    """One figure of a step on both sides. Counts are exact: any difference is one."""

    name: str
    unit: str
    base: float
    head: float
    source: str

    @property
    def change(self) -> float | None:
        """Return head / base - 1; None where base is nothing."""
        return self.head / self.base - 1 if self.base > 0 else None

    @property
    def has_changed(self) -> bool:
        """Whether the two sides differ."""
        return self.base != self.head


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedWork:
    """What a workload's step asks for on both sides, known before it was measured.

    Evidence and no verdict, as with WorkChange. `limits` say what is not in it.
    """

    workload: str
    counts: tuple[CountChange, ...]
    limits: tuple[str, ...]
    is_same_program: bool | None  # None where there are no programs, or they are not known

    @property
    def changes(self) -> tuple[CountChange, ...]:
        """Return the counts in which the sides differ."""
        return tuple(count for count in self.counts if count.has_changed)


def compared_work(bundle: Bundle) -> tuple[ComparedWork, ...]:
    """Return the counted work of every workload that was counted on both sides.

    Counts compare when both sides made them in the same way. What one side could not count is in
    the limits, with the side's name.
    """
    work = {(each.workload, each.side): each.work for each in bundle.work}
    compared: list[ComparedWork] = []
    for spec in bundle.workloads:
        base, head = work.get((spec.id, Side.BASE)), work.get((spec.id, Side.HEAD))
        if base is not None and head is not None:
            compared.append(_compared(spec.id, base, head))
    return tuple(compared)


def counted_change(bundle: Bundle, workload: str, name: str) -> CountChange | None:
    """Return one figure of a workload's step on both sides, None where they do not compare."""
    found = {
        each.side: count
        for each in bundle.work
        if each.workload == workload
        for count in each.work.counts
        if count.name == name
    }
    base, head = found.get(Side.BASE), found.get(Side.HEAD)
    if base is None or head is None or not _is_alike(base, head):
        return None
    return _change(base, head)


def _compared(workload: str, base: Work, head: Work) -> ComparedWork:
    before = {count.name: count for count in base.counts}
    return ComparedWork(
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
        name=head.name, unit=head.unit, base=base.value, head=head.value, source=head.source
    )


def _is_alike(base: Count, head: Count) -> bool:
    return (base.unit, base.source) == (head.unit, head.source)


def _limits(base: Work, head: Work) -> tuple[str, ...]:
    both = [limit for limit in base.limits if limit in head.limits]
    alone = [
        f"{side}: {limit}"
        for side, work in ((Side.BASE, base), (Side.HEAD, head))
        for limit in work.limits
        if limit not in both
    ]
    return (*both, *alone)
