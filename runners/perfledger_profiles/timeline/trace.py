"""Holds a profiler's timeline as columns: the input of every timeline analysis.

All columns of calls have shape (n,), in file order. Names are the file's: `clean_name` cleans them
before they are shown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from perfledger.profile import ProfiledDevice
from perfledger_profiles.timeline.intervals import BoolArray, IntArray

# A note on a trace with every Python call, which makes the host up to twice as slow.
STACKS_RECORDED = (
    "every Python call was recorded (with_stack), which slows the host: time without work on the "
    "device is shorter without it"
)
# "Not recorded" in every column.
UNKNOWN = -1
# Larger counts come from broken files; sums of two still fit a column.
MAX_COUNT = 2**62
# A call that launches all work of a recorded graph: cudaGraphLaunch, hipGraphLaunch.
GRAPH_LAUNCH = "GraphLaunch"
# cudaLaunchKernel, cuLaunchKernelEx, hipGraphLaunch, hipExtModuleLaunchKernel.
_LAUNCH = re.compile(r"(?:cuda|cu|hip)\w*Launch")
# What only a program that uses a device calls: pinned memory, memory kept for a stream, collectives
# of devices, and the operators of device libraries (names of ATen's native_functions.yaml).
_OF_DEVICE = re.compile(
    r"[nrh]ccl:\w+|aten::(?:record_stream|_?pin_memory|_?(?:cudnn|miopen)_\w+"
    r"|_(?:flash|efficient|cudnn)_attention_(?:forward|backward))"
)


class CallKind(IntEnum):
    """The kind of a call, as a number because it is a column; the device's kinds come first."""

    KERNEL = 0
    COPY = 1
    MEMSET = 2
    DEVICE_WAIT = 3  # a stream waits for an event: recorded, but not work
    DEVICE_ANNOTATION = 4  # the host's annotation, repeated over its kernels
    LEFT_OUT = 5  # of a device or process that is not analysed
    OPERATOR = 6
    ANNOTATION = 7
    RUNTIME = 8


LAST_DEVICE_WORK = CallKind.MEMSET
LAST_ON_DEVICE = CallKind.DEVICE_ANNOTATION
FIRST_ON_HOST = CallKind.OPERATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLane:
    """A thread of a process, or a stream of a device; `process` is the device's number there."""

    process: int | str
    thread: int | str
    is_device: bool
    owner: int | str | None = None  # the process that a stream works for, if recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfiguration:
    """The recorded launch of a kernel; unknown values are None or ""."""

    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers: int | None = None  # per thread
    shared_memory_bytes: int | None = None  # per block, static and dynamic
    occupancy: float | None = None  # 0 to 1, as the profiler reports it
    collective: str = ""  # "allreduce"
    elements: int | None = None  # of the collective's input
    element_type: str = ""
    ranks: int | None = None  # in the collective's group


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInstants:
    """The allocator's record: the memory in use after each allocation and release."""

    time_ns: IntArray
    allocated_bytes: IntArray
    reserved_bytes: IntArray
    device: IntArray  # its place in `devices`
    devices: tuple[str, ...]  # "cpu", "cuda:0"
    is_lower_bound: bool = False  # counted from the file's minimum, see `totals_from_changes`


def no_memory() -> MemoryInstants:
    """Return the empty record of a profile without memory events."""
    none = np.empty(0, dtype=np.int64)
    return MemoryInstants(
        time_ns=none, allocated_bytes=none, reserved_bytes=none, device=none, devices=()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All calls of a timeline, and the file's facts about the machine.

    Times are nanoseconds since `epoch_ns`, on the file's clock. `correlation` links a runtime call
    with the work it started on the device.
    """

    tool: str
    names: tuple[str, ...]
    lanes: tuple[TraceLane, ...]
    launches: tuple[LaunchConfiguration, ...]
    inputs: tuple[tuple[bytes, bytes], ...]  # dimensions and types, JSON; the first is none

    name: IntArray  # its place in `names`
    kind: IntArray  # a CallKind
    lane: IntArray  # its place in `lanes`
    start_ns: IntArray
    end_ns: IntArray
    correlation: IntArray
    stream: IntArray  # as recorded; rare for a host call
    launch: IntArray  # its place in `launches`, UNKNOWN except for kernels
    input: IntArray  # its place in `inputs`
    bytes: IntArray  # moved by a copy or memset

    epoch_ns: int = 0
    memory: MemoryInstants = field(default_factory=no_memory)
    devices: tuple[ProfiledDevice, ...] = ()  # by number
    rank: int | None = None
    backend: str = ""  # of torch.distributed: "nccl"
    dropped_events: int = 0
    is_cut_off: bool = False  # events of unknown kind are missing
    notes: tuple[str, ...] = ()

    @property
    def is_device_work(self) -> BoolArray:
        """Return which calls are kernels, copies and memsets."""
        return self.kind <= LAST_DEVICE_WORK

    @property
    def lacks_device_work(self) -> bool:
        """Return whether the program uses a device whose work the file lacks or gives no time.

        Launches show it; without them, operators that run on no CPU.
        """
        if bool((self.is_device_work & (self.end_ns > self.start_ns)).any()):
            return False
        launches = self.find_by_name([_LAUNCH.search(name) is not None for name in self.names])
        uses = self.find_by_name([_OF_DEVICE.fullmatch(name) is not None for name in self.names])
        return bool((launches & (self.kind == CallKind.RUNTIME) | uses & self.is_on_host).any())

    @property
    def is_on_host(self) -> BoolArray:
        """Return which calls are on the host's threads."""
        return self.kind >= FIRST_ON_HOST

    def device_of(self, number: int | str | None) -> ProfiledDevice | None:
        """Return the facts about a device by its number, or None if the file has none.

        ROCm numbers kernels by the node's devices, but may list only the one in use.
        """
        if len(self.devices) == 1 and number is not None:
            return self.devices[0]
        is_listed = isinstance(number, int) and 0 <= number < len(self.devices)
        return self.devices[int(number)] if is_listed and number is not None else None

    def where(self, chosen: BoolArray) -> "Trace":
        """Return the trace with only the chosen calls."""
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

    def find_by_name(self, chosen: Sequence[bool]) -> BoolArray:
        """Return which calls have one of the chosen names; `chosen` has one entry per name."""
        table = np.array(chosen, dtype=np.bool_)
        return table[self.name] if table.size else np.zeros(self.name.shape, dtype=np.bool_)
