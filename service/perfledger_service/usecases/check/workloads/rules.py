"""Finds the margin and the metrics that judge each workload: the stricter ones of both sides."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from perfledger.records import WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.rendering.layout import number_format


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRules:
    """The margins and metrics of the workloads that have their own, and notes on differences."""

    margins: Mapping[str, float]
    metrics: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


def workload_rules(
    base: Discovery, to_measure: Collection[WorkloadSpec], *, margin: float
) -> WorkloadRules:
    """Return the rules that judge the workloads as head registers them.

    A change cannot relax its own check: the smaller margin applies (`margin` if a workload has none
    of its own), and so do the metrics of both sides (no names means all).
    """
    before = {spec.id: spec for spec in base.workloads}
    margins: dict[str, float] = {}
    metrics: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    for head in to_measure:
        sides = (before.get(head.id, head), head)
        base_margin, head_margin = (
            margin if spec.margin is None else spec.margin for spec in sides
        )
        smaller = min(base_margin, head_margin)
        if smaller != margin:
            margins[head.id] = smaller
        if base_margin != head_margin:
            notes.append(
                f"{head.id} has a margin of {number_format.margin(base_margin)} on base and of "
                f"{number_format.margin(head_margin)} on head: the smaller one, "
                f"{number_format.margin(smaller)}, was used"
            )
        chosen = [spec.metrics for spec in sides]
        if all(chosen):
            metrics[head.id] = tuple(dict.fromkeys(chosen[0] + chosen[1]))
        if set(chosen[0]) != set(chosen[1]):
            notes.append(
                f"{head.id} is judged by {_names(chosen[0])} on base and by {_names(chosen[1])} on "
                "head: the metrics of both were used"
            )
    return WorkloadRules(margins=margins, metrics=metrics, notes=tuple(notes))


def _names(metrics: tuple[str, ...]) -> str:
    return ", ".join(metrics) or "all metrics"
