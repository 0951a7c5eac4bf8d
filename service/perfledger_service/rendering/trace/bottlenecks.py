"""Words the bottleneck of a step, its shares and the resulting advice."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    BottleneckShare,
    Classification,
    Recommendation,
)
from perfledger_service.rendering.layout import number_format, vocabulary

# A smaller possible gain is not worth a figure.
_LEAST_CEILING = 1.05
# Smaller shares are not shown.
_NOTHING = 0.0005
# A larger share is all of the step, which cannot be left out.
_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """The share of one candidate of the step, and the most that a step without it could gain."""

    name: str
    share: str
    part: float  # 0 to 1: the length of a bar
    ceiling: str  # "1.5 times as fast"; "" if negligible
    mark: str  # "bound by this", "high", "moderate" or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePair:
    """The share of one candidate of both steps; "" if a side has none."""

    name: str
    base: str
    head: str
    is_primary: bool  # of either side


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRow:
    """A recommendation, its trigger and its bound; `text` and `trigger` are not escaped yet."""

    text: str
    trigger: str
    bound: str  # "At best 8.20 ms a step."; "" if it is nearly the whole step


def bottleneck_phrase(classification: Classification) -> str:
    """Return the bottleneck of a step: "input (55.2 % of the step, high confidence)"."""
    what = vocabulary.bottleneck(classification.primary)
    if classification.primary in (Bottleneck.UNKNOWN, Bottleneck.ENVIRONMENT):
        return what
    if classification.detail:
        what += f", {classification.detail}"
    facts = [f"{classification.confidence} confidence"]
    if classification.is_estimate and classification.confidence is not BottleneckConfidence.LOW:
        facts.append("estimated")
    share = next(
        (one for one in classification.shares if one.bottleneck is classification.primary), None
    )
    if share is not None:
        facts.insert(0, f"{number_format.share(share.share)} of the step")
    return f"{what} ({', '.join(facts)})"


def bottleneck_change_sentence(base: Classification | None, head: Classification | None) -> str:
    """Return a sentence on the bottlenecks of both sides; "" if neither is known."""
    if base is None or head is None:
        side = head or base
        return f"Bound by {bottleneck_phrase(side)}." if side is not None else ""
    if (base.primary, base.detail) == (head.primary, head.detail):
        return (
            f"Bound by {bottleneck_phrase(base)} on base, and by the same on head{_share_on(head)}."
        )
    return f"Bound by {bottleneck_phrase(base)} on base, and by {bottleneck_phrase(head)} on head."


def share_rows(classification: Classification) -> tuple[ShareRow, ...]:
    """Return all the shares that led to a classification, largest first."""
    return tuple(
        ShareRow(
            name=vocabulary.bottleneck(one.bottleneck),
            share=number_format.share(one.share),
            part=min(max(one.share, 0.0), 1.0) if isfinite(one.share) else 0.0,
            ceiling=_ceiling(one),
            mark=_mark(one, classification),
        )
        for one in classification.shares
    )


def share_pairs(base: Classification | None, head: Classification | None) -> tuple[SharePair, ...]:
    """Return the shares of both sides, the largest of head first, without empty ones."""
    if base is None or head is None:
        return ()
    before, after = ({one.bottleneck: one.share for one in side.shares} for side in (base, head))
    bottlenecks = sorted(dict.fromkeys([*after, *before]), key=lambda which: -after.get(which, 0.0))
    return tuple(
        SharePair(
            name=vocabulary.bottleneck(which),
            base=number_format.share(before[which]) if which in before else "",
            head=number_format.share(after[which]) if which in after else "",
            is_primary=which in (base.primary, head.primary),
        )
        for which in bottlenecks
        if max(before.get(which, 0.0), after.get(which, 0.0)) >= _NOTHING
    )


def advice_rows(recommendations: Sequence[Recommendation]) -> tuple[AdviceRow, ...]:
    """Return the recommendations in their order."""
    return tuple(
        AdviceRow(text=one.text, trigger=one.trigger, bound=_bound(one)) for one in recommendations
    )


def _bound(recommendation: Recommendation) -> str:
    if recommendation.share > _ALL:
        return ""
    return f"At best {number_format.seconds(recommendation.step_seconds)} a step."


def _share_on(classification: Classification) -> str:
    share = next(
        (one for one in classification.shares if one.bottleneck is classification.primary), None
    )
    return f" ({number_format.share(share.share)})" if share is not None else ""


def _ceiling(share: BottleneckShare) -> str:
    """Return Amdahl's bound in words: the time of a step without this."""
    if not (isfinite(share.ceiling) and share.ceiling >= _LEAST_CEILING):
        return ""
    return f"{number_format.factor(share.ceiling)} as fast"


def _mark(share: BottleneckShare, classification: Classification) -> str:
    if share.bottleneck is classification.primary:
        return "bound by this"
    if share.is_high:
        return "high"
    return "moderate" if share.is_moderate else ""
