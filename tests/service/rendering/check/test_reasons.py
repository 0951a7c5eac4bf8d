from dataclasses import replace

import pytest

from perfledger_service.rendering.trace.cause_rows import reason_block


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
        (0.001, 0.00072, "+1.00 ms by the number of calls, +720 µs by their length"),
        (0.00172, 0.0, ""),
        (0.0017, 0.00002, ""),
    ],
)
def test_two_effects_are_told_apart_where_both_matter(block_of, count_s, rate_s, expected):
    (cause,) = block_of(count_effect_seconds=count_s, rate_effect_seconds=rate_s).causes

    assert cause.effects.replace("\u00a0", " ") == expected


def test_what_a_step_takes_without_a_cause_is_said_where_it_is_known(block_of):
    (known,), (unknown,) = (
        block_of(reverted_step_seconds=seconds).causes for seconds in (0.0129, None)
    )

    assert known.reverted.replace("\u00a0", " ") == "Without it a step takes 12.9 ms (-11.9 %)"
    assert unknown.reverted == ""


@pytest.mark.parametrize(
    ("head_s", "expected"), [(0.9, "faster"), (1.0, "as fast as before"), (1.1, "slower")]
)
def test_a_step_is_slower_faster_or_neither(reports, head_s, expected):
    (explanation,) = reports["regressed"].explanations
    changed = replace(explanation, base_step_seconds=1.0, head_step_seconds=head_s)

    assert reason_block(changed, max_causes=1).pace == expected
