"""Files of google-benchmark, as it wrote them."""

import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.google_benchmark import read_google_benchmark
from perfledger_profiles.benchmark_histories.results import HistoryFileError


def test_times_are_the_median_of_the_repetitions_in_seconds(recording):
    results = {
        one.key[:2]: one for one in read_google_benchmark(recording("google_benchmark.json"))
    }
    result = results["sum_of_range/8", "real_time"]

    assert result.value == pytest.approx((6.497e-07 + 7.514e-07) / 2, rel=1e-3)
    assert len(result.samples) == 2
    assert (result.unit, result.worse) == ("s", WorseDirection.HIGHER)
    assert (result.machine, result.commit) == ("vm", "")
    assert result.time == pytest.approx(1795842301)  # 2026-11-28T05:05:01+00:00


def test_a_rate_is_worse_when_lower_and_a_counter_has_no_direction(recording):
    results = {
        one.key[:2]: one for one in read_google_benchmark(recording("google_benchmark.json"))
    }

    rate, counter = results["sum_of_range/8", "items_per_second"], results["counted", "width"]
    assert (rate.unit, rate.worse) == ("items/s", WorseDirection.LOWER)
    assert (counter.value, counter.unit, counter.worse) == (10.0, "", None)


def test_a_benchmark_with_an_error_is_a_gap(recording):
    results = [
        one
        for one in read_google_benchmark(recording("google_benchmark.json"))
        if one.benchmark == "fails"
    ]

    assert [math.isnan(one.value) for one in results] == [True]


def test_of_aggregates_alone_the_median_is_read(recording):
    file = recording("google_benchmark_aggregates.json")
    results = {one.metric: one for one in read_google_benchmark(file)}
    medians = [
        one for one in file.first_object()["benchmarks"] if one["aggregate_name"] == "median"
    ]

    assert set(results) == {"real_time", "cpu_time", "width"}
    assert results["real_time"].value == pytest.approx(medians[0]["real_time"] * 1e-9)
    assert results["real_time"].samples == ()


def test_the_old_form_of_the_date_is_read(parsed):
    entry = {"name": "b", "real_time": 5, "cpu_time": 4, "time_unit": "ms"}
    context = {"date": "2015/03/17-18:40:25", "num_cpus": 40}

    real, _ = read_google_benchmark(parsed({"context": context, "benchmarks": [entry]}))

    assert (real.value, real.time) == (0.005, 1426617625.0)


def test_a_benchmark_without_a_time_is_an_error(parsed):
    content = {"context": {"num_cpus": 1}, "benchmarks": [{"name": "b", "cpu_time": 4}]}

    with pytest.raises(HistoryFileError, match="'real_time' is missing"):
        list(read_google_benchmark(parsed(content)))
