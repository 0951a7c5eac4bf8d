from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Operation
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange


def operation(seconds, count):
    return Operation(name="a", bucket=Bucket.COMPUTE, seconds=seconds, count=count)


def change(base, head, stage=MatchStage.SAME):
    return OperationChange(
        base=(operation(*base),) if base else (),
        head=(operation(*head),) if head else (),
        stage=stage,
    )


@pytest.mark.parametrize(
    ("base", "head", "kind"),
    [
        ((10.0, 10.0), (20.0, 20.0), ChangeKind.COUNT),
        ((10.0, 10.0), (20.0, 10.0), ChangeKind.RATE),
        ((10.0, 10.0), (30.0, 15.0), ChangeKind.RATE),
        ((10.0, 10.0), (16.0, 15.0), ChangeKind.COUNT),
        ((10.0, 0.0), (16.0, 15.0), ChangeKind.RATE),
        ((10.0, 1.0), None, ChangeKind.GONE),
        (None, (10.0, 1.0), ChangeKind.NEW),
    ],
)
def test_the_larger_of_count_and_rate_names_the_change(base, head, kind):
    assert change(base, head).kind is kind


def test_each_effect_is_the_difference_of_its_factor_times_the_mean_of_the_other():
    changed = change((10.0, 10.0), (30.0, 15.0))

    assert changed.count_effect_seconds == pytest.approx((15 - 10) * (1 + 2) / 2)
    assert changed.rate_effect_seconds == pytest.approx((2 - 1) * (10 + 15) / 2)


def test_what_is_new_or_gone_is_an_effect_of_its_count_alone():
    new, gone = change(None, (3.0, 2.0)), change((3.0, 2.0), None)

    assert (new.count_effect_seconds, new.rate_effect_seconds) == (3.0, 0.0)
    assert (gone.count_effect_seconds, gone.rate_effect_seconds) == (-3.0, 0.0)


def test_without_any_calls_all_of_it_is_the_rate():
    changed = change((3.0, 0.0), (4.0, 0.0))

    assert (changed.count_effect_seconds, changed.rate_effect_seconds) == (0.0, 1.0)


@pytest.mark.parametrize(
    "stage", [MatchStage.VARIANT, MatchStage.FUSION, MatchStage.ATTENTION, MatchStage.PATH]
)
def test_one_thing_in_place_of_another_is_replaced(stage):
    assert change((1.0, 1.0), (2.0, 1.0), stage).kind is ChangeKind.REPLACED


calls = st.tuples(st.floats(0, 100), st.just(0.0) | st.floats(1e-3, 1000))


@given(calls, calls)
def test_the_effects_sum_to_the_change_and_turn_around_with_the_sides(base, head):
    there, back = change(base, head), change(head, base)

    assert there.count_effect_seconds + there.rate_effect_seconds == pytest.approx(
        there.delta_seconds, abs=1e-9
    )
    assert there.count_effect_seconds == pytest.approx(-back.count_effect_seconds, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "is_other"),
    [
        ({"seconds": 9.0}, False),
        ({"count": 2.0}, True),
        ({"shapes": "float[8]"}, True),
        ({"path": "aten::linear"}, True),
        ({"name": "b"}, True),
    ],
)
def test_load_changes_only_the_seconds_of_a_call(values, is_other):
    before = operation(1.0, 1.0)

    merged = OperationChange(base=(before, before), head=(before, replace(before, **values)))

    assert merged.is_other_work is is_other
