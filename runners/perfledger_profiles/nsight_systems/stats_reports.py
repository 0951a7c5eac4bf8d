"""Reads the reports of `nsys stats`: tables of sums, and the timeline of `cuda_gpu_trace`."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from perfledger.profile import Kernel, Profile, ProfileReading
from perfledger.records import Side
from perfledger_profiles.nsight_systems.export_columns import TOOL, range_name
from perfledger_profiles.nsight_systems.gpu_trace_report import GpuTimeline
from perfledger_profiles.nsight_systems.report_tables import (
    NsysReport,
    ReportColumn,
    ReportRecord,
    records_of,
)
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import launch_shape
from perfledger_profiles.timeline.profile_builder import build_profile
from perfledger_profiles.timeline.summarised_profile import is_driver_copy, summary_profile
from perfledger_profiles.timeline.trace import Trace

# The largest traces seen so far have two million rows; each takes half a kilobyte here.
MAX_ROWS = 3_000_000
TOO_MANY_ROWS = f"only the first {MAX_ROWS} rows are read"
FIRST_RUN = "several runs are in one file, and only the first is read ({}): give one file per run"

# The direction of a copy by its name, in reports before 2023 and since.
_COPIES = (
    ("h2d", re.compile(r"Host-to-Device|HtoD")),
    ("d2h", re.compile(r"Device-to-Host|DtoH")),
    ("d2d", re.compile(r"Device-to-Device|DtoD")),
    ("p2p", re.compile(r"Peer-to-Peer|PtoP")),
    ("memset", re.compile(r"memset", re.IGNORECASE)),
)

_NO_CHOICE = "sums have no timeline of devices to choose from: leave out --device-number and --rank"
_NO_TIMELINE = (
    "sums have no timeline to export: record a trace (nsys stats -r cuda_gpu_trace) instead"
)

_Rows = Mapping[NsysReport, Sequence[ReportRecord]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reports:
    """The rows of the summary reports, and the timeline; torn rows are counted."""

    rows: _Rows
    timeline: GpuTimeline
    dropped: int
    notes: tuple[str, ...]

    def trace(self) -> Trace:
        """Return the trace of the timeline."""
        return self.timeline.trace(dropped=self.dropped, notes=self.notes)


def read_nsys_stats(
    data: bytes, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the profile of one report or of several in a row.

    Kernels come from the most detailed report: `cuda_gpu_trace`, which is a timeline, else
    `cuda_gpu_kern_sum`, else `cuda_kern_exec_sum`. Functions and ranges are readings; the subject
    is their name. Raises ProfileError if the file has no report, or nothing of the choice.
    """
    reports = _reports(data)
    if reports.timeline:
        profile = build_profile(reports.trace(), workload=workload, side=side, choice=choice)
        return replace(profile, readings=(*profile.readings, *_named_readings(reports.rows)))
    if not choice.is_any:
        raise ProfileError(_NO_CHOICE)
    kernels, broken = _kernels(reports.rows)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        kernels=kernels,
        readings=[*_copies(reports.rows, kernels), *_named_readings(reports.rows)],
        dropped=reports.dropped + broken,
        notes=reports.notes,
    )


def read_nsys_stats_trace(data: bytes) -> Trace:
    """Return the trace in a `cuda_gpu_trace` report. Raises ProfileError for other reports."""
    reports = _reports(data)
    if reports.timeline:
        return reports.trace()
    raise ProfileError(_NO_TIMELINE)


def _reports(data: bytes) -> _Reports:
    read = read_text(data)
    rows: dict[NsysReport, list[ReportRecord]] = defaultdict(list)
    timeline = GpuTimeline()
    first_tables: dict[NsysReport, Mapping[str, ReportColumn]] = {}
    later_tables: dict[NsysReport, None] = {}
    dropped = row_count = 0
    for record in records_of(read.lines):
        row_count += 1
        if row_count > MAX_ROWS:
            break
        if record is None:
            dropped += 1
        elif first_tables.setdefault(record.report, record.columns) is not record.columns:
            later_tables[record.report] = None
        elif record.report is NsysReport.GPU_TRACE:
            dropped += not timeline.add(record)
        else:
            rows[record.report].append(record)
    if not rows and not timeline:
        msg = "this file has no report of nsys: give the output of `nsys stats`"
        raise ProfileError(msg)
    notes = [*read.notes, *([FIRST_RUN.format(", ".join(later_tables))] if later_tables else [])]
    notes += [TOO_MANY_ROWS] if row_count > MAX_ROWS else []
    return _Reports(rows=rows, timeline=timeline, dropped=dropped, notes=tuple(notes))


def _kernels(rows: _Rows) -> tuple[Sequence[Kernel], int]:
    """Return the kernels and copies, and the number of unusable rows."""
    read: Callable[[ReportRecord], Kernel | None] = _kernel_of_summary
    records = rows.get(NsysReport.KERNELS, ())
    if not records:
        read, records = _kernel_of_launches, rows.get(NsysReport.LAUNCHES, ())
    copies = [_kernel_of_copies(record) for record in rows.get(NsysReport.COPY_TIMES, ())]
    parsed = [*(read(record) for record in records), *copies]
    kernels = [kernel for kernel in parsed if kernel is not None]
    return kernels, len(parsed) - len(kernels)


def _kernel_of_summary(record: ReportRecord) -> Kernel | None:
    return _kernel(record, "name", record.value("total time", "s"), record.value("instances"))


def _kernel_of_copies(record: ReportRecord) -> Kernel | None:
    return _kernel(record, "operation", record.value("total time", "s"), record.value("count"))


def _kernel_of_launches(record: ReportRecord) -> Kernel | None:
    mean, count = record.value("kavg", "s"), record.value("count")
    total = None if mean is None or count is None else mean * count
    return _kernel(record, "kernel name", total, count)


def _kernel(
    record: ReportRecord, column: str, seconds: float | None, count: float | None
) -> Kernel | None:
    name = record.text(column)
    if seconds is None or count is None or not name:
        return None
    clean = clean_name(name)
    return Kernel(
        name=clean,
        family=family_of(clean),
        seconds=seconds,
        count=count,
        grid=launch_shape(record.text("gridxyz").split()),
        block=launch_shape(record.text("blockxyz").split()),
        is_tensor=is_tensor_kernel(clean),
    )


def _copies(rows: _Rows, kernels: Sequence[Kernel]) -> Iterator[ProfileReading]:
    """Yield the time, bytes and bandwidth of each direction."""
    seconds: dict[str, float] = defaultdict(float)
    for kernel in kernels:
        if is_driver_copy(kernel.name):
            seconds[_direction(kernel.name)] += kernel.seconds
    sizes = _copied_bytes(rows)
    for direction in dict.fromkeys([*seconds, *sizes]):
        reading = partial(ProfileReading, source="nsys")
        time, size = seconds.get(direction), sizes.get(direction)
        if time is not None:
            yield reading(name=f"{direction}_time", value=time, unit="s")
        if size is not None:
            yield reading(name=f"{direction}_bytes", value=size, unit="B")
        if time and size:
            yield reading(name=f"{direction}_bw", value=size / time, unit="B/s")


def _copied_bytes(rows: _Rows) -> Mapping[str, float]:
    sizes: dict[str, float] = defaultdict(float)
    for record in rows.get(NsysReport.COPY_SIZES, ()):
        size = record.value("total", "B")
        if size:  # a few bytes are printed as 0.000 MB
            sizes[_direction(record.text("operation"))] += size
    return sizes


def _direction(name: str) -> str:
    return next((word for word, pattern in _COPIES if pattern.search(name)), "other_copy")


def _named_readings(rows: _Rows) -> Iterator[ProfileReading]:
    """Yield the time of functions and ranges by name, with the calls of one name in sum."""
    for report, column, name, time, count in (
        (NsysReport.API, "name", "host_api", "total time", "num calls"),
        (NsysReport.OS_RUNTIME, "name", "os_runtime", "total time", "num calls"),
        (NsysReport.RANGES, "range", "range", "total time", "instances"),
        (
            NsysReport.PROJECTED_RANGES,
            "range",
            "range_device",
            "total proj time",
            "range instances",
        ),
    ):
        seconds: dict[str, float] = defaultdict(float)
        calls: dict[str, float] = defaultdict(float)
        for record in rows.get(report, ()):
            subject = clean_name(range_name(record.text(column).removeprefix(":")))
            for totals, value in (
                (seconds, record.value(time, "s")),
                (calls, record.value(count)),
            ):
                if value is not None:
                    totals[subject] += value
        source = f"nsys {report}"
        for subject in dict.fromkeys([*seconds, *calls]):
            reading = partial(ProfileReading, subject=subject, source=source)
            if subject in seconds:
                yield reading(name=f"{name}_time", value=seconds[subject], unit="s")
            if subject in calls:
                yield reading(name=f"{name}_calls", value=calls[subject])
    yield from _delays(rows.get(NsysReport.LAUNCHES, ()))


def _delays(records: Sequence[ReportRecord]) -> Iterator[ProfileReading]:
    """Yield how long kernels wait for their device after the launch.

    A kernel launched by several threads or functions has several rows: means are weighted, and a
    median of medians is not computed.
    """
    by_kernel: dict[str, list[ReportRecord]] = defaultdict(list)
    for record in records:
        by_kernel[clean_name(record.text("kernel name"))].append(record)
    for kernel, mine in by_kernel.items():
        reading = partial(
            ProfileReading, unit="s", subject=kernel, source=f"nsys {NsysReport.LAUNCHES}"
        )
        for name, column, count in (
            ("launch_delay_mean", "qavg", "qcount"),
            ("launch_time_mean", "aavg", "count"),
        ):
            mean = _weighted_mean(mine, column, count)
            if mean is not None:
                yield reading(name=name, value=mean)
        middle = mine[0].value("qmed", "s") if len(mine) == 1 else None
        if middle is not None:
            yield reading(name="launch_delay_p50", value=middle)


def _weighted_mean(records: Sequence[ReportRecord], column: str, count: str) -> float | None:
    pairs = [(record.value(column, "s"), record.value(count)) for record in records]
    known_pairs = [(value, calls) for value, calls in pairs if value is not None and calls]
    calls = sum(calls for _, calls in known_pairs)
    return sum(value * calls for value, calls in known_pairs) / calls if calls else None
