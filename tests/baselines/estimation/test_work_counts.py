from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger.step_work import (
    FLOPS,
    Count,
    CountedWork,
    StepWork,
)
from perfledger_baselines.estimation.work_counts import (
    WorkChange,
    count_change,
    work_change,
    work_comparisons,
)


def count(value, *, name=FLOPS, unit="FLOP", source="a counter"):
    return Count(name=name, unit=unit, value=value, source=source)


def counted(side, *counts, limits=(), program="", workload="m:f"):
    work = StepWork(counts=counts, limits=limits, program=program)
    return CountedWork(workload=workload, side=side, work=work)


@pytest.fixture
def bundle(build):
    def make(*parts, samples=None):
        found_bundle = build.bundle({"m:f": samples or {"step_time_p50": [(1.0, 1.0)]}})
        return replace(found_bundle, work=parts)

    return make


def test_any_difference_of_a_count_is_a_change(bundle):
    (work_comparison,) = work_comparisons(
        bundle(counted(Side.BASE, count(1e9)), counted(Side.HEAD, count(1e9 + 1)))
    )

    (change,) = work_comparison.changes
    assert change.change == pytest.approx(1e-9)


def test_equal_counts_are_kept_and_are_no_changes(bundle):
    (work_comparison,) = work_comparisons(
        bundle(counted(Side.BASE, count(1e9)), counted(Side.HEAD, count(1e9)))
    )

    assert (len(work_comparison.counts), work_comparison.changes) == (1, ())


def test_more_than_nothing_has_no_ratio(bundle):
    found_bundle = bundle(counted(Side.BASE, count(0.0)), counted(Side.HEAD, count(5.0)))

    (change,) = work_comparisons(found_bundle)[0].changes
    assert change.change is None


@pytest.mark.parametrize(
    "head",
    [
        count(2e9, source="another counter"),
        count(2e9, unit="B"),
        count(2e9, name="bytes_per_step"),
    ],
)
def test_what_was_counted_in_another_way_does_not_compare(bundle, head):
    found_bundle = bundle(counted(Side.BASE, count(1e9)), counted(Side.HEAD, head))

    assert work_comparisons(found_bundle)[0].counts == ()
    assert count_change(found_bundle, "m:f", FLOPS) is None


def test_a_workload_counted_on_one_side_is_not_compared(bundle):
    found_bundle = bundle(counted(Side.HEAD, count(1e9)))

    assert work_comparisons(found_bundle) == ()
    assert count_change(found_bundle, "m:f", FLOPS) is None


def test_limits_of_one_side_bear_its_name(bundle):
    (work_comparison,) = work_comparisons(
        bundle(
            counted(Side.BASE, limits=("a loop",)),
            counted(Side.HEAD, limits=("a loop", "a callback")),
        )
    )

    assert work_comparison.limits == ("a loop", "head: a callback")


@pytest.mark.parametrize(
    ("base", "head", "expected"), [("a", "a", True), ("a", "b", False), ("", "a", None)]
)
def test_programs_are_the_same_when_their_hashes_are(bundle, base, head, expected):
    (work_comparison,) = work_comparisons(
        bundle(counted(Side.BASE, program=base), counted(Side.HEAD, program=head))
    )

    assert work_comparison.is_same_program is expected


def test_what_was_counted_before_goes_before_what_the_runs_counted(bundle):
    samples = {"flops_per_step": [(1e9, 1e9)]}
    parts = (counted(Side.BASE, count(2e9)), counted(Side.HEAD, count(4e9)))

    assert work_change(bundle(*parts, samples=samples), "m:f") == WorkChange(2e9, 4e9)
    assert work_change(bundle(parts[0], samples=samples), "m:f") == WorkChange(1e9, 1e9)


@pytest.mark.parametrize("incomplete_side", Side)
def test_an_incomplete_count_has_no_change_and_gives_no_rate(bundle, incomplete_side):
    parts = (
        counted(side, replace(count(value), is_complete=side is not incomplete_side))
        for side, value in ((Side.BASE, 6e8), (Side.HEAD, 5e8))
    )
    found_bundle = bundle(*parts, samples={"flops_per_step": [(1e9, 1e9)]})

    (change,) = work_comparisons(found_bundle)[0].changes

    assert (change.is_complete, change.change) == (False, None)
    assert (change.base_is_complete, change.head_is_complete) == (
        incomplete_side is Side.HEAD,
        incomplete_side is Side.BASE,
    )
    assert work_change(found_bundle, "m:f") is None


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [(0.0, 5.0, None), (5.0, 0.0, None), (1.0, 1.0, WorkChange(1.0, 1.0))],
)
def test_a_count_of_nothing_is_no_work_and_one_operation_is(bundle, base, head, expected):
    parts = (counted(Side.BASE, count(base)), counted(Side.HEAD, count(head)))

    assert work_change(bundle(*parts), "m:f") == expected
    counted_by_runs = bundle(samples={"flops_per_step": [(base, head)]})
    assert work_change(counted_by_runs, "m:f") == expected


def test_a_count_of_one_has_a_ratio(bundle):
    found_bundle = bundle(counted(Side.BASE, count(1.0)), counted(Side.HEAD, count(3.0)))

    (change,) = work_comparisons(found_bundle)[0].changes
    assert change.change == 2.0
