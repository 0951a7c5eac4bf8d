"""Reads pytest-benchmark's JSON: from `--benchmark-json`, or saved by the tool itself."""

import math
from collections.abc import Iterator
from dataclasses import replace

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

# What the tool writes outside a repository, or if version control fails.
_NO_COMMIT = ("unversioned", "unknown", "error")


def is_pytest_benchmark(file: HistoryText) -> bool:
    """Return whether this is a file of pytest-benchmark."""
    return file.first_object().keys() >= {"machine_info", "commit_info", "benchmarks"}


def read_pytest_benchmark(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield each benchmark's median time with its rounds, and the numbers in `extra_info`.

    Only files saved with `--benchmark-json` or `--benchmark-save-data` contain the rounds.
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
    """Return the processor's name, else the host's, which differs each time on hosted runners."""
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
