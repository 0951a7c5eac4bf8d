"""Logs of MLPerf training, as mlperf-logging wrote them."""

import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.mlperf import read_mlperf
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from perfledger_profiles.benchmark_histories.text import HistoryText


def log(*events):
    lines = [
        f':::MLLOG {{"key": "{key}", "value": {value}, "time_ms": {ms}, "metadata": {metadata}}}'
        for ms, key, value, metadata in events
    ]
    return HistoryText(source="mlperf.log", text="\n".join(["starting", *lines]))


def test_a_run_has_its_time_to_train_throughput_and_accuracy(recording):
    results = {one.metric: one for one in read_mlperf(recording("mlperf.log"))}

    time, rate = results["time_to_train"], results["throughput"]
    assert time.key == ("resnet", "time_to_train", "box", "s")
    assert time.value == pytest.approx(0.001, abs=1e-6)
    assert (rate.value, rate.samples) == (101.5, (101.0, 102.0))
    assert (time.worse, rate.worse) == (WorseDirection.HIGHER, WorseDirection.LOWER)
    assert (results["eval_accuracy"].value, results["eval_accuracy"].worse) == (0.7, None)
    assert time.time == pytest.approx(1795842656.399)


def test_a_run_without_success_has_no_time_to_train():
    aborted = log(
        (1000, "run_start", "null", "{}"), (5000, "run_stop", "null", '{"status": "aborted"}')
    )
    unfinished = log((1000, "run_start", "null", "{}"))

    for file in (aborted, unfinished):
        (result,) = read_mlperf(file)
        assert math.isnan(result.value)


def test_each_run_of_a_log_is_a_result():
    success = '{"status": "success"}'
    events = [
        (1000, "run_start", "null", "{}"),
        (5000, "run_stop", "null", success),
        (11000, "run_start", "null", "{}"),
        (17000, "run_stop", "null", success),
    ]

    results = list(read_mlperf(log(*events)))

    assert [(one.time, one.value) for one in results] == [(1.0, 4.0), (11.0, 6.0)]


def test_a_torn_line_and_a_log_without_a_run_are_errors():
    with pytest.raises(HistoryFileError, match="line 1 of :::MLLOG is torn"):
        list(read_mlperf(HistoryText(source="x.log", text=':::MLLOG {"key": "run_st')))
    with pytest.raises(HistoryFileError, match="no run_start"):
        list(read_mlperf(log((1, "init_start", "null", "{}"))))
