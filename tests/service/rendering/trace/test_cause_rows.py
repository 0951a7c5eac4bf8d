from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger_baselines.judging.verdict import Outcome
from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.trace.cause_rows import (
    order_explanations,
    reason_block,
    reason_blocks,
)


def spaced(text):
    return text.replace(number_format.NBSP, " ")


@pytest.fixture
def row_of(reports, make):
    (explanation,) = reports["regressed"].explanations

    def row_of(*, step=None, **values):
        cause = replace(make.cast_to_double(), **values)
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
        row_of(reason=ChangeReason.CLOCK, evidence="").because
        == "all by the same ratio, as with a different clock"
    )


@pytest.fixture
def block_of(reports):
    (explanation,) = reports["regressed"].explanations

    def block_of(**values):
        cause = replace(explanation.causes[0], **values)
        return reason_block(replace(explanation, causes=(cause,)), max_causes=1)

    return block_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train_step/Attention.forward", "train_step/Attention.forward"),
        ("a/" * 40 + "aten::linear", "…" + "/a" * 23 + "/aten::linear"),
        ("x" * 100, "…" + "x" * 59),
        ("", ""),
    ],
)
def test_of_a_long_path_the_innermost_parts_are_shown(block_of, path, expected):
    (cause,) = block_of(path=path).causes

    assert cause.path == expected
    assert len(cause.path) <= 61


@pytest.mark.parametrize(
    ("count_s", "rate_s", "expected"),
    [
        (0.001, 0.00072, "+1.00 ms from the number of calls, +720 µs from their duration"),
        (0.00172, 0.0, ""),
        (0.0017, 0.00002, ""),
    ],
)
def test_two_effects_are_told_apart_where_both_matter(block_of, count_s, rate_s, expected):
    (cause,) = block_of(count_effect_seconds=count_s, rate_effect_seconds=rate_s).causes

    assert cause.effects.replace("\u00a0", " ") == expected


def test_what_a_step_takes_without_a_cause_is_said_where_it_is_known(block_of):
    (known_causes,), (unknown,) = (
        block_of(reverted_step_seconds=seconds).causes for seconds in (0.0129, None)
    )

    assert (
        known_causes.reverted.replace("\u00a0", " ") == "Without it a step takes 12.9 ms (-11.9 %)"
    )
    assert unknown.reverted == ""


@pytest.mark.parametrize(
    ("head_s", "expected"), [(0.9, "faster"), (0.999, ""), (1.0, ""), (1.001, ""), (1.1, "slower")]
)
def test_a_step_is_slower_faster_or_neither(reports, head_s, expected):
    (explanation,) = reports["regressed"].explanations
    times = {"base_step_seconds": 1.0, "head_step_seconds": head_s, "residual_seconds": None}

    assert reason_block(replace(explanation, **times), max_causes=1).pace == expected


@pytest.mark.parametrize(("residual_s", "expected"), [(0.5, "slower"), (0.05, "faster")])
def test_a_step_is_as_slow_as_it_was_timed_whatever_its_profiles_say(reports, residual_s, expected):
    (explanation,) = reports["regressed"].explanations
    times = {"base_step_seconds": 1.0, "head_step_seconds": 0.9, "residual_seconds": residual_s}

    assert reason_block(replace(explanation, **times), max_causes=1).pace == expected


def test_causes_that_are_not_listed_count_as_rest(reports):
    (block,) = reason_blocks(reports["regressed"], max_causes=2)

    assert (block.hidden, len(block.causes)) == (2, 2)
    assert block.rest == number_format.signed_seconds(-0.00002 + 0.00031 - 0.00011)
    assert [cause.part for cause in block.causes] == [1.0, pytest.approx(0.38 / 1.72)]


def test_a_share_of_no_change_is_not_shown(reports):
    explanation = reports["regressed"].explanations[0]
    still = replace(explanation, head_step_seconds=explanation.base_step_seconds)

    (block,) = reason_blocks(replace(reports["regressed"], explanations=(still,)), max_causes=9)

    assert {cause.share for cause in block.causes} == {""}


def test_the_workload_that_lost_most_comes_first_and_keeps_its_advice(reports, make):
    report = reports["regressed"]
    (explanation,) = report.explanations
    worse = replace(explanation, workload=make.RESNET, head_step_seconds=0.1)
    faster = replace(explanation, workload=make.ATTENTION, head_step_seconds=0.001)
    broken = replace(explanation, workload=make.TRANSFORMER, base_step_seconds=0.0)

    report = replace(report, explanations=(broken, faster, explanation, worse))

    expected = [make.RESNET, make.GPT, make.ATTENTION, make.TRANSFORMER]
    assert [one.workload for one in order_explanations(report)] == expected
    blocks = reason_blocks(report, max_causes=1)
    assert [block.workload for block in blocks] == expected
    assert [len(block.advice) for block in blocks] == [0, 1, 0, 0]


def test_each_suggestion_is_made_once(reports):
    (explanation,) = reports["regressed"].explanations
    first, *others = explanation.causes
    twice = replace(explanation, causes=(first, first, *others))

    assert len(reason_block(twice, max_causes=9).suggestions) == 1


@pytest.mark.parametrize(
    "outcome", [Outcome.UNCHANGED, Outcome.UNDECIDED, Outcome.NOT_MEASURED], ids=str
)
def test_a_step_that_is_not_known_to_have_changed_is_not_called_slower(reports, outcome):
    regressed = reports["regressed"]
    verdicts = tuple(
        replace(one, outcome=outcome) if one.metric == STEP_TIME else one
        for one in regressed.verdicts
        if one.metric != PEAK_MEMORY
    )

    (before,) = reason_blocks(regressed, max_causes=1)
    (after,) = reason_blocks(replace(regressed, verdicts=verdicts), max_causes=1)

    assert (before.lead, before.claim) == ("Why", " is slower")
    assert (after.lead, after.claim) == ("What differs in", "")
    assert ("may be noise alone" in after.caveats) is (outcome is Outcome.UNDECIDED)


def test_a_change_of_memory_alone_says_nothing_of_the_step_time(reports):
    regressed = reports["regressed"]
    outcomes = {STEP_TIME: Outcome.UNDECIDED, PEAK_MEMORY: Outcome.REGRESSED}
    verdicts = tuple(
        replace(one, outcome=outcomes.get(one.metric, Outcome.UNCHANGED))
        for one in regressed.verdicts
    )

    (block,) = reason_blocks(replace(regressed, verdicts=verdicts), max_causes=1)

    assert (block.causes, block.waterfall, block.diagram, block.shares) == ((), "", "", ())
    assert (block.caveats, block.bottleneck, block.note, block.advice) == ("", "", "", ())
    assert block.is_attributable


def test_more_memory_says_what_holds_it_and_which_line_made_it(reports):
    (block,) = reason_blocks(reports["regressed"], max_causes=1)

    assert block.memory is not None
    assert spaced(block.memory.summary).startswith("Peak memory was 31.2 GiB on base and 33.9 GiB")
    softmax, product = block.memory.rows
    assert spaced(softmax.delta) == "+1.50 GiB"
    assert softmax.tensor == "3 of up to bfloat16[16,16,1024,1024]"
    assert [(one.text, one.remark) for one in softmax.source_lines] == [
        ("models/gpt.py:88", "changed on head")
    ]
    assert product.tensor == (
        "8 of up to bfloat16[256,1024,64] \N{RIGHTWARDS ARROW} 10 of up to bfloat16[256,1024,1024]"
    )


def test_time_between_calls_has_no_part_due_to_their_number(block_of):
    (cause,) = block_of(
        name="(outside operations)", count_effect_seconds=0.001, rate_effect_seconds=0.00072
    ).causes

    assert cause.effects == ""
