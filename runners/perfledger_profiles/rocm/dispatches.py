"""Turns kernels, copies and calls recorded by rocprof into a Trace, whatever the format."""

from collections.abc import Sequence

from perfledger.profile import ProfiledDevice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm.timeline_calls import TimelineCall, trace_of_calls
from perfledger_profiles.timeline.trace import UNKNOWN, CallKind, LaunchConfiguration, Trace

TOOL = "rocprof"
# Dispatches, copies and calls of a recording; each takes about a hundred bytes while it is read.
MAX_CALLS = 2_000_000
NO_COPIES = (
    "the file has no copies: if none were recorded (rocprofv3 --memory-copy-trace), their time "
    "counts as idle"
)
NO_KERNELS = (
    "the file has no kernels, whose time counts as idle: give a file with both (rocprofv3 "
    "--sys-trace --output-format json)"
)
UNKNOWN_CALL = "(HIP call)"
# More than in any launch.
_MAX_SIDE = 2**31 - 1
_SUFFIXES = (" [clone .kd]", ".kd")

Size = tuple[int, int, int]


def kernel_call(
    name: str,
    times_ns: tuple[int, int],
    *,
    device: int | str,
    queue: int | str = 0,
    grid: Size | None = None,
    workgroup: Size | None = None,
    correlation: int = UNKNOWN,
) -> TimelineCall:
    """Return a dispatch; `grid` counts work items, as rocprof does."""
    return TimelineCall(
        name=kernel_name(name),
        kind=CallKind.KERNEL,
        start_ns=times_ns[0],
        end_ns=times_ns[1],
        process=device,
        thread=queue,
        correlation=correlation,
        launch=_launch(grid, workgroup),
    )


def copy_call(
    name: str,
    times_ns: tuple[int, int],
    *,
    device: int | str,
    correlation: int = UNKNOWN,
    moved_bytes: int = UNKNOWN,
) -> TimelineCall:
    """Return a copy of a device; a separate engine runs it beside the kernels."""
    return TimelineCall(
        name=name,
        kind=CallKind.COPY,
        start_ns=times_ns[0],
        end_ns=times_ns[1],
        process=device,
        thread="copies",
        correlation=correlation,
        bytes=moved_bytes,
    )


def rocm_trace(
    calls: Sequence[TimelineCall],
    *,
    devices: Sequence[ProfiledDevice] = (),
    dropped: int = 0,
    notes: Sequence[str] = (),
) -> Trace:
    """Return the trace of a recording. Raises ProfileError above MAX_CALLS."""
    check_count(len(calls))
    kinds = {call.kind for call in calls}
    missing = [(CallKind.COPY, NO_COPIES), (CallKind.KERNEL, NO_KERNELS)]
    return trace_of_calls(
        calls,
        tool=TOOL,
        devices=devices,
        dropped=dropped,
        notes=(*notes, *(note for kind, note in missing if kind not in kinds)),
    )


def check_count(calls: int) -> None:
    """Raise ProfileError above MAX_CALLS."""
    if calls > MAX_CALLS:
        msg = f"the recording has more than {MAX_CALLS} dispatches and calls: record less"
        raise ProfileError(msg)


def kernel_name(text: str) -> str:
    """Return a kernel's name without the suffixes of its descriptor."""
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    return text


def _launch(grid: Size | None, workgroup: Size | None) -> LaunchConfiguration | None:
    """Return a launch with its grid in workgroups, as other tools state it; None if unknown."""
    block = workgroup if _is_possible(workgroup) else None
    if block is None:
        return None
    blocks = None
    if grid is not None and _is_possible(grid):
        x, y, z = (-(-items // size) for items, size in zip(grid, block, strict=True))
        blocks = (x, y, z)
    return LaunchConfiguration(grid=blocks, block=block)


def _is_possible(size: Size | None) -> bool:
    return size is not None and all(1 <= side <= _MAX_SIDE for side in size)
