"""Holds the judgements of single kernels: findings, and one judgement for each workload."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from perfledger_baselines.judging.verdict import EffectEstimate, Outcome

# Relative, and as a share of the step. Further windows are worth their time while a family may have
# changed by more than both: 5 % of a family of 2 % of the step.
TARGET_CHANGE, TARGET_STEP_SHARE = 0.05, 0.001
# The name of several families as one finding.
TOGETHER = "kernels that were added, removed or replaced"


class KernelChange(StrEnum):
    """How a family of kernels changed."""

    SLOWER = "slower"
    FASTER = "faster"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFinding:
    """A family of kernels that changed, at the error rate of all families of the check.

    All figures are relative to what most kernels have in common, which head's machine may have
    slowed. `is_proven` is false if its change as measured is not certain: the others may have
    changed the other way. In that case its pairs have `spread`, and with `spread_needed` they would
    settle it. `relative_change` is None if base took no time. `is_moved` says that other kernels
    changed by as much the other way: cost moved. `is_outweighed` says that others gained more than
    it lost, which may or may not be its work. `kernels` names those of several kernels that
    changed; for TOGETHER, the families that added most, or saved most.
    """

    family: str
    change: KernelChange
    base_seconds: float
    head_seconds: float
    relative_change: float | None
    step_share: float  # of base's profiled step that it adds, negative where it saves
    adjusted_p: float
    is_moved: bool = False
    is_outweighed: bool = False
    is_proven: bool = True
    spread: float | None = None
    spread_needed: float | None = None
    kernels: tuple[str, ...] = ()

    @property
    def is_loss(self) -> bool:
        """Return whether work surely became slower or was added."""
        return self.is_proven and self.change in {KernelChange.SLOWER, KernelChange.NEW}

    @property
    def is_alarm(self) -> bool:
        """Return whether work surely became slower or was added, and no gain offsets it."""
        return self.is_loss and not (self.is_moved or self.is_outweighed)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFigures:
    """A tested family of kernels, in seconds of a step and as a share of base's step.

    `estimate` and `largest_change`, the largest relative change that the pairs do not rule out, are
    None for what is new or gone.
    """

    family: str
    base_seconds: float
    head_seconds: float
    base_share: float
    estimate: EffectEstimate | None
    largest_change: float | None

    @property
    def is_known(self) -> bool:
        """Return whether the changes that its windows are meant to find are ruled out."""
        largest = self.largest_change
        if largest is None:
            return True  # it is new or gone
        return largest <= TARGET_CHANGE or largest * self.base_share <= TARGET_STEP_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelJudgement:
    """What is known of the kernels of one workload.

    `findings` are the largest first, and `tested` are all tested families, the longest first.
    In a typical one, `detectable` is the relative change that these pairs find, and
    `largest_change` the largest that they do not rule out; both are None if none was tested.
    `estimate` is that of the first alarm, or of the largest proven gain if it improved, else of all
    tested kernels together. `step_detectable` is the smallest change that the step's
    own timing finds. `common_change` is the relative change that most kernels share; None if none
    is certain.
    """

    workload: str
    outcome: Outcome
    reason: str
    pairs: int = 0
    families: int = 0  # tested
    step_seconds: float | None = None  # base's profiled step
    findings: tuple[KernelFinding, ...] = ()
    tested: tuple[KernelFigures, ...] = ()
    detectable: float | None = None
    largest_change: float | None = None
    step_detectable: float | None = None
    common_change: float | None = None
    moved_bounds: tuple[float, float] | None = None
    estimate: EffectEstimate | None = None
    adjusted_p: float = 1.0

    @property
    def is_settled(self) -> bool:
        """Return whether further windows would hardly tell more.

        Windows that were lost are not recorded again. Without a regression every family must be
        found or known well enough: unchanged within the margin is far from unchanged.
        """
        match self.outcome:
            case Outcome.REGRESSED | Outcome.NOT_MEASURED:
                return True
            case Outcome.UNDECIDED:
                return False
            case Outcome.IMPROVED | Outcome.UNCHANGED:
                changed = {each.family for each in self.findings if each.is_proven}
                return all(each.is_known or each.family in changed for each in self.tested)
            case _ as unreachable:
                assert_never(unreachable)

    @property
    def is_warning(self) -> bool:
        """Return whether a kernel surely became slower, beside a larger gain of others.

        Nobody can tell whether it took work over or lost time of its own, so a person has to look.
        """
        has_loss = any(each.is_loss and each.is_outweighed for each in self.findings)
        return has_loss and self.outcome is Outcome.IMPROVED
