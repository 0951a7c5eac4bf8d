"""A path in, the histories that are there out: a CSV, a JSON, or a folder of result bundles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from perfledger.bundle import BUNDLE_FORMAT, Bundle
from perfledger.metrics import Metric
from perfledger.records import Side
from perfledger_baselines.environment import environment_of
from perfledger_baselines.history.attribution import Series
from perfledger_baselines.pairing import judged_metrics
from perfledger_runners.bundles import GZIP_MAGIC
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.usecases import bundles
from perfledger_service.usecases.columns import (
    GAPS,
    MAX_BYTES,
    MAX_POINTS,
    Cell,
    Column,
    Sheet,
    columns_of,
    parse_json,
    quoted,
    read_csv,
    text_of,
)
from perfledger_service.usecases.run_values import run_values, runs_of
from perfledger_service.views import MeasuredSeries

# A bundle for each commit of some years.
MAX_BUNDLES = 10_000

# Columns that say which point it is. One of them is taken for the values only if no other column
# has numbers.
LABEL_NAMES = frozenset(
    {
        *("build", "commit", "date", "hash", "id", "index", "label", "labels", "name", "number"),
        *("point", "revision", "run", "sha", "tag", "time", "timestamp", "version"),
    }
)

_SHOWN_SHA = 10  # hexadecimal digits that tell a repository's commits apart


def read_histories(
    path: Path, *, column: str | None = None, epoch: str | None = None, error: str | None = None
) -> tuple[MeasuredSeries, ...]:
    """Return the histories at `path`: one of a file, one per workload and metric of a folder.

    `column` is a column's name in a file, and the whole name of a series in a folder; `epoch` is
    the name of a file's column that changes where another machine took over, `error` that of the
    one with the values' standard errors.
    Raises NotFoundError, TooLargeError, and UsageError for what is no history.
    """
    if path.is_dir():
        if epoch is not None or error is not None:
            msg = (
                "--epoch and --error are for a file: bundles say themselves which machine they are "
                "of, and how many processes"
            )
            raise UsageError(msg)
        return _chosen(bundles_histories(bundles_in(path)), column)
    found = read_bundle_or_series(path, column=column, epoch=epoch, error=error)
    if isinstance(found, Bundle):
        msg = (
            f"{shown(path)} is the bundle of one check, and a history needs more: give a folder of "
            "bundles, or a CSV or JSON file with one value per commit"
        )
        raise UsageError(msg)
    return (found,)


def read_bundle_or_series(
    path: Path, *, column: str | None = None, epoch: str | None = None, error: str | None = None
) -> Bundle | MeasuredSeries:
    """Return what a file holds; raises NotFoundError, TooLargeError and UsageError."""
    data = _bytes_of(path)
    if data.startswith(GZIP_MAGIC):
        return _bundle_at(path)
    name = shown(path)
    text = text_of(data, name)
    if path.suffix.lower() != ".json" and not text.lstrip().startswith(("[", "{")):
        return _series(read_csv(text, name), column, epoch=epoch, error=error)
    document = parse_json(text, name)
    if isinstance(document, dict):
        fields = cast("Mapping[str, object]", document)
        if fields.get("format") == BUNDLE_FORMAT:
            return _bundle_at(path)
        return _series(columns_of(fields, name), column, epoch=epoch, error=error)
    return _series(columns_of(document, name), column, epoch=epoch, error=error)


def bundles_histories(given: Sequence[Bundle]) -> tuple[MeasuredSeries, ...]:
    """Return a series for each workload, metric and class of machine, in order of `created_at`.

    Every bundle adds one point to each: a check of a branch itself its head, and any other its
    base, since a pull request's head or uncommitted changes may never be merged.
    """
    ordered = in_order(given)
    values: dict[tuple[str, str, str], dict[int, tuple[float, ...]]] = {}
    metrics: dict[str, Metric] = {}
    labels: list[str] = []
    for place, bundle in enumerate(ordered):
        is_branch = is_of_branch(bundle)
        side = Side.HEAD if is_branch else Side.BASE
        labels.append((bundle.head if is_branch else bundle.base).sha[:_SHOWN_SHA])
        machines = bundle.machines()
        for workload, runs in runs_of(bundle, side).items():
            machine = machines[workload, side].device_class
            for metric in judged_metrics(bundle.metrics):
                found = run_values(runs, metric)
                if found:
                    metrics[metric.name] = metric
                    values.setdefault((workload, metric.name, machine), {})[place] = found
    has_one_machine = len({machine for _, _, machine in values}) == 1
    environments = tuple(environment_of(bundle.machine) for bundle in ordered)
    return tuple(
        MeasuredSeries(
            name=f"{workload} {metric}" + ("" if has_one_machine else f" on {machine}"),
            unit=metrics[metric].unit,
            values=tuple(typical(points.get(place, ())) for place in range(len(ordered))),
            errors=_errors(points, len(ordered)),
            labels=tuple(labels),
            series=Series(workload, metrics[metric], machine),
            environments=environments,
        )
        for (workload, metric, machine), points in values.items()
    )


def is_of_branch(bundle: Bundle) -> bool:
    """Return whether a bundle's head is a commit of the default branch itself, as its base is."""
    return bundle.pull_request is None and not bundle.head.is_dirty


def in_order(given: Iterable[Bundle]) -> tuple[Bundle, ...]:
    """Return bundles in the order of their commits: of `created_at`."""
    return tuple(sorted(given, key=lambda bundle: bundle.created_at))


def typical(processes: Sequence[float]) -> float:
    """Return the geometric mean of positive values; NaN of none."""
    return float(np.exp(np.mean(np.log(processes)))) if processes else math.nan


def _errors(points: Mapping[int, Sequence[float]], count: int) -> tuple[float, ...]:
    """Return the standard error of each of `count` points, by how many processes tell it.

    How far processes of one check lie apart is learnt from all checks: of a few in one it is a
    guess. Empty where every point has one process.
    """
    logs = {place: np.log(processes) for place, processes in points.items()}
    degrees = sum(len(each) - 1 for each in logs.values())
    if not degrees:
        return ()
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs.values())
    sd = math.sqrt(squares / degrees)
    return tuple(
        sd / math.sqrt(len(points[place])) * typical(points[place]) if place in points else math.nan
        for place in range(count)
    )


def shown(path: Path) -> str:
    """Return a file's name for an error or a heading, whatever is in it."""
    return clean(path.name or str(path))


def _chosen(histories: tuple[MeasuredSeries, ...], name: str | None) -> tuple[MeasuredSeries, ...]:
    """Return the series that is called so, or all."""
    found = tuple(series for series in histories if name in (None, series.name))
    if not found:
        names = ", ".join(quoted(series.name) for series in histories[:20]) or "none"
        msg = f"no series of the bundles is called {quoted(name or '')}: there are {names}"
        raise UsageError(msg)
    return found


def bundles_in(folder: Path) -> tuple[Bundle, ...]:
    """Read a folder's bundles; raises NotFoundError, TooLargeError, and UsageError for others."""
    paths = sorted({*folder.glob("*.json"), *folder.glob("*.json.gz")})
    if not paths:
        msg = f"no bundle in {shown(folder)}: its files are called *.json or *.json.gz"
        raise NotFoundError(msg)
    if len(paths) > MAX_BUNDLES:
        msg = f"{len(paths)} bundles in {shown(folder)}: at most {MAX_BUNDLES:,} are read"
        raise TooLargeError(msg)
    found = tuple(map(_bundle_at, paths))
    ids = sorted(bundle.id for bundle in found)
    if any(first == second for first, second in pairwise(ids)):
        msg = f"{shown(folder)} has a bundle twice: each check is one point"
        raise UsageError(msg)
    return found


def _bundle_at(path: Path) -> Bundle:
    """Read a bundle; raises UsageError that says of which file."""
    try:
        return bundles.read(path)
    except UsageError as error:
        msg = f"{shown(path)}: {error}"
        raise UsageError(msg) from error


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a name with a NUL byte is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"cannot read {shown(path)}: {reason}"
        raise NotFoundError(msg) from error
    if len(data) > MAX_BYTES:
        msg = f"{shown(path)} has more than {MAX_BYTES // 2**20} MiB: give the columns that matter"
        raise TooLargeError(msg)
    return data


def _series(
    sheet: Sheet, wanted: str | None, *, epoch: str | None, error: str | None
) -> MeasuredSeries:
    if len(sheet.places) > MAX_POINTS:
        msg = f"{sheet.source} has more than {MAX_POINTS:,} points: give its newest ones"
        raise TooLargeError(msg)
    if wanted is not None and wanted in (epoch, error):
        msg = f"{quoted(wanted)} cannot be the column of values and tell of them too"
        raise UsageError(msg)
    told = None if epoch is None else _wanted_column(sheet, epoch)
    spread = None if error is None else _wanted_column(sheet, error)
    left = tuple(each for each in sheet.columns if each is not told and each is not spread)
    sheet = replace(sheet, columns=left)
    column = _wanted_column(sheet, wanted) if wanted is not None else _values_column(sheet)
    values = sheet.numbers(column)
    if all(value != value for value in values):  # noqa: PLR0124 - only NaN differs from itself
        msg = f"{sheet.source}, column {quoted(column.name)}: no value at all, nothing to look at"
        raise UsageError(msg)
    named = _label_column(sheet, column)
    labels = tuple(map(_label, named.cells)) if named else ()
    epochs = () if told is None else _epochs(sheet, told, values)
    return MeasuredSeries(
        name=column.name,
        unit="",
        values=values,
        errors=() if spread is None else sheet.numbers(spread),
        labels=labels,
        epochs=epochs,
    )


def _epochs(sheet: Sheet, column: Column, values: Sequence[float]) -> tuple[int, ...]:
    """Return where the column says another thing than before; a gap may leave it empty."""
    found: list[int] = []
    before = ""
    for index, (cell, value) in enumerate(zip(column.cells, values, strict=True)):
        told = _label(cell)
        if told.lower() in GAPS:
            if not math.isnan(value):
                where = f"{sheet.row_word} {sheet.places[index]}"
                msg = f"{sheet.source}, column {quoted(column.name)}, {where}: no epoch is told"
                raise UsageError(msg)
        elif told != before:
            found += [index] if before else []
            before = told
    return tuple(found)


def _wanted_column(sheet: Sheet, wanted: str) -> Column:
    for column in sheet.columns:
        if column.name == wanted:
            return column
    msg = f"{sheet.source} has no column {quoted(wanted)}: there are {sheet.names()}"
    raise UsageError(msg)


def _values_column(sheet: Sheet) -> Column:
    """Return the one column of numbers, or the one that would be but for a few cells."""
    named = [column for column in sheet.columns if column.name.lower() not in LABEL_NAMES]
    if not sheet.places:
        msg = f"{sheet.source} has no value at all: there is nothing to look at"
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
            names = ", ".join(quoted(column.name) for column in candidates[:20])
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


def _label_column(sheet: Sheet, values: Column) -> Column | None:
    """Return the column that names the points: one that is called so, else the first of words."""
    others = [column for column in sheet.columns if column is not values]
    named = [column for column in others if column.name.lower() in LABEL_NAMES]
    worded = [column for column in others if any(isinstance(cell, str) for cell in column.cells)]
    worded = [column for column in worded if not column.is_numeric()]
    return next(iter([*named, *worded]), None)


def _label(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.strip() if isinstance(cell, str) else f"{cell:.15g}"
