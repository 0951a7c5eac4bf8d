"""Turn the host's events of an XLA profile into calls: operations, compiling, waiting."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from perfledger.profile import Bucket
from perfledger_profiles.breakdown import Label, Spanned, nest_calls
from perfledger_profiles.hlo import bucket_of
from perfledger_profiles.planes import Stat, Stats, XEvent, XLine
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import NOBODY, Segments

COMPILING = "(compiling)"
TRACING = "(tracing)"
XLA_RUNTIME = "(XLA runtime)"
HOST_LANE = "host"
# What runs beside each other on a device or on the host's cores: the first wins an instant.
BUCKET_ORDER = (
    Bucket.COMPUTE,
    Bucket.COMMUNICATION,
    Bucket.COPY,
    Bucket.MEMSET,
    Bucket.INPUT,
)

_FUNCTION = re.compile(r"\w*Function\((.*)\)")
_COMPILE = re.compile(r"backend_compile|XlaCompile|::Compile|CompileAndLoad|(Cpu|Gpu|Tpu)Compiler")
_TRACE = re.compile(r"trace_to_jaxpr|lower_sharding_computation|lower_jaxpr")
_WAIT = re.compile(r"(?i)await|wait for|blockhostuntilready|block_until_ready")
_EXECUTOR = "ThunkExecutor::Execute"
_END = "end: "
# Python's own frames tell nothing of the device, and may be most of a file.
PYTHON_FRAME = "$"
# Steps, operations, and what a kernel and the call that launched it have in common.
STEP, OPERATION, CORRELATION = "step_num", "hlo_op", "correlation_id"
# An executor of TensorFlow's names what it runs "model/dense/MatMul:MatMul" (tf_op_utils.cc).
_TENSORFLOW = re.compile(r"(?P<name>[\w.][\w.\\/>-]*):(?P<kind>[A-Z_]\w*)")
# The step waits for its next batch (tf.data).
_INPUT = ("IteratorGetNextOp::", "IteratorGetNextAsOptionalOp::")


class Labelled(Spanned, Protocol):
    """A stretch of time with a label."""

    @property
    def label(self) -> Label:
        """Return what it is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class XlaCall:
    """A labelled stretch of time; `is_counted` is False for a part of a call that is counted."""

    label: Label
    start_ns: int
    end_ns: int
    is_counted: bool = True
    lane: str = HOST_LANE  # the thread, where it is drawn


def thread_rank(events: Iterable[tuple[str, Stats]]) -> tuple[int, int]:
    """Rank the thread that takes the steps first: by its steps, then by its calls of functions.

    `events` are names and stats.
    """
    steps = functions = 0
    for name, stats in events:
        steps += STEP in stats
        functions += "Function(" in name
    return steps, functions


def is_of_use(name: str, stats: Stats) -> bool:
    """Tell whether an event of another thread says anything of a step."""
    if OPERATION in stats or CORRELATION in stats or name.startswith((_END, _EXECUTOR)):
        return True
    return ":" in name and _TENSORFLOW.fullmatch(name) is not None


def bucket_layers(calls: Sequence[Labelled]) -> tuple[Segments, ...]:
    """Return who fills each instant of each bucket: of calls beside each other the latest."""
    return tuple(
        nest_calls(
            calls, [n for n, call in enumerate(calls) if call.label.bucket is bucket]
        ).segments
        for bucket in BUCKET_ORDER
    )


def host_operations(lines: Sequence[XLine]) -> list[XlaCall]:
    """Return the operations that ran on the host's threads: XLA's on the CPU, or TensorFlow's.

    An operation of XLA's may go on after its event: "end: NAME", linked to it, says when it was
    over.
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


def _operation_label(event: XEvent) -> Label | None:
    if OPERATION in event.stats:
        return hlo_label(event)
    operation = _TENSORFLOW.fullmatch(event.name) if ":" in event.name else None
    if operation is None:
        return None
    kind = clean_name(operation["kind"])
    return Label(kind, bucket_of(kind), path=clean_name(operation["name"]))


def hlo_label(event: XEvent) -> Label:
    """Return the label of an operation that names its HLO instruction and module in its stats."""
    name = clean_name(str(event.stats[OPERATION]))
    module = str(event.stats.get("hlo_module", ""))
    return Label(name, bucket_of(name), path=clean_name(module) if module else "")


def executor_calls(lines: Iterable[XLine]) -> list[XlaCall]:
    """Return when XLA's own threads were executing a program, operations or not."""
    label = Label(XLA_RUNTIME, Bucket.RUNTIME)
    return [
        XlaCall(label=label, start_ns=event.start_ns, end_ns=event.end_ns, is_counted=False)
        for line in lines
        for event in line.events
        if event.name.startswith(_EXECUTOR)
    ]


def thread_calls(line: XLine) -> list[XlaCall]:
    """Return what the thread that takes the steps was up to.

    A jitted function's call stands for all inside it, unless it compiles: then what the compiler
    takes is "(compiling) f" and the rest of that call "(tracing) f".
    """
    events = [event for event in line.events if _is_own(event)]
    nesting = nest_calls(events, range(len(events)))
    builds = [_is_building(event.name) for event in events]
    for number, parent in zip(reversed(nesting.order), reversed(nesting.parent), strict=True):
        if parent != NOBODY and builds[number]:
            builds[parent] = True
    calls: dict[int, XlaCall] = {}
    for number, parent in zip(nesting.order, nesting.parent, strict=True):
        calls[number] = _call(events[number], calls.get(parent), builds=builds[number])
    return [calls[number] for number in nesting.order]


def _is_own(event: XEvent) -> bool:
    """Tell whether an event is neither a step, nor an operation, nor one of Python's frames."""
    is_marker = STEP in event.stats or OPERATION in event.stats
    return not is_marker and not event.name.startswith((PYTHON_FRAME, _END))


def _is_building(name: str) -> bool:
    return _COMPILE.search(name) is not None or _TRACE.search(name) is not None


def _call(event: XEvent, around: XlaCall | None, *, builds: bool) -> XlaCall:
    name = clean_name(event.name)
    outer = around.label.name if around is not None else ""
    function = _FUNCTION.fullmatch(name)
    about = function[1] if function else _about(outer)
    label = Label(name, _thread_bucket(name))
    is_counted = True
    if _COMPILE.search(name):
        label = Label(f"{COMPILING} {about}".strip(), Bucket.RUNTIME)
        is_counted = not outer.startswith(COMPILING)
    elif around is not None and _stands_for_all(outer):
        label, is_counted = around.label, False
    elif builds and (function or _TRACE.search(name)):
        label = Label(f"{TRACING} {about}".strip(), Bucket.RUNTIME)
    return XlaCall(label=label, start_ns=event.start_ns, end_ns=event.end_ns, is_counted=is_counted)


def _thread_bucket(name: str) -> Bucket:
    if name.startswith(_INPUT):
        return Bucket.INPUT
    return Bucket.SYNC if _WAIT.search(name) else Bucket.RUNTIME


def _stands_for_all(name: str) -> bool:
    return name.startswith((COMPILING, TRACING)) or _FUNCTION.fullmatch(name) is not None


def _about(outer: str) -> str:
    """Return which function is being compiled or traced, as the label around says it."""
    if outer.startswith((COMPILING, TRACING)):
        return outer.partition(" ")[2]
    return ""
