"""Reads a CSV with one row per value: commit, time, metric, value, unit."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.otava_csv import (
    BRANCH_COLUMN,
    COMMIT_COLUMNS,
    TIME_COLUMNS,
    number_in,
    time_in,
)
from perfledger_profiles.benchmark_histories.result_units import base_unit
from perfledger_profiles.benchmark_histories.results import BenchmarkResult, HistoryFileError
from perfledger_profiles.benchmark_histories.text import MAX_HISTORY_VALUES, HistoryText
from perfledger_profiles.parsing.text_table import first_row, lower_name, read_table

METRIC, VALUE, UNIT, WORSE = "metric", "value", "unit", "worse"
BENCHMARK_COLUMNS = ("benchmark", "workload")
MACHINE = "machine"


def is_plain_csv(file: HistoryText) -> bool:
    """Return whether this is a CSV with the columns metric and value, and a commit or a time."""
    if file.documents:
        return False
    columns = list(map(lower_name, first_row(file.text)))
    has_point = not set(columns).isdisjoint((*COMMIT_COLUMNS, *TIME_COLUMNS))
    return has_point and columns.count(METRIC) == columns.count(VALUE) == 1


def read_plain_csv(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the values in the order of the rows, in base units.

    Several rows may name one commit. The rows give the commits' order if all series of the file
    agree on it; otherwise it is unknown. It is also unknown if times only go back, because the
    newest commit may come first. The time is when the value was measured.
    """
    table = read_table(file.text, file.source, error=HistoryFileError, name_of=lower_name)
    missing = [name for name in (METRIC, VALUE) if name not in table.header]
    if missing:
        msg = f"{file.source} has no column {' and no column '.join(missing)}: name it so"
        raise HistoryFileError(msg)
    results: list[BenchmarkResult] = []
    branches: set[str] = set()
    for number, (line, row) in enumerate(table.rows, start=1):
        where = f"{file.source}, line {line}"
        if number * len(row) > MAX_HISTORY_VALUES:
            msg = f"{file.source} has more than {MAX_HISTORY_VALUES:,} cells: give a shorter time"
            raise HistoryFileError(msg)
        cells = {name: cell.strip() for name, cell in zip(table.header, row, strict=True)}
        branches.add(cells.get(BRANCH_COLUMN, ""))
        if len(branches) > 1:
            msg = f"{where}: there are several branches: keep the rows of one"
            raise HistoryFileError(msg)
        results.append(_result(cells, where))
    places = _places(results)
    if places is None or _go_back(results):
        yield from results
        return
    for result in results:
        yield replace(result, place=places[result.commit])


def _result(cells: Mapping[str, str], where: str) -> BenchmarkResult:
    metric = cells[METRIC]
    benchmark = _first(cells, BENCHMARK_COLUMNS)
    if not metric:
        msg = f"{where} names no metric: write what its value is of"
        raise HistoryFileError(msg)
    unit = base_unit(cells.get(UNIT, ""))
    time = _first(cells, TIME_COLUMNS)
    return BenchmarkResult(
        benchmark=benchmark or metric,
        metric=metric if benchmark else "value",  # else the metric is the name
        value=number_in(cells[VALUE], f"{where}, column {VALUE!r}") * unit.factor,
        unit=unit.name,
        worse=_worse(cells.get(WORSE, ""), where) or unit.worse,
        machine=cells.get(MACHINE, ""),
        commit=_first(cells, COMMIT_COLUMNS),
        time=time_in(time, where) if time else math.nan,
    )


def _first(cells: Mapping[str, str], names: Iterable[str]) -> str:
    return next((cells[name] for name in names if cells.get(name)), "")


def _worse(text: str, where: str) -> WorseDirection | None:
    if not text:
        return None
    try:
        return WorseDirection(text.lower())
    except ValueError as error:
        msg = f"{where}: {text[:40]!r} is no direction: write higher or lower, or nothing"
        raise HistoryFileError(msg) from error


def _go_back(results: Sequence[BenchmarkResult]) -> bool:
    """Return whether the times never increase in any series that has several."""
    times: defaultdict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for result in results:
        times[result.key].append(result.time)
    several = [each for each in times.values() if len(set(each)) > 1]
    return bool(several) and all(
        later <= earlier for each in several for earlier, later in pairwise(each)
    )


def _places(results: Sequence[BenchmarkResult]) -> Mapping[str, float] | None:
    """Return each commit's place, or None if a row names no commit or series contradict each other.

    A new commit is the newest one if it directly follows the newest so far, in the file or in its
    series. Otherwise it might belong between two earlier ones, and the order is unknown.
    """
    places: dict[str, float] = {}
    reached: dict[tuple[str, str, str, str], float] = {}
    previous = -1.0
    for result in results:
        if not result.commit:
            return None
        newest = len(places) - 1.0
        is_new = result.commit not in places
        last = reached.get(result.key, previous)
        if is_new and newest not in (previous, last):
            return None
        place = places.setdefault(result.commit, newest + 1)
        if result.key in reached and place < last:
            return None
        reached[result.key] = previous = place
    return places
