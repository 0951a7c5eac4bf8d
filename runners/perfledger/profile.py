"""The explained breakdown of a step, as values that perfledger_profiles makes of profiler files."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.records import Side


class Bucket(StrEnum):
    """What a stretch of a step was spent on; the buckets of one step sum to its wall time."""

    COMPUTE = "compute"
    COMMUNICATION = "communication"
    COPY = "copy"
    MEMSET = "memset"
    INPUT = "input"
    SYNC = "sync"
    RUNTIME = "runtime"
    CPU = "cpu"
    OTHER = "other"


class Family(StrEnum):
    """What kind of work a kernel does, told by its name."""

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
    FUSION = "fusion"  # made by a compiler of several operations that its name does not tell
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation or kernel, per step."""

    name: str
    bucket: Bucket
    seconds: float  # exclusive wall time per step, mean over the kept steps
    count: float  # calls per step
    shapes: str = ""  # input shapes and types, where the profiler recorded them
    path: str = ""  # the operations around it, outermost first, joined by "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What one kernel of a device does per step, by its name and launch shape.

    `seconds` is its own duration, whether something else ran beside it or not: where kernels
    overlap these sum to more than the step. Unknown is None or "".
    """

    name: str
    family: Family
    seconds: float
    count: float  # launches per step
    grid: str = ""  # blocks, "x,y,z"
    block: str = ""  # threads of a block, "x,y,z"
    registers: int | None = None  # per thread
    shared_memory_bytes: int | None = None  # per block, static and dynamic
    occupancy: float | None = None  # 0 to 1, achieved as estimated from the launch, recomputed
    blocks_per_multiprocessor: float | None = None  # of the launch, not of what is resident
    flops: float | None = None  # per step
    bytes: float | None = None  # moved to and from the device's memory, per step
    is_tensor: bool | None = None  # runs on tensor cores (NVIDIA), matrix cores or an MXU


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One kept step: its wall time, and how much of it each bucket had, in the order of Bucket."""

    number: int
    seconds: float
    buckets: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdle:
    """Why one stream of a device stood still, in seconds per step (HolisticTraceAnalysis's rule).

    Its launch came after the previous work had ended: the host was late. Else a gap below 30 us is
    between kernels; else it is something else, such as an event of another stream.
    """

    stream: str
    busy_seconds: float
    host_wait_seconds: float
    kernel_wait_seconds: float
    other_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One figure that follows from a profile or was read from a tool, in SI units.

    `name` is a metric's of the profiling schema: "gpu_busy", "comm_overlap", "bus_bw". `subject`
    says of what, where it is not the step: a kernel, a stream, a rank, a message size.
    """

    name: str
    value: float
    unit: str = "1"
    subject: str = ""
    source: str = ""  # the formula's or the counter's name
    is_estimate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A stretch of one step for its picture: the lane it is drawn in, and its depth there."""

    lane: str  # "stream 7", "host", a thread
    name: str
    bucket: Bucket
    start_seconds: float  # since the step began
    seconds: float
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """What the calls of one collective took in one kept step, in their order.

    Ranks are compared by it: the n-th call of a name is the same collective on all of them.
    """

    name: str
    step: int  # its number
    seconds: tuple[float, ...]
    ranks: int | None = None  # in its group


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPoint:
    """How much memory was in use at one moment of the profile."""

    seconds: float  # since the first kept step began
    allocated_bytes: float
    reserved_bytes: float | None = None
    device: str = ""  # "cpu", "cuda:0"
    is_lower_bound: bool = False  # only changes were recorded: counted from the least in the file


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledDevice:
    """The device as the profile itself states it. Unknown is None or ""."""

    name: str
    memory_bytes: int | None = None
    compute_capability: str = ""  # "8.0"
    multiprocessors: int | None = None
    peak_flops: float | None = None  # per second, dense, as the profile states it (XLA)
    peak_bytes_per_second: float | None = None
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Where one step's wall time goes.

    `operations` are sorted by time, longest first, and their seconds sum to `step_seconds`: what no
    operation accounts for is an operation of bucket OTHER by the name "(outside operations)".
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
    notes: tuple[str, ...] = ()
    has_steps: bool = True
    device: ProfiledDevice | None = None
    kernels: tuple[Kernel, ...] = ()  # longest first
    each_step: tuple[Step, ...] = ()
    streams: tuple[StreamIdle, ...] = ()
    readings: tuple[Reading, ...] = ()
    slices: tuple[Slice, ...] = ()  # of the step nearest to the median
    memory: tuple[MemoryPoint, ...] = ()
    rank: int | None = None  # of the process in its job
    collectives: tuple[Collective, ...] = ()

    def bucket_seconds(self) -> dict[Bucket, float]:
        """Return the seconds per step that each bucket has; they sum to `step_seconds`."""
        spent = dict.fromkeys(Bucket, 0.0)
        for operation in self.operations:
            spent[operation.bucket] += operation.seconds
        return spent

    def reading(self, name: str, *, subject: str = "") -> float | None:
        """Return the value of a reading, None where the profile does not have it."""
        found = (r.value for r in self.readings if r.name == name and r.subject == subject)
        return next(found, None)
