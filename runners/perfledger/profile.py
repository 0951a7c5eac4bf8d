"""Holds the profile of a step, which perfledger_profiles reads from profiler files."""

from dataclasses import dataclass, replace
from enum import StrEnum

from perfledger.compile_record import CompilationKind
from perfledger.records import Side

# Tools whose profiles are read by rules of their own.
TORCH_PROFILER, JAX_PROFILER = "torch.profiler", "jax.profiler"


class Bucket(StrEnum):
    """A category of a step's time; the buckets of one step sum to its wall time."""

    COMPUTE = "compute"
    COMMUNICATION = "communication"
    COPY = "copy"  # between host and device
    MEMSET = "memset"
    INPUT = "input"
    SYNC = "sync"
    RUNTIME = "runtime"
    CPU = "cpu"
    OTHER = "other"
    # Stored steps list their buckets in this order, so new ones are added at the end.
    DEVICE_COPY = "device_copy"  # within a device's memory
    PEER_COPY = "peer_copy"  # between two devices


class OperationFamily(StrEnum):
    """The kind of work that a kernel does, by its name."""

    GEMM = "gemm"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    NORMALIZATION = "normalization"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    EMBEDDING = "embedding"
    OPTIMIZER = "optimizer"
    POOLING = "pooling"
    SORTING = "sorting"
    COPY = "copy"
    MEMSET = "memset"
    COMMUNICATION = "communication"
    FUSION = "fusion"  # several operations fused by a compiler
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallingLine:
    """A line of the user's code that calls an operation, and its calls per step."""

    path: str  # relative to the repository
    line: int
    calls: float
    is_backward: bool = False  # called in the backward pass of what this line calls
    is_changed: bool = False  # head's line differs from base's


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation or kernel, per step."""

    name: str
    bucket: Bucket
    seconds: float  # exclusive wall time per step, mean over the kept steps
    count: float  # calls per step
    shapes: str = ""  # input shapes and types, where the profiler records them
    path: str = ""  # the operations around it, outermost first, joined by "/"
    lines: tuple[CallingLine, ...] = ()  # most calls first; of a kernel, those of its operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The work of one device kernel per step, by name and launch shape.

    `seconds` is its own duration, overlapped or not, so the sum over kernels may exceed the step.
    Unknown is None or "".
    """

    name: str
    family: OperationFamily
    seconds: float
    count: float  # launches per step
    grid: str = ""  # blocks, "x,y,z"
    block: str = ""  # threads of a block, "x,y,z"
    registers: int | None = None  # per thread
    shared_memory_bytes: int | None = None  # per block, static and dynamic
    occupancy: float | None = None  # 0 to 1, achieved, measured or estimated from the launch
    blocks_per_multiprocessor: float | None = None  # of the launch, not of the resident blocks
    flops: float | None = None  # per step
    bytes: float | None = None  # moved to and from the device's memory, per step
    is_tensor: bool | None = None  # runs on tensor cores (NVIDIA), matrix cores or an MXU


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledStep:
    """One kept step: its wall time, and the time of each bucket, in the order of Bucket."""

    number: int
    seconds: float
    buckets: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdle:
    """The idle time of one stream by reason, in seconds per step (HolisticTraceAnalysis's rule).

    If the launch came after the end of the previous work, the gap is a host wait. Otherwise a gap
    below 30 us is a kernel wait, and a longer one has another reason, such as an event of another
    stream.
    """

    stream: str
    busy_seconds: float
    host_wait_seconds: float
    kernel_wait_seconds: float
    other_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReading:
    """One metric computed from a profile or read from a tool, in SI units.

    `name` is, for example, "gpu_busy", "comm_overlap" or "bus_bw". `subject` is what it describes
    if that is not the step: a kernel, a stream, a rank, a message size.
    """

    name: str
    value: float
    unit: str = "1"
    subject: str = ""
    source: str = ""  # the formula or the counter's name
    is_estimate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSlice:
    """A call in the diagram of one step, with its lane and depth."""

    lane: str  # "stream 7", "host", a thread
    name: str
    bucket: Bucket
    start_seconds: float  # since the step began
    seconds: float
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTimes:
    """The durations of one collective's calls in one kept step, in order.

    They serve to compare ranks: the n-th call of a name is the same collective on all ranks.
    """

    name: str
    step: int  # its number
    seconds: tuple[float, ...]
    ranks: int | None = None  # in its group


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPoint:
    """The memory in use at one moment of the profile."""

    seconds: float  # since the first kept step began
    allocated_bytes: float
    reserved_bytes: float | None = None
    device: str = ""  # "cpu", "cuda:0"
    is_lower_bound: bool = False  # only changes were recorded: counted from the file's minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTensors:
    """Tensors of one type and size that are in memory at the peak of a step."""

    operator: str  # that made them; "" if older than the step
    tensor: str  # type and sizes, "float32[64,128]"
    bytes: float
    count: int
    lines: tuple[CallingLine, ...] = ()  # that made them, or first used the older ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """A compiler's report on one source line of the user, with its reason."""

    kind: CompilationKind
    function: str  # "" if unknown
    reason: str  # the compiler's words: "at x, now f32[65,256] and before f32[64,256]"
    count: int  # in the process or its start, or in the steps that were watched
    lines: tuple[CallingLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledDevice:
    """The device as the profile states it; unknown is None or ""."""

    name: str
    memory_bytes: int | None = None
    compute_capability: str = ""  # "8.0"
    multiprocessors: int | None = None
    peak_flops: float | None = None  # per second, dense, as the profile states it (XLA)
    peak_bytes_per_second: float | None = None
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStep:
    """The mean step of one device in a recording of several."""

    name: str  # "device 1", "TPU:0"
    model: str = ""  # "NVIDIA H100 80GB HBM3"
    rank: int | None = None  # as recorded, else in the order of the devices
    steps: int  # kept
    step_seconds: float
    buckets: tuple[float, ...]  # in the order of Bucket; they sum to the step
    communication_seconds: float | None = None  # of collectives, exposed or not; None without any
    overlap: float | None = None  # the share of it that compute overlaps
    collectives: tuple[CollectiveTimes, ...] = ()

    def seconds(self, *buckets: Bucket) -> float:
        """Return the time of the step in these buckets."""
        spent = dict(zip(Bucket, self.buckets, strict=False))
        return sum(spent.get(bucket, 0.0) for bucket in buckets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The breakdown of one step's wall time.

    If several devices were recorded, it is the mean over `devices`.

    `operations` are sorted by time, longest first, and their seconds sum to `step_seconds`: time
    that no operation accounts for is the operation "(outside operations)" of bucket OTHER.
    Summaries without a timeline (nsys stats, ncu, nccl-tests) have kernels and readings only; their
    one "step" is the whole file, and `has_steps` is false.
    """

    workload: str
    side: Side
    tool: str  # "torch.profiler", "jax.profiler", "nsys", "ncu", "dcgm-exporter", ...
    steps: int  # kept
    step_seconds: float  # mean over the kept steps, profiled
    operations: tuple[Operation, ...]
    dropped_events: int = 0
    # Of each kept step, the seconds of the calls of each of `operations`; not in a bundle.
    call_times: tuple[tuple[tuple[float, ...], ...], ...] = ()
    notes: tuple[str, ...] = ()
    has_steps: bool = True
    device: ProfiledDevice | None = None
    kernels: tuple[Kernel, ...] = ()  # longest first
    each_step: tuple[ProfiledStep, ...] = ()
    streams: tuple[StreamIdle, ...] = ()
    readings: tuple[ProfileReading, ...] = ()
    slices: tuple[StepSlice, ...] = ()  # of the step nearest to the median
    memory: tuple[MemoryPoint, ...] = ()
    rank: int | None = None  # of the process in its job
    collectives: tuple[CollectiveTimes, ...] = ()
    devices: tuple[DeviceStep, ...] = ()  # if several were recorded
    peak_tensors: tuple[HeldTensors, ...] = ()  # at its peak, most bytes first
    compilations: tuple[Compilation, ...] = ()
    is_host_known: bool = True  # if false, it is unknown what a device waits for
    # Of a recording without steps: how often a sequence of kernels repeats, and its kernels.
    iterations: float = 0.0
    iteration_kernels: int = 0

    def bucket_seconds(self) -> dict[Bucket, float]:
        """Return the seconds per step of each bucket; they sum to `step_seconds`."""
        spent = dict.fromkeys(Bucket, 0.0)
        for operation in self.operations:
            spent[operation.bucket] += operation.seconds
        return spent

    def operations_only(self) -> "Profile":
        """Return the profile with only what is needed to estimate noise, a tenth of its size."""
        return replace(
            self,
            kernels=(),
            each_step=(),
            call_times=(),
            streams=(),
            readings=(),
            slices=(),
            memory=(),
            collectives=(),
            peak_tensors=(),
            compilations=(),
            notes=(),
        )

    def reading(self, name: str, *, subject: str = "") -> float | None:
        """Return the value of a reading, None if the profile lacks it."""
        values = (r.value for r in self.readings if r.name == name and r.subject == subject)
        return next(values, None)
