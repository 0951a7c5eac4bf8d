"""Turns explanations into blocks of rows that say what made a step slower or faster.

Names, evidence, suggestions and notes are not yet escaped: each template does that in its own way.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from perfledger_profiles.bottleneck import Recommendation
from perfledger_profiles.cause import Cause, Explanation, How
from perfledger_service.pages import cause_text, figures, words
from perfledger_service.pages.bottlenecks import (
    AdviceRow,
    SharePair,
    advice_rows,
    bound_by_change,
    share_pairs,
)
from perfledger_service.pages.escape import ELLIPSIS
from perfledger_service.pages.waterfall import residual, waterfall_text
from perfledger_service.report import Report

# Of the operations around one, the innermost: where to look.
_MAX_PATH = 60  # characters
# What is done more often and also slower has two parts; a part below this is not worth words.
_MIN_EFFECT = 0.1  # of the difference


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
    why: str  # each call takes another time; "" if the profiles do not tell
    evidence: str  # what that rests on
    path: str  # the operations around it
    effects: str  # how much of it comes from the number of calls, where that is not all
    reverted: str  # what a step would take without it


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
    waterfall: str  # lines of text, all of them ours; "" without buckets
    residual: str
    bottleneck: str
    shares: tuple[SharePair, ...]
    advice: tuple[AdviceRow, ...]
    reproduction: str

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Return what could be done, each thing once."""
        return tuple(dict.fromkeys(row.suggestion for row in self.causes if row.suggestion))


def reason_blocks(report: Report, *, max_causes: int) -> tuple[ReasonBlock, ...]:
    """Return why step times changed, the workloads that lost most first."""
    advice = {one.workload: one.recommendations for one in report.advice}
    return tuple(
        reason_block(
            explanation, max_causes=max_causes, advice=advice.get(explanation.workload, ())
        )
        for explanation in ordered(report)
    )


def ordered(report: Report) -> tuple[Explanation, ...]:
    """Return the explanations in the order of their blocks."""
    return tuple(sorted(report.explanations, key=lambda one: -_ratio(one)))


def reason_block(
    explanation: Explanation, *, max_causes: int, advice: Iterable[Recommendation] = ()
) -> ReasonBlock:
    """Return why one step time changed, with what is recommended for head."""
    causes = explanation.causes[:max_causes]
    total = explanation.head_step_seconds - explanation.base_step_seconds
    largest = max((abs(cause.delta_seconds) for cause in causes), default=0.0)
    hidden = explanation.causes[max_causes:]
    rest = explanation.rest_seconds + sum(cause.delta_seconds for cause in hidden)
    sides = (explanation.base_bottleneck, explanation.head_bottleneck)
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
        waterfall=waterfall_text(explanation),
        residual=residual(explanation),
        bottleneck=bound_by_change(*sides),
        shares=share_pairs(*sides),
        advice=advice_rows(tuple(advice)),
        reproduction=explanation.reproduction,
    )


def _ratio(explanation: Explanation) -> float:
    base = explanation.base_step_seconds
    return explanation.head_step_seconds / base if base > 0 else 0.0


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
        why=words.reason(cause),
        evidence=cause.evidence,
        path=_end(cause.path),
        effects=_effects(cause),
        reverted=cause_text.bound(cause, explanation),
    )


def _end(path: str) -> str:
    """Return the innermost parts of a path, as many as there is room for."""
    if len(path) <= _MAX_PATH:
        return path
    cut = path.find("/", len(path) - _MAX_PATH)
    return ELLIPSIS + (path[cut:] if cut >= 0 else path[1 - _MAX_PATH :])


def _effects(cause: Cause) -> str:
    """Say how much comes from the number of calls and from their length, where it is both."""
    parts = (cause.count_effect_seconds, cause.rate_effect_seconds)
    if min(map(abs, parts)) <= _MIN_EFFECT * abs(cause.delta_seconds):
        return ""
    often, slow = map(figures.signed_seconds, parts)
    return f"{often} by the number of calls, {slow} by their length"
