"""Turns explanations into blocks of rows that say what made a step slower or faster.

Names, suggestions and notes are not yet escaped: each template does that in its own way.
"""

from dataclasses import dataclass

from perfledger_profiles.cause import Cause, Explanation, How
from perfledger_service.pages import cause_text, figures, words
from perfledger_service.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """One difference between two profiles as it is shown."""

    name: str
    base_name: str  # "" unless it was replaced
    how: str
    base: str
    head: str
    delta: str
    share: str
    part: float  # of the largest difference listed, 0 to 1: the length of a bar
    is_slower: bool
    suggestion: str
    where: str  # the operations around it, outermost first
    why: str  # why each call takes another time, with its evidence; "" where nothing is known
    bound: str  # "a step takes 12.9 ms (-11 %)" without it; "" if unknown
    text: str  # all of it in plain sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonBlock:
    """Why one workload's step time changed, as it is shown."""

    workload: str
    base: str
    head: str
    delta: str
    is_slower: bool
    causes: tuple[CauseRow, ...]
    hidden: int
    rest: str
    is_attributable: bool
    note: str

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Return what could be done, each thing once."""
        return tuple(dict.fromkeys(row.suggestion for row in self.causes if row.suggestion))


def reason_blocks(report: Report, *, max_causes: int) -> tuple[ReasonBlock, ...]:
    """Return why step times changed, the workloads that lost most first."""
    ordered = sorted(report.explanations, key=lambda one: -_ratio(one))
    return tuple(_reason_block(explanation, max_causes) for explanation in ordered)


def _ratio(explanation: Explanation) -> float:
    base = explanation.base_step_seconds
    return explanation.head_step_seconds / base if base > 0 else 0.0


def _reason_block(explanation: Explanation, max_causes: int) -> ReasonBlock:
    causes = explanation.causes[:max_causes]
    total = explanation.head_step_seconds - explanation.base_step_seconds
    largest = max((abs(cause.delta_seconds) for cause in causes), default=0.0)
    hidden = explanation.causes[max_causes:]
    rest = explanation.rest_seconds + sum(cause.delta_seconds for cause in hidden)
    return ReasonBlock(
        workload=explanation.workload,
        base=figures.seconds(explanation.base_step_seconds),
        head=figures.seconds(explanation.head_step_seconds),
        delta=figures.signed_seconds(total),
        is_slower=total > 0,
        causes=tuple(_cause_row(cause, explanation, largest=largest) for cause in causes),
        hidden=len(hidden),
        rest=figures.signed_seconds(rest),
        is_attributable=explanation.is_attributable,
        note=explanation.note,
    )


def _cause_row(cause: Cause, explanation: Explanation, *, largest: float) -> CauseRow:
    delta = cause.delta_seconds
    return CauseRow(
        name=cause.name,
        base_name=cause.base_name if cause.how is How.REPLACED else "",
        how=words.how(cause),
        base=figures.seconds(cause.base_seconds),
        head=figures.seconds(cause.head_seconds),
        delta=figures.signed_seconds(delta),
        share=cause_text.share_of_change(cause, explanation),
        part=abs(delta) / largest if largest > 0 else 0.0,
        is_slower=delta > 0,
        suggestion=cause.suggestion,
        where=cause.path,
        why=cause_text.why(cause),
        bound=cause_text.bound(cause, explanation),
        text=cause_text.cause_text(cause, explanation),
    )
