from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_profiles.diff.diff import changes_of, explain
from perfledger_profiles.diff.operation_change import OperationChange
from perfledger_profiles.diff.suggestions import CLOCK as CLOCK_ADVICE
from perfledger_profiles.diff.uniform_slowdown import (
    CLOCK,
    difference_of_recordings,
    drift_of,
)


def alike(make, ratios, **more):
    """Return two profiles whose operations changed by these ratios."""
    numbers = range(len(ratios))
    base = [make.operation(f"aten::op{n}", 1e-3) for n in numbers]
    head = [
        make.operation(f"aten::op{n}", 1e-3 * ratio, **more)
        for n, ratio in zip(numbers, ratios, strict=True)
    ]
    return base, head


def explained(make, ratios, **more):
    base, head = alike(make, ratios, **more)
    return explain(make.profile(*base), make.profile(*head))


def test_when_all_of_it_changed_by_one_ratio_that_is_the_one_cause(make):
    explanation = explained(make, [1.10, 1.09, 1.11, 1.10, 1.10, 1.10, 1.10, 1.10])

    (cause,) = explanation.causes
    assert (cause.name, cause.kind, cause.reason) == (CLOCK, ChangeKind.RATE, ChangeReason.CLOCK)
    assert cause.evidence == "8 operations by the same ratio: 1.10"
    assert cause.suggestion == CLOCK_ADVICE
    assert explanation.is_attributable
    assert explanation.rest_seconds == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "ratios",
    [[1.1] * 7, [1.10, 1.14, 1.06, 1.15, 1.05, 1.10, 1.13, 1.07], [1.015] * 8],
)
def test_few_operations_different_ratios_or_hardly_any_are_no_clock(make, ratios):
    assert CLOCK not in {cause.name for cause in explained(make, ratios).causes}


def test_other_shapes_or_more_calls_are_no_clock(make):
    for more in ({"shapes": "double[8]"}, {"count": 2.0}):
        assert CLOCK not in {c.name for c in explained(make, [1.3] * 8, **more).causes}


def test_a_planted_operation_is_told_beside_the_clock(make):
    base, head = alike(make, [1.2] * 10)

    explanation = explain(
        make.profile(*base), make.profile(*head, make.operation("aten::sort", 4e-3))
    )

    assert [cause.name for cause in explanation.causes] == ["aten::sort", CLOCK]


def test_when_most_of_it_is_far_slower_but_not_alike_the_machine_is_suspected(make):
    ratios = [1.02, 1.02, 1.3, 1.35, 1.4, 1.9, 1.9, 1.9, 1.9]
    base, head = alike(make, ratios)
    shaped = [[replace(one, shapes="float[8]") for one in side] for side in (base, head)]

    explanation = explain(*(make.profile(*side) for side in shaped))

    assert not explanation.is_attributable
    assert explanation.note == (
        "not attributable from this profile: most operations take 1.40 times as long for the same "
        "work, so the machine, its clock or the number of threads changed: profile both sides "
        "again on an idle machine"
    )


def test_without_shapes_the_inputs_of_most_operations_may_have_grown(make):
    explanation = explained(make, [1.02, 1.02, 1.9, 1.95, 2.0, 2.1, 2.1, 2.2, 2.2])

    assert not explanation.is_attributable
    assert explanation.note == (
        "not attributable from this profile: most operations take 2.00 times as long: their inputs "
        "changed, whose shapes neither file has, or the machine, its clock or the number of "
        "threads changed; profile both sides again on an idle machine, with input shapes if the "
        "profiler can record them"
    )


@pytest.mark.parametrize(
    ("ratios", "is_known"),
    [([1.3, 1.5, 1.4], False), ([0.6, 0.7], False), ([1.0, 1.5, 1.0], True), ([1.5], True)],
)
def test_few_operations_that_all_changed_alike_may_be_the_machine(make, ratios, is_known):
    assert explained(make, ratios).is_attributable is is_known


def test_repeated_windows_show_that_few_operations_changed_by_the_code(make):
    base, head = (make.profile(*side) for side in alike(make, [1.3, 1.5, 1.4]))
    repeats = [
        replace(one, side=side)
        for one, side in ((base, Side.BASE), (head, Side.HEAD))
        for _ in range(2)
    ]

    assert explain(base, head, repeats=repeats).is_attributable


@pytest.mark.parametrize(("faster", "is_known"), [(7.5e-3, True), (5e-3, False)])
def test_unchanged_work_that_mostly_moves_the_other_way_hides_the_cause(make, faster, is_known):
    base = [make.operation(name, 10e-3) for name in "abc"]
    head = [
        make.operation("a", 12e-3 + 10e-3 - faster),
        make.operation("b", faster),
        make.operation("c", 10e-3),
    ]

    assert explain(make.profile(*base), make.profile(*head)).is_attributable is is_known


def test_a_drift_that_is_small_beside_the_planted_change_does_not_hide_it(make):
    base, head = alike(make, [1.2, 1.3, 1.4, 1.5, 1.6, 1.3, 1.35, 1.45])

    explanation = explain(
        make.profile(*base), make.profile(*head, make.operation("aten::sort", 50e-3))
    )

    assert [cause.name for cause in explanation.causes] == ["aten::sort"]
    assert explanation.is_attributable


def changed(make, seconds, ratio):
    base, head = (make.operation("aten::mm", each) for each in (seconds, ratio * seconds))
    return OperationChange(base=(base,), head=(head,))


@pytest.mark.parametrize("ratio", [1.5, 0.5])
def test_a_drift_adds_its_ratio_less_one_times_the_time_of_the_same_work(make, ratio):
    changes = [
        changed(make, seconds, ratio) for seconds in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    ]

    drift = drift_of(changes, floor_s=0.0)

    assert drift == pytest.approx((ratio, (ratio - 1) * 36.0))


@pytest.mark.parametrize(
    ("ratio", "count"), [(1.25, 8), (0.8, 8), (1.5, 7)], ids=["slower", "faster", "few"]
)
def test_a_ratio_up_to_a_quarter_more_or_of_few_operations_is_no_drift(make, ratio, count):
    assert drift_of([changed(make, 4.0, ratio)] * count, floor_s=0.0) == (1.0, 0.0)


def test_the_same_work_differs_by_the_median_ratio_and_the_spread_around_it(make):
    ratios = [1.0, 1.1, 1.1, 1.21, 1.21, 1.21, 1.331, 1.331, 1.4641]
    base, head = alike(make, ratios)
    changes = changes_of(make.profile(*base), make.profile(*head))

    share = difference_of_recordings(changes, floor_s=0.0)

    # In powers of 1.1: the median is 2, and the median distance from it 1.
    assert share == pytest.approx(1 - 1.1 ** -(2 + 1.96 * 1.4826))
    assert difference_of_recordings(changes[:7], floor_s=0.0) == 0.0


def test_what_only_one_recording_has_is_a_cause_however_much_the_machine_changed(make):
    base, head = alike(make, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    new = make.operation("aten::sort", 9e-3)

    assert "aten::sort" in {
        cause.name for cause in explain(make.profile(*base), make.profile(*head, new)).causes
    }
