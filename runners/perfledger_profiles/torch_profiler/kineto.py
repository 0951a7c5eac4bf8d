"""Reads Chrome traces of torch.profiler."""

from dataclasses import replace
from pathlib import Path

import msgspec

from perfledger.profile import Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.parsing.chrome_trace_events import UNREADABLE, TraceHeader
from perfledger_profiles.parsing.chrome_trace_json import CUT_OFF, read_batches
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.profile_builder import build_profile
from perfledger_profiles.timeline.trace import MAX_COUNT, STACKS_RECORDED, Trace
from perfledger_profiles.torch_profiler.duplicate_events import without_duplicates
from perfledger_profiles.torch_profiler.kineto_events import KinetoColumns

# XLA writes a Chrome trace for viewers next to its own file: of an event's links, FLOPs, bytes and
# launch it has none, and of more than a million events only a part. Without the links of an
# operation to its end, 0 to 89 % of a step on the CPU had another owner (31 recordings).
_NO_CALLS = (
    "this Chrome trace has no call of torch.profiler: for jax.profiler give the .xplane.pb next "
    "to its trace.json.gz, which does not say when operations and waits end"
)
# AMD's wavefronts are 64 wide, and AMD's "capability" is not an NVIDIA generation.
_NVIDIA_WARP = 32


class _Device(msgspec.Struct, gc=False):
    name: str = ""
    memory: int | None = msgspec.field(default=None, name="totalGlobalMem")
    major: int | None = msgspec.field(default=None, name="computeMajor")
    minor: int | None = msgspec.field(default=None, name="computeMinor")
    multiprocessors: int | None = msgspec.field(default=None, name="numSms")
    warp: int | None = msgspec.field(default=None, name="warpSize")


class _Distributed(msgspec.Struct, gc=False):
    backend: str = ""
    rank: int | None = None


def read_kineto(
    source: bytes | Path, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the mean step of a torch.profiler trace, gzip-packed or plain.

    Unusable events are counted in `dropped_events`. Raises ProfileError if the file is not such a
    trace, is too large or has no step with a length.
    """
    trace = read_kineto_trace(source)
    if trace.name.size == 0 and trace.dropped_events == 0:
        raise ProfileError(_NO_CALLS)
    return build_profile(trace, workload=workload, side=side, choice=choice)


def read_kineto_trace(source: bytes | Path) -> Trace:
    """Return the calls of a torch.profiler trace, gzip-packed or plain.

    Raises ProfileError if the file is not such a trace or is too large.
    """
    columns = KinetoColumns()
    header = TraceHeader()
    dropped = 0
    notes: tuple[str, ...] = ()
    for batch in read_batches(source):
        columns.add(batch.events)
        header = _join_headers(header, batch.header or header)
        dropped += batch.dropped
        notes = (*notes, *batch.notes)
    distributed = _distributed_facts(header)
    if bytes(header.with_stack).strip() in (b"1", b"true"):
        notes = (*notes, STACKS_RECORDED)
    trace = columns.trace(
        devices=_devices(header),
        rank=distributed.rank,
        backend=distributed.backend,
        dropped_events=dropped,
        notes=notes,
    )
    return replace(without_duplicates(trace), is_cut_off=CUT_OFF in notes)


def _join_headers(header: TraceHeader, more: TraceHeader) -> TraceHeader:
    """Return both headers as one, because keys may precede and follow the events."""
    return TraceHeader(
        devices=more.devices or header.devices,
        distributed=more.distributed or header.distributed,
        with_stack=more.with_stack or header.with_stack,
    )


def _distributed_facts(header: TraceHeader) -> _Distributed:
    try:
        return msgspec.json.decode(header.distributed, type=_Distributed)
    except UNREADABLE:
        return _Distributed()


def _devices(header: TraceHeader) -> tuple[ProfiledDevice, ...]:
    try:
        devices = msgspec.json.decode(header.devices, type=list[_Device])
    except UNREADABLE:
        return ()
    return tuple(
        ProfiledDevice(
            name=clean_name(device.name),
            memory_bytes=_possible(device.memory),
            compute_capability=_capability(device),
            multiprocessors=_possible(device.multiprocessors),
        )
        for device in devices
    )


def _possible(count: int | None) -> int | None:
    """Return a device's count; zero and impossible values mean unknown."""
    return count if count is not None and 0 < count < MAX_COUNT else None


def _capability(device: _Device) -> str:
    if device.major is None or device.minor is None or device.warp not in (None, _NVIDIA_WARP):
        return ""
    return f"{device.major}.{device.minor}"
