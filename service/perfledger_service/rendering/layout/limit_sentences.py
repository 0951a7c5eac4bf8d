"""Words the results of limits on the work per step, which are checked before timing."""

from collections.abc import Iterable, Iterator

from perfledger.work_limit import LimitKind
from perfledger_baselines.judging.work_limits import JudgedLimit, LimitOutcome
from perfledger_service.rendering.layout import vocabulary


def exceeded_sentences(limits: Iterable[JudgedLimit]) -> Iterator[str]:
    """Yield the workload, both figures and the limit, for each exceeded limit."""
    for each in limits:
        if each.outcome is LimitOutcome.EXCEEDED and each.head is not None:
            label = vocabulary.count_label(each.limit.count)
            head, allowed = (
                vocabulary.count_with_unit(number, each.unit)
                for number in (each.head, each.threshold or 0.0)
            )
            if each.limit.kind is LimitKind.BASE and each.base is not None:
                figures = f"{vocabulary.count_with_unit(each.base, each.unit)} on base, {head} on"
                yield f"{each.workload}: {label} {figures} head (fail_on: {each.limit.text})"
            else:
                figures = f"{head} on head, above {allowed}"
                yield f"{each.workload}: {label} {figures} (fail_on: {each.limit.text})"


def unknown_sentences(limits: Iterable[JudgedLimit]) -> Iterator[str]:
    """Yield the workloads for which a limit cannot be evaluated, by limit and reason."""
    workloads: dict[tuple[str, str], list[str]] = {}
    for each in limits:
        if each.outcome is LimitOutcome.UNKNOWN:
            workloads.setdefault((each.limit.text, each.reason), []).append(each.workload)
    for (text, reason), names in workloads.items():
        yield f"fail_on {text} cannot be evaluated for {', '.join(names)}: {reason}"
