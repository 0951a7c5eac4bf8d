"""Bundles of other tools' results: what they hold, what stays out, and that they never differ."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies

from perfledger.metrics import MetricKind, WorseDirection
from perfledger.records import Side
from perfledger_profiles.benchmark_histories.commit_order import CommitLine
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFormat,
)
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.validation import MAX_WORKLOADS
from perfledger_service.usecases.history.imported_bundles import content_of, imported_history
from perfledger_service.usecases.inputs.benchmark_histories import ToolResults

MOMENT = 1.7e9


def sha(number):
    return f"{number:040x}"


def result(**values):
    return BenchmarkResult(
        **(
            {
                "benchmark": "fib",
                "metric": "time",
                "value": 2.0,
                "unit": "s",
                "worse": WorseDirection.HIGHER,
                "machine": "box",
                "commit": sha(1),
                "time": MOMENT,
            }
            | values
        )
    )


def history(*results, line=None, **values):
    read = ToolResults(format=HistoryFormat.ASV, results=results, line=line, notes=())
    return imported_history(read, repository="octo/models", **values)


def test_a_bundle_holds_one_commit_of_one_machine_and_is_read_as_any_other():
    (bundle,) = history(result(samples=(1.0, 2.0, 3.0)), result(benchmark="sort")).bundles

    assert read_bundle(content_of(bundle)) == bundle
    assert content_of(bundle).decode() == bundle.to_json()
    assert bundle.is_imported
    assert bundle.machine.machine_class == "imported:asv, box:1"
    assert bundle.base == bundle.head
    assert {run.side for run in bundle.runs} == {Side.BASE}
    assert bundle.runs[0].samples == {"time (s)": (1.0, 2.0, 3.0)}


def test_commits_and_machines_have_bundles_of_their_own_oldest_first():
    results = (
        result(commit=sha(2), commit_time=MOMENT + 1),
        result(machine="other", commit_time=MOMENT),
        result(commit_time=MOMENT),
    )

    bundles = history(*results).bundles

    assert [one.head.sha for one in bundles] == [sha(1), sha(1), sha(2)]
    assert [one.machine.model for one in bundles] == ["asv, box", "asv, other", "asv, box"]


def test_a_commit_that_was_measured_twice_has_two_bundles():
    bundles = history(result(), result(value=3.0, time=MOMENT + 60)).bundles

    assert [one.runs[0].samples["time (s)"] for one in bundles] == [(2.0,), (3.0,)]


@pytest.mark.slow
def test_many_measurements_of_one_commit_are_as_many_bundles():
    many = [result(value=1.0 + number) for number in range(300)]

    assert len(history(*many).bundles) == 300


@pytest.mark.slow
def test_a_commit_with_more_benchmarks_than_a_bundle_may_have_is_in_two_bundles():
    many = [result(benchmark=f"b{number}") for number in range(MAX_WORKLOADS + 1)]

    bundles = history(*many).bundles

    assert [len(one.workloads) for one in bundles] == [MAX_WORKLOADS, 1]


def test_a_value_that_a_commit_has_already_is_stored_once_and_counted_as_left_out():
    results = (result(), result(time=MOMENT + 60), result(commit=sha(2)))

    imported = history(*results)

    assert [one.points for one in imported.series] == [2]
    assert imported.left_out == {"whose commit already has a value": 1}


def test_of_results_with_one_value_the_same_is_stored_in_whatever_order_they_are():
    results = (result(samples=(1.0, 2.0, 3.0)), result(samples=(2.0, 2.0)))

    assert history(*results).bundles == history(*results[::-1]).bundles


def test_another_unit_or_direction_is_another_metric():
    results = (
        result(benchmark="a", metric="value"),
        result(benchmark="b", metric="value", worse=WorseDirection.LOWER),
        result(benchmark="a", metric="value", unit="B"),
    )

    bundles = history(*results).bundles

    (bundle,) = bundles
    assert [one.name for one in bundle.metrics] == [
        "value (B)",
        "value (s)",
        "value (s, lower is worse)",
    ]
    assert bundle.metrics[0].kind is MetricKind.MEMORY


@pytest.mark.parametrize(
    ("unit", "worse", "name"),
    [
        ("requests/s", WorseDirection.LOWER, "value (requests/s)"),
        ("requests/s", WorseDirection.HIGHER, "value (requests/s, higher is worse)"),
        ("", WorseDirection.HIGHER, "value"),
        ("", WorseDirection.LOWER, "value (lower is worse)"),
    ],
)
def test_a_metrics_name_has_a_direction_that_its_unit_does_not_tell(unit, worse, name):
    (bundle,) = history(result(metric="value", unit=unit, worse=worse)).bundles

    assert [one.name for one in bundle.metrics] == [name]


def test_a_metric_never_has_the_name_of_one_that_perfledger_measures():
    (bundle,) = history(result(metric="step_time_p50", unit="")).bundles

    assert bundle.metrics[0].name == "step_time_p50 (no unit)"


@pytest.mark.parametrize(
    "samples",
    [
        (1.0, 1.0, 5.0),
        (2.0 * (1 + 1.2e-9),),
        (0.0, 2.0, 2.0),
        (math.nan, 2.0),
        (math.inf, 2.0, 2.0),
    ],
)
def test_readings_whose_median_is_not_the_value_are_left_out_of_it(samples):
    (bundle,) = history(result(samples=samples)).bundles

    assert bundle.runs[0].samples == {"time (s)": (2.0,)}


def test_readings_whose_median_is_the_value_up_to_rounding_are_kept():
    samples = (1.0, 2.0 * (1 + 0.8e-9), 3.0)

    (bundle,) = history(result(samples=samples)).bundles

    assert bundle.runs[0].samples == {"time (s)": samples}


def test_the_last_moment_that_has_a_year_of_four_digits_is_kept():
    (bundle,) = history(result(time=253_402_300_798.0)).bundles

    assert bundle.created_at == "9999-12-31T23:59:58+00:00"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"is_dirty": True}, "of uncommitted changes"),
        ({"commit": ""}, "without a commit"),
        ({"commit": "abc1234"}, "whose commit is not a full hash"),
        ({"commit": "z" * 40}, "whose commit is not a full hash"),
        ({"value": math.nan}, "without a value"),
        ({"value": 0.0}, "that is not above zero"),
        ({"value": -1.0}, "that is not above zero"),
        ({"value": 1e39}, "that is not above zero, or too large"),
        ({"worse": None}, "without a direction"),
        ({"time": math.nan}, "without a time of measuring"),
        ({"time": 1e300}, "without a time of measuring"),
        ({"time": 253_402_300_799.0}, "without a time of measuring"),  # the last second of 9999
        ({"benchmark": ""}, "with a name that is empty"),
        ({"benchmark": "a\x00"}, "control characters"),
        ({"machine": "\ud800"}, "control characters"),
        ({"unit": "s" * 301}, "too long"),
        ({"metric": "a\nb"}, "control characters"),
    ],
)
def test_what_cannot_be_stored_truthfully_is_counted_with_its_reason(values, reason):
    imported = history(result(**values), result(benchmark="good"))

    ((left_out_reason, count),) = imported.left_out.items()
    assert reason in left_out_reason
    assert count == 1
    assert imported.series[0].workload == "good"


def test_a_direction_that_is_given_is_only_of_results_without_one():
    results = (result(benchmark="a", worse=None), result(benchmark="b"))

    series = history(*results, worse=WorseDirection.LOWER).series

    assert [one.metric.worse for one in series] == [WorseDirection.LOWER, WorseDirection.HIGHER]


def test_a_clone_completes_hashes_tells_places_and_leaves_other_branches_out():
    line = CommitLine([sha(5), "ab" * 20])
    results = (result(commit="ab" * 5), result(commit=sha(9)), result(commit=sha(5)))

    imported = history(*results, line=line)

    assert [(one.head.sha, one.head.depth) for one in imported.bundles] == [
        (sha(5), 0),
        ("ab" * 20, 1),
    ]
    assert list(imported.left_out.values()) == [1]


def test_a_result_without_a_time_of_measuring_has_its_commits_date():
    (bundle,) = history(result(time=math.nan, commit_time=MOMENT)).bundles

    assert bundle.created_at == bundle.head.committed_at == "2023-11-14T22:13:20+00:00"


@given(
    strategies.lists(
        strategies.builds(
            result,
            benchmark=strategies.sampled_from("ab"),
            metric=strategies.sampled_from("mn"),
            unit=strategies.sampled_from(["s", "B"]),
            worse=strategies.sampled_from(WorseDirection),
            machine=strategies.sampled_from(["", "box"]),
            commit=strategies.integers(1, 3).map(sha),
            value=strategies.floats(0.1, 9),
        ),
        min_size=1,
        max_size=12,
        unique=True,
    ).flatmap(
        lambda results: strategies.tuples(
            *[strategies.just(results)] * 1, strategies.permutations(results)
        )
    )
)
@pytest.mark.slow
def test_the_same_results_in_any_order_are_the_same_bundles_and_none_is_lost(orders):
    results, other_order = orders

    bundles = history(*results).bundles

    assert bundles == history(*other_order).bundles
    assert sum(len(bundle.runs) for bundle in bundles) == len(results)
    assert len({bundle.id for bundle in bundles}) == len(bundles)


def test_more_commits_leave_the_bundles_of_earlier_ones_as_they_are():
    few = history(result()).bundles
    more = history(result(), replace(result(), commit=sha(2), time=MOMENT + 60)).bundles

    assert more[:1] == few
