"""The order of a history's commits, and its series."""

import math
from dataclasses import replace

import pytest

from perfledger_profiles.benchmark_histories import commit_order
from perfledger_profiles.benchmark_histories.commit_order import (
    CommitLine,
    CommitOrder,
    order_history,
)
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)

A, B, C = ("a" * 40, "b" * 40, "c" * 40)
RESULT = BenchmarkResult(benchmark="bench", metric="time", value=1.0, unit="s")


def at(commit="", value=1.0, **fields):
    return replace(RESULT, commit=commit, value=value, **fields)


def test_a_clone_orders_the_commits_whatever_the_dates_say():
    results = [
        at(A, 1.0, commit_time=9.0),
        at(B, 2.0, commit_time=5.0),
        at(C, 3.0, commit_time=1.0),
    ]

    history = order_history(results, line=CommitLine([A, B, C]))

    assert (history.order, history.commits) == (CommitOrder.CLONE, (A, B, C))
    assert history.series[0].values == (1.0, 2.0, 3.0)


def test_commits_that_are_not_on_the_line_are_left_out_and_counted():
    history = order_history([at(A), at(C)], line=CommitLine([A, B]))

    assert history.commits == (A,)
    assert history.notes == (
        (
            "1 of 2 results are left out: they are of commits that are not first parents of the "
            "clone's default branch"
        ),
    )
    with pytest.raises(HistoryFileError, match="nothing is left to analyse"):
        order_history([at(C)], line=CommitLine([A, B]))


def test_the_order_of_the_file_goes_before_the_dates():
    results = [at(A, place=2, commit_time=1.0), at(B, place=1, commit_time=2.0)]

    history = order_history(results)

    assert (history.order, history.commits) == (CommitOrder.FILE, (B, A))


def test_else_the_dates_of_the_commits_count_and_not_the_times_of_measuring():
    results = [at(A, commit_time=2.0, time=1.0), at(B, commit_time=1.0, time=2.0)]

    history = order_history(results)

    assert (history.order, history.commits) == (CommitOrder.COMMIT_TIME, (B, A))
    assert history.series[0].times == (2.0, 1.0)


def test_commits_of_one_date_have_no_order_and_are_left_out():
    results = [at(A, commit_time=1.0), at(B, commit_time=1.0), at(C, commit_time=2.0)]

    history = order_history(results)

    assert history.commits == (C,)
    assert "2 of 3 results are left out" in history.notes[0]
    with pytest.raises(HistoryFileError, match="share their date"):
        order_history(results[:2])


def test_without_commits_the_times_of_measuring_order_the_points():
    history = order_history([at(time=2.0, value=5.0), at(time=1.0, value=4.0)])

    assert (history.order, history.commits) == (CommitOrder.TIME, ("", ""))
    assert (history.series[0].values, history.times) == ((4.0, 5.0), (1.0, 2.0))


@pytest.mark.parametrize(
    "results",
    [
        [at(A, time=1.0), at(B, time=2.0)],  # measured in this order, committed in any
        [at(A, commit_time=1.0), at(B)],
        [at(A, place=1), at(B)],
        [at(), at()],  # two runs without anything
        [at(time=1.0), at()],
        [at(time=1.0), at(A, time=2.0)],
    ],
)
def test_an_unknown_order_is_an_error_that_names_the_option(results):
    with pytest.raises(HistoryFileError, match="with --clone"):
        order_history(results)


def test_results_without_a_commit_cannot_be_on_a_line():
    with pytest.raises(
        HistoryFileError, match=r"1 results name no commit.*results-1a2b3c4d5e\.json"
    ):
        order_history([at(A), at()], line=CommitLine([A]))


def test_one_run_needs_no_order():
    history = order_history([at(), replace(RESULT, metric="memory", unit="B")])

    assert (history.order, len(history.series)) == (CommitOrder.SINGLE, 2)


def test_a_commit_measured_twice_is_two_points_also_of_series_measured_once():
    other = replace(RESULT, metric="other")
    results = [at(A, 1.0, commit_time=1.0, time=2.0), at(A, 2.0, commit_time=1.0, time=1.0)]
    results += [replace(other, commit=A, commit_time=1.0), at(B, 3.0, commit_time=2.0)]

    history = order_history(results)

    second, first = history.series
    assert history.commits == (A, A, B)
    assert first.values == (2.0, 1.0, 3.0)  # by the times of measuring
    assert second.values[0] == 1.0
    assert all(map(math.isnan, second.values[1:]))


def test_samples_stay_with_their_points():
    history = order_history([at(A, commit_time=1.0, samples=(1.0, 2.0)), at(B, commit_time=2.0)])

    assert history.series[0].samples == ((1.0, 2.0), ())


def test_results_of_uncommitted_changes_are_left_out():
    history = order_history([at(A, commit_time=1.0), at(A, commit_time=1.0, is_dirty=True)])

    assert history.commits == (A,)
    assert history.notes == ("1 of 2 results are left out: they are of uncommitted changes",)


def test_a_series_without_a_value_is_left_out_and_no_value_at_all_is_an_error():
    failed = replace(RESULT, metric="failed", value=math.nan)

    history = order_history([RESULT, failed])

    assert [one.metric for one in history.series] == ["time"]
    assert history.notes == ("series without a value, which are left out: 1",)
    with pytest.raises(HistoryFileError, match="every result failed"):
        order_history([failed])


def test_a_history_of_too_many_values_is_an_error(monkeypatch):
    monkeypatch.setattr(commit_order, "MAX_HISTORY_CELLS", 1)

    with pytest.raises(HistoryFileError, match="1 series of 2 points are more than 1 values"):
        order_history([at(A, place=1), at(B, place=2)])


@pytest.mark.parametrize(
    ("name", "place"),
    [(A, 0), (A.upper(), 0), ("b" * 7, 1), ("b" * 6, None), ("c" * 39, None), ("d" * 40, None)],
)
def test_a_commit_is_known_by_its_first_digits_unless_they_are_those_of_two(name, place):
    assert CommitLine([A, B, C, "c" * 39 + "d"]).place_of(name) == place


def test_a_commit_and_its_first_digits_are_one_commit():
    history = order_history([at(A), at("a" * 9, 2.0), at(B)], line=CommitLine([A, B]))

    assert history.commits == (A, A, B)
