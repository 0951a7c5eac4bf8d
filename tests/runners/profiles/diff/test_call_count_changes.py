"""Time between calls goes with the calls that were added, and nothing of the step is lost."""

from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Operation
from perfledger_profiles.diff.call_count_changes import with_call_count_changes
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.diff.matching import match
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.suggestions import SMALL_CALLS
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS

SECONDS = st.floats(1e-7, 1e-2)
COUNTS = st.integers(0, 50).map(float)


def operation(name, seconds, count, path=""):
    return Operation(name=name, bucket=Bucket.COMPUTE, seconds=seconds, count=count, path=path)


def outside(before, calls_before, after, calls_after):
    return OperationChange(
        base=(operation(OUTSIDE_OPERATIONS, before, calls_before),),
        head=(operation(OUTSIDE_OPERATIONS, after, calls_after),),
    )


def new(name, seconds, count, path=""):
    return OperationChange(
        base=(), head=(operation(name, seconds, count, path),), stage=MatchStage.ALONE
    )


def deltas(changes):
    return {(change.head or change.base)[0].name: change.delta_seconds for change in changes}


def test_python_around_new_calls_is_shared_out_by_how_long_they_take():
    changes = (
        outside(100e-6, 10.0, 300e-6, 40.0),
        new("aten::mul_", 30e-6, 15.0),
        new("aten::add_", 10e-6, 15.0),
    )

    seconds = deltas(with_call_count_changes(changes))

    assert seconds[OUTSIDE_OPERATIONS] == pytest.approx(0.0, abs=1e-12)
    assert seconds["aten::mul_"] == pytest.approx(180e-6)
    assert seconds["aten::add_"] == pytest.approx(60e-6)


def test_slower_python_between_as_many_calls_stays_outside():
    changes = (outside(100e-6, 10.0, 900e-6, 10.0), new("aten::mul_", 30e-6, 0.0))

    assert with_call_count_changes(changes) == changes


def test_what_the_calls_do_not_account_for_stays_outside():
    changes = (outside(100e-6, 10.0, 900e-6, 11.0), new("aten::mul_", 30e-6, 1.0))

    seconds = deltas(with_call_count_changes(changes))

    assert seconds[OUTSIDE_OPERATIONS] == pytest.approx(790e-6)
    assert seconds["aten::mul_"] == pytest.approx(40e-6)


def test_calls_inside_another_operation_get_none_of_it():
    changes = (
        outside(100e-6, 10.0, 200e-6, 20.0),
        new("aten::mul_", 30e-6, 10.0),
        new("aten::copy_", 30e-6, 10.0, path="aten::to"),
    )

    assert deltas(with_call_count_changes(changes))["aten::copy_"] == pytest.approx(30e-6)


def test_calls_that_are_gone_take_their_python_with_them():
    there = new("aten::mul_", 30e-6, 30.0)
    gone = OperationChange(base=there.head, head=(), stage=MatchStage.ALONE)

    seconds = deltas(with_call_count_changes((outside(300e-6, 40.0, 100e-6, 10.0), gone)))

    assert seconds[OUTSIDE_OPERATIONS] == pytest.approx(0.0, abs=1e-12)
    assert seconds["aten::mul_"] == pytest.approx(-230e-6)


def test_a_cause_says_how_much_of_it_is_around_the_calls(make):
    kept_operations = [make.operation("aten::mm", 1e-3, 4.0)]
    base = make.profile(*kept_operations, make.operation(OUTSIDE_OPERATIONS, 40e-6, 4.0))
    head = make.profile(
        *kept_operations,
        make.operation("aten::mul_", 100e-6, 36.0),
        make.operation(OUTSIDE_OPERATIONS, 400e-6, 40.0),
    )

    (cause,) = explain(base, head).causes

    assert (cause.name, cause.kind) == ("aten::mul_", ChangeKind.NEW)
    assert cause.delta_seconds == pytest.approx(460e-6)
    assert cause.count_effect_seconds == pytest.approx(460e-6)
    assert cause.evidence == "78 % of it between the calls"
    assert cause.suggestion == SMALL_CALLS


def test_idle_time_that_no_call_of_the_host_explains_is_that_of_no_call(make):
    kept_operation = make.operation("aten::mm", 1e-3, 4.0)
    base, head = (
        replace(make.profile(kept_operation, *more), is_host_known=False)
        for more in (
            [make.operation(OUTSIDE_OPERATIONS, 40e-6, 4.0)],
            [
                make.operation("aten::mul_", 100e-6, 36.0),
                make.operation(OUTSIDE_OPERATIONS, 400e-6, 40.0),
            ],
        )
    )

    causes = {cause.name: cause for cause in explain(base, head).causes}

    assert causes["aten::mul_"].delta_seconds == pytest.approx(100e-6)
    assert causes["aten::mul_"].evidence == ""
    assert causes[OUTSIDE_OPERATIONS].delta_seconds == pytest.approx(360e-6)


def test_a_cause_says_nothing_of_a_hundredth_around_the_calls(make):
    base = make.profile(
        make.operation(OUTSIDE_OPERATIONS, 40e-6, 4.0), make.operation("aten::mm", 1e-3, 4.0)
    )
    head = make.profile(
        make.operation(OUTSIDE_OPERATIONS, 50e-6, 5.0),
        make.operation("aten::mm", 1e-3, 4.0),
        make.operation("aten::sort", 5e-3, 1.0),
    )

    (cause,) = explain(base, head).causes

    assert cause.delta_seconds == pytest.approx(5.01e-3)
    assert cause.evidence == ""


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), SECONDS, COUNTS), max_size=6),
    st.lists(st.tuples(st.sampled_from("abcdef"), SECONDS, COUNTS), max_size=6),
    st.tuples(SECONDS, COUNTS, SECONDS, COUNTS),
)
def test_the_deltas_go_on_summing_and_no_time_turns_negative(base, head, around):
    before, calls_before, after, calls_after = around
    changes = match(
        [*(operation(*one) for one in base), operation(OUTSIDE_OPERATIONS, before, calls_before)],
        [*(operation(*one) for one in head), operation(OUTSIDE_OPERATIONS, after, calls_after)],
    )

    shared = with_call_count_changes(changes)

    assert fsum(change.delta_seconds for change in shared) == pytest.approx(
        fsum(change.delta_seconds for change in changes), abs=1e-12
    )
    assert all(one.seconds >= -1e-15 for change in shared for one in (*change.base, *change.head))
