"""Changes of peak memory, explained by what either side holds."""

from math import fsum

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import CallingLine, HeldTensors
from perfledger.step_work import Count, StepWork
from perfledger_profiles.diff.memory_change import (
    MAX_CAUSES,
    OLDER,
    explain_memory,
    held_by_programs,
)

MIB = 2.0**20


def tensors(operator, tensor, mebibytes, *, line=0, count=1):
    lines = (CallingLine(path="model.py", line=line, calls=1.0),) if line else ()
    return HeldTensors(
        operator=operator, tensor=tensor, bytes=mebibytes * MIB, count=count, lines=lines
    )


WEIGHTS = tensors("", "float32[1024,1024]", 40, line=3, count=10)


def mebibytes(explanation):
    return [(one.name, one.delta_bytes / MIB) for one in explanation.causes]


def test_what_only_head_holds_is_the_cause_with_its_line():
    scores = tensors("aten::bmm", "float32[8,512,512]", 64, line=12)

    explanation = explain_memory([WEIGHTS], [WEIGHTS, scores], measured=(200 * MIB, 266 * MIB))

    (cause,) = explanation.causes
    assert (cause.name, cause.base_tensor, cause.head_tensor) == (
        "aten::bmm",
        "",
        "float32[8,512,512]",
    )
    assert (cause.base_bytes, cause.head_bytes) == (0.0, 64 * MIB)
    assert [(line.path, line.line) for line in cause.lines] == [("model.py", 12)]
    assert explanation.rest_bytes == 2 * MIB
    assert explanation.is_attributable
    assert explanation.note == ""


def test_tensors_that_became_larger_are_one_cause():
    base = tensors("aten::addmm", "float32[64,256]", 8)
    head = tensors("aten::addmm", "float32[256,256]", 32)

    explanation = explain_memory([WEIGHTS, base], [WEIGHTS, head], measured=(MIB, 25 * MIB))

    (cause,) = explanation.causes
    assert (cause.base_tensor, cause.head_tensor) == ("float32[64,256]", "float32[256,256]")
    assert cause.delta_bytes == 24 * MIB


def test_more_tensors_of_one_kind_are_a_cause():
    more = tensors("", "float32[1024,1024]", 80, line=3, count=20)

    explanation = explain_memory([WEIGHTS], [more], measured=(100 * MIB, 140 * MIB))

    assert mebibytes(explanation) == [(OLDER, 40)]
    assert (explanation.causes[0].base_count, explanation.causes[0].head_count) == (10, 20)


def test_many_small_kinds_of_one_operator_are_one_cause():
    head = [tensors("aten::mul", f"float32[{size}]", 2) for size in range(1, 21)]

    explanation = explain_memory([WEIGHTS], [WEIGHTS, *head], measured=(0.0, 40 * MIB))

    assert mebibytes(explanation) == [("aten::mul", 40)]


def test_memory_that_no_tensor_holds_is_not_attributed():
    explanation = explain_memory([WEIGHTS], [WEIGHTS], measured=(100 * MIB, 150 * MIB))

    assert explanation.causes == ()
    assert not explanation.is_attributable
    assert explanation.note.startswith("not attributable: 100 % of the change is not in what the")


def test_tensors_that_changed_less_than_memory_did_do_not_account_for_it():
    more = tensors("aten::mul", "float32[9]", 10)

    explanation = explain_memory([WEIGHTS], [WEIGHTS, more], measured=(100 * MIB, 150 * MIB))

    assert mebibytes(explanation) == [("aten::mul", 10)]
    assert not explanation.is_attributable
    assert "80 % of the change" in explanation.note


def test_a_rest_within_the_error_of_the_measurement_is_explained():
    more = tensors("aten::mul", "float32[9]", 10)
    measured = (100 * MIB, 116 * MIB)

    strict = explain_memory([WEIGHTS], [WEIGHTS, more], measured=measured)
    lenient = explain_memory([WEIGHTS], [WEIGHTS, more], measured=measured, error_bytes=7 * MIB)

    assert (strict.is_attributable, lenient.is_attributable) == (False, True)


@pytest.mark.parametrize(
    ("sides", "missing"),
    [
        (([], [WEIGHTS]), "base"),
        (([WEIGHTS], []), "head"),
        (([], []), "base and head"),
    ],
)
def test_without_a_record_of_both_sides_nothing_is_a_cause(sides, missing):
    explanation = explain_memory(*sides, measured=(10 * MIB, 50 * MIB))

    assert explanation.causes == ()
    assert explanation.note.startswith(
        f"not attributable: what holds memory was not recorded on {missing}: "
    )


def test_less_memory_has_causes_too():
    less = tensors("", "float32[1024,1024]", 10, line=3, count=3)

    explanation = explain_memory([WEIGHTS], [less], measured=(100 * MIB, 70 * MIB))

    assert mebibytes(explanation) == [(OLDER, -30)]


kinds = st.builds(
    tensors,
    st.sampled_from(["", "aten::mul", "aten::mm"]),
    st.sampled_from(["float32[1]", "float32[2]", "float32[3]"]),
    st.integers(1, 100),
)


@given(st.lists(kinds, max_size=12), st.lists(kinds, max_size=12), st.floats(0, 1e9))
def test_base_the_causes_and_the_rest_are_head(base, head, peak):
    measured = (peak, peak + 50 * MIB)

    explanation = explain_memory(base, head, measured=measured)

    total = fsum(one.delta_bytes for one in explanation.causes)
    assert measured[0] + total + explanation.rest_bytes == pytest.approx(measured[1], abs=1.0)
    assert len(explanation.causes) <= MAX_CAUSES


def work(**counts):
    return StepWork(
        counts=tuple(
            Count(name=f"{name}_memory", unit="B", value=value, source="XLA")
            for name, value in counts.items()
        )
    )


def test_a_donation_that_is_lost_is_memory_for_the_results():
    base = held_by_programs(work(argument=64 * MIB, output=64 * MIB, aliased=64 * MIB, temporary=8))
    head = held_by_programs(work(argument=64 * MIB, output=64 * MIB, aliased=0.0, temporary=8))

    explanation = explain_memory(base, head, measured=(100 * MIB, 164 * MIB))

    assert mebibytes(explanation) == [("(its results, apart from those in donated arguments)", 64)]


def test_programs_without_counts_hold_nothing_that_is_known():
    assert held_by_programs(StepWork()) == ()


def test_what_was_measured_and_what_is_held_stand_beside_each_other():
    explanation = explain_memory([WEIGHTS], [WEIGHTS], measured=(200 * MIB, 201 * MIB))

    assert (explanation.base_bytes, explanation.head_bytes) == (200 * MIB, 201 * MIB)
    assert explanation.base_held_bytes == explanation.head_held_bytes == 40 * MIB
