"""Decodes the events of Chrome traces, with only those fields of each kind that are used."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard, Union

import msgspec

Scalar = int | float | str | None
EMPTY_JSON = msgspec.Raw(b"")
# Everything that the parser raises for unreadable input.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

MEMORY = "[memory]"  # the name of an allocator's event
# Categories of torch 1.8 to 2.13, by what their events have besides a name and a time: the inputs
# of an operator, the launch of a kernel, or the number that links a launch with its work.
OPERATORS = ("cpu_op", "Operator")
KERNELS = ("kernel", "Kernel", "mtia_ccp_events", "hpu_op")
LINKED = (
    *("gpu_memcpy", "gpu_memset", "cuda_sync", "xpu_sync", "gpu_user_annotation"),
    *("user_annotation", "cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime"),
    *("xpu_driver", "mtia_runtime", "glow_runtime", "privateuse1_runtime"),
    *("privateuse1_driver", "Memcpy", "Memset", "Runtime"),
)
# Arrows are a third of a trace; Python's frames can be another third.
UNUSED = (
    *("ac2g", "async", "async_cpu_to_gpu", "async_gpu", "fwdbwd", "forward_backward"),
    *("python_function", "overhead", "Trace"),
)
# Categories of memory events; an old version writes none.
INSTANTS = ("cpu_instant_event", "")


class OperatorArgs(msgspec.Struct, gc=False):
    """The arguments of an operator that are used; they stay JSON until needed."""

    dims: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Input type")


class LinkedArgs(msgspec.Struct, gc=False):
    """The used arguments of a launch, a copy or a wait."""

    stream: Scalar = -1
    correlation: Scalar = -1
    bytes: Scalar = -1


class KernelArgs(LinkedArgs, gc=False):
    """The used arguments of a kernel; those of its launch stay JSON until needed."""

    registers: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="registers per thread")
    shared_memory: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="shared memory")
    occupancy: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="est. achieved occupancy %")
    grid: msgspec.Raw = EMPTY_JSON
    block: msgspec.Raw = EMPTY_JSON
    collective: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Collective name")
    elements: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="In msg nelems")
    element_type: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="dtype")
    ranks: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Group size")


class CallArgs(KernelArgs, gc=False):
    """The arguments of a call of any kind."""

    dims: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Input type")


class InstantArgs(msgspec.Struct, gc=False):
    """The arguments of an allocator's event."""

    allocated: Scalar = msgspec.field(default=-1, name="Total Allocated")
    reserved: Scalar = msgspec.field(default=-1, name="Total Reserved")
    changed: Scalar = msgspec.field(default=None, name="Bytes")
    device_id: Scalar = msgspec.field(default=-1, name="Device Id")
    device_type: Scalar = msgspec.field(default=-1, name="Device Type")


class TraceCall(msgspec.Struct, gc=False):
    """A call of any phase except an instant's; times are in microseconds, -1 if absent."""

    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = -1.0
    dur: float = -1.0
    args: CallArgs | None = None


class _Instant(msgspec.Struct, gc=False):
    name: str = ""
    ts: float = -1.0
    args: InstantArgs | None = None


class TraceInstant(_Instant, tag_field="ph", tag="i"):
    """An event without a duration."""

    cat: str = ""


class TraceHeader(msgspec.Struct, gc=False):
    """The fields next to the events, as JSON."""

    devices: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="deviceProperties")
    distributed: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="distributedInfo")
    with_stack: msgspec.Raw = EMPTY_JSON


class _Call(TraceCall, tag_field="ph", tag="X"):
    pass


class _Arrow(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """The start of a flow, which is not decoded."""


class _ArrowStep(_Arrow, tag="t"):
    pass


class _ArrowEnd(_Arrow, tag="f"):
    pass


class _Label(_Arrow, tag="M"):
    """The name or the sort order of a process or thread."""


_EventOfPhase = _Call | TraceInstant | _Arrow | _ArrowStep | _ArrowEnd | _Label
TraceEvent = TraceCall | TraceInstant
_EventOfAnyPhase = TraceEvent | _Arrow


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEventBatch:
    """The readable events of a piece, the number of unreadable ones, and notes on damage."""

    events: Sequence[TraceEvent] = ()
    dropped: int = 0
    notes: tuple[str, ...] = ()
    header: TraceHeader | None = None


class _EventOfCategory(msgspec.Struct, gc=False):
    """An event that is not used; each class stands for one category."""

    cat: ClassVar[str] = ""


class _CallOfCategory(_EventOfCategory, gc=False):
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = -1.0
    dur: float = -1.0


class _Operator(_CallOfCategory, gc=False):
    args: OperatorArgs | None = None


class _Kernel(_CallOfCategory, gc=False):
    args: KernelArgs | None = None


class _Linked(_CallOfCategory, gc=False):
    args: LinkedArgs | None = None


def _classes(base: type[msgspec.Struct], categories: Sequence[str]) -> Sequence[type]:
    """Return a class per category, by which the parser chooses what it decodes."""
    return [
        msgspec.defstruct(
            base.__name__, [], bases=(base,), tag_field="cat", tag=cat, namespace={"cat": cat}
        )
        for cat in categories
    ]


class _MemoryEvent(_Instant, tag_field="cat", tag=INSTANTS[0]):
    cat: ClassVar[str] = INSTANTS[0]


_CATEGORIES = (
    *_classes(_Operator, OPERATORS),
    *_classes(_Kernel, KERNELS),
    *_classes(_Linked, LINKED),
    *_classes(_EventOfCategory, UNUSED),
    _MemoryEvent,
)
# A type checker cannot see a union of classes that are created here.
_LIST: Any = list
_UNION: Any = Union
_BY_CATEGORY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_LIST[_UNION[_CATEGORIES]])
_BY_PHASE = msgspec.json.Decoder(list[_EventOfPhase])
_ONE_BY_ONE = msgspec.json.Decoder(list[msgspec.Raw])
_ONE_BY_PHASE = msgspec.json.Decoder(_EventOfPhase)
_ONE = msgspec.json.Decoder(TraceCall)


def decode_events(array: bytes | bytearray) -> Sequence[TraceEvent]:
    """Decode a list of events; raise one of UNREADABLE.

    An event with no category or an unknown one is decoded by its phase; with an unknown phase it is
    taken as a call. An event that is never used has only a category or is left out.
    """
    try:
        events: Sequence[TraceEvent] = _BY_CATEGORY.decode(array)
    except msgspec.ValidationError:
        return _decode_by_phase(array)
    return events


def _decode_by_phase(array: bytes | bytearray) -> Sequence[TraceEvent]:
    try:
        events: Sequence[_EventOfAnyPhase] = _BY_PHASE.decode(array)
    except msgspec.ValidationError:
        events = [_decode_one(event) for event in _ONE_BY_ONE.decode(array)]
    return [event for event in events if _is_used(event)]


def decode_event(data: str) -> Sequence[TraceEvent]:
    """Decode one event, nothing if it is of no use; raise one of UNREADABLE."""
    event = _decode_one(data)
    return [event] if _is_used(event) else []


def _is_used(event: _EventOfAnyPhase) -> TypeGuard[TraceEvent]:
    if isinstance(event, TraceInstant):
        return event.cat in INSTANTS
    return isinstance(event, TraceCall)


def _decode_one(data: str | msgspec.Raw) -> _EventOfAnyPhase:
    try:
        event: _EventOfAnyPhase = _ONE_BY_PHASE.decode(data)
    except msgspec.ValidationError:
        return _ONE.decode(data)
    return event
