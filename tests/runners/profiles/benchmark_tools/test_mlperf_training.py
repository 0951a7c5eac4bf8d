"""Logs here are written by hand in the shape of MLPerf's logging library; nothing was recorded."""

import json

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.mlperf_training import (
    NOT_ENDED,
    NOT_REACHED,
    read_mlperf_training,
)
from perfledger_profiles.parsing.errors import ProfileError

BEGIN = 1_700_000_000_000


def event(key, seconds, value=None, **metadata):
    entry = {
        "namespace": "",
        "time_ms": BEGIN + round(seconds * 1000),
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {"file": "/home/somebody/train.py", "lineno": 7} | metadata,
    }
    return f":::MLLOG {json.dumps(entry)}"


RUN = (
    event("submission_benchmark", 0, "bert"),
    event("init_start", 0),
    event("global_batch_size", 1, 448),
    event("init_stop", 60),
    event("run_start", 61),
    event("tracked_stats", 100, {"throughput": 2500.0, "loss": 3.0}, samples_count=4480),
    event("eval_start", 110, epoch_num=1),
    event("eval_accuracy", 115, 0.55, epoch_num=1),
    event("eval_stop", 116, epoch_num=1),
    event("tracked_stats", 150, {"throughput": 2510.0}),
    event("tracked_stats", 160, {"throughput": 2700.0}),
    event("eval_start", 170, epoch_num=2),
    event("eval_accuracy", 175, 0.72, epoch_num=2),
    event("eval_stop", 177, epoch_num=2),
)
STOP = event("run_stop", 181.5, status="success")


def read(*lines):
    return read_mlperf_training("\n".join(lines).encode(), workload="m:f", side=Side.HEAD)


def test_the_time_to_train_is_from_run_start_to_run_stop():
    profile = read(*RUN, STOP)

    readings = {(one.name, one.subject): one.value for one in profile.readings}
    assert readings == {
        ("time_to_train", ""): pytest.approx(120.5),
        ("init_time", ""): pytest.approx(60),
        ("eval_time", ""): pytest.approx(13),
        ("global_batch_size", ""): 448,
        ("throughput_samples", ""): 2510.0,
        ("eval_accuracy", ""): 0.72,
        ("eval_accuracy", "epoch num 1"): 0.55,
        ("eval_accuracy", "epoch num 2"): 0.72,
    }
    assert profile.notes == ()
    assert "somebody" not in repr(profile)


def test_a_run_that_did_not_reach_its_quality_has_no_time_to_train():
    profile = read(*RUN, event("run_stop", 181, status="aborted"))

    assert profile.reading("time_to_train") is None
    assert profile.reading("run_time") == pytest.approx(120)
    assert profile.notes == (NOT_REACHED.format("aborted"),)


def test_a_run_that_has_not_ended_says_so():
    profile = read(*RUN)

    assert profile.reading("time_to_train") is None
    assert profile.notes == (NOT_ENDED,)


def test_without_a_stated_throughput_the_counts_of_samples_give_one():
    counts = [event("block_stop", 10 * n, samples_count=1000 * n) for n in range(1, 5)]

    profile = read(event("run_start", 0), *counts, event("run_stop", 50, status="success"))

    (reading,) = [one for one in profile.readings if one.name == "throughput_samples"]
    assert reading.value == pytest.approx(100)
    assert reading.is_estimate


def test_lines_of_launchers_around_the_events_do_not_matter():
    lines = [f" 0: 2026-11-21 {line} trailing" for line in (*RUN, STOP)]

    assert read("Starting training", *lines).readings == read(*RUN, STOP).readings


def test_of_ranks_that_all_log_one_counts():
    doubled = [line for line in (*RUN, STOP) for _ in range(2)]

    profile = read(*doubled)

    assert profile.reading("time_to_train") == pytest.approx(120.5)
    assert profile.reading("eval_time") == pytest.approx(13)


def test_two_runs_in_one_log_are_numbered():
    profile = read(*RUN, STOP, *RUN, event("run_stop", 171, status="success"))

    assert profile.reading("time_to_train", subject="run 1") == pytest.approx(120.5)
    assert profile.reading("time_to_train", subject="run 2") == pytest.approx(110)
    assert profile.reading("eval_accuracy", subject="run 2 epoch num 1") == 0.55


def test_torn_lines_are_counted():
    profile = read(*RUN, STOP, RUN[5][:60], ":::MLLOG [1]", ":::MLLOG " + '{"a":' * 30_000)

    assert profile.dropped_events == 3
    assert profile.reading("time_to_train") == pytest.approx(120.5)


@pytest.mark.parametrize(
    "text", ["", "epoch 1", ":::MLLOG", ":::MLLOG {}", event("seed", 0, 3), event("run_stop", 0)]
)
def test_what_tells_nothing_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)


def test_a_run_that_starts_and_stops_in_one_moment_took_no_time():
    run = (event("run_start", 5), event("run_stop", 5, status="success"))

    assert read(*run).reading("time_to_train") == 0.0


def test_intervals_of_a_kind_are_added_up():
    run = (event("run_start", 0), event("eval_start", 1), event("eval_stop", 1.25))

    assert read(*run).reading("eval_time") == pytest.approx(0.25)


def test_a_throughput_is_counted_over_parts_of_a_second_too():
    run = (
        event("submission_benchmark", 0, "bert"),
        event("run_start", 1),
        event("tracked_stats", 1.25, {"loss": 3.0}, samples_count=100),
        event("tracked_stats", 1.75, {"loss": 2.9}, samples_count=200),
        event("run_stop", 3, status="success"),
    )

    profile = read_mlperf_training("\n".join(run).encode(), workload="m:f", side=Side.HEAD)

    (reading,) = (one for one in profile.readings if one.name == "throughput_samples")
    assert reading.value == pytest.approx(100 / 0.5)
