"""Reads the reports of LLVM's LNT, version 2."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import cast

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

_VERSION = "2"
# Metrics of the default test suite (NTS), from its documentation. Others have no direction.
_METRICS = {
    "execution_time": ("s", WorseDirection.HIGHER),
    "compile_time": ("s", WorseDirection.HIGHER),
    "score": ("", WorseDirection.LOWER),
    "mem_bytes": ("B", WorseDirection.HIGHER),
    "code_size": ("B", WorseDirection.HIGHER),
}
# Texts, and states whose nonzero values mean a failure.
_NO_METRICS = frozenset({"name", "hash", "profile"})
_REVISION = re.compile(r"r?(\d{1,9})")  # a Subversion revision or a commit count


def is_lnt(file: HistoryText) -> bool:
    """Return whether this is a report of LNT."""
    first = file.first_object()
    is_first_version = first.keys() >= {"Machine", "Run", "Tests"}
    return is_first_version or first.keys() >= {"format_version", "machine", "run", "tests"}


def read_lnt(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the metrics of each test: the median of its samples.

    `llvm_project_revision` is the commit; if it is a number, it orders the runs, as in LNT. Times
    without a zone are taken as UTC.
    """
    for report in file.objects():
        if report.optional_text("format_version") != _VERSION:
            report.reject(
                "format_version",
                f"is not {_VERSION!r}",
                "Write the report in version 2 of the format.",
            )
        run = report.child("run")
        revision = run.optional_text("llvm_project_revision")
        number = _REVISION.fullmatch(revision)
        origin = BenchmarkResult(
            benchmark="",
            metric="",
            value=math.nan,
            machine=report.child("machine").text("name"),
            commit=revision,
            place=float(number[1]) if number else None,
            time=run.time("start_time"),
        )
        for test in report.children("tests"):
            yield from _results(test, replace(origin, benchmark=test.text("name")))


def _results(test: JsonObject, origin: BenchmarkResult) -> Iterator[BenchmarkResult]:
    for metric, value in test.fields.items():
        if metric in _NO_METRICS or metric.endswith("_status") or isinstance(value, str):
            continue
        readings = test.numbers(metric) if isinstance(value, list) else (test.number(metric),)
        if _has_failed(test, metric):
            readings = ()  # a failed test has a time of 0
        measured = tuple(reading for reading in readings if not math.isnan(reading))
        unit, worse = _METRICS.get(metric, ("", None))
        yield replace(
            origin,
            metric=metric,
            value=median(measured) if measured else math.nan,
            unit=unit,
            worse=worse,
            samples=measured if len(measured) > 1 else (),
        )


def _has_failed(test: JsonObject, metric: str) -> bool:
    """Return whether a test's state for a metric, such as execution_status, is not 0."""
    state = test.fields.get(f"{metric.removesuffix('_time')}_status", 0)
    states = cast("list[object]", state) if isinstance(state, list) else [state]
    return any(str(one) not in {"0", "None"} for one in states)
