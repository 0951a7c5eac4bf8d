"""Reads histories from a CSV or JSON file, or from a folder of bundles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from perfledger.bundle import BUNDLE_FORMAT, Bundle
from perfledger.metrics import Metric
from perfledger.records import SHORT_SHA_DIGITS, Side
from perfledger.rounding import for_programs
from perfledger_baselines.estimation.pairing import judged_metrics
from perfledger_baselines.history.commits.attribution import Series
from perfledger_baselines.planning.epochs import epoch_key
from perfledger_profiles.parsing.gzip_input import GZIP_MAGIC
from perfledger_profiles.parsing.text_file import decoded_text
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.inputs import bundle_files
from perfledger_service.usecases.inputs.files import missing_file, shown_path, unreadable_file
from perfledger_service.usecases.inputs.run_values import (
    UsableValues,
    left_out_text,
    run_values,
    runs_of,
)
from perfledger_service.usecases.inputs.table_columns import (
    GAPS,
    MAX_BYTES,
    MAX_POINTS,
    Cell,
    ColumnTable,
    TableColumn,
    columns_of,
    parse_json,
    quote_names,
    quote_text,
    read_csv,
)
from perfledger_service.values.measured_series import MeasuredSeries

# A bundle for each commit over some years.
MAX_BUNDLES = 10_000

# Columns that label the points. One of them holds the values only if no other column has numbers.
LABEL_NAMES = frozenset(
    {
        *("build", "commit", "date", "hash", "id", "index", "label", "labels", "name", "number"),
        *("point", "revision", "run", "sha", "tag", "time", "timestamp", "version"),
    }
)


def read_histories(
    path: Path,
    *,
    column: str | None = None,
    epoch: str | None = None,
    error: str | None = None,
    time: str | None = None,
) -> tuple[MeasuredSeries, ...]:
    """Return the histories at `path`: one of a file, one per workload and metric of a folder.

    `column` is a file's column, or the full name of a series in a folder. `epoch` is the column
    whose value changes with the machine, `error` the column of the values' standard errors, `time`
    that of when they were measured. Raises NotFoundError, TooLargeError, and UsageError for files
    without a history.
    """
    if path.is_dir():
        if (epoch, error, time) != (None, None, None):
            msg = (
                "--epoch-column, --error-column and --time-column are only for a CSV or JSON file: "
                "bundles contain their machine, processes and date"
            )
            raise UsageError(msg)
        return select_series(bundles_histories(bundles_in(path)), column, source="the bundles have")
    content = read_bundle_or_series(path, column=column, epoch=epoch, error=error, time=time)
    if isinstance(content, Bundle):
        msg = (
            f"{shown_path(path)} is one bundle, and a history needs several: give a folder of "
            "bundles, or a CSV or JSON file with one value per commit"
        )
        raise UsageError(msg)
    return (content,)


def read_bundle_or_series(
    path: Path,
    *,
    column: str | None = None,
    epoch: str | None = None,
    error: str | None = None,
    time: str | None = None,
) -> Bundle | MeasuredSeries:
    """Read a bundle, or a series of a table; raise NotFoundError, TooLargeError and UsageError."""
    data = _bytes_of(path)
    if data.startswith(GZIP_MAGIC):
        return bundle_files.read_bundle_file(path)
    name = shown_path(path)
    text = decoded_text(data, name, error=UsageError)
    if path.suffix.lower() != ".json" and not text.lstrip().startswith(("[", "{")):
        return _series(read_csv(text, name), column, epoch=epoch, error=error, time=time)
    document = parse_json(text, name)
    if isinstance(document, dict):
        fields = cast("Mapping[str, object]", document)
        if fields.get("format") == BUNDLE_FORMAT:
            return bundle_files.read_bundle_file(path)
        return _series(columns_of(fields, name), column, epoch=epoch, error=error, time=time)
    return _series(columns_of(document, name), column, epoch=epoch, error=error, time=time)


def bundles_histories(bundles: Sequence[Bundle]) -> tuple[MeasuredSeries, ...]:
    """Return a series for each workload, metric and machine class, in order of `created_at`.

    Every bundle adds one point: its head if the check is of the branch itself, else its base, since
    a pull request's head or uncommitted changes may never be merged. An import has only a base. A
    point that leaves out too many of its runs (`run_values`) is a gap; notes say what is left out.
    """
    ordered = sort_bundles(bundles)
    values: dict[tuple[str, str, str], dict[int, tuple[float, ...]]] = {}
    read: dict[tuple[str, str, str], list[UsableValues]] = {}
    metrics: dict[str, Metric] = {}
    labels: list[str] = []
    for index, bundle in enumerate(ordered):
        is_branch = is_of_branch(bundle) and not bundle.is_imported
        side = Side.HEAD if is_branch else Side.BASE
        labels.append((bundle.head if is_branch else bundle.base).sha[:SHORT_SHA_DIGITS])
        machines = bundle.machines()
        for workload, runs in runs_of(bundle, side).items():
            machine = machines[workload, side].machine_class
            for metric in judged_metrics(bundle.metrics):
                point = run_values(runs, metric, is_imported=bundle.is_imported)
                if point.values or point.left_out:
                    key = (workload, metric.name, machine)
                    metrics[metric.name] = metric
                    read.setdefault(key, []).append(point)
                    if point.comparable:
                        values.setdefault(key, {})[index] = point.comparable
    has_one_machine = len({machine for _, _, machine in read}) == 1
    names = {
        key: f"{key[0]} {key[1]}" + ("" if has_one_machine else f" on {key[2]}") for key in read
    }
    notes = {
        key: (f"left out of {names[key]}: {left_out}",)
        for key, points in read.items()
        if (left_out := left_out_text(points, "points"))
    }
    on_others = tuple(note for key in read if key not in values for note in notes.get(key, ()))
    environments = tuple(epoch_key(bundle.machine) for bundle in ordered)
    times = tuple(datetime.fromisoformat(bundle.created_at).timestamp() for bundle in ordered)
    return tuple(
        MeasuredSeries(
            name=names[workload, metric, machine],
            unit=metrics[metric].unit,
            values=tuple(geometric_mean(points.get(index, ())) for index in range(len(ordered))),
            errors=_errors(points, len(ordered)),
            times=times,
            labels=tuple(labels),
            series=Series(workload, metrics[metric], machine),
            environments=environments,
            notes=notes.get((workload, metric, machine), ()),
            notes_on_others=on_others,
        )
        for (workload, metric, machine), points in values.items()
    )


def is_of_branch(bundle: Bundle) -> bool:
    """Return whether a bundle's head is, like its base, a commit of the default branch itself."""
    return bundle.pull_request is None and not bundle.head.is_dirty


def sort_bundles(bundles: Iterable[Bundle]) -> tuple[Bundle, ...]:
    """Return bundles in the order of their commits, by `created_at`."""
    return tuple(sorted(bundles, key=lambda bundle: bundle.created_at))


def geometric_mean(processes: Sequence[float]) -> float:
    """Return the geometric mean of positive values; NaN if there are none."""
    return float(np.exp(np.mean(np.log(processes)))) if processes else math.nan


def _errors(points: Mapping[int, Sequence[float]], count: int) -> tuple[float, ...]:
    """Return the standard error of each of `count` points, by its number of processes.

    The spread between processes is pooled over all checks, since one check has few. Empty if every
    point has one process.
    """
    logs = {place: np.log(processes) for place, processes in points.items()}
    degrees = sum(len(each) - 1 for each in logs.values())
    if not degrees:
        return ()
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs.values())
    sd = math.sqrt(squares / degrees)
    return tuple(
        sd / math.sqrt(len(points[index])) * geometric_mean(points[index])
        if index in points
        else math.nan
        for index in range(count)
    )


def display_name(path: Path) -> str:
    """Return a file's name, cleaned for an error or a heading."""
    return clean(path.name or str(path))


def select_series(
    histories: tuple[MeasuredSeries, ...], name: str | None, *, source: str
) -> tuple[MeasuredSeries, ...]:
    """Return the series of a name, without notes on others, or all series.

    `source` begins the sentence of the UsageError, which lists the names: "the bundles have".
    """
    if name is None and histories:
        return histories
    matches = tuple(
        replace(series, notes_on_others=()) for series in histories if series.name == name
    )
    if not matches:
        names = quote_names(series.name for series in histories)
        msg = f"{source} no series {quote_text(name or '')}: choose from {names}"
        raise UsageError(msg)
    return matches


def bundles_in(folder: Path) -> tuple[Bundle, ...]:
    """Read a folder's bundles; raises NotFoundError, TooLargeError, and UsageError for others."""
    paths = sorted({*folder.glob("*.json"), *folder.glob("*.json.gz")})
    if not paths:
        msg = f"no bundle in {shown_path(folder)}: bundles are named *.json or *.json.gz"
        raise NotFoundError(msg)
    if len(paths) > MAX_BUNDLES:
        msg = f"{len(paths)} bundles in {shown_path(folder)}: at most {MAX_BUNDLES:,} are read"
        raise TooLargeError(msg)
    bundles = tuple(map(bundle_files.read_bundle_file, paths))
    ids = sorted(bundle.id for bundle in bundles)
    if any(first == second for first, second in pairwise(ids)):
        msg = f"{shown_path(folder)} contains a bundle twice: remove one, as a check is one point"
        raise UsageError(msg)
    return bundles


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable_file(path, error) from error
    except ValueError as error:  # a name with a NUL byte
        raise missing_file(path) from error
    if len(data) > MAX_BYTES:
        limit = f"{MAX_BYTES // 2**20} MiB"
        msg = f"{shown_path(path)} has more than {limit}: keep only the columns that matter"
        raise TooLargeError(msg)
    return data


def _series(
    sheet: ColumnTable, name: str | None, *, epoch: str | None, error: str | None, time: str | None
) -> MeasuredSeries:
    if len(sheet.places) > MAX_POINTS:
        msg = f"{sheet.source} has more than {MAX_POINTS:,} points: keep only the newest"
        raise TooLargeError(msg)
    if name is not None and name in (epoch, error, time):
        msg = f"{quote_text(name)} cannot be both the values and their epochs, errors or times"
        raise UsageError(msg)
    epoch_column, error_column, time_column = (
        None if other is None else _column_named(sheet, other) for other in (epoch, error, time)
    )
    beside = (epoch_column, error_column, time_column)
    value_columns = tuple(
        each for each in sheet.columns if not any(each is column for column in beside)
    )
    sheet = replace(sheet, columns=value_columns)
    column = _column_named(sheet, name) if name is not None else _values_column(sheet)
    values = sheet.numbers(column)
    if all(value != value for value in values):  # noqa: PLR0124 - only NaN differs from itself
        msg = f"{sheet.source}, column {quote_text(column.name)}: no value, nothing to analyse"
        raise UsageError(msg)
    label_column = _label_column(sheet, column)
    labels = tuple(map(_label, label_column.cells)) if label_column else ()
    epochs = () if epoch_column is None else _epochs(sheet, epoch_column, values)
    return MeasuredSeries(
        name=column.name,
        unit="",
        values=values,
        errors=() if error_column is None else sheet.numbers(error_column),
        times=() if time_column is None else sheet.times(time_column),
        labels=labels,
        epochs=epochs,
    )


def _epochs(sheet: ColumnTable, column: TableColumn, values: Sequence[float]) -> tuple[int, ...]:
    """Return the indices at which the column changes; empty cells do not count."""
    starts: list[int] = []
    previous = ""
    for index, (cell, value) in enumerate(zip(column.cells, values, strict=True)):
        epoch = _label(cell)
        if epoch.lower() in GAPS:
            if not math.isnan(value):
                where = f"{sheet.row_word} {sheet.places[index]}"
                msg = f"{sheet.source}, column {quote_text(column.name)}, {where}: no epoch"
                raise UsageError(msg)
        elif epoch != previous:
            starts += [index] if previous else []
            previous = epoch
    return tuple(starts)


def _column_named(sheet: ColumnTable, name: str) -> TableColumn:
    for column in sheet.columns:
        if column.name == name:
            return column
    msg = f"{sheet.source} has no column {quote_text(name)}: choose from {sheet.names()}"
    raise UsageError(msg)


def _values_column(sheet: ColumnTable) -> TableColumn:
    """Return the only column of numbers, or of mostly numbers."""
    named = [column for column in sheet.columns if column.name.lower() not in LABEL_NAMES]
    if not sheet.places:
        msg = f"{sheet.source} has no value: there is nothing to analyse"
        raise UsageError(msg)
    for candidates in (
        [column for column in named if column.is_numeric()],
        [column for column in named if column.is_mostly_numeric()],
        [column for column in sheet.columns if column.is_numeric()],
        sheet.columns if len(sheet.columns) == 1 else (),
    ):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            names = quote_names(column.name for column in candidates)
            msg = (
                f"{sheet.source} has several columns of numbers: choose one with --column (of "
                f"compare: --metric): {names}"
            )
            raise UsageError(msg)
    msg = (
        f"{sheet.source} has no column of numbers, with a point for decimals: there are "
        f"{sheet.names()}"
    )
    raise UsageError(msg)


def _label_column(sheet: ColumnTable, values: TableColumn) -> TableColumn | None:
    """Return the column that labels the points: one with a known name, else the first with text."""
    candidates = [column for column in sheet.columns if column is not values]
    named = [column for column in candidates if column.name.lower() in LABEL_NAMES]
    worded = [
        column for column in candidates if any(isinstance(cell, str) for cell in column.cells)
    ]
    worded = [column for column in worded if not column.is_numeric()]
    return next(iter([*named, *worded]), None)


def _label(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.strip() if isinstance(cell, str) else for_programs(cell, 15)
