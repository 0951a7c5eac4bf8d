from dataclasses import replace

import pytest

from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.terminal import plain_text
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.trace.cause_rows import reason_block


def spaced(text):
    return text.replace(number_format.NBSP, " ")


@pytest.fixture
def slower(make):
    return replace(
        make.cause("aten::mm", ChangeKind.RATE, (0.002, 0.004), (4.0, 4.0)),
        path="aten::linear",
        reason=ChangeReason.TYPE,
        evidence="float[64,64] became double[64,64]",
        suggestion="keep the type",
        reverted_step_seconds=0.01264,
    )


@pytest.fixture
def row_of(reports, slower):
    (explanation,) = reports["regressed"].explanations

    def row_of(*, step=None, **values):
        cause = replace(slower, **values)
        sides = {} if step is None else {"base_step_seconds": step, "head_step_seconds": step}
        block = reason_block(replace(explanation, causes=(cause,), **sides), max_causes=1)
        return block.causes[0]

    return row_of


def test_a_cause_says_how_much_of_the_change_and_of_the_step_it_is(row_of):
    row = row_of()

    assert [spaced(text) for text in (row.delta, row.share, row.of_step, row.kind)] == [
        "+2.00 ms",
        "88 %",
        "+16.2 %",
        "slower",
    ]
    assert spaced(row.reverted) == "Without it a step takes 12.6 ms (-13.7 %)"


@pytest.mark.parametrize(
    ("change_kind", "counts", "kind"),
    [
        (ChangeKind.RATE, (4.0, 4.0), "slower"),
        (ChangeKind.COUNT, (4.0, 8.0), "more calls"),
        (ChangeKind.COUNT, (8.0, 4.0), "fewer calls"),
        (ChangeKind.NEW, (0.0, 4.0), "new"),
        (ChangeKind.GONE, (4.0, 0.0), "gone"),
        (ChangeKind.REPLACED, (4.0, 4.0), "replaced"),
    ],
)
def test_every_kind_of_change_has_a_word(row_of, change_kind, counts, kind):
    row = row_of(kind=change_kind, base_count=counts[0], head_count=counts[1])

    assert row.kind == kind
    assert (row.ends == "") is (change_kind in (ChangeKind.NEW, ChangeKind.GONE))


def test_what_got_faster_has_no_bound(row_of):
    row = row_of(head_seconds=0.001)

    assert (row.kind, row.reverted) == ("faster", "")


def test_a_step_without_a_length_has_no_shares(row_of):
    row = row_of(step=0.0)

    assert (row.share, row.of_step, row.reverted) == ("", "", "")


@pytest.mark.parametrize("reason", [reason for reason in ChangeReason if reason])
def test_every_reason_has_its_words_before_the_evidence(row_of, reason):
    assert row_of(reason=reason, evidence="so many").because.endswith(": so many")


def test_evidence_without_a_reason_stands_alone(row_of):
    assert (
        row_of(reason=ChangeReason.UNKNOWN, evidence="most of it is a").because == "most of it is a"
    )
    assert row_of(reason=ChangeReason.UNKNOWN, evidence="").because == ""
    assert (
        row_of(reason=ChangeReason.CLOCK, evidence="").because == "all by one ratio, as by a clock"
    )


def test_comment_and_terminal_say_why_and_the_terminal_what_a_step_takes_without_it(
    reports, slower
):
    report = reports["regressed"]
    explanation = replace(report.explanations[0], causes=(slower,))
    shown = replace(report, explanations=(explanation,))

    written, printed = spaced(comment(shown)), spaced(plain_text(shown, width=200))

    assert "| 1 | `aten::mm` | **+2.00 ms** | +16.2 % | slower |" in written
    assert (
        "1. `aten::mm` in `aten::linear`: each call is slower, 2.00 ms → 4.00 ms a step. "
        "Another type: `float[64,64]` became `double[64,64]`. Without it" in written
    )
    assert "each call is slower; another type: float[64,64] became double[64,64]" in printed
    assert "Without it a step takes 12.6 ms (-13.7 %)" in printed
