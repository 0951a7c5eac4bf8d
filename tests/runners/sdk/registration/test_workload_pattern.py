import pytest
from hypothesis import given, strategies as st

from perfledger.registration.workload_pattern import is_match


@pytest.mark.parametrize(
    ("pattern", "workload", "expected"),
    [
        ("gpt:*", "gpt:train_step", True),
        ("gpt:*", "gpt:train_step[batch=8]", True),
        ("*[batch=8]", "gpt:train_step[batch=8]", True),
        ("*[batch=8]", "gpt:train_step[batch=64]", False),
        ("gpt:train_step", "gpt:train_step[batch=8]", False),
        ("gpt:train_step[batch=?]", "gpt:train_step[batch=8]", True),
        ("GPT:*", "gpt:train_step", False),
        ("", "gpt:train_step", False),
    ],
)
def test_stars_and_question_marks_are_wildcards_and_brackets_are_themselves(
    pattern, workload, expected
):
    assert is_match(pattern, workload) is expected


@given(st.text(max_size=40))
def test_every_workload_matches_its_own_id(workload):
    assert is_match(workload, workload)
