"""Holds the values of an explanation: causes, bucket changes and the totals they add up to."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.compile_record import CompilePhase
from perfledger.profile import Bucket, CallingLine, Compilation
from perfledger_profiles.bottleneck.classification import Classification
from perfledger_profiles.hardware.device_state import DeviceState


class ChangeKind(StrEnum):
    """The way in which an operation's time changed."""

    RATE = "rate"  # as often as before, each call slower or faster
    COUNT = "count"  # called more or less often
    NEW = "new"
    GONE = "gone"
    REPLACED = "replaced"  # the same work by another operation or kernel


class ChangeReason(StrEnum):
    """The reason why a call's time changed, where the profiles show it."""

    UNKNOWN = ""
    CLOCK = "clock"  # all operations by one ratio
    SHAPE = "shape"  # other inputs
    TYPE = "type"  # the same sizes in another type
    VARIANT = "variant"  # the same work by another kernel of a library or an autotuner
    FUSION = "fusion"  # fused or split by a compiler
    OCCUPANCY = "occupancy"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One matched difference between two profiles; seconds are exclusive wall time per step.

    `count_effect_seconds` + `rate_effect_seconds` = `delta_seconds`: with n calls of t seconds
    each they are (n' - n)(t + t')/2 and (t' - t)(n + n')/2, without a cross term.
    """

    name: str
    base_name: str  # differs from `name` when it was replaced
    kind: ChangeKind
    base_seconds: float
    head_seconds: float
    base_count: float
    head_count: float
    suggestion: str = ""
    bucket: Bucket = Bucket.OTHER
    path: str = ""  # the operations around it, outermost first
    reason: ChangeReason = ChangeReason.UNKNOWN
    evidence: str = ""  # of the reason: "float[64,64] became double[64,64]"
    count_effect_seconds: float = 0.0
    rate_effect_seconds: float = 0.0
    lines: tuple[CallingLine, ...] = ()  # of the user's code on head, the most of its time first
    base_lines: tuple[CallingLine, ...] = ()  # on base
    error_seconds: float | None = None  # half the 95 % interval of the delta, if known
    reverted_step_seconds: float | None = None  # head's step without this change (Amdahl)

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds this cause adds to a step."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCause:
    """One difference in what the peak of memory holds, in bytes."""

    name: str  # of the operator that makes the tensors, or what else holds them
    base_tensor: str  # "float32[64,128]", of several the largest; "" on a side without
    head_tensor: str
    base_bytes: float
    head_bytes: float
    base_count: int
    head_count: int
    lines: tuple[CallingLine, ...] = ()  # that make them on head, those of most bytes first
    base_lines: tuple[CallingLine, ...] = ()

    @property
    def delta_bytes(self) -> float:
        """Return how many bytes this cause adds to the peak."""
        return self.head_bytes - self.base_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExplanation:
    """An explained change of peak memory: what holds more, and the unexplained rest.

    base_bytes + the causes' deltas + rest_bytes = head_bytes, which are measured without a
    profiler; `base_held_bytes` and `head_held_bytes` are all that is known to be held.
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
    """The seconds that a process takes for one phase of compiling."""

    phase: CompilePhase
    base_seconds: float
    head_seconds: float

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds longer the phase takes."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCause:
    """A function that a process compiles more or less often, or for another time."""

    name: str
    base_count: int
    head_count: int
    base_seconds: float
    head_seconds: float
    reason: str = ""  # the compiler's words on why it compiles it again; "" if unknown
    lines: tuple[CallingLine, ...] = ()  # of the reason

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds longer it is compiled."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileExplanation:
    """An explained change of what a process compiles: phases, and the functions behind them.

    `base_seconds` and `head_seconds` are a typical process's of each side, which the phases sum to.
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

    base_step_seconds + sum of the causes' deltas + rest_seconds = head_step_seconds, all profiled;
    base_step_seconds + sum of the buckets' deltas = head_step_seconds, exactly. `residual_seconds`
    is the change without a profiler minus the profiled change.
    """

    workload: str
    base_step_seconds: float
    head_step_seconds: float
    causes: tuple[Cause, ...]
    rest_seconds: float  # deltas too small to list
    is_attributable: bool
    note: str = ""
    buckets: tuple[BucketChange, ...] = ()  # in the order of Bucket
    residual_seconds: float | None = None
    noise_seconds: float | None = None  # error of the difference of the steps, if known
    base_device: DeviceState | None = None  # during base's steps
    head_device: DeviceState | None = None
    base_bottleneck: Classification | None = None
    head_bottleneck: Classification | None = None
    utilization_note: str = ""  # what is behind a lower utilization of the device
    compilations: tuple[Compilation, ...] = ()  # on head and not, or less often, on base
    memory: MemoryExplanation | None = None  # where peak memory changed
    compiling: CompileExplanation | None = None  # where a metric of the start changed
    reproduction: str = ""  # the command that profiles this workload again
