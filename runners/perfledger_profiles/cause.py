"""The words of explaining: what made a step slower or faster, operation by operation."""

from dataclasses import dataclass
from enum import StrEnum


class How(StrEnum):
    """In which way an operation's time changed."""

    RATE = "rate"  # as often as before, each call slower or faster
    COUNT = "count"  # called more or less often
    NEW = "new"
    GONE = "gone"
    REPLACED = "replaced"  # the same work by another operation or kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One matched difference between two profiles; seconds are exclusive wall time per step."""

    name: str
    base_name: str  # differs from `name` when it was replaced
    how: How
    base_seconds: float
    head_seconds: float
    base_count: float
    head_count: float
    suggestion: str = ""

    @property
    def delta_seconds(self) -> float:
        """Return how much longer a step takes for this cause, in seconds."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a workload's step time changed: causes, largest first, and what they leave unexplained.

    base_step_seconds + sum of the causes' deltas + rest_seconds = head_step_seconds, all profiled.
    """

    workload: str
    base_step_seconds: float
    head_step_seconds: float
    causes: tuple[Cause, ...]
    rest_seconds: float  # the deltas that are too small to list
    is_attributable: bool
    note: str = ""
