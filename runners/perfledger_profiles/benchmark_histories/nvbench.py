"""Reads the JSON of NVIDIA's nvbench (`--json`)."""

import math
from collections.abc import Iterator
from typing import cast

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

# The hints of summaries that are results; the others are noise, counts and shares.
_HINTS = {
    "duration": ("s", WorseDirection.HIGHER),
    "item_rate": ("items/s", WorseDirection.LOWER),
    "byte_rate": ("B/s", WorseDirection.LOWER),
    "bytes": ("B", None),
}


def is_nvbench(file: HistoryText) -> bool:
    """Return whether this is a file of nvbench."""
    first = file.first_object()
    benchmarks = first.get("benchmarks")
    if "devices" not in first or not isinstance(benchmarks, list):
        return False
    return all(
        isinstance(one, dict) and "states" in one for one in cast("list[object]", benchmarks)
    )


def read_nvbench(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the times and rates that nvbench shows for each state; the file has no commit or time.

    The samples that `--jsonbin` writes to separate files are not read.
    """
    for run in file.objects():
        devices = {one.optional_number("id"): one.text("name") for one in run.children("devices")}
        for benchmark in run.children("benchmarks"):
            for state in benchmark.children("states"):
                if state.flag("is_skipped"):
                    continue
                device = devices.get(state.optional_number("device"), "")
                yield from _results(state, _name(benchmark, state), device)


def _name(benchmark: JsonObject, state: JsonObject) -> str:
    axes = [
        f"{axis.text('name')}={axis.fields.get('value')}" for axis in state.children("axis_values")
    ]
    return " ".join((benchmark.text("name"), *axes))


def _results(state: JsonObject, name: str, device: str) -> Iterator[BenchmarkResult]:
    for summary in state.children("summaries"):
        hint = _HINTS.get(summary.optional_text("hint"))
        if hint is None or summary.fields.get("hide"):
            continue
        unit, worse = hint
        yield BenchmarkResult(
            benchmark=name,
            metric=summary.text("tag").removeprefix("nv/"),
            value=_value(summary),
            unit=unit,
            worse=worse,
            machine=device,
        )


def _value(summary: JsonObject) -> float:
    """Return a summary's value, which nvbench writes as text."""
    for datum in summary.children("data"):
        if datum.optional_text("name") != "value":
            continue
        text = datum.text("value")
        try:
            value = float(text)
        except ValueError:
            datum.reject("value", "is not a number")
        if math.isinf(value):
            datum.reject("value", "is infinite")
        return value
    return math.nan
