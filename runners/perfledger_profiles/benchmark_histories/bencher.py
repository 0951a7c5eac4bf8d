"""Reads Bencher's exports: the JSON of `bencher perf`, and its metric format (BMF)."""

import math
from collections.abc import Iterator, Mapping
from typing import cast

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject, quote_name
from perfledger_profiles.benchmark_histories.result_units import BaseUnit, base_unit
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)
from perfledger_profiles.benchmark_histories.text import HistoryText

# Bencher's built-in measures and their units; BMF itself has none.
_MEASURES = {
    "latency": "ns",
    "throughput": "ops/s",
    "file-size": "B",
}
# Of all sizes, only the file size has a direction that its name implies.
_WORSE_WHEN_LARGER = frozenset({"file-size"})


def is_bencher(file: HistoryText) -> bool:
    """Return whether this is an export of Bencher."""
    first = file.first_object()
    return not file.is_script and (_is_perf(first) or _is_bmf(first))


def read_bencher(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the values of all measures.

    `bencher perf` has commits in the order of their versions; BMF has neither commits nor times.
    """
    for item in file.objects():
        yield from _perf(item) if _is_perf(item.fields) else _bmf(item)


def _is_perf(fields: Mapping[str, object]) -> bool:
    results = fields.get("results")
    if "project" not in fields or not isinstance(results, list):
        return False
    keys = {"testbed", "benchmark", "measure", "metrics"}
    return all(
        isinstance(one, dict) and cast("Mapping[str, object]", one).keys() >= keys
        for one in cast("list[object]", results)
    )


def _is_bmf(fields: Mapping[str, object]) -> bool:
    """Return whether every benchmark has measures and each measure has a value."""
    if not fields:
        return False
    for measures in fields.values():
        if not isinstance(measures, dict) or not measures:
            return False
        for measure in cast("Mapping[str, object]", measures).values():
            if not isinstance(measure, dict) or "value" not in measure:
                return False
    return True


def _perf(perf: JsonObject) -> Iterator[BenchmarkResult]:
    branches: set[str] = set()
    for result in perf.children("results"):
        branches.add(result.child("branch").text("name"))
        if len(branches) > 1:
            names = ", ".join(map(quote_name, sorted(branches)))
            msg = f"{perf.path} has several branches, {names}: query one"
            raise HistoryFileError(msg)
        measure = result.child("measure")
        slug = measure.optional_text("slug")
        unit = base_unit(measure.optional_text("units"))
        for metric in result.children("metrics"):
            version = metric.child("version")
            number = version.optional_number("number")
            yield BenchmarkResult(
                benchmark=result.child("benchmark").text("name"),
                metric=slug or measure.text("name"),
                value=metric.child("metric").number("value") * unit.factor,
                unit=unit.name,
                worse=_worse(slug, unit),
                machine=result.child("testbed").text("name"),
                commit=version.optional_text("hash"),
                time=metric.time("start_time"),
                place=None if math.isnan(number) else number,
            )


def _bmf(report: JsonObject) -> Iterator[BenchmarkResult]:
    for benchmark in report.fields:
        measures = report.child(benchmark)
        for name in measures.fields:
            unit = base_unit(_MEASURES.get(name, ""))
            yield BenchmarkResult(
                benchmark=benchmark,
                metric=name,
                value=measures.child(name).number("value") * unit.factor,
                unit=unit.name,
                worse=_worse(name, unit),
            )


def _worse(slug: str, unit: BaseUnit) -> WorseDirection | None:
    return WorseDirection.HIGHER if slug in _WORSE_WHEN_LARGER else unit.worse
