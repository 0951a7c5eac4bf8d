"""CSV files for Apache Otava, in the shape of its examples."""

import math

import pytest

from perfledger_profiles.benchmark_histories import otava_csv
from perfledger_profiles.benchmark_histories.otava_csv import is_otava_csv, read_otava_csv
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import OTAVA_CSV


def test_every_column_of_numbers_is_a_series_in_the_order_of_the_rows(parsed):
    results = list(read_otava_csv(parsed(OTAVA_CSV)))
    first = [one for one in results if one.benchmark == "metric1"]
    second = [one.value for one in results if one.benchmark == "metric2"]

    assert [one.value for one in first] == [154023.0, 138455.0, 143112.0]
    assert [one.commit for one in first] == ["aaa0", "aaa1", "aaa2"]
    assert [one.place for one in first] == [1, 2, 3]
    assert first[0].time == 1767232800.0  # 2026-01-01 03:00 +01:00
    assert math.isnan(second[1])
    assert {(one.unit, one.worse) for one in results} == {("", None)}


@pytest.mark.parametrize("time", ["1767232800", "2026-01-01T02:00:00Z", "2026-01-01 02:00"])
def test_other_forms_of_a_time_are_read(parsed, time):
    first, *_ = read_otava_csv(parsed(f"time,a,b\n{time},1,2\n"))

    assert first.time == 1767232800.0


@pytest.mark.parametrize(
    "text",
    ["", "time,a\n1,2\n", "a,b\n1,2\n", "time,time,a,b\n1,1,2,3\n", "time,commit,a\n1,7,3\n"],
)
def test_a_csv_that_the_plain_reader_understands_is_not_otavas(parsed, text):
    assert not is_otava_csv(parsed(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,a,b\nsoon,1,2\n", "line 2 has no time"),
        ("time,a,b\n1e13,1,2\n", "line 2 has no time"),
        ("time,a,b\n1,1,2\n2,x,2\n", "line 3, column 'a' has no number"),
        ("time,a,b\n1,1,2\n2,inf,2\n", "line 3, column 'a' has no number"),
        ("time;a;b\n1;1;2\n2;1,5;2\n", "line 3, column 'a' has a comma: write decimals with a"),
        ("time,a,b\n1,1,2\n2,2\n", "line 3: 2 cells for 3 columns"),
        ('time,a,b\n1,1,2\n2,"x"y,2\n', "Correct the quoting"),
        ("time,branch,a,b\n1,main,1,2\n2,other,1,2\n", "several branches"),
        ("a,b\n1,2\n", "no column time or timestamp or date"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(parsed, text, words):
    with pytest.raises(HistoryFileError, match=words):
        list(read_otava_csv(parsed(text)))


def test_a_csv_of_too_many_cells_is_an_error(parsed, monkeypatch):
    monkeypatch.setattr(otava_csv, "MAX_HISTORY_VALUES", 3)

    with pytest.raises(HistoryFileError, match="more than 3 cells"):
        list(read_otava_csv(parsed(OTAVA_CSV)))


def test_a_column_that_begins_with_a_gap_is_read(parsed):
    results = read_otava_csv(parsed("time,commit,a,b\n1,x1,nan,1\n2,x2,5,1\n"))

    assert {one.benchmark for one in results} == {"a", "b"}
