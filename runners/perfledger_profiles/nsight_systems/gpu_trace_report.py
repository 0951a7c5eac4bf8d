"""Collects the rows of nsys's `cuda_gpu_trace` report: one per kernel, copy or memset.

The report has the timeline of each device, but neither steps nor the host.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from perfledger.profile import ProfiledDevice
from perfledger_profiles.nsight_systems.export_columns import Cell, NsysColumns
from perfledger_profiles.nsight_systems.report_tables import ReportRecord
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S, count_of
from perfledger_profiles.timeline.device_scopes import MAX_DEVICES
from perfledger_profiles.timeline.summarised_profile import MAX_VALUE, is_driver_copy
from perfledger_profiles.timeline.trace import CallKind, Trace

# "NVIDIA A100-SXM4-40GB (0)": the model and the device's number.
_DEVICE = re.compile(r"(.*?) ?\((\d{1,4})\)")
_COPY = re.compile(r"\[CUDA memcpy (\w)\w*?-?to-?(\w)\w*\]")
_MEMSET = re.compile(r"\[CUDA memset\]")
_SIDES = ("grdx", "grdy", "grdz", "blkx", "blky", "blkz", "reg/trd")


class GpuTimeline:
    """The growing trace of all devices, filled row by row."""

    def __init__(self) -> None:
        self._columns = NsysColumns({})
        self._numbers: dict[str, int] = {}
        self._models: dict[int, str] = {}

    def __bool__(self) -> bool:
        """Return whether there is any work."""
        return bool(self._numbers)

    def add(self, record: ReportRecord) -> bool:
        """Add the work of a row; return False if it has no time or no name."""
        start, seconds = record.value("start", "s"), record.value("duration", "s")
        name = record.text("name")
        if start is None or seconds is None or max(start, seconds) > MAX_VALUE or not name:
            return False
        start_ns, duration_ns = round(start * NS_PER_S), round(seconds * NS_PER_S)
        device = self._number(record.text("device"))
        stream, correlation = (count_of(record.text(title)) for title in ("strm", "corrid"))
        where = (start_ns, start_ns + duration_ns, device, stream, correlation, None)
        if not is_driver_copy(name):
            # Static and dynamic shared memory are rounded to a kilobyte, so they count as unknown.
            launch: Sequence[Cell] = [*(count_of(record.text(side)) for side in _SIDES), None, None]
            self._columns.add_work(CallKind.KERNEL, where, name, launch=launch)
            return True
        kind, size = CallKind.COPY, record.value("bytes", "B")
        if _MEMSET.fullmatch(name):
            kind, name = CallKind.MEMSET, "Memset (Device)"
        moved_bytes = None if size is None or size > MAX_VALUE else round(size)
        self._columns.add_work(kind, where, _copy_name(record, name), moved_bytes=moved_bytes)
        return True

    def trace(self, *, dropped: int, notes: Sequence[str]) -> Trace:
        """Return the trace."""
        names = [
            self._models.get(number, "") for number in range(max(self._models, default=-1) + 1)
        ]
        if len(self._models) == 1:  # a single device needs no number
            names = [*self._models.values()]
        devices = [ProfiledDevice(name=name) for name in names]
        trace = self._columns.trace(devices=devices, notes=notes)
        return replace(trace, dropped_events=trace.dropped_events + dropped)

    def _number(self, cell: str) -> int:
        """Return a device's number: as printed, else its place in row order."""
        if cell not in self._numbers:
            match = _DEVICE.fullmatch(cell)
            number = len(self._numbers) if match is None else int(match[2])
            self._numbers[cell] = number
            if cell and number < MAX_DEVICES:
                self._models[number] = clean_name(cell if match is None else match[1])
        return self._numbers[cell]


def _copy_name(record: ReportRecord, name: str) -> str:
    """Return the name that torch.profiler gives such a copy: "Memcpy HtoD (Pageable -> Device)"."""
    match = _COPY.fullmatch(name)
    if match is None:
        return name
    source, target = record.text("srcmemkd"), record.text("dstmemkd")
    direction = f"Memcpy {match[1].upper()}to{match[2].upper()}"
    return f"{direction} ({source} -> {target})" if source and target else direction
