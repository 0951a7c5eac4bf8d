"""Turn the CSV reports of `nsys stats` into a Profile of kernels and figures, without steps."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from perfledger.profile import Kernel, Profile, Reading
from perfledger.records import Side
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.family import family_of, is_tensor_kernel
from perfledger_profiles.nsys_tables import Record, Report, records_of
from perfledger_profiles.nsys_trace import (
    Work,
    busy_readings,
    traced_device,
    traced_kernels,
    work_of,
)
from perfledger_profiles.quantity import launch_shape
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import is_driver_copy, summary_profile
from perfledger_profiles.text_file import read_text

TOOL = "nsys"
# The largest traces that were seen have two million rows; each takes half a kilobyte here.
MAX_ROWS = 3_000_000
TOO_MANY_ROWS = f"only the first {MAX_ROWS} rows are read"

# Direction of a copy, by its name in reports since 2023 and before.
_COPIES = (
    ("h2d", re.compile(r"Host-to-Device|HtoD")),
    ("d2h", re.compile(r"Device-to-Host|DtoH")),
    ("d2d", re.compile(r"Device-to-Device|DtoD")),
    ("p2p", re.compile(r"Peer-to-Peer|PtoP")),
    ("memset", re.compile(r"memset", re.IGNORECASE)),
)

_Rows = Mapping[Report, Sequence[Record]]


def read_nsys_stats(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return what the reports in a text say, one of them or several after another.

    Kernels are taken from the most detailed report: `cuda_gpu_trace`, else `cuda_gpu_kern_sum`,
    else `cuda_kern_exec_sum`. Functions and ranges are readings with their name as the subject.
    Raises ProfileError when no report is in the file.
    """
    read = read_text(data)
    rows: dict[Report, list[Record]] = defaultdict(list)
    work: list[Work] = []
    dropped = seen = 0
    for record in records_of(read.lines):
        one = work_of(record) if record and record.report is Report.GPU_TRACE else None
        seen += 1
        if seen > MAX_ROWS:
            break
        if one is not None:
            work.append(one)
        elif record is None or record.report is Report.GPU_TRACE:
            dropped += 1
        else:
            rows[record.report].append(record)
    if not rows and not work:
        msg = "no report of nsys is in this file: is it what `nsys stats --format csv` printed?"
        raise ProfileError(msg)
    kernels, broken = _kernels(rows, work)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        kernels=kernels,
        readings=[*busy_readings(work), *_copies(rows, work, kernels), *_named(rows)],
        device=traced_device(work),
        dropped=dropped + broken,
        notes=(*read.notes, *((TOO_MANY_ROWS,) if seen > MAX_ROWS else ())),
    )


def _kernels(rows: _Rows, work: Sequence[Work]) -> tuple[Sequence[Kernel], int]:
    """Return the kernels and copies, and how many rows say nothing."""
    if work:
        return traced_kernels(work), 0
    read: Callable[[Record], Kernel | None] = _summed
    records = rows.get(Report.KERNELS, ())
    if not records:
        read, records = _executed, rows.get(Report.LAUNCHES, ())
    copies = [_copied(record) for record in rows.get(Report.COPY_TIMES, ())]
    found = [*(read(record) for record in records), *copies]
    kernels = [kernel for kernel in found if kernel is not None]
    return kernels, len(found) - len(kernels)


def _summed(record: Record) -> Kernel | None:
    return _kernel(record, "name", record.value("total time", "s"), record.value("instances"))


def _copied(record: Record) -> Kernel | None:
    return _kernel(record, "operation", record.value("total time", "s"), record.value("count"))


def _executed(record: Record) -> Kernel | None:
    mean, count = record.value("kavg", "s"), record.value("count")
    total = None if mean is None or count is None else mean * count
    return _kernel(record, "kernel name", total, count)


def _kernel(
    record: Record, column: str, seconds: float | None, count: float | None
) -> Kernel | None:
    name = record.text(column)
    if seconds is None or count is None or not name:
        return None
    shown = clean_name(name)
    return Kernel(
        name=shown,
        family=family_of(shown),
        seconds=seconds,
        count=count,
        grid=launch_shape(record.text("gridxyz").split()),
        block=launch_shape(record.text("blockxyz").split()),
        is_tensor=is_tensor_kernel(shown),
    )


def _copies(rows: _Rows, work: Sequence[Work], kernels: Sequence[Kernel]) -> Iterator[Reading]:
    """Yield the time, bytes and bandwidth of each direction."""
    seconds: dict[str, float] = defaultdict(float)
    for kernel in kernels:
        if is_driver_copy(kernel.name):
            seconds[_direction(kernel.name)] += kernel.seconds
    sizes = _copied_bytes(rows, work)
    for direction in dict.fromkeys([*seconds, *sizes]):
        reading = partial(Reading, source="nsys")
        time, size = seconds.get(direction), sizes.get(direction)
        if time is not None:
            yield reading(name=f"{direction}_time", value=time, unit="s")
        if size is not None:
            yield reading(name=f"{direction}_bytes", value=size, unit="B")
        if time and size:
            yield reading(name=f"{direction}_bw", value=size / time, unit="B/s")


def _copied_bytes(rows: _Rows, work: Sequence[Work]) -> Mapping[str, float]:
    sizes: dict[str, float] = defaultdict(float)
    for one in work:
        if one.bytes is not None:
            sizes[_direction(one.name)] += one.bytes
    for record in rows.get(Report.COPY_SIZES, ()) if not work else ():
        size = record.value("total", "B")
        if size is not None:
            sizes[_direction(record.text("operation"))] += size
    return sizes


def _direction(name: str) -> str:
    return next((word for word, pattern in _COPIES if pattern.search(name)), "other_copy")


def _named(rows: _Rows) -> Iterator[Reading]:
    """Yield what functions and ranges took, by name."""
    for report, column, name, time, count in (
        (Report.API, "name", "host_api", "total time", "num calls"),
        (Report.OS_RUNTIME, "name", "os_runtime", "total time", "num calls"),
        (Report.RANGES, "range", "range", "total time", "instances"),
        (Report.PROJECTED_RANGES, "range", "range_device", "total proj time", "range instances"),
    ):
        for record in rows.get(report, ()):
            subject = clean_name(record.text(column).removeprefix(":"))
            source = f"nsys {report}"
            seconds, calls = record.value(time, "s"), record.value(count)
            if seconds is not None:
                yield Reading(
                    name=f"{name}_time", value=seconds, unit="s", subject=subject, source=source
                )
            if calls is not None:
                yield Reading(name=f"{name}_calls", value=calls, subject=subject, source=source)
    yield from _delays(rows.get(Report.LAUNCHES, ()))


def _delays(records: Sequence[Record]) -> Iterator[Reading]:
    """Yield how long kernels waited for their device after they had been launched.

    A kernel that several threads or functions launch has a row for each: means are weighted, and
    there is no median of medians.
    """
    by_kernel: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_kernel[clean_name(record.text("kernel name"))].append(record)
    for kernel, mine in by_kernel.items():
        reading = partial(Reading, unit="s", subject=kernel, source=f"nsys {Report.LAUNCHES}")
        for name, column, count in (
            ("launch_delay_mean", "qavg", "qcount"),
            ("launch_time_mean", "aavg", "count"),
        ):
            mean = _weighted(mine, column, count)
            if mean is not None:
                yield reading(name=name, value=mean)
        middle = mine[0].value("qmed", "s") if len(mine) == 1 else None
        if middle is not None:
            yield reading(name="launch_delay_p50", value=middle)


def _weighted(records: Sequence[Record], column: str, count: str) -> float | None:
    pairs = [(record.value(column, "s"), record.value(count)) for record in records]
    known = [(value, calls) for value, calls in pairs if value is not None and calls]
    calls = sum(calls for _, calls in known)
    return sum(value * calls for value, calls in known) / calls if calls else None
