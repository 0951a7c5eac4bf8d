"""Reads the JSON of google-benchmark (`--benchmark_out_format=json`)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.result_units import base_unit
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

# Times are in the entry's time_unit, rates in base units.
_TIMES = ("real_time", "cpu_time")
_RATES = {"items_per_second": "items/s", "bytes_per_second": "B/s"}
# Every other number is a user's counter, whose unit and direction the file does not state.
_NO_COUNTERS = frozenset(
    {
        *("family_index", "per_family_instance_index", "repetitions", "repetition_index"),
        *("threads", "iterations", "time_unit", "aggregate_name", "aggregate_unit", "rms"),
        *("cpu_coefficient", "real_coefficient", "big_o", "error_occurred", "error_message"),
        *("skipped", "skip_message"),
        *("allocs_per_iter", "max_bytes_used", "total_allocated_bytes", "net_heap_growth"),
        *_TIMES,
    }
)
# The date format before version 1.5.1, in local time.
_OLD_DATE = "%Y/%m/%d-%H:%M:%S"
# Written if only aggregates are reported; in order of preference.
_AGGREGATES = ("median", "mean")


def is_google_benchmark(file: HistoryText) -> bool:
    """Return whether this is a file of google-benchmark."""
    first = file.first_object()
    context = first.get("context")
    return isinstance(context, dict) and "num_cpus" in context and "benchmarks" in first


def read_google_benchmark(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the times, rates and counters of each benchmark: the median over its repetitions.

    The repetitions are the samples. If a file has only aggregates, their median or mean is read.
    """
    for run in file.objects():
        context = run.child("context")
        origin = BenchmarkResult(
            benchmark="",
            metric="",
            value=math.nan,
            machine=context.optional_text("host_name"),
            time=_date(context),
        )
        groups: dict[str, list[JsonObject]] = {}
        for entry in run.children("benchmarks"):
            name = entry.optional_text("run_name") or entry.text("name")
            groups.setdefault(name, []).append(entry)
        for name, entries in groups.items():
            yield from _results(_repetitions(entries), replace(origin, benchmark=name))


def _date(context: JsonObject) -> float:
    text = context.optional_text("date")
    try:
        return datetime.strptime(text, _OLD_DATE).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return context.time("date")


def _repetitions(entries: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the entries of the repetitions, else those of the preferred aggregate."""
    single = [one for one in entries if one.optional_text("run_type") != "aggregate"]
    for aggregate in _AGGREGATES:
        if single:
            break
        single = [one for one in entries if one.optional_text("aggregate_name") == aggregate]
    return single


def _is_without_result(entry: JsonObject) -> bool:
    """Return whether a benchmark failed or was skipped; its times are then 0."""
    return entry.flag("error_occurred") or entry.flag("skipped")


def _results(entries: Sequence[JsonObject], origin: BenchmarkResult) -> Iterator[BenchmarkResult]:
    if not entries:
        return
    runs = [one for one in entries if not _is_without_result(one)]
    failed = [one for one in entries if _is_without_result(one)]
    if not runs and failed:
        yield replace(origin, metric="real_time", unit="s", worse=WorseDirection.HIGHER)
        return
    for metric in _TIMES:
        scale = [base_unit(one.optional_text("time_unit") or "ns") for one in runs]
        values = [one.number(metric) * unit.factor for one, unit in zip(runs, scale, strict=True)]
        yield _result(origin, metric, values, unit="s", worse=WorseDirection.HIGHER)
    for metric in _counters(runs):
        values = [one.optional_number(metric) for one in runs]
        worse = WorseDirection.LOWER if metric in _RATES else None
        yield _result(origin, metric, values, unit=_RATES.get(metric, ""), worse=worse)


def _result(
    origin: BenchmarkResult,
    metric: str,
    values: Sequence[float],
    *,
    unit: str,
    worse: WorseDirection | None,
) -> BenchmarkResult:
    samples = tuple(value for value in values if not math.isnan(value))
    return replace(
        origin,
        metric=metric,
        value=median(samples) if samples else math.nan,
        unit=unit,
        worse=worse,
        samples=samples if len(samples) > 1 else (),
    )


def _counters(entries: Sequence[JsonObject]) -> list[str]:
    """Return the names of the counters: numbers other than times and the repetition's own."""
    names: dict[str, None] = {}
    for entry in entries:
        for key, value in entry.fields.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and key not in _NO_COUNTERS:
                names[key] = None
    return list(names)
