"""Turn what `nsys stats --format csv` prints into the rows of its reports."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from perfledger_profiles.quantity import Scale, number_of, scale_of, title_and_unit
from perfledger_profiles.tables import rows_of


class Report(StrEnum):
    """One report of nsys, by its name since 2022.4."""

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
class Column:
    """Where a column is, and what makes its numbers SI values; None for an unknown unit."""

    index: int
    scale: Scale | None


@dataclass(frozen=True, slots=True)
class Head:
    """What is over the rows of a report; `width` is how many cells each has."""

    report: Report
    columns: Mapping[str, Column]
    width: int


class Record(NamedTuple):
    """One row of a report; a tuple, for there may be a million of them."""

    report: Report
    columns: Mapping[str, Column]
    cells: Sequence[str]

    def text(self, column: str) -> str:
        """Return a cell as it is printed, "" where there is no such column."""
        found = self.columns.get(column)
        return self.cells[found.index].strip() if found else ""

    def value(self, column: str, unit: str = "1") -> float | None:
        """Return a cell in SI units, None where there is no number in this unit or below zero."""
        found = self.columns.get(column)
        if found is None or found.scale is None or found.scale.unit != unit:
            return None
        number = number_of(self.cells[found.index])
        return None if number is None or number < 0 else number * found.scale.factor


# The columns that tell a report, in the order in which they are tried: the last two have few.
_TELLING = (
    (Report.GPU_TRACE, {"start", "duration", "corrid", "grdx", "name"}),
    (Report.LAUNCHES, {"count", "kavg", "kernel name"}),
    (Report.PROJECTED_RANGES, {"range", "total proj time"}),
    (Report.RANGES, {"range", "total time", "instances"}),
    (Report.COPY_TIMES, {"total time", "count", "operation"}),
    (Report.COPY_SIZES, {"total", "count", "operation"}),
    (Report.API, {"total time", "num calls", "name"}),
    (Report.KERNELS, {"total time", "instances", "name"}),
)
# Names of columns before 2021.4.
_RENAMED = {"operations": "count"}
# `osrt_sum` has the columns of `cuda_api_sum`: the line before it, or else its functions, tell.
_OS_RUNTIME = re.compile(r"osrt_?sum|OS Runtime Summary", re.IGNORECASE)
_API = re.compile(r"cuda_?api_?sum|CUDA API Summary", re.IGNORECASE)
_CUDA_FUNCTION = re.compile(r"cu(?:da)?[A-Z]\w*")


def records_of(lines: Sequence[str]) -> Iterator[Record | None]:
    """Yield the rows of all reports in the text, and None for a row that is torn.

    What is printed around the reports is skipped.
    """
    head: Head | None = None
    said: Report | None = None
    for cells in rows_of(lines):
        if cells is None:
            yield None
            continue
        if len(cells) > 1 and _has_numbers(cells):
            if head is not None:
                yield _record(head, cells, said)
            continue
        found = head_of(cells)
        if found is not None:
            head = found
        elif len(cells) > 1 or not _has_numbers(cells):
            # Printed between reports, or the head of a report that is not read.
            head, said = None, _said(cells) or said
        elif head is not None:
            yield None


def head_of(cells: Sequence[str]) -> Head | None:
    """Return what these cells are the head of, None where they are not one."""
    columns: dict[str, Column] = {}
    for index, cell in enumerate(cells):
        title = title_and_unit(cell.strip().removeprefix("\ufeff"))
        if title is None:
            return None
        name = title[0].casefold()
        columns.setdefault(_RENAMED.get(name, name), Column(index, scale_of(title[1])))
    for report, telling in _TELLING:
        if telling <= columns.keys():
            return Head(report, columns, len(cells))
    return None


def _has_numbers(cells: Sequence[str]) -> bool:
    return any(cell.strip()[:1].isdecimal() for cell in cells)


def _said(cells: Sequence[str]) -> Report | None:
    """Return which of the two like reports a line announces."""
    line = cells[0] if len(cells) == 1 else ""
    if _OS_RUNTIME.search(line):
        return Report.OS_RUNTIME
    return Report.API if _API.search(line) else None


def _record(head: Head, cells: Sequence[str], said: Report | None) -> Record | None:
    if len(cells) < head.width:
        return None
    if len(cells) > head.width:  # an unquoted name with commas; it is the last column
        cells = [*cells[: head.width - 1], ",".join(cells[head.width - 1 :])]
    record = Record(head.report, head.columns, cells)
    if head.report is Report.API and not _is_api(record, said):
        return record._replace(report=Report.OS_RUNTIME)
    return record


def _is_api(record: Record, said: Report | None) -> bool:
    if said is not None:
        return said is Report.API
    return _CUDA_FUNCTION.match(record.text("name")) is not None
