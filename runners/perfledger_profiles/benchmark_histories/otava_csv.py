"""Reads the CSV files that Apache Otava analyses: a row for each commit, a column for a metric."""

import csv
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO

from perfledger_profiles.benchmark_histories.history_text import MAX_HISTORY_VALUES, HistoryText
from perfledger_profiles.benchmark_histories.json_object import LARGEST_TIME
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)

# Names for Otava's `time_column` and for commits in its documentation and examples.
TIME_COLUMNS = ("time", "timestamp", "date")
COMMIT_COLUMNS = ("commit", "git_commit", "sha", "revision", "hash")
BRANCH_COLUMN = "branch"
_GAPS = frozenset({"", "nan", "null", "none"})


def is_otava_csv(file: HistoryText) -> bool:
    """Return whether this is a CSV with a time column and several columns of numbers."""
    header, first = _head(file.text)
    named = {name.lower() for name in header}
    if file.documents or len(set(header)) < len(header) or not named & set(TIME_COLUMNS):
        return False
    numbers = [name for name, cell in zip(header, first, strict=False) if is_number_cell(cell)]
    return (
        len([name for name in numbers if name.lower() not in (*TIME_COLUMNS, *COMMIT_COLUMNS)]) > 1
    )


def read_otava_csv(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the values of all number columns, in the order of the rows.

    Units and directions are in Otava's own configuration and unknown here. The time is the point's.
    """
    header, first = _head(file.text)
    if file.text.count(",") > MAX_HISTORY_VALUES:
        msg = f"{file.source} has more than {MAX_HISTORY_VALUES:,} cells: keep fewer columns"
        raise HistoryFileError(msg)
    times = [place for place, name in enumerate(header) if name.lower() in TIME_COLUMNS]
    commits = [place for place, name in enumerate(header) if name.lower() in COMMIT_COLUMNS]
    if not times or not first:
        msg = (
            f"{file.source} has no column {' or '.join(TIME_COLUMNS)}, or no row: add Otava's time"
        )
        raise HistoryFileError(msg)
    metrics = [
        place
        for place, cell in enumerate(first[: len(header)])
        if place not in times
        and place not in commits
        and (is_number_cell(cell) or cell.strip().lower() in _GAPS)
    ]
    branches = [place for place, name in enumerate(header) if name.lower() == BRANCH_COLUMN]
    names: set[str] = set()
    for number, row in enumerate(rows_of(file), start=1):
        where = f"{file.source}, row {number}"
        if len(row) != len(header):
            msg = f"{where}: {len(row)} cells where the first line has {len(header)}"
            raise HistoryFileError(msg)
        names |= {row[place] for place in branches}
        if len(names) > 1:
            msg = f"{where}: there are several branches: keep the rows of one"
            raise HistoryFileError(msg)
        time = time_in(row[times[0]], where)
        for place in metrics:
            yield BenchmarkResult(
                benchmark=header[place],
                metric="value",
                value=number_in(row[place], f"{where}, column {header[place][:40]!r}"),
                commit=row[commits[0]].strip() if commits else "",
                time=time,
                place=float(number),
            )


def _head(text: str) -> tuple[list[str], list[str]]:
    """Return a CSV's header and first row; empty lists if there are none."""
    lines = text.lstrip().split("\n", 2)[:2]
    rows = [cells_of(line) for line in lines]
    return ([name.strip() for name in rows[0]], rows[1]) if len(rows) > 1 else ([], [])


def cells_of(line: str, *, delimiter: str = ",") -> list[str]:
    """Return the cells of one line; none if the line is too long for csv."""
    try:
        return next(csv.reader([line], delimiter=delimiter), list[str]())
    except csv.Error:
        return []


def rows_of(file: HistoryText, *, delimiter: str = ",") -> Iterator[Sequence[str]]:
    """Yield the rows after the header; raise HistoryFileError for an unclosed quote."""
    text = StringIO(file.text.lstrip(), newline="")
    reader = csv.reader(text, strict=True, delimiter=delimiter)
    try:
        next(reader, None)
        yield from (row for row in reader if row)
    except csv.Error as error:
        msg = f"{file.source}, line {reader.line_num}: {error}. Correct the quoting."
        raise HistoryFileError(msg) from error


def is_number_cell(cell: str) -> bool:
    """Return whether a cell is a finite number."""
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def number_in(cell: str, where: str) -> float:
    """Return the number in a cell, or NaN for a gap; raise HistoryFileError for anything else."""
    if cell.strip().lower() in _GAPS:
        return math.nan
    if not is_number_cell(cell):
        msg = f"{where} has no number: write one, or leave the cell empty"
        raise HistoryFileError(msg)
    return float(cell)


def _moment(text: str) -> datetime:
    """Parse a time in ISO 8601 or in the form of Otava's examples; raise ValueError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = datetime.strptime(text, "%Y.%m.%d %H:%M:%S %z")
    return moment.replace(tzinfo=moment.tzinfo or UTC)


def time_in(cell: str, where: str) -> float:
    """Return a cell's time in seconds since the epoch; raise HistoryFileError if it has none."""
    text = cell.strip()
    try:
        seconds = float(text) if is_number_cell(text) else _moment(text).timestamp()
    except (ValueError, OverflowError):
        seconds = math.inf
    if abs(seconds) > LARGEST_TIME:
        msg = (
            f"{where} has no time such as 2026-11-23T17:30:00Z or seconds since 1970: write one, "
            "or choose a column of values with --column"
        )
        raise HistoryFileError(msg)
    return seconds
