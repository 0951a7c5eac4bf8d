"""The history of github-action-benchmark, in the shape of public data.js files."""

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.action_benchmark import (
    is_action_benchmark,
    read_action_benchmark,
)
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import (
    ACTION,
    ACTION_RUNS,
    ACTION_SCRIPT,
    COMMITS,
)


@pytest.mark.parametrize("content", [ACTION_SCRIPT, ACTION, f"{ACTION_SCRIPT};\n"])
def test_the_script_and_its_json_are_the_same_history(parsed, content):
    file = parsed(content, "data.js")

    results = list(read_action_benchmark(file))

    assert is_action_benchmark(file)
    assert [result.commit for result in results] == list(COMMITS)
    assert [result.value for result in results] == pytest.approx([199.5e-9, 200.5e-9, 201.5e-9])
    assert {result.unit for result in results} == {"s"}
    assert results[0].commit_time == 1767267283.0  # 2026-01-01 19:34:43 +08:00
    assert [result.place for result in results] == [1767686400.0, 1767772800.0, 1767859200.0]


@pytest.mark.parametrize(
    ("tool", "unit", "worse"),
    [
        ("pytest", "iter/sec", WorseDirection.LOWER),
        ("customBiggerIsBetter", "score", WorseDirection.LOWER),
        ("customBiggerIsBetter", "ms", None),  # a time, of which less is better: a mistake
        ("customSmallerIsBetter", "tokens/s", None),
        ("go", "MB/s", None),  # beside ns/op, of which less is better
        ("customSmallerIsBetter", "MB/s", WorseDirection.HIGHER),
        ("customSmallerIsBetter", "score", WorseDirection.HIGHER),
        ("go", "allocs/op", WorseDirection.HIGHER),
        ("benchmarkjsInverse", "secs/op", WorseDirection.HIGHER),  # of a fork: by the unit
        ("benchmarkjsInverse", "score", None),
    ],
)
def test_the_direction_is_that_of_the_tool_else_of_the_unit(parsed, tool, unit, worse):
    run = ACTION_RUNS[0] | {"tool": tool, "benches": [{"name": "b", "unit": unit, "value": 1}]}

    (result,) = read_action_benchmark(parsed({"lastUpdate": 1, "entries": {"s": [run]}}))

    assert result.worse is worse


def test_several_suites_are_in_the_names(parsed):
    content = {"lastUpdate": 1, "entries": {"cpu": ACTION_RUNS[:1], "gpu": ACTION_RUNS[1:2]}}

    names = [result.benchmark for result in read_action_benchmark(parsed(content))]

    assert names == ["cpu: fib_10", "gpu: fib_10"]


def test_custom_results_have_no_commit(parsed):
    content = [{"name": "decode p99", "unit": "ms", "value": 41.2, "range": "± 0.6"}]

    (result,) = read_action_benchmark(parsed(content))

    assert (result.benchmark, result.commit, result.place) == ("decode p99", "", None)
    assert result.value == pytest.approx(0.0412)
    assert not is_action_benchmark(parsed(content))  # it may as well be any table


def test_runs_that_are_not_in_the_order_of_their_dates_are_an_error(parsed):
    content = {"lastUpdate": 1, "entries": {"s": ACTION_RUNS[::-1]}}

    with pytest.raises(HistoryFileError, match=r"'s'\[1\]: 'date' is missing or earlier"):
        list(read_action_benchmark(parsed(content)))
