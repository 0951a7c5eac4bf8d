"""Reads runs from logs of MLPerf's logging library (mllog)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)
from perfledger_profiles.benchmark_histories.text import HistoryText
from perfledger_profiles.benchmark_tools.mlperf_log import MARK, MlperfEvent, events_of
from perfledger_profiles.parsing.json_documents import document_of, figure_of


def is_mlperf(file: HistoryText) -> bool:
    """Return whether this is a log with mllog lines."""
    return MARK in file.text


def read_mlperf(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the time to train, the throughput and the accuracy of each run.

    An unsuccessful run has no time to train. `eval_accuracy` has no direction, because some
    benchmarks log a loss. The log names no commit.
    """
    events: list[MlperfEvent] = []
    for number, event in enumerate(events_of(file.text.splitlines()), start=1):
        if event is None:
            msg = f"{file.source}: line {number} of {MARK} is torn: copy the log again"
            raise HistoryFileError(msg)
        events.append(event)
    starts = [index for index, event in enumerate(events) if event.key == "run_start"]
    if not starts:
        msg = f"{file.source} has no run_start: give the log of a whole run"
        raise HistoryFileError(msg)
    origin = BenchmarkResult(
        benchmark=_stated_text(events, "submission_benchmark") or "training",
        metric="",
        value=math.nan,
        machine=_stated_text(events, "submission_platform"),
    )
    for first, end in zip(starts, [*starts[1:], len(events)], strict=True):
        run = events[first:end]
        yield from _results(run, replace(origin, time=run[0].seconds))


def _results(run: Sequence[MlperfEvent], origin: BenchmarkResult) -> Iterator[BenchmarkResult]:
    stop = next((event for event in run if event.key == "run_stop"), None)
    is_success = stop is not None and stop.metadata.get("status") == "success"
    yield replace(
        origin,
        metric="time_to_train",
        value=stop.seconds - run[0].seconds if stop and is_success else math.nan,
        unit="s",
        worse=WorseDirection.HIGHER,
    )
    throughputs = [
        value
        for event in run
        if event.key in ("tracked_stats", "throughput")
        and (value := figure_of(document_of(event.value).get("throughput", event.value)))
        is not None
    ]
    if throughputs:
        yield replace(
            origin,
            metric="throughput",
            value=median(throughputs),
            unit="samples/s",
            worse=WorseDirection.LOWER,
            samples=tuple(throughputs),
        )
    accuracies = [
        value
        for event in run
        if event.key == "eval_accuracy" and (value := figure_of(event.value)) is not None
    ]
    if accuracies:
        yield replace(origin, metric="eval_accuracy", value=accuracies[-1])


def _stated_text(events: Sequence[MlperfEvent], key: str) -> str:
    stated = next((event.value for event in events if event.key == key), None)
    return stated if isinstance(stated, str) else ""
