"""Reads the CSV files that Apache Otava analyses: a row for each commit, a column for a metric."""

import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain

from perfledger_profiles.benchmark_histories.json_object import MAX_TIME
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)
from perfledger_profiles.benchmark_histories.text import MAX_HISTORY_VALUES, HistoryText
from perfledger_profiles.parsing.text_table import TextTable, is_number, number_problem, read_table

# Names for Otava's `time_column` and for commits in its documentation and examples.
TIME_COLUMNS = ("time", "timestamp", "date")
COMMIT_COLUMNS = ("commit", "git_commit", "sha", "revision", "hash")
BRANCH_COLUMN = "branch"
_GAPS = frozenset({"", "nan", "null", "none"})


def is_otava_csv(file: HistoryText) -> bool:
    """Return whether this is a CSV with a time column and several columns of numbers."""
    if file.documents:
        return False
    with suppress(HistoryFileError):
        table = _table(file)
        _, first = next(table.rows, (0, list[str]()))
        names = [name.lower() for name in table.header]
        numbers = [name for name, cell in zip(names, first, strict=False) if is_number(cell)]
        has_time = not set(names).isdisjoint(TIME_COLUMNS)
        return has_time and len(set(numbers).difference(TIME_COLUMNS, COMMIT_COLUMNS)) > 1
    return False


def read_otava_csv(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the values of all number columns, in the order of the rows.

    Units and directions are in Otava's own configuration and unknown here. The time is the point's.
    """
    table = _table(file)
    header = table.header
    start = next(table.rows, None)
    times = [index for index, name in enumerate(header) if name.lower() in TIME_COLUMNS]
    commits = [index for index, name in enumerate(header) if name.lower() in COMMIT_COLUMNS]
    if not times or start is None:
        msg = (
            f"{file.source} has no column {' or '.join(TIME_COLUMNS)}, or no row: add Otava's time"
        )
        raise HistoryFileError(msg)
    metrics = [
        index
        for index, cell in enumerate(start[1])
        if index not in times
        and index not in commits
        and (is_number(cell) or cell.strip().lower() in _GAPS)
    ]
    branches = [index for index, name in enumerate(header) if name.lower() == BRANCH_COLUMN]
    names: set[str] = set()
    for number, (line, row) in enumerate(chain([start], table.rows), start=1):
        where = f"{file.source}, line {line}"
        if number * len(header) > MAX_HISTORY_VALUES:
            msg = f"{file.source} has more than {MAX_HISTORY_VALUES:,} cells: keep fewer columns"
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


def _table(file: HistoryText) -> TextTable:
    return read_table(file.text, file.source, error=HistoryFileError)


def number_in(cell: str, where: str) -> float:
    """Return the number in a cell, or NaN for a gap; raise HistoryFileError for anything else."""
    if cell.strip().lower() in _GAPS:
        return math.nan
    if not is_number(cell):
        otherwise = "has no number: write one, or leave the cell empty"
        msg = f"{where} {number_problem(cell, otherwise=otherwise)}"
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
        seconds = float(text) if is_number(text) else _moment(text).timestamp()
    except (ValueError, OverflowError):
        seconds = math.inf
    if abs(seconds) > MAX_TIME:
        msg = (
            f"{where} has no time such as 2026-11-23T17:30:00Z or seconds since 1970: write one, "
            "or choose a column of values with --column"
        )
        raise HistoryFileError(msg)
    return seconds
