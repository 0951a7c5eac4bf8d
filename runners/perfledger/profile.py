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
class Profile:
    """Where one step's wall time goes.

    `operations` are sorted by time, longest first, and their seconds sum to `step_seconds`: what no
    operation accounts for is an operation of bucket OTHER by the name "(outside operations)".
    """

    workload: str
    side: Side
    tool: str  # "torch.profiler" or "jax.profiler"
    steps: int  # kept
    step_seconds: float  # mean over the kept steps, profiled
    operations: tuple[Operation, ...]
    dropped_events: int = 0
    notes: tuple[str, ...] = ()
