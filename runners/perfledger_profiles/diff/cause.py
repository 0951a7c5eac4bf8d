"""Holds the values of an explanation: causes, bucket changes and the totals they add up to."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.compile_record import CompilePhase
from perfledger.profile import Bucket, CallingLine, Compilation
from perfledger_profiles.bottleneck.classification import Classification
from perfledger_profiles.hardware.device_state import DeviceState
from perfledger_profiles.timeline.breakdown import BETWEEN_KERNELS, OUTSIDE_OPERATIONS


class ChangeKind(StrEnum):
    """The kind of change in an operation's time."""

    RATE = "rate"  # the same number of calls, each slower or faster
    COUNT = "count"  # called more or less often
    NEW = "new"
    GONE = "gone"
    REPLACED = "replaced"  # the same work by another operation or kernel


class ChangeReason(StrEnum):
    """The reason why a call's time changed, as far as the profiles show it."""

    UNKNOWN = ""
    CLOCK = "clock"  # all operations by the same ratio
    SHAPE = "shape"  # different inputs
    TYPE = "type"  # the same sizes in a different type
    VARIANT = "variant"  # the same work by another kernel that a library or autotuner chose
    FUSION = "fusion"  # fused or split by a compiler
    OCCUPANCY = "occupancy"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One matched difference between two profiles; seconds are exclusive wall time per step.

    `count_effect_seconds` + `rate_effect_seconds` = `delta_seconds`: for n calls of t seconds each
    they are (n' - n)(t + t')/2 and (t' - t)(n + n')/2, without a cross term.
    """

    name: str
    base_name: str  # differs from `name` if it was replaced
    kind: ChangeKind
    base_seconds: float
    head_seconds: float
    base_count: float
    head_count: float
    suggestion: str = ""
    bucket: Bucket = Bucket.OTHER
    path: str = ""  # the operations around it, outermost first
    reason: ChangeReason = ChangeReason.UNKNOWN
    evidence: str = ""  # for the reason: "float[64,64] became double[64,64]"
    count_effect_seconds: float = 0.0
    rate_effect_seconds: float = 0.0
    lines: tuple[CallingLine, ...] = ()  # of the user's code on head, most time first
    base_lines: tuple[CallingLine, ...] = ()  # on base
    error_seconds: float | None = None  # half the 95 % interval of the delta, if known
    reverted_step_seconds: float | None = None  # head's step without this change (Amdahl)

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds this cause adds to a step."""
        return self.head_seconds - self.base_seconds

    @property
    def is_between_calls(self) -> bool:
        """Return whether this is time between calls, which has no number of calls."""
        is_counted = self.base_count > 0 or self.head_count > 0
        return self.name in (OUTSIDE_OPERATIONS, BETWEEN_KERNELS.name) or not is_counted


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCause:
    """One difference in what holds memory at its peak, in bytes."""

    name: str  # the operator that makes the tensors, or their other holder
    base_tensor: str  # "float32[64,128]", the largest; "" on a side without
    head_tensor: str
    base_bytes: float
    head_bytes: float
    base_count: int
    head_count: int
    lines: tuple[CallingLine, ...] = ()  # that make them on head, most bytes first
    base_lines: tuple[CallingLine, ...] = ()

    @property
    def delta_bytes(self) -> float:
        """Return how many bytes this cause adds to the peak."""
        return self.head_bytes - self.base_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExplanation:
    """An explained change of peak memory: what holds more, and the unexplained rest.

    base_bytes + the causes' deltas + rest_bytes = head_bytes; both peaks are measured without a
    profiler. `base_held_bytes` and `head_held_bytes` are what is known to be held.
    """

    base_bytes: float
    head_bytes: float
    base_held_bytes: float
    head_held_bytes: float
    causes: tuple[MemoryCause, ...]
    rest_bytes: float
    is_attributable: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilePhaseChange:
    """The seconds that a process spends on one phase of compiling."""

    phase: CompilePhase
    base_seconds: float
    head_seconds: float

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds longer the phase takes."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCause:
    """A function whose number of compilations or compile time in a process changed."""

    name: str
    base_count: int
    head_count: int
    base_seconds: float
    head_seconds: float
    reason: str = ""  # the compiler's reason for compiling it again; "" if unknown
    lines: tuple[CallingLine, ...] = ()  # of that reason

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds longer it is compiled."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileExplanation:
    """An explained change of what a process compiles: phases, and the functions behind them.

    `base_seconds` and `head_seconds` are those of a typical process on each side, and the sums of
    the phases.
    """

    base_seconds: float
    head_seconds: float
    phases: tuple[CompilePhaseChange, ...]  # in the order of CompilePhase
    causes: tuple[CompileCause, ...]

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds longer a process compiles."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChange:
    """One bar of the waterfall from base's step to head's."""

    bucket: Bucket
    base_seconds: float
    head_seconds: float
    noise_seconds: float = 0.0  # error of the difference, 0 if unknown

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds this bucket adds to a step."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeExplanation:
    """An explained change of a step time: causes, largest first, and the unexplained rest.

    A cause whose calls changed precedes one of equal calls that may be smaller within their errors.

    base_step_seconds + sum of the causes' deltas + rest_seconds = head_step_seconds, all profiled;
    base_step_seconds + sum of the buckets' deltas = head_step_seconds, exactly. `residual_seconds`
    is the change without a profiler minus the profiled change.
    """

    workload: str
    base_step_seconds: float
    head_step_seconds: float
    causes: tuple[Cause, ...]
    rest_seconds: float  # sum of deltas too small to list
    is_attributable: bool
    note: str = ""
    buckets: tuple[BucketChange, ...] = ()  # in the order of Bucket
    residual_seconds: float | None = None
    noise_seconds: float | None = None  # error of the steps' difference, if known
    base_device: DeviceState | None = None  # during base's steps
    head_device: DeviceState | None = None
    base_bottleneck: Classification | None = None
    head_bottleneck: Classification | None = None
    utilization_note: str = ""  # the reason for a lower utilization of the device
    compilations: tuple[Compilation, ...] = ()  # on head, but not or less often on base
    memory: MemoryExplanation | None = None  # if peak memory changed
    compiling: CompileExplanation | None = None  # if a start-up metric changed
    reproduction: str = ""  # the command that profiles this workload again
