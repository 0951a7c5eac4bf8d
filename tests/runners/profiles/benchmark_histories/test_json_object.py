"""Fields of an untrusted object."""

import math

import pytest

from perfledger_profiles.benchmark_histories.json_object import MAX_TEXT, JsonObject
from perfledger_profiles.benchmark_histories.results import HistoryFileError


def one(**fields):
    return JsonObject(fields, "x.json")


def test_fields_of_the_right_kind_are_read():
    fields = one(text="a", number=2, list=[1, None], flag=True, child={"a": 1}, objects=[{}, {}])

    assert (fields.text("text"), fields.number("number"), fields.flag("flag")) == ("a", 2.0, True)
    assert fields.numbers("list")[0] == 1.0
    assert math.isnan(fields.numbers("list")[1])
    assert fields.child("child").number("a") == 1.0
    assert len(list(fields.children("objects"))) == 2


def test_missing_fields_are_empty_where_they_are_optional():
    fields = one()

    assert (fields.optional_text("a"), fields.numbers("a"), list(fields.children("a"))) == (
        "",
        (),
        [],
    )
    assert math.isnan(fields.optional_number("a"))
    assert math.isnan(fields.time("a"))
    assert math.isnan(fields.milliseconds("a"))
    assert fields.flag("a", default=True)
    assert fields.child("a").fields == {}


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        ("text", None, "is missing, but must be a string"),
        ("text", 5, "is not a string but a number"),
        ("text", "a" * (MAX_TEXT + 1), "2,001 characters, limit 2,000"),
        ("number", "5", "is not a number but the string '5'"),
        ("number", True, "is not a number but true or false"),
        ("number", math.inf, "is infinite, or too large"),
        ("number", 10**400, "is infinite, or too large"),
        ("number", [], "is not a number but a list"),
        ("numbers", 5, "is not a list of numbers but a number"),
        ("numbers", [1, {}], r"'a\[1\]' is not a number but an object"),
        ("flag", 1, "is neither true nor false but a number"),
        ("child", [], "is not an object but a list"),
        ("children", {}, "is not a list but an object"),
        ("children", [None], r"'a\[0\]' is not an object but null"),
        ("time", "soon", "is not a time such as"),
        ("milliseconds", 1e15, "is not a time in milliseconds"),
    ],
)
def test_any_other_value_is_rejected_with_its_place(read, value, words):
    reader = getattr(one(a=value), read)

    with pytest.raises(HistoryFileError, match=words) as caught:
        list(reader("a"))

    assert str(caught.value).startswith("x.json: ")
    assert str(caught.value).endswith("remove this entry.")


def test_a_missing_number_is_rejected():
    with pytest.raises(HistoryFileError, match="'b' is missing"):
        one(a=1).number("b")


def test_an_error_quotes_no_control_characters():
    with pytest.raises(HistoryFileError) as caught:
        one(a="\x1b[31mred" * 100).number("a")

    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_time_without_a_zone_counts_as_utc():
    assert one(a="2026-01-01T00:00:00").time("a") == one(a="2026-01-01T01:00:00+01:00").time("a")
