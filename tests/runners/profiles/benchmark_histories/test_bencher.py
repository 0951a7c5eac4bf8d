"""Exports of Bencher, in the shapes of its sources."""

import copy

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.bencher import is_bencher, read_bencher
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import BENCHER_BMF, BENCHER_PERF, COMMITS


def test_perf_has_commits_in_the_order_of_versions(parsed):
    results = list(read_bencher(parsed(BENCHER_PERF)))

    assert [result.commit for result in results] == list(COMMITS)
    assert [result.place for result in results] == [1, 2, 3]
    assert [result.value for result in results] == pytest.approx([81e-9, 82e-9, 83e-9])
    assert results[0].key == ("decode", "latency", "h100", "s")
    assert results[0].worse is WorseDirection.HIGHER
    assert results[0].time == 1767225600.0


def test_the_metric_format_has_units_of_built_in_measures_only(parsed):
    results = {one.key[:2]: one for one in read_bencher(parsed(BENCHER_BMF))}

    latency, throughput = results["decode", "latency"], results["decode", "throughput"]
    assert latency.value == pytest.approx(88e-9)
    assert latency.unit == "s"
    assert (throughput.unit, throughput.worse) == ("ops/s", WorseDirection.LOWER)
    size, own = results["binary", "file-size"], results["binary", "build-time"]
    assert (size.unit, size.worse) == ("B", WorseDirection.HIGHER)
    assert (own.unit, own.worse, own.commit) == ("", None, "")


def test_several_branches_are_an_error(parsed):
    content = copy.deepcopy(BENCHER_PERF)
    content["results"].append(content["results"][0] | {"branch": {"name": "feature"}})

    with pytest.raises(HistoryFileError, match="several branches, 'feature', 'main': query one"):
        list(read_bencher(parsed(content)))


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"a": {}},
        {"a": {"b": 1}},
        {"a": {"b": {"mean": 1}}},
        {"project": 1, "results": [1]},
        {"values": [1, 2]},
        [1, 2],
    ],
)
def test_other_json_is_not_of_bencher(parsed, content):
    assert not is_bencher(parsed(content))
