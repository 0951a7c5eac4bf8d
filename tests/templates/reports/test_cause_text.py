from dataclasses import replace

import pytest

from perfledger_profiles.cause import How, Reason
from perfledger_service.pages import figures
from perfledger_service.pages.cause_text import bound, cause_text, share_of_step, why
from perfledger_service.pages.comment import comment
from perfledger_service.pages.terminal import plain_text


def spaced(text):
    return text.replace(figures.NBSP, " ")


@pytest.fixture
def slower(make):
    return replace(
        make.cause("aten::mm", How.RATE, (0.002, 0.004), (4.0, 4.0)),
        path="aten::linear",
        reason=Reason.TYPE,
        evidence="float[64,64] became double[64,64]",
        suggestion="keep the type",
        reverted_step_seconds=0.01264,
    )


def test_a_cause_says_where_how_how_much_why_what_to_do_and_the_bound(reports, slower):
    (explanation,) = reports["regressed"].explanations

    assert spaced(cause_text(slower, explanation)) == (
        "aten::mm in aten::linear: each call is slower. "
        "+2.00 ms a step, 88 % of the change, +16.2 % of base's step. "
        "Another type: float[64,64] became double[64,64]. "
        "Keep the type. "
        "Without it a step takes 12.6 ms (-13.7 %)."
    )


def test_what_is_not_known_is_left_out(reports, make):
    (explanation,) = reports["regressed"].explanations
    cause = make.cause("aten::bmm", How.NEW, (0.0, 0.00031), (0.0, 24.0))

    assert spaced(cause_text(cause, explanation)) == (
        "aten::bmm: new, 24 calls a step. "
        "+310 µs a step, 14 % of the change, +2.5 % of base's step."
    )


def test_what_was_replaced_is_named(reports):
    (explanation,) = reports["regressed"].explanations

    text = cause_text(explanation.causes[0], explanation)

    assert text.startswith(
        "aten::_softmax: takes the place of aten::_scaled_dot_product_flash_attention. "
    )


def test_what_got_faster_has_no_bound(reports, slower):
    (explanation,) = reports["regressed"].explanations

    assert bound(replace(slower, head_seconds=0.001), explanation) == ""


def test_a_step_without_a_length_has_no_shares(reports, slower):
    (explanation,) = reports["regressed"].explanations
    empty = replace(explanation, base_step_seconds=0.0, head_step_seconds=0.0)

    assert share_of_step(slower, empty) == ""
    assert bound(slower, empty) == ""


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason])
def test_every_reason_has_its_words_before_the_evidence(slower, reason):
    text = why(replace(slower, reason=reason, evidence="so many"))

    assert text.endswith(": so many")
    assert text[0].isupper()


def test_evidence_without_a_reason_stands_alone(slower):
    assert why(replace(slower, reason=Reason.UNKNOWN, evidence="most of it is a")) == (
        "most of it is a"
    )
    assert why(replace(slower, reason=Reason.UNKNOWN, evidence="")) == ""
    assert (
        why(replace(slower, reason=Reason.CLOCK, evidence="")) == "All by one ratio, as by a clock"
    )


def test_comment_and_terminal_say_why_and_the_terminal_what_a_step_takes_without_it(
    reports, slower
):
    report = reports["regressed"]
    explanation = replace(report.explanations[0], causes=(slower,))
    shown = replace(report, explanations=(explanation,))

    written, printed = spaced(comment(shown)), spaced(plain_text(shown, width=200))

    assert "each call is slower; another type: `float[64,64] became double[64,64]`" in written
    assert "each call is slower; another type: float[64,64] became double[64,64]" in printed
    assert "Without it a step takes 12.6 ms (-13.7 %)" in printed
