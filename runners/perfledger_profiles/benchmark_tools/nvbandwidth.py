"""Reads the output of nvbandwidth: its text and its JSON (`--json`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger.profile import Profile, ProfiledDevice, ProfileReading
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import (
    document_of,
    documents_in,
    is_json,
    values_of,
)
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import TextFile, read_text
from perfledger_profiles.parsing.units import number_or_none
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "nvbandwidth"
BANDWIDTH = "copy_bw"
LATENCY = "copy_latency"

_TEST = re.compile(r"Running (\w{1,100})\.")
_DEVICE = re.compile(r"Device \d{1,4}: (.{1,200}?)(?: \([\w:.]{1,40}\))?$")
_UNITS = {"(GB/s)": (BANDWIDTH, "B/s", 1e9), "(ns)": (LATENCY, "s", 1e-9)}
# Printed where a device would copy to itself.
_NOT_MEASURED = "N/A"


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The values that a test measured between its rows and columns: numbers of devices or hosts."""

    test: str
    description: str
    rows: Sequence[Sequence[str]]


def read_nvbandwidth(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the bandwidths and latencies of copies; the subject is test, row and column.

    Raises ProfileError if the file has none.
    """
    read = read_text(data)
    matrices = list(_of_json(read) if is_json(read) else _of_text(read.lines))
    readings = [reading for matrix in matrices for reading in _readings(matrix)]
    if not readings:
        msg = "this file has no measurement of nvbandwidth: give its output, or that of --json"
        raise ProfileError(msg)
    names = [match[1] for line in read.lines if (match := _DEVICE.fullmatch(line.strip()))]
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        device=ProfiledDevice(name=clean_name(names[0]), count=len(names)) if names else None,
        notes=read.notes,
    )


def _of_text(lines: Sequence[str]) -> Iterator[_Matrix]:
    """Yield the matrices: the test, what it measures, the numbers of the columns, the rows."""
    test = ""
    for number, line in enumerate(lines):
        match = _TEST.match(line.strip())
        if match:
            test = match[1]
        elif test and any(unit in line for unit in _UNITS):
            yield _Matrix(test, line, _rows(lines, number + 1))


def _rows(lines: Sequence[str], first: int) -> list[list[str]]:
    """Return the cells under the line of column numbers, without the row numbers."""
    columns = len(lines[first].split()) if first < len(lines) else 0
    rows: list[list[str]] = []
    for line in lines[first + 1 :]:
        cells = line.split()
        if not columns or len(cells) != columns + 1 or not cells[0].isdigit():
            break
        rows.append(cells[1:])
    return rows


def _of_json(read: TextFile) -> Iterator[_Matrix]:
    for document in documents_in(read).documents:
        for value in values_of(document_of(document.get("nvbandwidth")).get("testcases")):
            case = document_of(value)
            rows = [
                [str(cell) for cell in values_of(row)]
                for row in values_of(case.get("bandwidth_matrix"))
            ]
            yield _Matrix(str(case.get("name")), str(case.get("bandwidth_description")), rows)


def _readings(matrix: _Matrix) -> Iterator[ProfileReading]:
    measure = next((_UNITS[unit] for unit in _UNITS if unit in matrix.description), None)
    if measure is None:
        return
    name, unit, factor = measure
    for row, cells in enumerate(matrix.rows):
        for column, cell in enumerate(cells):
            value = None if cell == _NOT_MEASURED else number_or_none(cell)
            if value is not None and value > 0:
                yield ProfileReading(
                    name=name,
                    value=value * factor,
                    unit=unit,
                    subject=clean_name(f"{matrix.test} row {row} column {column}"),
                    source=clean_name(matrix.description),
                )
