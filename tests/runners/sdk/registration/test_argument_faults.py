import pytest

from perfledger.registration.argument_faults import (
    MAX_TAGS,
    MAX_TIMEOUT_S,
    tags_fault,
    timeout_fault,
    tolerance_fault,
)


@pytest.mark.parametrize("timeout", [None, 1, 0.5, MAX_TIMEOUT_S])
def test_a_timeout_is_a_number_of_seconds_or_none(timeout):
    assert timeout_fault(timeout) == ""


@pytest.mark.parametrize("timeout", [0, -1, True, "90s", float("nan"), MAX_TIMEOUT_S + 1])
def test_another_timeout_is_refused(timeout):
    assert "is not a number of seconds" in timeout_fault(timeout)


@pytest.mark.parametrize("tags", [[], ["slow"], ["a-b", "a_b", "a.b", "a:b", "a/b", "a+b", "ä1"]])
def test_a_tag_is_a_word_of_an_expression(tags):
    assert tags_fault(tags) == ""


@pytest.mark.parametrize("tag", ["", "two words", "a(b", "x" * 41, "a\nb", 1, None])
def test_a_tag_that_no_expression_can_name_is_refused(tag):
    assert "is not a word of at most 40" in tags_fault([tag])


@pytest.mark.parametrize("tags", [["a", "a"], [str(number) for number in range(MAX_TAGS + 1)]])
def test_tags_are_few_and_each_one_is_given_once(tags):
    assert "each only once" in tags_fault(tags)


def test_a_fault_names_its_argument():
    assert tolerance_fault(1.0).startswith("check_tolerance 1.0")
