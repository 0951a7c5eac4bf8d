"""Reads the history of github-action-benchmark: data.js, or the same as JSON."""

import math
from collections.abc import Iterator

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.result_units import BaseUnit, base_unit
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

# Copied from `biggerIsBetter` in the action's src/write.ts.
_BIGGER_IS_BETTER = frozenset({"benchmarkjs", "pytest", "customBiggerIsBetter"})
_SMALLER_IS_BETTER = frozenset(
    {
        *("cargo", "go", "benchmarkluau", "googlecpp", "catch2", "julia", "jmh"),
        *("benchmarkdotnet", "customSmallerIsBetter"),
    }
)
_CUSTOM = frozenset({"customBiggerIsBetter", "customSmallerIsBetter"})  # the user's choice


def is_action_benchmark(file: HistoryText) -> bool:
    """Return whether this is a history of github-action-benchmark.

    A file of its custom results, a list of names, units and values, is not recognised, because any
    other table may look the same.
    """
    return file.is_script or file.first_object().keys() >= {"lastUpdate", "entries"}


def read_action_benchmark(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the values of all suites, in the order in which the action stored the runs.

    A file of custom results, as given to the action, names no commit, and its directions come from
    the units alone. The same holds for a tool that is unknown to the action, such as a fork's.
    """
    for item in file.objects():
        if "entries" not in item.fields:
            yield _result(item, tool="")
            continue
        suites = item.child("entries")
        for suite in suites.fields:
            prefix = f"{suite}: " if len(suites.fields) > 1 else ""
            yield from _suite(suites, suite, prefix)


def _suite(suites: JsonObject, suite: str, prefix: str) -> Iterator[BenchmarkResult]:
    last = -math.inf
    for run in suites.children(suite):
        commit = run.child("commit")
        stored_at = run.milliseconds("date")
        if not stored_at >= last:
            run.reject("date", "is missing or earlier than that of the run before it")
        last = stored_at
        for bench in run.children("benches"):
            result = _result(bench, tool=run.optional_text("tool"))
            yield BenchmarkResult(
                benchmark=prefix + result.benchmark,
                metric=result.metric,
                value=result.value,
                unit=result.unit,
                worse=result.worse,
                commit=commit.text("id"),
                commit_time=commit.time("timestamp"),
                time=stored_at,
                place=stored_at,
            )


def _result(bench: JsonObject, *, tool: str) -> BenchmarkResult:
    unit = base_unit(bench.optional_text("unit"))
    return BenchmarkResult(
        benchmark=bench.text("name"),
        metric={"s": "time", "B": "memory"}.get(unit.name, "value"),
        value=bench.number("value") * unit.factor,
        unit=unit.name,
        worse=_direction(tool, unit),
    )


def _direction(tool: str, unit: BaseUnit) -> WorseDirection | None:
    """Return the worse direction by the tool, else by the unit; None if they disagree."""
    if tool in _BIGGER_IS_BETTER:
        of_tool = WorseDirection.LOWER
    elif tool in _SMALLER_IS_BETTER:
        of_tool = WorseDirection.HIGHER
    else:
        return unit.worse
    is_rate = unit.name.endswith("/s") and unit.worse is None  # such as Go's MB/s next to ns/op
    if unit.worse not in (None, of_tool) or (is_rate and tool not in _CUSTOM):
        return None
    return of_tool
