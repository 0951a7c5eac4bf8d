"""CSV files with a row for each value."""

import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories import plain_csv
from perfledger_profiles.benchmark_histories.commit_order import order_history
from perfledger_profiles.benchmark_histories.plain_csv import is_plain_csv, read_plain_csv
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import PLAIN_CSV


def places_of(parsed, *rows):
    text = "\n".join(("commit,metric,value", *rows))
    return [one.place for one in read_plain_csv(parsed(text))]


def test_every_metric_is_a_series_in_base_units(parsed):
    results = list(read_plain_csv(parsed(PLAIN_CSV)))
    latency = [one for one in results if one.benchmark == "latency"]
    throughput = [one for one in results if one.benchmark == "throughput"]

    assert [one.value for one in latency] == pytest.approx([0.00125, 0.0015, 0.00126])
    assert {(one.metric, one.unit, one.worse) for one in latency} == {
        ("value", "s", WorseDirection.HIGHER)
    }
    assert [one.commit for one in latency] == ["aaa0", "aaa1", "aaa2"]
    assert latency[0].time == 1767232800.0
    assert math.isnan(throughput[1].value)
    assert {(one.unit, one.worse) for one in throughput} == {("images/s", WorseDirection.LOWER)}


def test_the_points_are_the_commits_in_the_order_of_the_rows(parsed):
    history = order_history(read_plain_csv(parsed(PLAIN_CSV)))

    assert history.commits == ("aaa0", "aaa1", "aaa2")
    assert {one.benchmark: one.values[0] for one in history.series} == {
        "latency": pytest.approx(0.00125),
        "throughput": 800.0,
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_further_columns_name_benchmark_machine_and_direction(parsed, delimiter):
    text = "SHA,Benchmark,Metric,Value,Machine,Worse\na1,gpt,loss,2.5,box,Lower\n"

    (result,) = read_plain_csv(parsed(text.replace(",", delimiter)))

    assert (result.commit, result.benchmark, result.metric) == ("a1", "gpt", "loss")
    assert (result.machine, result.worse, result.unit) == ("box", WorseDirection.LOWER, "")
    assert math.isnan(result.time)


def test_without_a_commit_the_times_order_the_values(parsed):
    text = "time,metric,value\n20,a,2\n10,a,1\n"

    history = order_history(read_plain_csv(parsed(text)))

    assert [one.values for one in history.series] == [(1.0, 2.0)]


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        pytest.param(("c1,a,1", "c1,b,1", "c2,a,1", "c2,b,1"), [0, 0, 1, 1], id="by commit"),
        pytest.param(("c1,a,1", "c2,a,1", "c1,b,1", "c2,b,1"), [0, 1, 0, 1], id="by metric"),
        pytest.param(
            ("c1,a,1", "c2,a,1", "c1,b,1", "c2,b,1", "c3,b,1"), [0, 1, 0, 1, 2], id="more"
        ),
        pytest.param(("c1,a,1", "c1,a,2"), [0, 0], id="twice"),
        pytest.param(("c1,a,1", "c2,a,1", "c1,a,1"), [None] * 3, id="back"),
        pytest.param(("c1,a,1", "c3,a,1", "c1,b,1", "c2,b,1", "c3,b,1"), [None] * 5, id="between"),
        pytest.param((",a,1", "c2,a,1"), [None] * 2, id="no name"),
    ],
)
def test_an_order_on_which_series_do_not_agree_is_not_guessed(parsed, rows, places):
    assert places_of(parsed, *rows) == places


@pytest.mark.parametrize(
    ("rows", "is_known"),
    [
        pytest.param(("c2,2,a,1", "c2,2,b,1", "c1,1,a,1", "c1,1,b,1"), False, id="by commit"),
        pytest.param(("c2,2,a,1", "c1,1,a,1", "c2,2,b,1", "c1,1,b,1"), False, id="by metric"),
        pytest.param(("c1,1,a,1", "c2,2,a,1", "c1,3,b,1", "c2,2,b,1"), True, id="of one metric"),
        pytest.param(("c1,2,a,1", "c2,1,a,1", "c3,,a,1"), True, id="unknown"),
        pytest.param(("c1,1,a,1", "c2,1,a,1"), True, id="at once"),
    ],
)
def test_rows_whose_times_go_back_may_have_the_newest_commit_first(parsed, rows, is_known):
    text = "\n".join(("commit,time,metric,value", *rows))

    results = list(read_plain_csv(parsed(text)))

    assert all((one.place is not None) is is_known for one in results)
    if not is_known:
        with pytest.raises(HistoryFileError, match=r"do not contain the order .* --clone"):
            order_history(results)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("commit,value\nc,1\n", "no column metric"),
        ("commit,metric,value\nc,a\n", "line 2: 2 cells for 3 columns"),
        ("commit,metric,value\nc,,1\n", "line 2 names no metric"),
        ("commit,metric,value\nc,a,x\n", "line 2, column 'value' has no number"),
        ("commit;metric;value\nc;a;1,5\n", "line 2, column 'value' has a comma"),
        ("commit,metric,value,worse\nc,a,1,up\n", "'up' is no direction"),
        ("time,metric,value\nsoon,a,1\n", "line 2 has no time"),
        ('commit,metric,value\nc,"a"b,1\n', "Correct the quoting"),
        ("commit,branch,metric,value\nc,main,a,1\nd,dev,a,1\n", "several branches"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(parsed, text, words):
    with pytest.raises(HistoryFileError, match=words):
        list(read_plain_csv(parsed(text)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "metric,value\na,1\n",
        "commit,value\nc,1\n",
        "commit,metric,value,value\nc,a,1,1\n",
        f"commit,metric,value,{'x' * 200_000}\nc,a,1,1\n",
    ],
)
def test_any_other_table_is_not_one(parsed, text):
    assert not is_plain_csv(parsed(text))


def test_a_csv_of_too_many_cells_is_an_error(parsed, monkeypatch):
    monkeypatch.setattr(plain_csv, "MAX_HISTORY_VALUES", 3)

    with pytest.raises(HistoryFileError, match="more than 3 cells: give a shorter time"):
        list(read_plain_csv(parsed(PLAIN_CSV)))
