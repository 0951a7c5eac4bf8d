from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_profiles.diff.diff import changes_of
from perfledger_profiles.diff.operations import MAX_COMPARED, by_iteration, operations_of
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS, OUTSIDE_OPERATIONS


def test_the_time_outside_is_counted_by_the_calls_that_python_makes(make):
    profile = make.profile(
        make.operation("aten::linear", 1.0, 4.0),
        make.operation("aten::addmm", 1.0, 4.0, path="aten::linear"),
        make.operation("aten::tanh", 1.0, 2.0),
        make.operation(OTHER_OPERATIONS, 1.0, 99.0),
        make.operation(OUTSIDE_OPERATIONS, 1.0, 0.0, bucket=Bucket.OTHER),
    )

    assert operations_of(profile)[-1].count == 6.0
    assert operations_of(profile)[:-1] == profile.operations[:-1]


def test_of_very_many_operations_the_longest_are_compared_and_no_time_is_lost(make):
    many = [make.operation(f"op{n}", 1.0 + n) for n in range(MAX_COMPARED + 10)]

    work = operations_of(make.profile(*many))

    assert len(work) == MAX_COMPARED + 1
    assert (work[0].name, work[-1].name) == (f"op{MAX_COMPARED + 9}", "op10")
    assert [one.seconds for one in work if one.name == OTHER_OPERATIONS] == [
        pytest.approx(sum(range(11)))
    ]
    assert sum(one.seconds for one in work) == pytest.approx(sum(one.seconds for one in many))
    assert sum(one.count for one in work) == len(many)


def recording(make, iterations, kernels=7, **more):
    return replace(
        make.profile(make.operation("gemm", 6.0, 30.0)),
        has_steps=False,
        iterations=iterations,
        iteration_kernels=kernels,
        **more,
    )


def test_repeats_of_the_same_length_are_compared_with_each_other(make):
    short, long = by_iteration((recording(make, 3.0), recording(make, 12.0)))

    assert (short.step_seconds, long.step_seconds) == (2.0, 0.5)
    assert [(one.seconds, one.count) for one in long.operations] == [(0.5, 2.5)]
    assert (long.steps, long.has_steps) == (12, True)


@pytest.mark.parametrize(
    "other",
    [
        {"iterations": 2.9},
        {"iterations": 3.0, "kernels": 8},
        {"iterations": 0.0, "kernels": 0},
    ],
)
def test_recordings_without_like_repeats_are_not_compared_by_them(make, other):
    assert by_iteration((recording(make, 3.0), recording(make, **other))) == ()


def test_steps_need_no_repeats(make):
    marked = replace(recording(make, 3.0), has_steps=True)

    assert by_iteration((marked, marked)) == ()


@pytest.mark.parametrize(
    ("launches", "kind"),
    [(5.0, ChangeKind.RATE), (4.0, ChangeKind.NEW), (0.0, ChangeKind.NEW)],
)
def test_a_kernel_that_one_side_sums_up_with_others_is_not_new(make, launches, kind):
    """Of five calls in base, the longest is listed; head lists another one, which took longer."""
    listed = make.operation("ncclKernel_SendRecv", 1.0, path="backward")
    grown = make.operation("ncclKernel_SendRecv", 2.0, 4.0, path="forward")
    others = make.operation(OTHER_OPERATIONS, 0.5, 9.0)
    base = with_launches(make.profile(listed, others), launches)
    head = with_launches(make.profile(listed, grown), 5.0)

    changes = changes_of(base, head)

    change = next(one for one in changes if one.head == (grown,))
    assert (change.kind, change.delta_seconds) == (kind, 2.0)
    assert sum(one.delta_seconds for one in changes) == pytest.approx(1.5)
    gone = next(one for one in changes_of(head, base) if one.base == (grown,))
    assert gone.kind is (kind if kind is ChangeKind.RATE else ChangeKind.GONE)


def with_launches(profile, count):
    kernel = Kernel(
        name="ncclKernel_SendRecv", family=OperationFamily.COMMUNICATION, seconds=1.0, count=count
    )
    return replace(profile, kernels=(kernel,) if count else ())
