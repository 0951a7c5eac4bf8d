"""The text of a history's file: JSON, JSON lines, a script, or plain text."""

import math

import pytest

from perfledger_profiles.benchmark_histories import text
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from perfledger_profiles.benchmark_histories.text import parse_history


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('\ufeff {"a": 1}\n', [{"a": 1}]),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('[{"a": 1}]', [[{"a": 1}]]),
        ('window.BENCHMARK_DATA = {"a": 1};', [{"a": 1}]),
        ("a,b\n1,2\n", []),
        ('[rank0]:::MLLOG {"a": 1}', []),
        ("[task] PERFHERDER_DATA: {}", []),
        ("", []),
    ],
)
def test_json_is_parsed_and_other_text_is_kept(text, documents):
    file = parse_history(text.encode(), "x")

    assert list(file.documents) == documents


def test_objects_of_lists_have_their_path():
    paths = [one.path for one in parse_history(b'[{"a": 1}, {"a": 2}]', "x").objects()]

    assert paths == ["x, item 1", "x, item 2"]


def test_nan_is_a_gap():
    (one,) = parse_history(b'{"a": NaN}', "x").objects()

    assert math.isnan(one.number("a"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a": 1', "not complete JSON: Expecting"),
        (b'{"a": 1} {"a":', "not complete JSON"),
        (b"window.BENCHMARK_DATA = {", "not complete JSON"),
        (b'{"a": 1, "a": 2}', "the key 'a' is a duplicate"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not complete JSON"),
        (b"\xff\xfe\x00", "line 1, is not UTF-16 text"),
    ],
)
def test_a_damaged_file_is_an_error(data, words):
    with pytest.raises(HistoryFileError, match=words):
        parse_history(data, "x")


def test_an_item_that_is_no_object_is_an_error():
    with pytest.raises(HistoryFileError, match="x, item 2 is not an object"):
        list(parse_history(b'[{"a": 1}, 2]', "x").objects())


def test_a_file_beyond_the_limits_is_an_error(monkeypatch):
    monkeypatch.setattr(text, "MAX_HISTORY_VALUES", 3)
    with pytest.raises(HistoryFileError, match="more than 3 values"):
        parse_history(b"[1, 2, 3, 4]", "x")

    monkeypatch.setattr(text, "MAX_HISTORY_BYTES", 2**20)
    with pytest.raises(HistoryFileError, match="more than 1 MiB"):
        parse_history(b" " * (2**20 + 1), "x")


def test_the_first_object_of_other_json_is_empty():
    assert parse_history(b"[]", "x").first_object() == {}
    assert parse_history(b"[1]", "x").first_object() == {}
    assert parse_history(b"a", "x").first_object() == {}
