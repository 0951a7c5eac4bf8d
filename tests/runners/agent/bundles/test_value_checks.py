import json
from contextlib import nullcontext

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_runners.bundles.files import check_document
from perfledger_runners.bundles.value_checks import (
    MAX_INTEGER,
    MAX_LOG,
    MAX_WORD,
    BundleError,
    check_values,
    require,
)
from perfledger_runners.safe_text import MAX_DETAIL
from tests.suite.tries import tries

DOUBTFUL = (
    *(0.0, 1e308, MAX_INTEGER, MAX_INTEGER + 1, -MAX_INTEGER - 1, True, False, None),
    *("", "w" * MAX_WORD, "w" * (MAX_WORD + 1), "d" * (MAX_DETAIL + 1), "nul\x00", "\ud800"),
    "\N{SNOWMAN}",
)
NAMES = ("a", "b", "detail", "logs", "notes", "k" * (MAX_WORD + 1), "\N{SNOWMAN}", "\x00")
DOCUMENTS = st.dictionaries(
    st.sampled_from(NAMES[:5]) | st.sampled_from(NAMES),
    st.recursive(
        st.sampled_from((1.5, 2, "fine")) | st.sampled_from(DOUBTFUL),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
    ),
)


@pytest.mark.parametrize(
    "document",
    [
        [1.5, -2, "a", None, True],
        {"a": [MAX_INTEGER, -MAX_INTEGER], "b": "w" * MAX_WORD},
        {"detail": "d" * MAX_DETAIL, "logs": {"0": "l" * MAX_LOG}},
        {"notes": ["n" * MAX_DETAIL, "\N{SNOWMAN}"]},
    ],
)
def test_what_every_database_and_page_accepts_passes(document):
    check_values(document)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"a": {"b": [0.0, float("inf")]}}, r"a\.b\[1\]: a number that cannot be stored"),
        ([float("nan")], r"\[0\]: a number"),
        ({"a": MAX_INTEGER + 1}, "a: a number"),
        ([1, -MAX_INTEGER - 1], r"\[1\]: a number"),
        ({"a": "w" * (MAX_WORD + 1)}, f"a: a text of more than {MAX_WORD} characters"),
        ({"logs": {"0": "l" * (MAX_LOG + 1)}}, f"more than {MAX_LOG}"),
        ({"k" * (MAX_WORD + 1): 1}, "a text of more than"),
        ({"a": ["fine", "nul\x00"]}, r"a\[1\]: a text with a NUL character"),
        ({"a": "\ud800"}, "a: a text with half a surrogate pair"),
    ],
)
def test_the_place_of_what_they_refuse_is_named(document, complaint):
    with pytest.raises(BundleError, match=complaint):
        check_values(document)


def test_the_path_to_a_deep_value_is_short():
    document: list[object] = ["\x00"]
    for _ in range(10_000):
        document = [document]

    with pytest.raises(BundleError) as raised:
        check_values(document)

    assert len(str(raised.value)) < MAX_WORD + 100


def test_a_complaint_is_raised_unless_all_is_well():
    require(True, "nothing")
    with pytest.raises(BundleError, match="something"):
        require(0, "something")


@settings(max_examples=tries(200))
@given(DOCUMENTS)
def test_a_document_is_refused_for_the_same_value_while_it_is_read_as_afterwards(document):
    refusal = None
    try:
        check_values(document)
    except BundleError as error:
        refusal = str(error)

    with pytest.raises(BundleError) if refusal else nullcontext() as raised:
        header = check_document(json.dumps(document).encode())

    if raised is not None:
        assert str(raised.value) == refusal
    else:
        assert header.keys() == document.keys()


def test_numbers_without_an_end_are_refused_while_they_are_read():
    with pytest.raises(BundleError, match=r"a\[1\]\.b\[0\]: a number that cannot be stored"):
        check_document(b'{"a": [{"b": [1.0]}, {"b": [1e999]}], "c": [{"d": 1}]}')
