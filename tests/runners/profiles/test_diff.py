import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Side
from perfledger_profiles.breakdown import FOLDED
from perfledger_profiles.cause import How
from perfledger_profiles.diff import MAX_CAUSES, explain


def test_the_operation_that_got_slower_is_the_cause(make):
    base = make.profile(make.operation("mm", 4e-3, 2.0), make.operation("gelu", 6e-3))
    head = make.profile(
        make.operation("mm", 4.01e-3, 2.0), make.operation("gelu", 9e-3), side=Side.HEAD
    )

    explanation = explain(base, head)

    (cause,) = explanation.causes
    assert (cause.name, cause.base_name, cause.how) == ("gelu", "gelu", How.RATE)
    assert cause.delta_seconds == pytest.approx(3e-3)
    assert explanation.rest_seconds == pytest.approx(0.01e-3)
    assert (explanation.is_attributable, explanation.note) == (True, "")
    assert explanation.workload == "m:f"


def test_causes_are_listed_until_most_of_the_change_is_explained(make):
    slower = {"a": 5e-3, "b": 3e-3, "c": 1e-3, "d": 0.5e-3}
    base = make.profile(*(make.operation(name, 10e-3) for name in slower))
    head = make.profile(*(make.operation(name, 10e-3 + by) for name, by in slower.items()))

    explanation = explain(base, head)

    assert [cause.name for cause in explanation.causes] == ["a", "b"]
    assert explanation.rest_seconds == pytest.approx(1.5e-3)


def test_a_change_spread_too_thin_is_not_attributable_and_says_so(make):
    names = [f"op{number}" for number in range(20)]
    base = make.profile(*(make.operation(name, 1e-3) for name in names))
    head = make.profile(*(make.operation(name, 1.1e-3) for name in names))

    explanation = explain(base, head)

    assert len(explanation.causes) == MAX_CAUSES
    assert not explanation.is_attributable
    assert explanation.note == (
        "not attributable from this profile: 75% of the change is spread over operations that "
        "are not listed"
    )


def test_a_cause_in_the_other_direction_comes_last_and_only_if_it_is_needed(make):
    base = make.profile(make.operation("a", 10e-3), make.operation("b", 10e-3))
    head = make.profile(make.operation("a", 16e-3), make.operation("b", 6e-3))

    explanation = explain(base, head)

    assert [(c.name, round(c.delta_seconds, 6)) for c in explanation.causes] == [
        ("a", 6e-3),
        ("b", -4e-3),
    ]
    assert explanation.is_attributable


def test_a_faster_step_is_explained_by_what_got_faster(make):
    base = make.profile(make.operation("a", 10e-3), make.operation("b", 10e-3))
    head = make.profile(make.operation("a", 10.2e-3), make.operation("b", 5e-3))

    assert [cause.name for cause in explain(base, head).causes] == ["b"]


def test_less_than_two_profiles_of_the_same_code_differ_by_is_not_explained(make):
    base = make.profile(make.operation("a", 100e-3))
    head = make.profile(make.operation("a", 100.19e-3))

    for explanation in (explain(base, head), explain(base, base)):
        assert explanation.causes == ()
        assert not explanation.is_attributable
        assert explanation.note == (
            "the profiled steps differ by less than 0.2% of a step: nothing to attribute"
        )


def test_at_the_edge_of_the_noise_it_is_explained(make):
    base = make.profile(make.operation("a", 100e-3))
    head = make.profile(make.operation("a", 100.21e-3))

    assert [cause.name for cause in explain(base, head).causes] == ["a"]


def alike(make, many, ratio, **more):
    base = [make.operation(f"op{number}", 1e-3) for number in range(many)]
    head = [make.operation(f"op{number}", 1e-3 * ratio, **more) for number in range(many)]
    planted = make.operation("planted", 50e-3)
    return make.profile(*base), make.profile(*head, planted)


def test_when_all_of_it_is_slower_the_machine_is_suspected(make):
    explanation = explain(*alike(make, 8, 1.26))

    assert [cause.name for cause in explanation.causes] == ["planted"]
    assert not explanation.is_attributable
    assert explanation.note == (
        "not attributable from this profile: the same work takes 1.26 times as long in most "
        "operations, so the machine, its clock or the number of threads changed"
    )


@pytest.mark.parametrize(
    ("many", "ratio", "more"),
    [
        (8, 1.24, {}),
        (8, 0.81, {}),
        (7, 1.3, {}),
        (8, 1.3, {"shapes": "double[8]"}),
        (8, 1.3, {"count": 2.0}),
    ],
)
def test_a_smaller_drift_few_operations_or_other_work_are_not_the_machine(make, many, ratio, more):
    explanation = explain(*alike(make, many, ratio, **more))

    assert (explanation.is_attributable, explanation.note) == (True, "")


def test_folded_operations_are_never_a_cause(make):
    base = make.profile(make.operation(FOLDED, 10e-3))
    head = make.profile(make.operation(FOLDED, 20e-3))

    explanation = explain(base, head)

    assert (explanation.causes, explanation.is_attributable) == ((), False)


def test_a_replacement_is_named_by_its_longest_parts(make):
    place = {"shapes": "float[8,8]", "path": "aten::conv2d"}
    base = make.profile(make.operation("winograd", 1e-3, **place))
    head = make.profile(
        make.operation("im2col", 1e-3, **place), make.operation("gemm", 2e-3, 3.0, **place)
    )

    (cause,) = explain(base, head).causes

    assert (cause.name, cause.base_name) == ("gemm (+1)", "winograd")
    assert (cause.how, cause.base_count, cause.head_count) == (How.REPLACED, 1.0, 4.0)


@st.composite
def profiles(draw):
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True))
    operations = tuple(
        Operation(
            name=name,
            bucket=Bucket.COMPUTE,
            seconds=draw(st.floats(0, 0.1)),
            count=draw(st.floats(0, 5)),
            path=draw(st.sampled_from(["", "p"])),
        )
        for name in names
    )
    return Profile(
        workload="m:f",
        side=Side.BASE,
        tool="torch.profiler",
        steps=3,
        step_seconds=sum(operation.seconds for operation in operations),
        operations=operations,
    )


@pytest.mark.slow
@given(profiles(), profiles())
def test_base_plus_causes_plus_rest_is_head(base, head):
    found = explain(base, head)

    assert found.base_step_seconds + sum(
        cause.delta_seconds for cause in found.causes
    ) + found.rest_seconds == pytest.approx(found.head_step_seconds, abs=1e-12)
    assert len(found.causes) <= MAX_CAUSES
    assert found.is_attributable == (not found.note)


@pytest.mark.slow
@given(profiles(), profiles())
def test_swapping_the_sides_turns_every_cause_around(base, head):
    there, back = explain(base, head), explain(head, base)

    if there.is_attributable and back.is_attributable:
        deltas = sorted(-cause.delta_seconds for cause in back.causes)
        assert sorted(cause.delta_seconds for cause in there.causes) == pytest.approx(deltas)
