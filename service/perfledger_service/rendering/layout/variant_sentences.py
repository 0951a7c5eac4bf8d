"""Words which variant of a workload is fastest, and remarks on each variant."""

from collections.abc import Iterable, Iterator

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger.step_work import NOT_COUNTED, StepWork
from perfledger_baselines.judging.variant_ranking import (
    SideRanking,
    VariantComparison,
    VariantRanking,
)
from perfledger_service.rendering.layout import number_format

NOT_COMPARED = "its result was not compared with that of the step as written"
TIMES_FROM = 1.0  # a larger change is read as a factor: "9 times", not "+800 %"
NO_ORDER = "which variant is fastest"


def ranking_sentences(rankings: Iterable[VariantRanking]) -> Iterator[str]:
    """Yield which variant is fastest on either side, and whether that changed, per workload."""
    for ranking in rankings:
        parts = [_sides_words(ranking)]
        if ranking.unmeasured:
            parts.append(f"not measured: {', '.join(ranking.unmeasured)}")
        if ranking.left_out:
            reasons = (f"{variant} ({why})" for variant, why in ranking.left_out.items())
            parts.append(f"left out: {', '.join(reasons)}")
        yield f"{ranking.workload}: {'; '.join(parts)}"


def remark_sentences(bundle: Bundle) -> Iterator[str]:
    """Yield remarks on each measured variant, with the side if a remark is not about both."""
    sides: dict[tuple[str, str], list[Side]] = {}
    work = {(each.workload, each.side): each.work for each in bundle.work}
    for spec in bundle.workloads:
        for side in Side:
            if spec.variant and bundle.runs_of(spec.id, side):
                for remark in _remarks(work.get((spec.id, side))):
                    sides.setdefault((spec.id, remark), []).append(side)
    for (workload, remark), where in sides.items():
        side_words = "" if len(where) > 1 else f" on {where[0]}"
        yield f"{workload}{side_words}: {remark}"


def _remarks(work: StepWork | None) -> tuple[str, ...]:
    if work is None:
        return (NOT_COMPARED,)
    uncounted = [limit for limit in work.limits if limit.startswith(NOT_COUNTED)]
    return (f"{NOT_COMPARED} ({uncounted[0]})",) if uncounted else work.variant_remarks


def _sides_words(ranking: VariantRanking) -> str:
    base, head = ranking.base, ranking.head
    if base is None or head is None:
        side = head if base is None else base
        where = "head" if base is None else "base"
        return f"{NO_ORDER} is unknown" if side is None else _side_words(side, where)
    if ranking.has_changed:
        return (
            f"{base.fastest} was the fastest variant ({_lead(base, head.first)}), and now "
            f"{head.fastest} is ({_lead(head, base.first)})"
        )
    if base.fastest and base.fastest == head.fastest:
        return f"{head.fastest} is the fastest variant, as on base ({_lead(head)})"
    return f"{_side_words(base, Side.BASE)}; {_side_words(head, Side.HEAD)}"


def _side_words(side: SideRanking, where: str) -> str:
    if side.fastest:
        return f"{side.fastest} is the fastest variant on {where} ({_lead(side)})"
    names = [side.first, *(each.variant for each in side.rivals)]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"on {where}, {listed} cannot be told apart"


def _lead(side: SideRanking, variant: str = "") -> str:
    """Return how much more time `variant` takes, or else the next fastest."""
    named = [each for each in side.comparisons if each.variant == variant]
    nearest = named[0] if named else min(side.comparisons, key=lambda each: each.change)
    return f"{nearest.variant} takes {_interval(nearest)}"


def _interval(comparison: VariantComparison) -> str:
    if comparison.change >= TIMES_FROM:
        change, low, high = (
            number_format.factor(1 + value)
            for value in (comparison.change, comparison.low, comparison.high)
        )
        return f"{change} the time ({low} to {high})"
    change, interval = number_format.change(comparison.change, comparison.low, comparison.high)
    return f"{change} time ({interval})"
