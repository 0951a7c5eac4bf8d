"""Turns a cause into plain sentences: where, how, how much of what, why, and what to do about it.

Nothing is escaped here: names and evidence come from foreign files, and each page and comment
escapes them in its own way.
"""

from perfledger_profiles.cause import Cause, Explanation, How
from perfledger_service.pages import figures, words

# A share of a change that is itself next to nothing says nothing.
_MIN_SHARED_CHANGE = 1e-3


def cause_text(cause: Cause, explanation: Explanation) -> str:
    """Return one cause in plain sentences, with all that is known of it."""
    where = f" in {cause.path}" if cause.path else ""
    replaced = f" {cause.base_name}" if cause.how is How.REPLACED else ""
    sentences = (
        f"{cause.name}{where}: {words.how(cause)}{replaced}",
        _how_much(cause, explanation),
        why(cause),
        cause.suggestion[:1].upper() + cause.suggestion[1:],
        bound(cause, explanation),
    )
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def share_of_change(cause: Cause, explanation: Explanation) -> str:
    """Return which part of the step's change the cause is; "" of a change that is next to none."""
    total = explanation.head_step_seconds - explanation.base_step_seconds
    is_shared = abs(total) > _MIN_SHARED_CHANGE * abs(cause.delta_seconds) > 0
    return figures.whole_share(cause.delta_seconds / total) if is_shared else ""


def share_of_step(cause: Cause, explanation: Explanation) -> str:
    """Return the cause's difference as a part of base's step; "" of a step without a length."""
    step_s = explanation.base_step_seconds
    return figures.percent(cause.delta_seconds / step_s) if step_s > 0 else ""


def why(cause: Cause) -> str:
    """Return why each call takes another time and what that rests on; "" where nothing is known."""
    known = words.reason(cause)
    kind = known[:1].upper() + known[1:]
    if not (kind and cause.evidence):
        return kind or cause.evidence
    return f"{kind}: {cause.evidence}"


def bound(cause: Cause, explanation: Explanation) -> str:
    """Return how fast a step can be at most when the cause is reverted (Amdahl); "" if unknown."""
    step_s = explanation.head_step_seconds
    if cause.reverted_step_seconds is None or cause.delta_seconds <= 0 or step_s <= 0:
        return ""
    less = figures.percent(cause.reverted_step_seconds / step_s - 1)
    return f"Without it a step takes {figures.seconds(cause.reverted_step_seconds)} ({less})"


def _how_much(cause: Cause, explanation: Explanation) -> str:
    share = share_of_change(cause, explanation)
    of_step = share_of_step(cause, explanation)
    parts = (
        f"{figures.signed_seconds(cause.delta_seconds)} a step",
        f"{share} of the change" if share else "",
        f"{of_step} of base's step" if of_step else "",
    )
    return ", ".join(part for part in parts if part)
