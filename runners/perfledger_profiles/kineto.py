"""Turn a torch.profiler Chrome trace into a Trace, and that into a Profile."""

from pathlib import Path

import msgspec

from perfledger.profile import Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.chrome import UNREADABLE, Header, read_batches
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.explained import profile_of
from perfledger_profiles.kineto_columns import KinetoColumns
from perfledger_profiles.redact import clean_name
from perfledger_profiles.trace import MAX_COUNT, Trace

# JAX and TensorFlow write a Chrome trace for viewers beside their own file.
_NO_CALLS = (
    "no call in this Chrome trace is one of torch.profiler's: of jax.profiler give the .xplane.pb "
    "that lies beside its trace.json.gz"
)
# AMD's wavefronts are 64 wide, and its "capability" is no NVIDIA generation's.
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


def read_kineto(source: bytes | Path, *, workload: str, side: Side) -> Profile:
    """Return the mean step of a torch.profiler trace, gzip-packed or plain.

    Events that cannot be used are counted in `dropped_events`. Raises ProfileError when the file is
    not such a trace, is too large or holds no step with a length.
    """
    trace = read_kineto_trace(source)
    if trace.name.size == 0 and trace.dropped_events == 0:
        raise ProfileError(_NO_CALLS)
    return profile_of(trace, workload=workload, side=side)


def read_kineto_trace(source: bytes | Path) -> Trace:
    """Return the calls of a torch.profiler trace, gzip-packed or plain.

    Raises ProfileError when the file is not such a trace or is too large.
    """
    columns = KinetoColumns()
    header = Header()
    dropped = 0
    notes: tuple[str, ...] = ()
    for batch in read_batches(source):
        columns.add(batch.events)
        header = _joined(header, batch.header or header)
        dropped += batch.dropped
        notes = (*notes, *batch.notes)
    distributed = _distributed(header)
    return columns.trace(
        devices=_devices(header),
        rank=distributed.rank,
        backend=distributed.backend,
        dropped_events=dropped,
        notes=notes,
    )


def _joined(header: Header, more: Header) -> Header:
    """Return both: the keys beside the events may be before and behind them."""
    return Header(
        devices=more.devices or header.devices, distributed=more.distributed or header.distributed
    )


def _distributed(header: Header) -> _Distributed:
    try:
        return msgspec.json.decode(header.distributed, type=_Distributed)
    except UNREADABLE:
        return _Distributed()


def _devices(header: Header) -> tuple[ProfiledDevice, ...]:
    try:
        found = msgspec.json.decode(header.devices, type=list[_Device])
    except UNREADABLE:
        return ()
    return tuple(
        ProfiledDevice(
            name=clean_name(device.name),
            memory_bytes=_possible(device.memory),
            compute_capability=_capability(device),
            multiprocessors=_possible(device.multiprocessors),
        )
        for device in found
    )


def _possible(count: int | None) -> int | None:
    """Return a count of what a device has; zero and what fits no counter say that it is unknown."""
    return count if count is not None and 0 < count < MAX_COUNT else None


def _capability(device: _Device) -> str:
    if device.major is None or device.minor is None or device.warp not in (None, _NVIDIA_WARP):
        return ""
    return f"{device.major}.{device.minor}"
