"""A profiler's timeline as columns: what every reader of timelines makes and every analysis takes.

All columns of calls have shape (n,), in the order of the file. Names are as the file has them: they
go through `clean_name` before anything is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from perfledger.profile import ProfiledDevice
from perfledger_profiles.spans import BoolArray, IntArray

# In every column: not recorded.
UNKNOWN = -1
# Whatever a file counts, what is no less is broken: sums of two still fit a column.
MAX_COUNT = 2**62


class Kind(IntEnum):
    """What sort of call it is, as a number since it is a column; the device's own come first."""

    KERNEL = 0
    COPY = 1
    MEMSET = 2
    DEVICE_WAIT = 3  # a stream that waits for an event: an activity record, no work
    DEVICE_ANNOTATION = 4  # the host's annotation, drawn over the kernels that it launched
    OPERATOR = 5
    ANNOTATION = 6
    RUNTIME = 7


LAST_DEVICE_WORK = Kind.MEMSET
LAST_ON_DEVICE = Kind.DEVICE_ANNOTATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A thread of a process, or a stream of a device; `process` is the device's number there."""

    process: int | str
    thread: int | str
    is_device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a kernel was launched, as the profiler recorded it. Unknown is None or ""."""

    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers: int | None = None  # per thread
    shared_memory_bytes: int | None = None  # per block, static and dynamic
    collective: str = ""  # "allreduce"
    elements: int | None = None  # that the collective takes in
    element_type: str = ""
    ranks: int | None = None  # in the collective's group


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInstants:
    """The allocator's own record: what was in use after each allocation and release."""

    time_ns: IntArray
    allocated_bytes: IntArray
    reserved_bytes: IntArray
    device: IntArray  # its place in `devices`
    devices: tuple[str, ...]  # "cpu", "cuda:0"
    is_lower_bound: bool = False  # counted from the least in the file, see `counted_from_least`


def no_memory() -> MemoryInstants:
    """Return the record of a profile that did not follow memory."""
    none = np.empty(0, dtype=np.int64)
    return MemoryInstants(
        time_ns=none, allocated_bytes=none, reserved_bytes=none, device=none, devices=()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All calls of a timeline, and what the file says about the machine.

    Times are nanoseconds since `epoch_ns`, which is the file's own clock. `correlation` links a
    call of the runtime with what it started on the device.
    """

    tool: str
    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    launches: tuple[Launch, ...]
    inputs: tuple[tuple[bytes, bytes], ...]  # dimensions and types as JSON; the first is none

    name: IntArray  # its place in `names`
    kind: IntArray  # a Kind
    lane: IntArray  # its place in `lanes`
    start_ns: IntArray
    end_ns: IntArray
    correlation: IntArray
    stream: IntArray  # as recorded: a host call has none, with rare exceptions
    launch: IntArray  # its place in `launches`, UNKNOWN for what is no kernel
    input: IntArray  # its place in `inputs`
    bytes: IntArray  # that a copy or memset moves

    epoch_ns: int = 0
    memory: MemoryInstants = field(default_factory=no_memory)
    devices: tuple[ProfiledDevice, ...] = ()  # by number
    rank: int | None = None
    backend: str = ""  # of torch.distributed: "nccl"
    dropped_events: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_device_work(self) -> BoolArray:
        """Tell which calls are kernels, copies and memsets."""
        return self.kind <= LAST_DEVICE_WORK

    @property
    def is_on_host(self) -> BoolArray:
        """Tell which calls are those of the host's threads."""
        return self.kind > LAST_ON_DEVICE

    def where(self, chosen: BoolArray) -> "Trace":
        """Return the trace with only these of its calls."""
        return replace(
            self,
            name=self.name[chosen],
            kind=self.kind[chosen],
            lane=self.lane[chosen],
            start_ns=self.start_ns[chosen],
            end_ns=self.end_ns[chosen],
            correlation=self.correlation[chosen],
            stream=self.stream[chosen],
            launch=self.launch[chosen],
            input=self.input[chosen],
            bytes=self.bytes[chosen],
        )

    def named(self, chosen: Sequence[bool]) -> BoolArray:
        """Return which calls have one of the chosen names; `chosen` has one entry per name."""
        table = np.array(chosen, dtype=np.bool_)
        return table[self.name] if table.size else np.zeros(self.name.shape, dtype=np.bool_)
