"""Turns classifications and recommendations into sentences and rows: what a step is bound by."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger_profiles.bottleneck import (
    Bottleneck,
    Classification,
    Confidence,
    Recommendation,
    Share,
)
from perfledger_service.pages import figures, words

# What a twentieth of the step or less could bring is not worth a figure.
_LEAST_CEILING = 1.05
# Below this a share is shown as none; beside others that are large it only takes room.
_NOTHING = 0.0005
# A step without all of what it does is no step.
_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """One candidate's share of the step, and what a step without it could gain at most."""

    name: str
    share: str
    part: float  # 0 to 1: the length of a bar
    ceiling: str  # "1.5 times as fast", "" where that is next to nothing
    mark: str  # "bound by this", "high", "moderate" or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePair:
    """One candidate's share of both sides' steps; "" where a side has none."""

    name: str
    base: str
    head: str
    is_primary: bool  # of either side


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRow:
    """What to do, why, and what it could bring; `text` and `trigger` are not yet escaped."""

    text: str
    trigger: str
    bound: str  # "At best 8.20 ms a step.", "" where it is about all of it


def bound_by(found: Classification) -> str:
    """Return what a step is bound by: "input (55.2 % of the step, high confidence)"."""
    what = words.bottleneck(found.primary)
    if found.primary in (Bottleneck.UNKNOWN, Bottleneck.ENVIRONMENT):
        return what
    if found.detail:
        what += f", {found.detail}"
    facts = [f"{found.confidence} confidence"]
    if found.is_estimate and found.confidence is not Confidence.LOW:
        facts.append("estimated")
    share = next((one for one in found.shares if one.bottleneck is found.primary), None)
    if share is not None:
        facts.insert(0, f"{figures.share(share.share)} of the step")
    return f"{what} ({', '.join(facts)})"


def bound_by_change(base: Classification | None, head: Classification | None) -> str:
    """Return in a sentence what both sides are bound by; "" where neither is known."""
    if base is None or head is None:
        known = head or base
        return f"Bound by {bound_by(known)}." if known is not None else ""
    if (base.primary, base.detail) == (head.primary, head.detail):
        return f"Bound by {bound_by(base)} on base, and by the same on head{_share_on(head)}."
    return f"Bound by {bound_by(base)} on base, and by {bound_by(head)} on head."


def share_rows(found: Classification) -> tuple[ShareRow, ...]:
    """Return all the shares that led to a classification, largest first."""
    return tuple(
        ShareRow(
            name=words.bottleneck(one.bottleneck),
            share=figures.share(one.share),
            part=min(max(one.share, 0.0), 1.0) if isfinite(one.share) else 0.0,
            ceiling=_ceiling(one),
            mark=_mark(one, found),
        )
        for one in found.shares
    )


def share_pairs(base: Classification | None, head: Classification | None) -> tuple[SharePair, ...]:
    """Return the shares of both sides beside each other, head's largest first; none of nothing."""
    if base is None or head is None:
        return ()
    before, after = ({one.bottleneck: one.share for one in side.shares} for side in (base, head))
    found = sorted(dict.fromkeys([*after, *before]), key=lambda which: -after.get(which, 0.0))
    return tuple(
        SharePair(
            name=words.bottleneck(which),
            base=figures.share(before[which]) if which in before else "",
            head=figures.share(after[which]) if which in after else "",
            is_primary=which in (base.primary, head.primary),
        )
        for which in found
        if max(before.get(which, 0.0), after.get(which, 0.0)) >= _NOTHING
    )


def advice_rows(recommendations: Sequence[Recommendation]) -> tuple[AdviceRow, ...]:
    """Return what to do, in the order in which it is recommended."""
    return tuple(
        AdviceRow(
            text=one.text,
            trigger=one.trigger,
            bound=_bound(one),
        )
        for one in recommendations
    )


def _bound(one: Recommendation) -> str:
    if one.share > _ALL:
        return ""
    return f"At best {figures.seconds(one.step_seconds)} a step."


def _share_on(found: Classification) -> str:
    share = next((one for one in found.shares if one.bottleneck is found.primary), None)
    return f" ({figures.share(share.share)})" if share is not None else ""


def _ceiling(one: Share) -> str:
    """Return Amdahl's bound in words: how much faster a step without this could be."""
    if not (isfinite(one.ceiling) and one.ceiling >= _LEAST_CEILING):
        return ""
    return f"{figures.factor(one.ceiling)} as fast"


def _mark(one: Share, found: Classification) -> str:
    if one.bottleneck is found.primary:
        return "bound by this"
    if one.is_high:
        return "high"
    return "moderate" if one.is_moderate else ""
