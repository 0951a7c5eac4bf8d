"""Extracts the host's calls of an XLA profile: operations, compiling, waiting."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from perfledger.profile import Bucket
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.breakdown import DEVICE_ORDER, CallLabel, TimeSpan, nest_calls
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.xla.hlo import bucket_of
from perfledger_profiles.xla.planes import Stat, Stats, XEvent, XLine

COMPILING_LABEL = "(compiling)"
TRACING_LABEL = "(tracing)"
XLA_RUNTIME = "(XLA runtime)"
HOST_LANE = "host"
# Buckets that run concurrently on a device or on the host's cores, in order of priority.
BUCKET_ORDER = (*DEVICE_ORDER, Bucket.INPUT)

_RUNTIME = CallLabel(XLA_RUNTIME, Bucket.RUNTIME)
_FUNCTION = re.compile(r"\w*Function\((.*)\)")
_COMPILE = re.compile(r"backend_compile|XlaCompile|::Compile|CompileAndLoad|(Cpu|Gpu|Tpu)Compiler")
_TRACE = re.compile(r"trace_to_jaxpr|lower_sharding_computation|lower_jaxpr")
_WAIT = re.compile(r"(?i)await|wait for|blockhostuntilready|block_until_ready")
_EXECUTOR = "ThunkExecutor::Execute"
# Before its transfer, XLA's runtime copies a host array into pinned memory, in the device's layout.
STAGED_COPY = "H2D Dispatch"
# XLA's own thread allocates a program's buffers before it launches the first kernel.
ALLOCATION = "Build buffer allocations"
_END = "end: "
# Python frames may make up most of a file. They say something about the device only if the program
# waits for it: "$api.py:3154 block_until_ready".
PYTHON_FRAME = "$"
BLOCK_UNTIL_READY = "block_until_ready"
# "CommonPjRtBuffer::Await": without Python frames, all that is recorded of such a wait.
_AWAIT = re.compile(r"\w*Buffer::Await")
_WAITING_FRAME = re.compile(rf"\$\S+:\d+ {BLOCK_UNTIL_READY}")
# Stats of steps and of operations, and the link between a kernel and its launch.
STEP, OPERATION, CORRELATION = "step_num", "hlo_op", "correlation_id"
# TensorFlow's executor names operations "model/dense/MatMul:MatMul" (tf_op_utils.cc).
_TENSORFLOW = re.compile(r"(?P<name>[\w.][\w.\\/>-]*):(?P<kind>[A-Z_]\w*)")
# The step waits for its next batch (tf.data).
_INPUT = ("IteratorGetNextOp::", "IteratorGetNextAsOptionalOp::")


class LabelledSpan(TimeSpan, Protocol):
    """A span of time with a label."""

    @property
    def label(self) -> CallLabel:
        """Return the label."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class XlaCall:
    """A labelled span of time; `is_counted` is False for a part of a counted call."""

    label: CallLabel
    start_ns: int
    end_ns: int
    is_counted: bool = True
    lane: str = HOST_LANE  # the thread, if it is drawn


def thread_rank(events: Iterable[tuple[str, Stats]]) -> tuple[int, int]:
    """Return a thread's rank by its steps, then its function calls; the highest runs the steps.

    `events` are names and stats.
    """
    steps = functions = 0
    for name, stats in events:
        steps += STEP in stats
        functions += "Function(" in name
    return steps, functions


def is_of_use(name: str, stats: Stats) -> bool:
    """Return whether an event of another thread belongs to a step."""
    is_named = name in (STAGED_COPY, ALLOCATION) or name.startswith((_END, _EXECUTOR))
    if is_named or OPERATION in stats or CORRELATION in stats:
        return True
    return ":" in name and _TENSORFLOW.fullmatch(name) is not None


def is_python_at_work(name: str) -> bool:
    """Return whether an event is a Python frame that does not wait for the device."""
    return name[:1] == PYTHON_FRAME and _WAITING_FRAME.fullmatch(name) is None


def is_wait_for_arrays(name: str) -> bool:
    """Return whether a call waits until arrays are ready, on whatever devices they are."""
    return name == BLOCK_UNTIL_READY or _AWAIT.fullmatch(name) is not None


def bucket_layers(calls: Sequence[LabelledSpan]) -> tuple[TimeSegments, ...]:
    """Return the owner of each instant by bucket: the latest of concurrent calls."""
    return tuple(
        nest_calls(
            calls, [n for n, call in enumerate(calls) if call.label.bucket is bucket]
        ).segments
        for bucket in BUCKET_ORDER
    )


def host_operations(lines: Sequence[XLine]) -> list[XlaCall]:
    """Return the operations on the host's threads: XLA's on the CPU, or TensorFlow's.

    An XLA operation may outlast its event: the linked event "end: NAME" marks its end.
    """
    ends: dict[Stat, int] = {}
    for line in lines:
        for event in line.events:
            if "_c" in event.stats and event.name.startswith(_END):
                ends[event.stats["_c"]] = event.start_ns
    calls: list[XlaCall] = []
    for number, line in enumerate(lines):
        lane = f"{clean_name(line.name.partition('/')[0])} {number}"
        for event in line.events:
            label = _operation_label(event)
            if label is not None:
                over_ns = ends.get(event.stats.get("_p", ""), 0)
                end_ns = max(event.end_ns, over_ns)
                start_ns = event.start_ns
                calls.append(XlaCall(label=label, start_ns=start_ns, end_ns=end_ns, lane=lane))
    return calls


def _operation_label(event: XEvent) -> CallLabel | None:
    if OPERATION in event.stats:
        return hlo_label(event)
    operation = _TENSORFLOW.fullmatch(event.name) if ":" in event.name else None
    if operation is None:
        return None
    kind = clean_name(operation["kind"])
    return CallLabel(kind, bucket_of(kind), path=clean_name(operation["name"]))


def hlo_label(event: XEvent) -> CallLabel:
    """Return the label of an operation whose stats name its HLO instruction and module."""
    name = clean_name(str(event.stats[OPERATION]))
    module = str(event.stats.get("hlo_module", ""))
    return CallLabel(name, bucket_of(name), path=clean_name(module) if module else "")


def executor_calls(lines: Iterable[XLine]) -> list[XlaCall]:
    """Return the spans in which XLA's own threads execute a program, or prepare it or a copy."""
    labels = {name: CallLabel(name, Bucket.RUNTIME) for name in (STAGED_COPY, ALLOCATION)}
    return [
        XlaCall(
            label=labels.get(event.name, _RUNTIME),
            start_ns=event.start_ns,
            end_ns=event.end_ns,
            is_counted=event.name in labels,
        )
        for line in lines
        for event in line.events
        if event.name in labels or event.name.startswith(_EXECUTOR)
    ]


def thread_calls(line: XLine, *, is_of_device: bool = True) -> list[XlaCall]:
    """Return the calls of the thread that runs the steps.

    A jitted function's call includes all calls inside it, unless it compiles. Then the compiler's
    time is "(compiling) f" and the rest of the call "(tracing) f". A wait is for a device, or, if
    not `is_of_device`, for XLA's own threads on the CPU: then it is their time.
    """
    events = _with_whole_waits([event for event in line.events if _is_own(event)])
    nesting = nest_calls(events, range(len(events)))
    builds = [_is_building(event.name) for event in events]
    for number, parent in zip(
        reversed(nesting.order), reversed(nesting.parent_numbers), strict=True
    ):
        if parent != NO_CALL and builds[number]:
            builds[parent] = True
    calls: dict[int, XlaCall] = {}
    for number, parent in zip(nesting.order, nesting.parent_numbers, strict=True):
        calls[number] = _call(events[number], calls.get(parent), builds=builds[number])
    in_order = [calls[number] for number in nesting.order]
    return in_order if is_of_device else [_as_runtime(call) for call in in_order]


def _with_whole_waits(events: Sequence[XEvent]) -> list[XEvent]:
    """Return the events with each wait as one: XLA records its begin and its end, which are linked.

    The end has the name of the begin.
    """
    ends = {
        (event.name, event.stats["_c"]): event
        for event in events
        if "_c" in event.stats and _WAIT.search(event.name)
    }
    with_waits: list[XEvent] = []
    end_ids: set[int] = set()
    for event in events:
        end = ends.get((event.name, event.stats.get("_p", "")))
        if end is not None:
            end_ids.add(id(end))
        with_waits.append(
            event if end is None else replace(event, end_ns=max(event.end_ns, end.end_ns))
        )
    return [event for event in with_waits if id(event) not in end_ids]


def _as_runtime(call: XlaCall) -> XlaCall:
    """Return a wait as the time of XLA's own threads; other calls are as they were."""
    is_wait = call.label.bucket is Bucket.SYNC and call.label.name != BLOCK_UNTIL_READY
    return replace(call, label=_RUNTIME, is_counted=False) if is_wait else call


def _is_own(event: XEvent) -> bool:
    """Return whether an event is neither a step, nor an operation, nor a working Python frame."""
    is_marker = STEP in event.stats or OPERATION in event.stats
    return not is_marker and not event.name.startswith(_END) and not is_python_at_work(event.name)


def _is_building(name: str) -> bool:
    return _COMPILE.search(name) is not None or _TRACE.search(name) is not None


def _call(event: XEvent, around: XlaCall | None, *, builds: bool) -> XlaCall:
    name = clean_name(event.name)
    if name.startswith(PYTHON_FRAME):
        name = name.rpartition(" ")[2]
    outer = around.label.name if around is not None else ""
    function = _FUNCTION.fullmatch(name)
    about = function[1] if function else _about(outer)
    label = CallLabel(name, _thread_bucket(name))
    is_counted = True
    if _COMPILE.search(name):
        label = CallLabel(f"{COMPILING_LABEL} {about}".strip(), Bucket.RUNTIME)
        is_counted = not outer.startswith(COMPILING_LABEL)
    elif around is not None and _stands_for_all(outer):
        label, is_counted = around.label, False
    elif builds and (function or _TRACE.search(name)):
        label = CallLabel(f"{TRACING_LABEL} {about}".strip(), Bucket.RUNTIME)
    return XlaCall(label=label, start_ns=event.start_ns, end_ns=event.end_ns, is_counted=is_counted)


def _thread_bucket(name: str) -> Bucket:
    if name.startswith(_INPUT):
        return Bucket.INPUT
    return Bucket.SYNC if _WAIT.search(name) else Bucket.RUNTIME


def _stands_for_all(name: str) -> bool:
    return (
        name.startswith((COMPILING_LABEL, TRACING_LABEL)) or _FUNCTION.fullmatch(name) is not None
    )


def _about(outer: str) -> str:
    """Return the function that is being compiled or traced, by the enclosing label."""
    if outer.startswith((COMPILING_LABEL, TRACING_LABEL)):
        return outer.partition(" ")[2]
    return ""
