"""Reads the Chrome trace of rocprof 1: kernels, copies, calls of HIP and ranges of ROCTx."""

from collections.abc import Iterator

import msgspec

from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm.dispatches import check_count, copy_call, kernel_call, rocm_trace
from perfledger_profiles.rocm.timeline_calls import TimelineCall
from perfledger_profiles.timeline.trace import MAX_COUNT, UNKNOWN, CallKind, Trace

# What rocprof 1 gives as the process of an event (ROCm/rocprofiler, bin/tblextr.py). HSA (3) is
# called by HIP and by the driver, and its calls say no more than HIP's.
_ROCTX, _COPIES, _HIP, _FIRST_GPU = 0, 1, 2, 6
_DIRECTIONS = {
    "CopyHostToDevice": "HtoD",
    "CopyDeviceToHost": "DtoH",
    "CopyDeviceToDevice": "DtoD",
}
_MAX_DIGITS = 19

Scalar = int | float | str


class _Args(msgspec.Struct, gc=False):
    begin: Scalar = msgspec.field(default="", name="BeginNs")
    end: Scalar = msgspec.field(default="", name="EndNs")
    device: Scalar = msgspec.field(default="", name="dev-id")
    queue: Scalar = msgspec.field(default="", name="queue-id")
    process: Scalar = msgspec.field(default="", name="pid")
    thread: Scalar = msgspec.field(default="", name="tid")


class _Event(msgspec.Struct, gc=False):
    phase: str = msgspec.field(default="", name="ph")
    name: str = ""
    place: Scalar = msgspec.field(default="", name="pid")
    args: _Args = msgspec.field(default_factory=_Args)


class _Document(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents")


def read_rocprof_events(data: bytes) -> Trace:
    """Return the trace in rocprof 1's JSON. Raises ProfileError if the data is something else."""
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"this is not the JSON of rocprof --hip-trace: {error}"
        raise ProfileError(msg) from error
    check_count(len(document.events))
    calls = list(_calls(document))
    if not calls:
        msg = "this file has no kernels, copies or calls of HIP: record with rocprof --hip-trace"
        raise ProfileError(msg)
    return rocm_trace(calls)


def _calls(document: _Document) -> Iterator[TimelineCall]:
    """Yield the calls; arrows between a call and its work are left out.

    They begin at any time within a call, and the clock of the copies differs from the host's, so
    they do not show which call is meant.
    """
    for event in document.events:
        if event.phase != "X":
            continue
        args, place = event.args, _number(event.place)
        times_ns = (_number(args.begin), _number(args.end))
        device, queue = max(_number(args.device), 0), max(_number(args.queue), 0)
        if place >= _FIRST_GPU:
            yield kernel_call(event.name, times_ns, device=device, queue=queue)
        elif place == _COPIES:
            direction = _DIRECTIONS.get(event.name)
            name = f"Memcpy {direction}" if direction else event.name
            yield copy_call(name, times_ns, device=device)
        elif place in (_HIP, _ROCTX):
            yield TimelineCall(
                name=event.name,
                kind=CallKind.RUNTIME if place == _HIP else CallKind.ANNOTATION,
                start_ns=times_ns[0],
                end_ns=times_ns[1],
                process=max(_number(args.process), 0),
                thread=max(_number(args.thread), 0),
            )


def _number(value: Scalar) -> int:
    """Return a whole number, which rocprof writes as text, or UNKNOWN for another value."""
    text = str(value).strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_number and int(text) <= MAX_COUNT else UNKNOWN
