"""Words what is known of single kernels as the reason of a verdict."""

from collections.abc import Sequence

from perfledger_baselines.judging.kernel_judgement import (
    KernelFinding,
    KernelJudgement,
)

MAX_NAMED = 3


def kernel_reason(judgement: KernelJudgement, *, widest: str) -> str:
    """Return the alarms and gains in words, then cost that moved, then what stays unknown.

    `widest` is said of an undecided judgement, see `widest_reason`.
    """
    shifts = [finding for finding in judgement.findings if finding.is_moved]
    changes = [finding for finding in judgement.findings if not finding.is_moved]
    parts = [_sentence(each, judgement.step_detectable) for each in changes[:MAX_NAMED]]
    if len(changes) > MAX_NAMED:
        parts.append(f"{len(changes) - MAX_NAMED} more changed")
    if shifts:
        parts.append(_shift_sentence(shifts))
    if not judgement.findings:
        parts.append(_quiet(judgement))
    return f"{'; '.join(filter(None, (*parts, widest)))}, after {judgement.pairs} pairs"


def widest_reason(family: str, *, share: float) -> str:
    """Return why nothing is decided: how far a family may have changed, as a share of the step."""
    return f"too noisy to tell: {family} may add or save {_percent(share)} of the step"


def _shift_sentence(shifts: Sequence[KernelFinding]) -> str:
    named = ", ".join(
        f"{each.family} {100 * each.step_share:+.2g} %" for each in shifts[:MAX_NAMED]
    )
    rest = f" and {len(shifts) - MAX_NAMED} more" if len(shifts) > MAX_NAMED else ""
    return f"cost moved between kernels, and none was added: {named} of the step{rest}"


def _quiet(judgement: KernelJudgement) -> str:
    if judgement.detectable is None:
        return "no kernel takes long enough for a test"
    sensitivity = f"a change of {_percent(judgement.detectable)} of a typical one would be found"
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
