import pytest

from perfledger_runners.bundles.value_checks import (
    MAX_INTEGER,
    MAX_LOG,
    MAX_WORD,
    BundleError,
    check_values,
    require,
)
from perfledger_runners.safe_text import MAX_DETAIL


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
