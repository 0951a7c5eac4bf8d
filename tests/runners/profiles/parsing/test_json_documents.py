import json

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.parsing import json_documents
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import MAX_JSON_BYTES, documents_in, figure_of
from perfledger_profiles.parsing.text_file import read_text


def read_documents(data):
    return documents_in(read_text(data, max_bytes=MAX_JSON_BYTES))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"a": 2}',
        '[{"a": 1}, {"a": 2}]',
        '{"a": 1}{"a": 2}\n',
        '{\n "a": 1\n}\n{\n "a": 2\n}',
    ],
)
def test_one_object_after_another_is_read(text):
    read = read_documents(text.encode())

    assert [one["a"] for one in read.documents] == [1, 2]
    assert read.dropped == 0


def test_nan_and_infinity_are_nothing():
    (one,) = read_documents(b'{"a": NaN, "b": -Infinity, "c": 1e999}').documents

    assert [figure_of(one[key]) for key in "abc"] == [None, None, None]


def test_of_a_key_that_comes_twice_the_last_counts():
    assert read_documents(b'{"a": 1, "a": 2}').documents == [{"a": 2}]


def test_a_broken_object_costs_itself():
    read = read_documents(b'{"a": 1}\n{"a": 2, "b"\n{"a": 3}')

    assert [one["a"] for one in read.documents] == [1, 3]
    assert read.dropped == 1


@pytest.mark.parametrize(
    "text",
    ["", "x", "[1, 2]", '"text"', "{" * 100_000, "[" * 100_000, '{"a": ' * 50_000, "9" * 10_000],
)
def test_what_holds_no_object_is_refused(text):
    with pytest.raises(ProfileError, match="no JSON object"):
        read_documents(text.encode())


def test_more_values_than_any_result_has_are_refused(monkeypatch):
    monkeypatch.setattr(json_documents, "MAX_VALUES", 10)

    with pytest.raises(ProfileError, match="more than 10 values"):
        read_documents(b'{"a": [1,2,3,4,5,6,7,8,9,10,11,12]}')


def test_a_figure_is_a_finite_number():
    assert figure_of(10**400) is None
    assert figure_of(True) is None
    assert figure_of("1") is None
    assert figure_of(2) == 2.0


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.lists(st.text(max_size=4))))
def test_what_is_written_is_read(document):
    assert read_documents(json.dumps(document).encode()).documents == [document]
