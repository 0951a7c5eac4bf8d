"""Compares what the workload's own check answers on base and head."""

from collections.abc import Iterable

from perfledger.records import Run, Side
from perfledger.step_evidence import Answer
from perfledger_baselines.judging.gain_doubts.workload_pairs import Pairs


def agrees(pairs: Pairs) -> bool:
    """Return whether the workload's own check gave equal answers in every pair that has them."""
    return bool(_answers(pairs)) and not differing_paths(pairs)


def differing_paths(pairs: Pairs) -> list[str]:
    """Return the paths at which the answers of base and head differ in any pair."""
    paths = (
        path
        for base, head in _answers(pairs)
        # The stricter of the two: head may not relax its own check.
        for path in _differences(
            base.evidence.answer,
            head.evidence.answer,
            tolerance=min(base.evidence.tolerance, head.evidence.tolerance),
        )
    )
    return list(dict.fromkeys(paths))


def unsteady_answers(pairs: Pairs, paths: Iterable[str]) -> str:
    """Return that base's own answers differ at these paths, as the end of a sentence, or ""."""
    first, *later = (base.evidence for base, _ in _answers(pairs))
    differences = (
        _differences(first.answer, each.answer, tolerance=first.tolerance) for each in later
    )
    if not any(set(paths).intersection(own_paths) for own_paths in differences):
        return ""
    remedy = "fix its seeds, or give it a check_tolerance"
    return f"; base's answers differ from process to process, too: {remedy}"


def _answers(pairs: Pairs) -> list[tuple[Run, Run]]:
    """Return the pairs in which both sides' checks gave an answer."""
    return [
        (base, head)
        for sides in pairs.values()
        if (base := sides.get(Side.BASE)) is not None
        and (head := sides.get(Side.HEAD)) is not None
        and base.evidence.answer
        and head.evidence.answer
    ]


def _differences(base: Answer, head: Answer, *, tolerance: float) -> list[str]:
    paths = dict.fromkeys((*base, *head))
    return [
        path
        for path in paths
        if path not in base
        or path not in head
        or not _is_alike(base[path], head[path], tolerance=tolerance)
    ]


def _is_alike(base: object, head: object, *, tolerance: float) -> bool:
    if isinstance(base, bool | str) or isinstance(head, bool | str):
        return type(base) is type(head) and base == head
    if isinstance(base, int | float) and isinstance(head, int | float):
        return abs(head - base) <= tolerance * max(abs(base), abs(head))
    return False
