"""Files of pytest-benchmark, as it wrote them."""

import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.pytest_benchmark import read_pytest_benchmark
from perfledger_profiles.benchmark_histories.results import HistoryFileError


def test_each_benchmark_has_its_median_time_and_its_commit(recording):
    first, second = read_pytest_benchmark(recording("pytest_benchmark/0001.json"))

    assert first.benchmark == "test_sums.py::test_total[100]"
    assert second.benchmark == "test_sums.py::test_total[1000]"
    assert (first.metric, first.unit, first.worse) == ("time", "s", WorseDirection.HIGHER)
    assert first.value == pytest.approx(9.677e-07, rel=1e-4)
    assert (first.samples, first.is_dirty) == ((), False)
    assert first.machine == "Intel(R) Xeon(R) Processor"  # and not "vm", its host
    assert first.commit.startswith("33da2502")
    assert first.commit_time == 1767603600.0  # 2026-01-05 10:00 +01:00
    assert first.time == pytest.approx(1795842263, abs=1)  # of measuring, months later


def test_the_rounds_are_samples_where_they_are_saved(recording):
    first, _ = read_pytest_benchmark(recording("pytest_benchmark_with_rounds.json"))

    assert len(first.samples) == 5
    assert sorted(first.samples)[2] == first.value


def test_uncommitted_changes_are_known(recording):
    results = list(read_pytest_benchmark(recording("pytest_benchmark_dirty.json")))

    assert all(result.is_dirty for result in results)


def test_outside_of_a_repository_there_is_no_commit_and_no_date_of_one(recording):
    results = list(read_pytest_benchmark(recording("pytest_benchmark_without_git.json")))

    assert {result.commit for result in results} == {""}
    assert all(math.isnan(result.commit_time) for result in results)
    assert not any(math.isnan(result.time) for result in results)


def test_numbers_in_extra_info_are_metrics_without_a_direction(parsed):
    content = {
        "machine_info": {},
        "commit_info": {"id": "unknown"},
        "benchmarks": [
            {"fullname": "t", "stats": {"median": 1}, "extra_info": {"tflops": 610, "gpu": "H100"}}
        ],
    }

    _, extra = read_pytest_benchmark(parsed(content))

    assert (extra.metric, extra.value, extra.unit, extra.worse) == ("tflops", 610.0, "", None)


def test_a_median_that_is_a_text_is_named(parsed):
    content = {
        "machine_info": {},
        "commit_info": {},
        "benchmarks": [{"fullname": "t", "stats": {"median": "fast"}}],
    }

    with pytest.raises(HistoryFileError, match=r"file\.json, 'benchmarks'\[0\], 'stats': 'median'"):
        list(read_pytest_benchmark(parsed(content)))
