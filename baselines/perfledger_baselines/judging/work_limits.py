"""Judges the work of a step, counted before any timing, against the limits of a check."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger.step_work import Count, CountedWork, StepWork
from perfledger.work_limit import LimitKind, WorkLimit, parse_work_limit


class LimitOutcome(StrEnum):
    """The outcome of a limit on a workload."""

    EXCEEDED = "exceeded"
    KEPT = "kept"
    UNKNOWN = "unknown"  # a count is missing, incomplete or from another source


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLimit:
    """A limit on a workload: head's count, base's, and the largest allowed count.

    A number is None if it is unknown; `reason` explains the outcome.
    """

    limit: WorkLimit
    workload: str
    outcome: LimitOutcome
    unit: str = ""
    base: float | None = None
    head: float | None = None
    threshold: float | None = None
    reason: str = ""


def judge_work_limits(
    limits: Iterable[WorkLimit],
    work: Sequence[CountedWork],
    workloads: Iterable[str],
    *,
    device_bytes: int | None,
) -> tuple[JudgedLimit, ...]:
    """Judge every workload against every limit; only one surely above a limit exceeds it.

    An incomplete count is a lower bound: it may exceed an absolute limit, but can never prove that
    one is kept.
    """
    by_side = {(each.workload, each.side): each.work for each in work}
    names = tuple(workloads)
    return tuple(
        _judged_limit(limit, name, by_side, device_bytes=device_bytes)
        for limit in limits
        for name in names
    )


def limits_of(bundle: Bundle) -> tuple[JudgedLimit, ...]:
    """Judge the limits of a bundle, for the workloads that were to be measured."""
    excluded = {*bundle.new_workloads, *bundle.same_code}
    names = [spec.id for spec in bundle.workloads if spec.id not in excluded]
    return judge_work_limits(
        map(parse_work_limit, bundle.fail_on),
        bundle.work,
        names,
        device_bytes=bundle.machine.memory_bytes,
    )


def _judged_limit(
    limit: WorkLimit,
    workload: str,
    work: Mapping[tuple[str, Side], StepWork],
    *,
    device_bytes: int | None,
) -> JudgedLimit:
    step_works = [work.get((workload, side), StepWork()) for side in Side]
    base, head = (_count(each, limit.count) for each in step_works)
    known_base = None if base is None else base.value
    threshold = limit.threshold(base=known_base, device_bytes=device_bytes)
    reason = _doubt(limit, base, head, threshold)
    if head is None and step_works[1].limits:
        reason += f" ({step_works[1].limits[0]})"
    is_lower_bound = head is not None and not head.is_complete
    is_above = head is not None and threshold is not None and head.value > threshold
    is_sure = not reason or (is_lower_bound and limit.kind is not LimitKind.BASE)
    outcome = LimitOutcome.UNKNOWN if reason else LimitOutcome.KEPT
    return JudgedLimit(
        limit=limit,
        workload=workload,
        outcome=LimitOutcome.EXCEEDED if is_above and is_sure else outcome,
        unit=head.unit if head is not None else "",
        base=known_base,
        head=None if head is None else head.value,
        threshold=threshold,
        reason=reason,
    )


def _doubt(
    limit: WorkLimit, base: Count | None, head: Count | None, threshold: float | None
) -> str:
    """Return why a limit cannot be judged; "" if it can."""
    if head is None:
        return "head has no such count"
    if limit.kind is LimitKind.BASE and base is None:
        return "base has no such count"
    if threshold is None:
        return "the memory of the device is unknown"
    if limit.kind is LimitKind.BASE and base is not None:
        if base.source != head.source:
            return "the sides were counted in different ways"
        if not base.is_complete:
            return "base's count is not complete"
    return "" if head.is_complete else "head's count is not complete"


def _count(work: StepWork, name: str) -> Count | None:
    return next((each for each in work.counts if each.name == name), None)
