"""Words a judgement of single kernels as the reason of a verdict."""

from collections.abc import Sequence

from perfledger.rounding import percentage
from perfledger_baselines.judging.kernel_judgement import (
    TOGETHER,
    KernelFinding,
    KernelJudgement,
)

MAX_NAMED = 3
UNPROVEN = "too noisy to tell whether none was added"


def kernel_reason(judgement: KernelJudgement, *, doubt: str) -> str:
    """Return the alarms and gains in words, then cost that moved, then what stays unknown.

    What is not proven as measured is neither alarm nor gain: the others may have changed.

    `doubt` is why the judgement is undecided; "" if it is not.
    """
    shifts = [finding for finding in judgement.findings if finding.is_moved]
    changes = [finding for finding in judgement.findings if not finding.is_moved]
    proven = [finding for finding in changes if finding.is_proven]
    parts = [_sentence(each, judgement.step_detectable) for each in proven[:MAX_NAMED]]
    if len(proven) > MAX_NAMED:
        parts.append(f"{len(proven) - MAX_NAMED} more changed")
    parts += _unproven_sentences([finding for finding in changes if not finding.is_proven])
    if shifts:
        is_sure = not doubt and all(finding.is_proven for finding in shifts)
        parts.append(_shift_sentence(shifts, judgement.moved_bounds if is_sure else None))
    if not (judgement.findings or doubt):
        parts.append(_quiet(judgement))
    if judgement.common_change is not None:
        parts.append(_common_sentence(judgement.common_change))
    return f"{'; '.join(filter(None, (*parts, doubt)))}, after {judgement.pairs} pairs"


def widest_reason(family: str, *, share: float) -> str:
    """Return why nothing is decided: how far a family may have changed, relative to the step."""
    return f"too noisy to tell: {family} may add or save {percentage(share)} of the step"


def common_reason(*, share: float) -> str:
    """Return why nothing is decided: what all kernels add together, relative to the step."""
    return (
        f"undecided: all kernels together seem to {'add' if share > 0 else 'save'} "
        f"{percentage(abs(share))} of the step, though none alone changed by more than the margin"
    )


def uneven_reason(family: str, *, share: float) -> str:
    """Return why nothing is decided: what a family adds over all steps, relative to the step."""
    change = "adds" if share > 0 else "saves"
    return (
        f"undecided: {family} {change} {percentage(abs(share))} of the step on average, which its "
        "shortest steps do not show: it runs in other steps, or only some of them changed"
    )


def _unproven_sentences(findings: Sequence[KernelFinding]) -> list[str]:
    """Return what may have changed, slower and faster separately, and what would settle it."""
    sentences: list[str] = []
    for how, other in (("slower", "faster"), ("faster", "slower")):
        of_kind = [each for each in findings if (each.step_share > 0) is (how == "slower")]
        if of_kind:
            sentences.append(
                f"too noisy to tell whether {_shares(of_kind)} became {how} or the others {other}"
                f"{_what_would_tell(of_kind[0])}"
            )
    return sentences


def _what_would_tell(finding: KernelFinding) -> str:
    if finding.spread is None or finding.spread_needed is None:
        return ""
    needed = percentage(finding.spread_needed)
    return f" (pairs differ by {percentage(finding.spread)}, and at most {needed} would tell)"


def _shares(findings: Sequence[KernelFinding]) -> str:
    """Return the first few by name, each with the share of the step that it adds or saves."""
    named = ", ".join(
        f"{each.family} {_signed_share(each.step_share)}" for each in findings[:MAX_NAMED]
    )
    rest = f" and {len(findings) - MAX_NAMED} more" if len(findings) > MAX_NAMED else ""
    return f"{named} of the step{rest}"


def _shift_sentence(shifts: Sequence[KernelFinding], bounds: tuple[float, float] | None) -> str:
    """Return which cost moved or may have moved, with the total that all of them add."""
    if bounds is None:
        return f"cost may have moved between kernels: {_shares(shifts)}"
    low, high = map(_signed_share, bounds)
    return f"cost moved between kernels: {_shares(shifts)}, together {low} to {high}"


def _common_sentence(change: float) -> str:
    change_text = f"{percentage(abs(change))} {'longer' if change > 0 else 'shorter'}"
    return (
        f"the typical kernel took {change_text} on head: what is common to most is "
        "for the step's own timing to judge"
    )


def _quiet(judgement: KernelJudgement) -> str:
    if judgement.largest_change is None:
        return "no kernel takes long enough for a test"
    change = percentage(judgement.largest_change)
    return (
        f"none of {judgement.families} kernel families changed, a typical one by less than {change}"
    )


def _sentence(finding: KernelFinding, step_detectable: float | None) -> str:
    share = abs(finding.step_share)
    is_below = step_detectable is not None and share < step_detectable
    below = (
        f", below what the step's own timing can see ({percentage(step_detectable or 0.0)})"
        if is_below
        else ""
    )
    if finding.family == TOGETHER:
        verb = "add" if finding.step_share > 0 else "save"
        return f"{TOGETHER} {verb} {percentage(share)} of the step, {_names(finding)}{below}"
    beside = ", beside a larger gain of others" if finding.is_outweighed else ""
    return f"{finding.family} {_how(finding)}{beside}: {percentage(share)} of the step{below}"


def _how(finding: KernelFinding) -> str:
    change = finding.relative_change
    if change is None:
        return f"is {finding.change}"
    return f"{percentage(abs(change))} {finding.change}"


def _names(finding: KernelFinding) -> str:
    """Return the names of the largest of several combined families."""
    rest = len(finding.kernels) - MAX_NAMED
    named = ", ".join(finding.kernels[:MAX_NAMED])
    return f"most of it {named}" + (f" and {rest} more" if rest > 0 else "")


def _signed_share(share: float) -> str:
    return f"{'+' if share >= 0 else '-'}{percentage(abs(share))}"
