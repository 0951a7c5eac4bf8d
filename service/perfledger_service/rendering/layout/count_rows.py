"""Lists the work counts of a report's workloads, as shown.

Names and sources are untrusted text, escaped by the templates; the rest is ours.
"""

from dataclasses import dataclass

from perfledger_baselines.estimation.work_counts import CountChange
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.values.report import Report

# Shown instead of a change, because uncounted work may account for the whole difference.
INCOMPLETE = "incomplete"
# Smaller changes of a count would show as 0.00 %; the page and the JSON have them.
_VISIBLE_CHANGE = 5e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """One work count of a step: exact, and known before measuring."""

    workload: str
    what: str  # untrusted, unless it is one of our counts
    base: str
    head: str
    change: str  # "" if base is zero, INCOMPLETE if a count is a lower bound
    source: str  # untrusted
    has_changed: bool
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CountGroup:
    """The work counts of a workload's step; `limits` are untrusted."""

    workload: str
    counts: tuple[CountRow, ...]
    limits: tuple[str, ...]
    is_same_program: bool

    @property
    def has_changed(self) -> bool:
        """Return whether any count differs between the sides."""
        return any(row.has_changed for row in self.counts)


def count_groups(report: Report) -> tuple[CountGroup, ...]:
    """Return the work counts of every workload on both sides; changed ones come first."""
    groups = (
        CountGroup(
            workload=comparison.workload,
            counts=tuple(_count_row(comparison.workload, count) for count in comparison.counts),
            limits=comparison.limits,
            is_same_program=comparison.is_same_program is True,
        )
        for comparison in report.work_counts
    )
    return tuple(sorted(groups, key=lambda group: not group.has_changed))


def changed_counts(report: Report) -> tuple[CountRow, ...]:
    """Return the counts whose difference between the sides shows in a comment's digits."""
    return tuple(
        _count_row(comparison.workload, count)
        for comparison in report.work_counts
        for count in comparison.changes
        if count.change is None or abs(count.change) >= _VISIBLE_CHANGE
    )


def _count_row(workload: str, count: CountChange) -> CountRow:
    return CountRow(
        workload=workload,
        what=vocabulary.count_label(count.name),
        base=_count_text(count.base, count.unit, is_complete=count.base_is_complete),
        head=_count_text(count.head, count.unit, is_complete=count.head_is_complete),
        change=_change_text(count),
        source=count.source,
        has_changed=count.has_changed,
        is_complete=count.is_complete,
    )


def _count_text(number: float, unit: str, *, is_complete: bool) -> str:
    text = vocabulary.count_with_unit(number, unit)
    return text if is_complete else f"at least {text}"


def _change_text(count: CountChange) -> str:
    if not count.is_complete:
        return INCOMPLETE
    return "" if count.change is None else number_format.percent(count.change)
