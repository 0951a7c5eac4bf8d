from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Kernel, Operation, OperationFamily, Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    Classification,
)
from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_profiles.diff.diff import MAX_CAUSES, explain
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS, OUTSIDE_OPERATIONS


def test_the_operation_that_got_slower_is_the_cause(make):
    base = make.profile(make.operation("mm", 4e-3, 2.0), make.operation("gelu", 6e-3))
    head = make.profile(
        make.operation("mm", 4.01e-3, 2.0), make.operation("gelu", 9e-3), side=Side.HEAD
    )

    explanation = explain(base, head)

    (cause,) = explanation.causes
    assert (cause.name, cause.base_name, cause.kind) == ("gelu", "gelu", ChangeKind.RATE)
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
    base, head = (
        make.profile(
            *(
                make.operation(f"op{n}", slower[n % 2] * 1e-3, shapes=f"float[{10 * n + longer}]")
                for n in range(20)
            )
        )
        for longer, slower in ((1, (1.0, 1.0)), (2, (1.05, 1.16)))
    )

    repeats = [replace(one, side=side) for one, side in ((base, Side.BASE), (head, Side.HEAD))]

    explanation = explain(base, head, repeats=repeats)

    assert len(explanation.causes) == MAX_CAUSES
    assert not explanation.is_attributable
    assert explanation.note == (
        "not attributable from this profile: 62 % of the change is spread over operations that "
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
            "the profiled steps differ by less than 0.2 % of a step: nothing to attribute"
        )


def test_at_the_edge_of_the_noise_it_is_explained(make):
    base = make.profile(make.operation("a", 100e-3))
    head = make.profile(make.operation("a", 100.21e-3))

    assert [cause.name for cause in explain(base, head).causes] == ["a"]


def test_a_few_folded_operations_do_not_hide_what_they_are_matched_with(make):
    """Of many short waits for input the shortest are folded, on one side only."""
    waits = (
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "aten::_cat",
        OTHER_OPERATIONS,
    )
    base, head = (
        make.profile(
            make.operation("gemm", 10e-3),
            *(
                make.operation(name, seconds, bucket=Bucket.INPUT)
                for name, seconds in zip(waits, spent, strict=True)
            ),
        )
        for spent in ((30e-3, 5e-3, 0.2e-3), (0.5e-3, 0.0, 0.1e-3))
    )

    explanation = explain(base, head)

    assert [(cause.bucket, cause.name) for cause in explanation.causes] == [
        (Bucket.INPUT, f"{waits[0]} (+2)")
    ]
    assert explanation.is_attributable


def test_folded_operations_are_never_a_cause(make):
    base = make.profile(make.operation(OTHER_OPERATIONS, 10e-3))
    head = make.profile(make.operation(OTHER_OPERATIONS, 20e-3))

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
    assert (cause.kind, cause.base_count, cause.head_count) == (ChangeKind.REPLACED, 1.0, 4.0)


def test_the_two_effects_of_a_cause_sum_to_its_change(make):
    base = make.profile(make.operation("aten::mm", 10e-3, 10.0))
    head = make.profile(make.operation("aten::mm", 30e-3, 15.0))

    (cause,) = explain(base, head).causes

    assert cause.count_effect_seconds == pytest.approx(7.5e-3)
    assert cause.rate_effect_seconds == pytest.approx(12.5e-3)


def test_without_a_cause_the_step_takes_what_is_left_of_it(make):
    base = make.profile(make.operation("aten::mm", 10e-3))
    head = make.profile(make.operation("aten::mm", 10e-3), make.operation("aten::sort", 4e-3))

    (cause,) = explain(base, head).causes

    assert cause.reverted_step_seconds == pytest.approx(10e-3)


def test_the_time_between_many_more_calls_is_an_effect_of_the_calls(make):
    base = make.profile(
        make.operation("aten::mm", 10e-3, 10.0), make.operation(OUTSIDE_OPERATIONS, 1e-3, 0.0)
    )
    more = make.operation("aten::add", 1e-6, 90.0)
    more_calls = make.profile(
        make.operation("aten::mm", 10e-3, 10.0), more, make.operation(OUTSIDE_OPERATIONS, 9e-3, 0.0)
    )
    slower = make.profile(
        make.operation("aten::mm", 10e-3, 10.0), make.operation(OUTSIDE_OPERATIONS, 9e-3, 0.0)
    )

    (calls,), (python,) = explain(base, more_calls).causes, explain(base, slower).causes

    assert (calls.name, calls.kind, calls.head_count) == ("aten::add", ChangeKind.NEW, 90.0)
    assert calls.count_effect_seconds == pytest.approx(8.001e-3)
    assert (python.name, python.kind) == (OUTSIDE_OPERATIONS, ChangeKind.RATE)


def test_a_summary_without_operations_is_compared_by_its_kernels(make):
    def summary(seconds, grid):
        kernel = Kernel(
            name="sgemm",
            family=OperationFamily.GEMM,
            seconds=seconds,
            count=2.0,
            grid=grid,
            block="64,1,1",
        )
        return replace(make.profile(), step_seconds=seconds, kernels=(kernel,), has_steps=False)

    (cause,) = explain(summary(1.0, "8,1,1"), summary(2.0, "16,1,1")).causes

    assert (cause.name, cause.kind) == ("sgemm", ChangeKind.RATE)
    assert (cause.reason, cause.evidence) == (ChangeReason.SHAPE, "grid[8,1,1] became grid[16,1,1]")


def test_bottlenecks_and_the_command_are_those_that_were_given(make):
    def classifier(profile):
        return Classification(
            primary=Bottleneck.HOST if profile is base else Bottleneck.COMPUTE,
            shares=(),
            confidence=BottleneckConfidence.LOW,
        )

    base, head = make.profile(make.operation("a", 1.0)), make.profile(make.operation("a", 2.0))

    step_time_explanation = explain(
        base, head, classifier=classifier, reproduction="perfledger check --workload x"
    )

    assert step_time_explanation.base_bottleneck is not None
    assert step_time_explanation.base_bottleneck.primary is Bottleneck.HOST
    assert step_time_explanation.head_bottleneck is not None
    assert step_time_explanation.head_bottleneck.primary is Bottleneck.COMPUTE
    assert step_time_explanation.reproduction == "perfledger check --workload x"
    assert explain(base, head).base_bottleneck is None


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
    step_time_explanation = explain(base, head)

    assert step_time_explanation.base_step_seconds + sum(
        cause.delta_seconds for cause in step_time_explanation.causes
    ) + step_time_explanation.rest_seconds == pytest.approx(
        step_time_explanation.head_step_seconds, abs=1e-12
    )
    assert fsum(bar.delta_seconds for bar in step_time_explanation.buckets) == pytest.approx(
        head.step_seconds - base.step_seconds, abs=1e-12
    )
    for cause in step_time_explanation.causes:
        effects = cause.count_effect_seconds, cause.rate_effect_seconds
        size = max(1.0, *map(abs, effects))  # a call that all but vanished has a huge rate
        assert sum(effects) == pytest.approx(cause.delta_seconds, abs=1e-12 * size)
    assert len(step_time_explanation.causes) <= MAX_CAUSES
    assert step_time_explanation.is_attributable == (not step_time_explanation.note)


@pytest.mark.slow
@given(profiles(), profiles())
def test_swapping_the_sides_turns_every_cause_around(base, head):
    there, back = explain(base, head), explain(head, base)

    if there.is_attributable and back.is_attributable:
        deltas = sorted(-cause.delta_seconds for cause in back.causes)
        assert sorted(cause.delta_seconds for cause in there.causes) == pytest.approx(deltas)


def windows_of(make, side, **seconds):
    """Return one window of a side for each of its operations' times."""
    return [
        replace(make.profile(*map(make.operation, seconds, window)), side=side)
        for window in zip(*seconds.values(), strict=True)
    ]


@pytest.mark.parametrize(
    ("update", "names"),
    [
        ((20e-3, 40e-3, 25e-3, 35e-3), ["asarray", "update"]),
        ((40e-3, 41e-3, 40e-3, 41e-3), ["update", "asarray"]),
    ],
)
def test_new_calls_precede_equal_calls_that_may_have_grown_less(make, update, names):
    """Load lengthens calls of the same work, and adds none."""
    base = windows_of(make, Side.BASE, update=(0.1e-3,) * 4)
    head = windows_of(make, Side.HEAD, update=update, asarray=(18e-3, 28e-3, 20e-3, 24e-3))

    explanation = explain(base[0], head[0], repeats=[*base[1:], *head[1:]])

    assert [cause.name for cause in explanation.causes] == names


def test_the_time_around_a_new_call_does_not_put_it_before_longer_calls(make):
    """It is an estimate: batch norm in training adds one short call that counts its steps."""
    outside = OUTSIDE_OPERATIONS
    base = windows_of(make, Side.BASE, norm=(120e-6,) * 4, **{outside: (90e-6,) * 4})
    norms, counts = (160e-6, 220e-6, 170e-6, 230e-6), (10e-6,) * 4
    head = windows_of(make, Side.HEAD, norm=norms, add=counts, **{outside: (113e-6,) * 4})

    explanation = explain(base[0], head[0], repeats=[*base[1:], *head[1:]])

    assert [cause.name for cause in explanation.causes] == ["norm", "add"]
    assert explanation.causes[1].delta_seconds == pytest.approx(33e-6)


def test_equal_calls_count_if_they_changed_more_than_most_of_them(make):
    """Their windows are steady, but the processes of the two sides differ."""
    ratios = (0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.2, 1.3)
    equal = {f"aten::op{number}": ratio for number, ratio in enumerate(ratios)}
    base = windows_of(make, Side.BASE, **dict.fromkeys(equal, (0.001, 0.001001)))
    slower = {name: (ratio * 1e-3, ratio * 1.001e-3) for name, ratio in equal.items()}
    heads = [
        windows_of(make, Side.HEAD, **{**slower, **more})
        for more in ({}, {"aten::sort": (2e-3, 2.001e-3)}, {"aten::op8": (3e-3, 3.001e-3)})
    ]

    same, new, longer = (explain(base[0], head[0], repeats=[base[1], head[1]]) for head in heads)

    assert same.causes == ()
    assert "differs by up to 24 % between the sides' processes" in same.note
    assert [cause.name for cause in new.causes] == ["aten::sort"]
    assert [cause.name for cause in longer.causes] == ["aten::op8"]
