"""Reads the JSON of pytest-benchmark: `--benchmark-json`, and what it saves itself."""

import math
from collections.abc import Iterator
from dataclasses import replace

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.history_text import HistoryText
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.results import BenchmarkResult

# What it writes outside of a repository, or where the version control fails.
_NO_COMMIT = ("unversioned", "unknown", "error")


def is_pytest_benchmark(file: HistoryText) -> bool:
    """Return whether this is a file of pytest-benchmark."""
    return file.first_object().keys() >= {"machine_info", "commit_info", "benchmarks"}


def read_pytest_benchmark(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the median time of each benchmark with its rounds, and the numbers in `extra_info`.

    The rounds are in files that were saved with `--benchmark-json` or `--benchmark-save-data`.
    """
    for run in file.objects():
        commit = run.child("commit_info")
        name = commit.optional_text("id")
        is_commit = name not in _NO_COMMIT
        origin = BenchmarkResult(
            benchmark="",
            metric="",
            value=math.nan,
            machine=_machine(run.child("machine_info")),
            commit=name if is_commit else "",
            is_dirty=commit.flag("dirty") if is_commit else False,
            commit_time=commit.time("time") if is_commit else math.nan,
            time=run.time("datetime"),
        )
        for benchmark in run.children("benchmarks"):
            yield from _results(benchmark, origin)


def _machine(info: JsonObject) -> str:
    """Return the processor's name, else the host's: hosted runners have another one each time."""
    return info.child("cpu").optional_text("brand_raw") or info.optional_text("node")


def _results(benchmark: JsonObject, origin: BenchmarkResult) -> Iterator[BenchmarkResult]:
    name = benchmark.text("fullname")
    stats = benchmark.child("stats")
    yield replace(
        origin,
        benchmark=name,
        metric="time",
        value=stats.number("median"),
        unit="s",
        worse=WorseDirection.HIGHER,
        samples=stats.numbers("data"),
    )
    extra = benchmark.child("extra_info")
    for key, value in extra.fields.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield replace(origin, benchmark=name, metric=key, value=extra.number(key))
