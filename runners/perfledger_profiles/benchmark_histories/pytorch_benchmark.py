"""Reads the records of PyTorch's OSS benchmark database, version 3."""

import math
from collections.abc import Iterator
from statistics import median

from perfledger_profiles.benchmark_histories.json_object import MAX_TIME, JsonObject
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

# Longer texts in `extra_info` describe a benchmark and do not identify it.
_MAX_SETTING = 40


def is_pytorch_benchmark(file: HistoryText) -> bool:
    """Return whether this is a file of such records: a list, or one per line."""
    first = file.first_object()
    metric = first.get("metric")
    return "benchmark" in first and isinstance(metric, dict) and "benchmark_values" in metric


def read_pytorch_benchmark(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield each record's value: the median of its values, which are the samples.

    A record has no unit and no direction, and a commit and a time only if it was uploaded.
    """
    for record in file.objects():
        metric = record.child("metric")
        values = metric.numbers("benchmark_values")
        measured = [value for value in values if not math.isnan(value)]
        runner = next(record.children("runners"), JsonObject({}, record.path))
        yield BenchmarkResult(
            benchmark=_name(record),
            metric=metric.text("name"),
            value=median(measured) if measured else math.nan,
            machine=f"{runner.optional_text('name')} {runner.optional_text('type')}".strip(),
            commit=record.optional_text("head_sha"),
            time=_timestamp(record),
            samples=tuple(measured) if len(measured) > 1 else (),
        )


def _timestamp(record: JsonObject) -> float:
    seconds = record.optional_number("timestamp")
    if abs(seconds) > MAX_TIME:
        record.reject("timestamp", "is not a time in seconds since 1970")
    return seconds


def _name(record: JsonObject) -> str:
    """Return a series' name: the benchmark, the model, and the settings that distinguish it."""
    benchmark, model = record.child("benchmark"), record.child("model")
    words = [benchmark.text("name"), model.optional_text("name")]
    settings = {
        "backend": model.optional_text("backend"),
        "mode": benchmark.optional_text("mode"),
        "dtype": benchmark.optional_text("dtype"),
    }
    for part in (benchmark, model, record.child("metric")):
        for key, value in sorted(part.child("extra_info").fields.items()):
            if isinstance(value, str | int | float) and len(str(value)) <= _MAX_SETTING:
                settings.setdefault(key, str(value))
    words += [f"{key}={value}" for key, value in settings.items() if value and key != "description"]
    return " ".join(word for word in words if word)
