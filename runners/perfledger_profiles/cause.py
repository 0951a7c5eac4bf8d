"""The words of explaining: what made a step slower or faster, operation by operation."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.profile import Bucket
from perfledger_profiles.bottleneck import Classification
from perfledger_profiles.device_state import DeviceState


class How(StrEnum):
    """In which way an operation's time changed."""

    RATE = "rate"  # as often as before, each call slower or faster
    COUNT = "count"  # called more or less often
    NEW = "new"
    GONE = "gone"
    REPLACED = "replaced"  # the same work by another operation or kernel


class Reason(StrEnum):
    """Why each call takes another time, where the profiles tell."""

    UNKNOWN = ""
    CLOCK = "clock"  # everything by one ratio
    SHAPE = "shape"  # other inputs
    TYPE = "type"  # the same sizes in another type
    VARIANT = "variant"  # the same work by another kernel of a library or an autotuner
    FUSION = "fusion"  # taken apart or put together by a compiler
    OCCUPANCY = "occupancy"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One matched difference between two profiles; seconds are exclusive wall time per step.

    `count_effect_seconds` + `rate_effect_seconds` = `delta_seconds`: with n calls of t seconds
    each, (n' - n)(t + t')/2 and (t' - t)(n + n')/2, without a cross term.
    """

    name: str
    base_name: str  # differs from `name` when it was replaced
    how: How
    base_seconds: float
    head_seconds: float
    base_count: float
    head_count: float
    suggestion: str = ""
    bucket: Bucket = Bucket.OTHER
    path: str = ""  # of the operations around it, outermost first
    reason: Reason = Reason.UNKNOWN
    evidence: str = ""  # what the reason rests on: "float[64,64] became double[64,64]"
    count_effect_seconds: float = 0.0
    rate_effect_seconds: float = 0.0
    reverted_step_seconds: float | None = None  # head's step without this change (Amdahl)

    @property
    def delta_seconds(self) -> float:
        """Return how much longer a step takes for this cause, in seconds."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChange:
    """One bar of the waterfall from base's step to head's."""

    bucket: Bucket
    base_seconds: float
    head_seconds: float
    noise_seconds: float = 0.0  # what two profiles of the same code differ by

    @property
    def delta_seconds(self) -> float:
        """Return what this bucket adds to a step."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a workload's step time changed: causes, largest first, and what they leave unexplained.

    base_step_seconds + sum of the causes' deltas + rest_seconds = head_step_seconds, all profiled;
    base_step_seconds + sum of the buckets' deltas = head_step_seconds, exactly. `residual_seconds`
    is what was measured without a profiler less what the profiles differ by.
    """

    workload: str
    base_step_seconds: float
    head_step_seconds: float
    causes: tuple[Cause, ...]
    rest_seconds: float  # the deltas that are too small to list
    is_attributable: bool
    note: str = ""
    buckets: tuple[BucketChange, ...] = ()  # in the order of Bucket
    residual_seconds: float | None = None
    noise_seconds: float | None = None  # what two profiles of the same code differ by, if learnt
    base_device: DeviceState | None = None  # while base's steps were taken
    head_device: DeviceState | None = None
    base_bottleneck: Classification | None = None
    head_bottleneck: Classification | None = None
    reproduction: str = ""  # the command that profiles this workload again
