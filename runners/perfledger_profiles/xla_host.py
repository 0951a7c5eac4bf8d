"""Turn the host's events of an XLA profile into calls: operations, compiling, waiting."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from perfledger.profile import Bucket
from perfledger_profiles.breakdown import Label, nest_calls
from perfledger_profiles.hlo import bucket_of
from perfledger_profiles.planes import Stat, XEvent, XLine
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import NOBODY

COMPILING = "(compiling)"
TRACING = "(tracing)"
XLA_RUNTIME = "(XLA runtime)"

_FUNCTION = re.compile(r"\w*Function\((.*)\)")
_COMPILE = re.compile(r"backend_compile|XlaCompile|::Compile|CompileAndLoad|(Cpu|Gpu|Tpu)Compiler")
_TRACE = re.compile(r"trace_to_jaxpr|lower_sharding_computation|lower_jaxpr")
_WAIT = re.compile(r"(?i)await|wait for|blockhostuntilready|block_until_ready")
_EXECUTOR = "ThunkExecutor::Execute"
_END = "end: "
_PYTHON_FRAME = "$"


@dataclass(frozen=True, slots=True, kw_only=True)
class XlaCall:
    """A labelled stretch of time; `is_counted` is False for a part of a call that is counted."""

    label: Label
    start_ns: int
    end_ns: int
    is_counted: bool = True


def host_operations(lines: Iterable[XLine]) -> list[XlaCall]:
    """Return the HLO operations that ran on the host's threads, for XLA on the CPU.

    An operation may go on after its event: "end: NAME", linked to it, says when it was over.
    """
    events = [event for line in lines for event in line.events]
    ends: dict[Stat, int] = {}
    for event in events:
        if event.name.startswith(_END) and "_c" in event.stats:
            ends[event.stats["_c"]] = event.start_ns
    calls: list[XlaCall] = []
    for event in events:
        if "hlo_op" in event.stats:
            over_ns = ends.get(event.stats.get("_p", ""), 0)
            calls.append(
                XlaCall(
                    label=hlo_label(event),
                    start_ns=event.start_ns,
                    end_ns=max(event.end_ns, over_ns),
                )
            )
    return calls


def hlo_label(event: XEvent) -> Label:
    """Return the label of an operation that names its HLO instruction and module in its stats."""
    name = clean_name(str(event.stats["hlo_op"]))
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
    is_marker = "step_num" in event.stats or "hlo_op" in event.stats
    return not is_marker and not event.name.startswith((_PYTHON_FRAME, _END))


def _is_building(name: str) -> bool:
    return _COMPILE.search(name) is not None or _TRACE.search(name) is not None


def _call(event: XEvent, around: XlaCall | None, *, builds: bool) -> XlaCall:
    name = clean_name(event.name)
    outer = around.label.name if around is not None else ""
    function = _FUNCTION.fullmatch(name)
    about = function[1] if function else _about(outer)
    label = Label(name, Bucket.SYNC if _WAIT.search(name) else Bucket.RUNTIME)
    is_counted = True
    if _COMPILE.search(name):
        label = Label(f"{COMPILING} {about}".strip(), Bucket.RUNTIME)
        is_counted = not outer.startswith(COMPILING)
    elif around is not None and _stands_for_all(outer):
        label, is_counted = around.label, False
    elif builds and (function or _TRACE.search(name)):
        label = Label(f"{TRACING} {about}".strip(), Bucket.RUNTIME)
    return XlaCall(label=label, start_ns=event.start_ns, end_ns=event.end_ns, is_counted=is_counted)


def _stands_for_all(name: str) -> bool:
    return name.startswith((COMPILING, TRACING)) or _FUNCTION.fullmatch(name) is not None


def _about(outer: str) -> str:
    """Return which function is being compiled or traced, as the label around says it."""
    if outer.startswith((COMPILING, TRACING)):
        return outer.partition(" ")[2]
    return ""
