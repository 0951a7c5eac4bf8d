"""Reports of LNT, in the shape of its documentation."""

import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.lnt import is_lnt, read_lnt
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import LNT


def test_metrics_of_the_default_suite_have_units_and_directions(parsed):
    results = {one.key[:2]: one for one in read_lnt(parsed(LNT))}

    run, score = results["one", "execution_time"], results["two", "score"]
    assert (run.value, run.samples, run.unit) == (0.2, (0.3, 0.1, 0.2), "s")
    assert run.worse is WorseDirection.HIGHER
    assert (score.value, score.worse) == (7.0, WorseDirection.LOWER)
    assert results["two", "own"].worse is None
    assert set(results) == {
        ("one", "execution_time"),
        ("two", "compile_time"),
        ("two", "score"),
        ("two", "own"),
    }


def test_a_number_orders_the_runs_and_a_hash_does_not(parsed):
    numbered = next(read_lnt(parsed(LNT)))
    run = {"llvm_project_revision": "6f2b7ee0", "start_time": None}
    named = next(read_lnt(parsed(LNT | {"run": run})))

    assert (numbered.commit, numbered.place) == ("265649", 265649.0)
    assert (named.commit, named.place) == ("6f2b7ee0", None)


def test_an_older_report_is_known_and_an_error(parsed):
    file = parsed({"Machine": {}, "Run": {}, "Tests": []})

    assert is_lnt(file)
    with pytest.raises(HistoryFileError, match="'format_version' is not '2'"):
        list(read_lnt(file))


@pytest.mark.parametrize(
    ("status", "is_gap"), [(0, False), ([0, 0], False), (1, True), ([0, 1], True)]
)
def test_the_time_of_a_test_that_failed_is_a_gap(parsed, status, is_gap):
    machine, run = (
        {"name": "m"},
        {"start_time": "2026-01-01T00:00:00", "llvm_project_revision": "7"},
    )
    test = {"name": "t", "execution_time": 0.0, "execution_status": status, "compile_time": 2.0}
    file = {"format_version": "2", "machine": machine, "run": run, "tests": [test]}

    results = {one.metric: one.value for one in read_lnt(parsed(file))}

    assert math.isnan(results["execution_time"]) == is_gap
    assert results["compile_time"] == 2.0
