"""What is behind a lower utilization: time without work, small kernels, or nothing that shows."""

from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily
from perfledger.records import Side
from perfledger_profiles.diff.utilization_change import utilization_note


def kernel(name, milliseconds, blocks=4.0):
    return Kernel(
        name=name,
        family=OperationFamily.GEMM,
        seconds=milliseconds / 1e3,
        count=1.0,
        blocks_per_multiprocessor=blocks,
    )


@pytest.fixture
def side(make):
    """Return a function that returns a profile of kernels and of waits, in milliseconds."""

    def profile(kernels, *, which=Side.HEAD, **waits):
        operations = [make.operation(one.name, one.seconds) for one in kernels]
        operations += [
            make.operation(name, milliseconds / 1e3, bucket=Bucket.SYNC)
            for name, milliseconds in waits.items()
        ]
        return replace(make.profile(*operations, side=which), kernels=tuple(kernels))

    return profile


def test_time_without_work_is_named_by_what_the_device_waits_for(side):
    base = side([kernel("gemm", 9.0)], item=1.0)
    head = side([kernel("gemm", 9.0)], item=4.0, load=5.0)

    assert utilization_note(base, head, shares=(0.9, 0.5)) == (
        "the device works for 50 % of a step, 90 % before, and mostly waits for load "
        "(+5 ms a step) and item (+3 ms a step)"
    )


def test_time_between_kernels_is_no_work_of_the_device(side):
    """It is a device's own time, and counts as compute in the breakdown of its steps."""
    base, head = (
        side([kernel("gemm", 5.0)], **{"(between kernels)": gap_ms}) for gap_ms in (1.0, 5.0)
    )
    base, head = (
        replace(
            one,
            operations=(one.operations[0], replace(one.operations[1], bucket=Bucket.COMPUTE)),
        )
        for one in (base, head)
    )

    assert utilization_note(base, head, shares=(0.8, 0.5)) == (
        "the device works for 50 % of a step, 83 % before, and mostly waits for its next kernels "
        "(+4 ms a step)"
    )


def test_a_device_that_works_as_long_is_used_less_by_kernels_that_do_not_fill_it(side):
    base = side([kernel("gemm", 9.0), kernel("norm", 1.0)])
    head = side([kernel("gemm", 9.0), kernel("norm", 2.0, blocks=0.25), kernel("sort", 4.0)])

    assert utilization_note(base, head, shares=(0.9, 0.6)) == (
        "the device works for 100 % of a step, 100 % before, but these kernels use less of it: "
        "sort (4 blocks a multiprocessor, 4 ms a step) and norm (0.25 blocks a multiprocessor, 2 "
        "ms a step)"
    )


def test_where_nothing_shows_it_the_note_says_what_would(side):
    both = side([kernel("gemm", 9.0)])

    note = utilization_note(both, both, shares=(0.9, 0.6))

    assert note.startswith("the lower use of the device is not attributable: the device works")
    assert "Nsight Compute" in note


def test_profiles_without_kernels_or_without_work_attribute_nothing(side):
    with_kernels = side([kernel("gemm", 9.0)])
    waiting = replace(side([], item=1.0), kernels=(kernel("gemm", 9.0),))

    assert "list no kernels" in utilization_note(
        side([], item=1.0), with_kernels, shares=(0.9, 0.5)
    )
    assert "no work" in utilization_note(waiting, with_kernels, shares=(0.9, 0.5))
