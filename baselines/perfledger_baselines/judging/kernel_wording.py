"""Words what is known of single kernels as the reason of a verdict."""

from collections.abc import Sequence

from perfledger_baselines.judging.kernel_judgement import (
    KernelFinding,
    KernelJudgement,
)

MAX_NAMED = 3
UNPROVEN = "too noisy to tell whether none was added"
UNPROVEN_LOSS = "too noisy to tell whether these became slower or the others faster"
UNPROVEN_GAIN = "too noisy to tell whether these became faster or the others slower"


def kernel_reason(judgement: KernelJudgement, *, doubt: str) -> str:
    """Return the alarms and gains in words, then cost that moved, then what stays unknown.

    `doubt` is why the judgement is undecided; "" where it is not.
    """
    shifts = [finding for finding in judgement.findings if finding.is_moved]
    changes = [finding for finding in judgement.findings if not finding.is_moved]
    parts = [_sentence(each, judgement.step_detectable) for each in changes[:MAX_NAMED]]
    if len(changes) > MAX_NAMED:
        parts.append(f"{len(changes) - MAX_NAMED} more changed")
    if shifts:
        parts.append(_shift_sentence(shifts, is_proven=not doubt))
    if not (judgement.findings or doubt):
        parts.append(_quiet(judgement))
    if judgement.common_change is not None:
        parts.append(_common_sentence(judgement.common_change))
    return f"{'; '.join(filter(None, (*parts, doubt)))}, after {judgement.pairs} pairs"


def widest_reason(family: str, *, share: float) -> str:
    """Return why nothing is decided: how far a family may have changed, as a share of the step."""
    return f"too noisy to tell: {family} may add or save {_percent(share)} of the step"


def uneven_reason(family: str, *, share: float) -> str:
    """Return why nothing is decided: what a family adds over all steps, as a share of the step."""
    change = "adds" if share > 0 else "saves"
    return (
        f"undecided: {family} {change} {_percent(abs(share))} of the step on average, which its "
        "shortest steps do not show: it runs in other steps, or only some of them changed"
    )


def _shift_sentence(shifts: Sequence[KernelFinding], *, is_proven: bool) -> str:
    named = ", ".join(
        f"{each.family} {100 * each.step_share:+.2g} %" for each in shifts[:MAX_NAMED]
    )
    rest = f" and {len(shifts) - MAX_NAMED} more" if len(shifts) > MAX_NAMED else ""
    proof = ", and none was added" if is_proven else ""
    return f"cost moved between kernels{proof}: {named} of the step{rest}"


def _common_sentence(change: float) -> str:
    how = "longer" if change > 0 else "shorter"
    return (
        f"the typical kernel took {_percent(abs(change))} {how} on head: what is common to most is "
        "for the step's own timing to judge"
    )


def _quiet(judgement: KernelJudgement) -> str:
    if judgement.detectable is None:
        return "no kernel takes long enough for a test"
    sensitivity = f"a change of {_percent(judgement.detectable)} of a typical one would be detected"
    return f"none of {judgement.families} kernel families changed: {sensitivity}"


def _sentence(finding: KernelFinding, step_detectable: float | None) -> str:
    change = finding.relative_change
    how = f"is {finding.change}" if change is None else f"{_percent(abs(change))} {finding.change}"
    share = abs(finding.step_share)
    is_below = step_detectable is not None and share < step_detectable
    below = (
        f", below what the step's own timing can see ({_percent(step_detectable or 0.0)})"
        if is_below
        else ""
    )
    return f"{finding.family} {how}: {_percent(share)} of the step{below}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
