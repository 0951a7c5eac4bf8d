"""The answers to commands: helpful, with untrusted text as text, and never a command."""

import pytest

from perfledger_service.rendering.check.command_answers import (
    MAX_WORKLOADS,
    USAGE,
    answer_marker,
    help_answer,
    invalid_answer,
    no_runner_answer,
    no_write_access_answer,
    refusal_answer,
    unknown_workload_answer,
    unmeasured_answer,
    which_workload_answer,
)

HOSTILE = "`</code><b>@octo [x](http://e.vil)| "


def test_help_names_every_command():
    assert all(usage in help_answer() for usage in USAGE)


@pytest.mark.parametrize(
    "answer",
    [
        invalid_answer(f"'{HOSTILE}' is not a command"),
        refusal_answer(f"no policy names {HOSTILE}"),
        no_write_access_answer(HOSTILE, HOSTILE),
        unknown_workload_answer(HOSTILE, (HOSTILE,)),
        which_workload_answer((HOSTILE, "m:f")),
        unmeasured_answer(HOSTILE, (HOSTILE,)),
        no_runner_answer((HOSTILE,)),
    ],
)
def test_untrusted_text_is_shown_as_text_and_no_answer_is_a_command(answer):
    outside = "".join(answer.split("``")[::2])

    assert "<b>" not in outside
    assert "@octo" not in outside
    assert not answer.startswith("/perfledger")
    assert answer_marker(7) == "<!-- perfledger:answer:7 -->"


def test_without_a_reason_there_is_no_refusal():
    assert refusal_answer("") == ""


def test_of_many_workloads_the_first_are_named_and_the_rest_counted():
    names = tuple(f"m:f{number}" for number in range(MAX_WORKLOADS + 3))
    answer = unknown_workload_answer("m:g", names)

    assert answer.count("- `m:f") == MAX_WORKLOADS
    assert "- and 3 more" in answer
    assert "Nothing regressed" in unknown_workload_answer("m:g", ())
