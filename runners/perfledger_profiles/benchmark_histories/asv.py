"""Reads asv's (airspeed velocity) results folder."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import cast

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject, quote_name
from perfledger_profiles.benchmark_histories.result_units import BaseUnit, base_unit
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)
from perfledger_profiles.benchmark_histories.text import HistoryText

# The version of files and of benchmarks.json that asv 0.4 and newer write.
_VERSION = 2
# The types for which asv itself treats a larger value as a regression; a tracked value may be
# either.
_WORSE_WHEN_LARGER = ("time", "timeraw", "memory", "peakmemory")
# Parameter combinations of one benchmark; asv measures each of them.
_MAX_COMBINATIONS = 100_000


@dataclass(frozen=True, slots=True)
class _Definition:
    """The entry of a benchmark in benchmarks.json."""

    unit: BaseUnit
    worse: WorseDirection | None
    version: str
    params: tuple[str, ...]


def is_asv(file: HistoryText) -> bool:
    """Return whether this is one of asv's files: a run, a machine, or benchmarks.json."""
    first = file.first_object()
    return _is_run(first) or _is_machine(first) or _is_definitions(first)


def read_asv(files: Sequence[HistoryText]) -> Iterator[BenchmarkResult]:
    """Yield the results of all runs; commits have the dates that asv took from git.

    Results of an older version of a benchmark form a separate series. A benchmark that is no longer
    in benchmarks.json, which holds the units, is left out, as asv does. Raises HistoryFileError if
    that file is missing.
    """
    objects = [item for file in files for item in file.objects()]
    definitions = next((one for one in objects if _is_definitions(one.fields)), None)
    runs = [one for one in objects if _is_run(one.fields)]
    if definitions is None or not runs:
        missing = "benchmarks.json, which has the units" if definitions is None else "run"
        where = files[0].source if len(files) == 1 else "the folder"
        msg = f"{where} has no {missing}: give the folder that asv.conf.json calls results_dir"
        raise HistoryFileError(msg)
    benchmarks = {
        key: _definition(definitions, key) for key in definitions.fields if key != "version"
    }
    for run in runs:
        yield from _run_results(run, benchmarks)


def _is_run(fields: Mapping[str, object]) -> bool:
    return fields.keys() >= {"commit_hash", "env_name", "results"}


def _is_machine(fields: Mapping[str, object]) -> bool:
    is_flat = not any(isinstance(value, list | dict) for value in fields.values())
    return is_flat and fields.keys() >= {"machine", "version"}


def _is_definitions(fields: Mapping[str, object]) -> bool:
    definition = next((value for key, value in fields.items() if key != "version"), None)
    if "version" not in fields or not isinstance(definition, dict):
        return False
    return cast("Mapping[str, object]", definition).keys() >= {"name", "params", "type", "unit"}


def _definition(definitions: JsonObject, key: str) -> _Definition:
    fields = definitions.child(key)
    unit = base_unit(fields.optional_text("unit"))
    is_worse = fields.text("type") in _WORSE_WHEN_LARGER
    names = fields.fields.get("param_names")
    return _Definition(
        unit=unit,
        worse=WorseDirection.HIGHER if is_worse else unit.worse,
        version=fields.optional_text("version"),
        params=tuple(map(str, cast("list[object]", names))) if isinstance(names, list) else (),
    )


def _run_results(
    run: JsonObject, benchmarks: Mapping[str, _Definition]
) -> Iterator[BenchmarkResult]:
    columns = run.fields.get("result_columns")
    if run.fields.get("version") != _VERSION or not isinstance(columns, list):
        run.reject("version", f"is not {_VERSION}", "Run `asv update` in the project of asv.")
    origin = BenchmarkResult(
        benchmark="",
        metric="",
        value=math.nan,
        machine=f"{run.child('params').optional_text('machine')} {run.text('env_name')}".strip(),
        commit=run.text("commit_hash"),
        commit_time=run.milliseconds("date"),
    )
    results = run.child("results")
    for name, row in results.fields.items():
        if not isinstance(row, list):
            results.reject(name, "is not a list of columns")
        cells = dict(
            zip(map(str, cast("list[object]", columns)), cast("list[object]", row), strict=False)
        )
        if name in benchmarks:
            columns_of_row = JsonObject(cells, f"{results.path}, {quote_name(name)}")
            named = replace(origin, benchmark=name)
            yield from _values(columns_of_row, benchmarks[name], named)


def _values(
    row: JsonObject, definition: _Definition, origin: BenchmarkResult
) -> Iterator[BenchmarkResult]:
    """Yield a value for each parameter combination, NaN if it failed."""
    combinations = _combinations(row, definition)
    values: Sequence[float] = row.numbers("result") or (math.nan,) * len(combinations)
    if len(values) != len(combinations):
        row.reject("result", f"has {len(values)} values for {len(combinations)} parameters")
    column = row.fields.get("samples")
    readings = cast("list[object]", column) if isinstance(column, list) else []
    name = origin.benchmark
    version = row.optional_text("version")
    if version and definition.version and version != definition.version:
        name += f" (version {version[:8]})"
    factor = definition.unit.factor
    for index, (words, value) in enumerate(zip(combinations, values, strict=True)):
        cell = readings[index] if index < len(readings) else None
        samples = JsonObject({"samples": cell}, row.path).numbers("samples")
        yield replace(
            origin,
            benchmark=f"{name}({words})" if words else name,
            metric="value" if definition.worse is None else _metric(definition),
            value=value * factor,
            unit=definition.unit.name,
            worse=definition.worse,
            time=row.milliseconds("started_at"),
            samples=tuple(reading * factor for reading in samples),
        )


def _metric(definition: _Definition) -> str:
    return {"s": "time", "B": "memory"}.get(definition.unit.name, "value")


def _combinations(row: JsonObject, definition: _Definition) -> list[str]:
    """Return the parameters of each value in asv's order; a single "" without parameters."""
    params = row.fields.get("params")
    lists = cast("list[object]", params) if isinstance(params, list) else []
    choices = [list(map(str, cast("list[object]", one))) for one in lists if isinstance(one, list)]
    if math.prod(map(len, choices)) > _MAX_COMBINATIONS:
        row.reject("params", f"has more than {_MAX_COMBINATIONS:,} combinations")
    names = definition.params if len(definition.params) == len(choices) else ()
    return [
        ", ".join(
            f"{names[index]}={value}" if names else value for index, value in enumerate(values)
        )
        for values in product(*choices)
    ]
