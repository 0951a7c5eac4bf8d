"""Words the bottleneck of a step, its shares and the resulting advice."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger_profiles.bottleneck.classification import (
    OF_THE_DEVICE,
    Bottleneck,
    BottleneckConfidence,
    BottleneckShare,
    Classification,
    Recommendation,
)
from perfledger_profiles.bottleneck.classifier import DOMINANT_SHARE
from perfledger_service.rendering.layout import number_format, vocabulary

# A smaller possible gain is not worth a figure.
_MIN_CEILING = 1.05
# A larger figure is a rounding artefact.
_MAX_CEILING = 1000.0
# Smaller shares are not shown.
_NOTHING = 0.0005
# Phrases of a label that one side can take over from the other: "bound by", "most likely bound by".
_BOUND_BY = "bound by "


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """The share of one candidate in the step, and the most that a step without it could gain."""

    name: str
    share: str
    part: float  # 0 to 1: the length of a bar
    ceiling: str  # "1.5 times as fast"; "" if negligible
    mark: str  # "bound by this", "most likely this", "high", "moderate" or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePair:
    """The share of one candidate in both steps; "" if a side has none."""

    name: str
    base: str
    head: str
    is_primary: bool  # of either side


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRow:
    """A recommendation, its trigger and its bound; `text` and `trigger` are not escaped yet."""

    text: str
    trigger: str
    bound: str  # "Estimate: 16 % less time (8.20 ms), if launches take no time."


def bottleneck_phrase(classification: Classification) -> str:
    """Return what a step is bound by: "bound by input (55.2 % of the step, high confidence)".

    A bottleneck of low confidence is called the most likely one. If the device's own work has a
    larger share, both are named.
    """
    what = vocabulary.bottleneck(classification.primary)
    if classification.primary in (Bottleneck.UNKNOWN, Bottleneck.ENVIRONMENT):
        return f"bound by {what}"
    if classification.detail:
        what += f", {classification.detail}"
    share = classification.primary_share
    of_all = f"of {_denominator(classification)}"
    facts = [f"{number_format.share(share)} {of_all}"] if share else []
    if _is_outweighed(classification):
        device = vocabulary.bottleneck(Bottleneck.DEVICE)
        most = f"{number_format.share(classification.device_share)} {of_all}"
        return f"no clear bottleneck: {device} ({most}), and {what} ({facts[0]})"
    if classification.confidence is BottleneckConfidence.LOW:
        if share is not None and share >= DOMINANT_SHARE:
            return f"most likely bound by {what} ({facts[0]}, low confidence)"
        return f"no clear bottleneck, most likely {what}" + (f" ({facts[0]})" if facts else "")
    facts.append(f"{classification.confidence} confidence")
    return f"bound by {what} ({', '.join(facts)})"


def bottleneck_heading(classification: Classification) -> str:
    """Return the phrase with an initial capital."""
    phrase = bottleneck_phrase(classification)
    return phrase[:1].upper() + phrase[1:]


def bottleneck_change_sentence(base: Classification | None, head: Classification | None) -> str:
    """Return a sentence on the bottlenecks of both sides; "" if neither is known."""
    if base is None or head is None:
        side = head or base
        return f"{bottleneck_heading(side)}." if side is not None else ""
    before, after = bottleneck_phrase(base), bottleneck_phrase(head)
    label, after_label = (phrase.partition(" (")[0] for phrase in (before, after))
    is_bound = _BOUND_BY in label
    if is_bound and label == after_label:
        return f"{bottleneck_heading(base)} on base, and by the same on head{_share_on(head)}."
    if is_bound:
        after = after.removeprefix("bound ")
    return f"{bottleneck_heading(base)} on base, and {after} on head."


def share_rows(classification: Classification) -> tuple[ShareRow, ...]:
    """Return all shares that led to a classification, the largest first."""
    return tuple(
        ShareRow(
            name=_row_name(one, classification),
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


def _denominator(classification: Classification) -> str:
    """Return what the shares refer to: the step, or the kernels' time if there are no steps."""
    is_step = any(one.is_of_step for one in classification.shares)
    return "the step" if is_step or not classification.shares else "the kernels' time"


def _is_outweighed(classification: Classification) -> bool:
    """Return whether an uncertain overhead has a smaller share than the device's own work."""
    is_unsure = classification.confidence is BottleneckConfidence.LOW
    is_overhead = classification.primary not in OF_THE_DEVICE
    share = classification.primary_share
    return bool(is_unsure and is_overhead and share and share < classification.device_share)


def _bound(recommendation: Recommendation) -> str:
    saved = number_format.whole_share(recommendation.saved_share)
    seconds = number_format.seconds(recommendation.step_seconds)
    return f"Estimate: {saved} less time ({seconds}), {recommendation.assumption}."


def _share_on(classification: Classification) -> str:
    share = classification.primary_share
    return f" ({number_format.share(share)})" if share is not None else ""


def _row_name(share: BottleneckShare, classification: Classification) -> str:
    """Return the name of a share; DEVICE is a remainder if kernels show what they are bound by."""
    name = vocabulary.bottleneck(share.bottleneck)
    is_split = any(one.bottleneck in OF_THE_DEVICE[:-1] for one in classification.shares)
    if share.bottleneck is Bottleneck.DEVICE and is_split:
        return f"other {name}"
    return f"{name}, estimated" if share.is_estimate else name


def _ceiling(share: BottleneckShare) -> str:
    """Return Amdahl's bound in words: the time of a step without this."""
    if not (isfinite(share.ceiling) and share.ceiling >= _MIN_CEILING):
        return ""
    if share.ceiling > _MAX_CEILING:
        return f"over {number_format.factor(_MAX_CEILING)} as fast"
    return f"{number_format.factor(share.ceiling)} as fast"


def _mark(share: BottleneckShare, classification: Classification) -> str:
    is_part = classification.primary is Bottleneck.DEVICE and share.bottleneck in OF_THE_DEVICE
    is_primary = is_part or share.bottleneck is classification.primary
    if is_primary and not _is_outweighed(classification):
        is_unknown = classification.primary is Bottleneck.UNKNOWN
        is_sure = is_unknown or classification.confidence is not BottleneckConfidence.LOW
        return "bound by this" if is_sure else "most likely this"
    if share.is_high:
        return "high"
    return "moderate" if share.is_moderate else ""
