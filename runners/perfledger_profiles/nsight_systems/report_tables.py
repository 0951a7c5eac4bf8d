"""Splits the output of `nsys stats` into the rows of its reports."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from perfledger_profiles.nsight_systems.printed_tables import cells_of
from perfledger_profiles.parsing.units import UnitScale, number_or_none, scale_of, title_and_unit


class NsysReport(StrEnum):
    """The reports of nsys, by their names since 2022.4."""

    GPU_TRACE = "cuda_gpu_trace"
    LAUNCHES = "cuda_kern_exec_sum"
    PROJECTED_RANGES = "nvtx_gpu_proj_sum"
    RANGES = "nvtx_sum"
    COPY_TIMES = "cuda_gpu_mem_time_sum"
    COPY_SIZES = "cuda_gpu_mem_size_sum"
    API = "cuda_api_sum"
    OS_RUNTIME = "osrt_sum"
    KERNELS = "cuda_gpu_kern_sum"


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column's index, and its conversion to SI (None if the unit is unknown)."""

    index: int
    scale: UnitScale | None


@dataclass(frozen=True, slots=True)
class ReportHeader:
    """The header of a report; `width` is the number of cells per row."""

    report: NsysReport
    columns: Mapping[str, ReportColumn]
    width: int


class ReportRecord(NamedTuple):
    """One row of a report; a tuple, because there may be a million of them."""

    report: NsysReport
    columns: Mapping[str, ReportColumn]
    cells: Sequence[str]

    def text(self, column: str) -> str:
        """Return a cell's text, or "" if there is no such column."""
        header = self.columns.get(column)
        return self.cells[header.index].strip() if header else ""

    def value(self, column: str, unit: str = "1") -> float | None:
        """Return a cell in SI units, or None unless it is a number of at least 0 in this unit.

        The unit is in the title, or in the cell if Nsight Systems' window exported the table.
        """
        header = self.columns.get(column)
        if header is None:
            return None
        text, scale = self.cells[header.index].strip(), header.scale
        if scale is None or scale.unit != unit:
            text, _, own_unit = text.rpartition(" ")
            scale = scale_of(own_unit)
        if scale is None or scale.unit != unit:
            return None
        number = number_or_none(text)
        return None if number is None or number < 0 else number * scale.factor


# The columns that identify a report, in the order in which they are tried; those with few columns
# come last.
_REPORT_COLUMNS = (
    (NsysReport.GPU_TRACE, {"start", "duration", "corrid", "grdx", "name"}),
    (NsysReport.LAUNCHES, {"count", "kavg", "kernel name"}),
    (NsysReport.PROJECTED_RANGES, {"range", "total proj time"}),
    (NsysReport.RANGES, {"range", "total time", "instances"}),
    (NsysReport.COPY_TIMES, {"total time", "count", "operation"}),
    (NsysReport.COPY_SIZES, {"total", "count", "operation"}),
    (NsysReport.API, {"total time", "num calls", "name"}),
    (NsysReport.KERNELS, {"total time", "instances", "name"}),
)
# Names of the columns before 2021.4.
_RENAMED = {"operations": "count"}
# `osrt_sum` has the same columns as `cuda_api_sum`: the line before it decides, else its functions.
_OS_RUNTIME = re.compile(r"osrt_?sum|OS Runtime Summary", re.IGNORECASE)
_API = re.compile(r"cuda_?api_?sum|CUDA API Summary", re.IGNORECASE)
_CUDA_FUNCTION = re.compile(r"cu(?:da)?[A-Z]\w*")


def records_of(lines: Sequence[str]) -> Iterator[ReportRecord | None]:
    """Yield the rows of all reports in the text, with None for a torn row.

    Other output around the reports is skipped.
    """
    head: ReportHeader | None = None
    announced_report: NsysReport | None = None
    for cells in cells_of(lines):
        if cells is None:
            yield None
            continue
        if len(cells) > 1 and _has_numbers(cells):
            if head is not None:
                yield _record(head, cells, announced_report)
            continue
        next_head = header_of(cells)
        if next_head is not None:
            head = next_head
        elif len(cells) > 1 or not _has_numbers(cells):
            # Text between reports, or the header of a report that is not read.
            head, announced_report = None, _announced_report(cells) or announced_report
        elif head is not None:
            yield None


def header_of(cells: Sequence[str]) -> ReportHeader | None:
    """Return the header that these cells form, or None for other cells."""
    columns: dict[str, ReportColumn] = {}
    for index, cell in enumerate(cells):
        title = title_and_unit(cell.strip().removeprefix("\ufeff"))
        if title is None:
            return None
        name = title[0].casefold()
        columns.setdefault(_RENAMED.get(name, name), ReportColumn(index, scale_of(title[1])))
    for report, report_columns in _REPORT_COLUMNS:
        if report_columns <= columns.keys():
            return ReportHeader(report, columns, len(cells))
    return None


def _has_numbers(cells: Sequence[str]) -> bool:
    return any(cell.strip()[:1].isdecimal() for cell in cells)


def _announced_report(cells: Sequence[str]) -> NsysReport | None:
    """Return which of the two similar reports a line announces."""
    line = cells[0] if len(cells) == 1 else ""
    if _OS_RUNTIME.search(line):
        return NsysReport.OS_RUNTIME
    return NsysReport.API if _API.search(line) else None


def _record(
    head: ReportHeader, cells: Sequence[str], announced_report: NsysReport | None
) -> ReportRecord | None:
    if len(cells) < head.width:
        return None
    if len(cells) > head.width:  # an unquoted name with commas; it is the last column
        cells = [*cells[: head.width - 1], ",".join(cells[head.width - 1 :])]
    record = ReportRecord(head.report, head.columns, cells)
    if head.report is NsysReport.API and not _is_api(record, announced_report):
        return record._replace(report=NsysReport.OS_RUNTIME)
    return record


def _is_api(record: ReportRecord, announced_report: NsysReport | None) -> bool:
    if announced_report is not None:
        return announced_report is NsysReport.API
    return _CUDA_FUNCTION.match(record.text("name")) is not None
