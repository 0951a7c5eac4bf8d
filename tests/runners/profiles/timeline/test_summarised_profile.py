import math

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Kernel, OperationFamily, ProfileReading
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline import summarised_profile
from perfledger_profiles.timeline.breakdown import MAX_OPERATIONS, OTHER_OPERATIONS
from perfledger_profiles.timeline.summarised_profile import OTHER_KERNELS, summary_profile


def kernel(name, seconds, *, family=OperationFamily.GEMM, **more):
    return Kernel(name=name, family=family, seconds=seconds, count=1, **more)


def made_profile(**parts):
    return summary_profile(workload="m:f", side=Side.HEAD, tool="tool", **parts)


@given(st.lists(st.tuples(st.text(max_size=3), st.floats(0, 1e9)), min_size=1, max_size=30))
def test_the_operations_sum_to_the_step_and_the_kernels_too(parts):
    profile = made_profile(kernels=[kernel(name, seconds) for name, seconds in parts])

    total = math.fsum(seconds for _, seconds in parts)
    assert profile.step_seconds == pytest.approx(total)
    assert sum(k.seconds for k in profile.kernels) == pytest.approx(total)
    assert [k.seconds for k in profile.kernels] == sorted(
        (k.seconds for k in profile.kernels), reverse=True
    )


def test_launch_shapes_of_one_kernel_are_one_operation():
    profile = made_profile(kernels=[kernel("a", 1.0, grid="1,1,1"), kernel("a", 2.0, grid="2,1,1")])

    assert [(one.name, one.seconds, one.count) for one in profile.operations] == [("a", 3.0, 2)]
    assert len(profile.kernels) == 2


def test_only_copies_of_the_driver_are_spent_on_copying():
    profile = made_profile(
        kernels=[
            kernel("[CUDA memcpy HtoD]", 1.0, family=OperationFamily.COPY),
            kernel("[CUDA memset]", 2.0, family=OperationFamily.MEMSET),
            kernel("direct_copy_kernel", 4.0, family=OperationFamily.COPY),
            kernel("ncclDevKernel_AllReduce", 8.0, family=OperationFamily.COMMUNICATION),
        ]
    )

    spent = profile.bucket_seconds()
    assert (spent[Bucket.COPY], spent[Bucket.MEMSET]) == (1.0, 2.0)
    assert (spent[Bucket.COMPUTE], spent[Bucket.COMMUNICATION]) == (4.0, 8.0)


def test_what_is_beyond_the_limits_is_folded_and_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(summarised_profile, "MAX_KERNELS", 2)

    profile = made_profile(kernels=[kernel(f"k{n}", 1.0 + n) for n in range(5)])

    assert [(k.name, k.seconds) for k in profile.kernels] == [
        (OTHER_KERNELS, 6.0),
        ("k4", 5.0),
        ("k3", 4.0),
    ]
    assert sum(one.seconds for one in profile.operations) == profile.step_seconds == 15.0


def test_operations_beyond_the_limit_are_folded_too():
    many = [kernel(f"k{n}", 1.0) for n in range(MAX_OPERATIONS + 5)]

    operations = made_profile(kernels=many).operations

    assert len(operations) == MAX_OPERATIONS + 1
    assert (operations[0].name, operations[0].seconds) == (OTHER_OPERATIONS, 5.0)


def test_of_readings_with_one_name_and_subject_the_first_counts():
    profile = made_profile(
        readings=[ProfileReading(name="a", value=1.0), ProfileReading(name="a", value=2.0)]
    )

    assert [one.value for one in profile.readings] == [1.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e31])
def test_a_figure_that_is_no_number_is_left_out(value):
    profile = made_profile(
        readings=[ProfileReading(name="a", value=value), ProfileReading(name="b", value=1.0)]
    )

    assert [one.name for one in profile.readings] == ["b"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_kernels_figure_that_cannot_be_is_none(value):
    figures = {"occupancy": value, "blocks_per_multiprocessor": value, "flops": value}

    (found_kernel,) = made_profile(kernels=[kernel("a", 1.0, bytes=8.0, **figures)]).kernels

    assert (found_kernel.occupancy, found_kernel.blocks_per_multiprocessor, found_kernel.flops) == (
        None,
        None,
        None,
    )
    assert found_kernel.bytes == 8.0


def test_readings_beyond_the_limit_are_cut_and_noted(monkeypatch):
    monkeypatch.setattr(summarised_profile, "MAX_READINGS", 2)
    readings = [ProfileReading(name=f"r{n}", value=n) for n in range(3)]

    profile, at_limit = made_profile(readings=readings), made_profile(readings=readings[:2])

    assert [one.name for one in profile.readings] == ["r0", "r1"]
    assert profile.notes == ("only the first 2 of 3 readings are kept",)
    assert (len(at_limit.readings), at_limit.notes) == (2, ())


def test_what_was_dropped_is_counted_and_said():
    profile = made_profile(
        readings=[ProfileReading(name="a", value=1.0)], dropped=3, notes=("cut off",)
    )

    assert profile.dropped_events == 3
    assert profile.notes == ("cut off", "unreadable lines or values: 3")


def test_a_file_with_nothing_to_use_is_refused():
    with pytest.raises(ProfileError, match="nothing in this file is usable"):
        made_profile(kernels=[kernel("a", math.nan)])


@pytest.mark.parametrize("value", [1e30, 1.1e30, math.inf])
def test_values_up_to_the_largest_are_possible(value):
    is_possible = value <= 1e30
    kernels = [kernel("a", 1.0, flops=value, bytes=value, blocks_per_multiprocessor=value)]

    profile = made_profile(kernels=kernels, readings=[ProfileReading(name="x", value=-value)])

    assert profile.reading("x") == (-value if is_possible else None)
    (one,) = profile.kernels
    assert (one.flops, one.bytes, one.blocks_per_multiprocessor) == (
        (value,) * 3 if is_possible else (None,) * 3
    )


@pytest.mark.parametrize(
    ("seconds", "count", "is_sound"),
    [
        (0.0, 0, True),
        (1e30, 1e30, True),
        (1.1e30, 1, False),
        (1.0, 1.1e30, False),
        (-1.0, 1, False),
    ],
)
def test_a_kernel_takes_a_possible_time_in_a_possible_number_of_calls(seconds, count, is_sound):
    one = Kernel(name="a", family=OperationFamily.GEMM, seconds=seconds, count=count)

    profile = made_profile(kernels=[kernel("b", 1.0), one])

    assert ("a" in {each.name for each in profile.kernels}) is is_sound


@pytest.mark.parametrize(
    ("occupancy", "values"), [(0.0, 0.0), (1.0, 1.0), (1.001, None), (-0.001, None)]
)
def test_an_occupancy_is_a_share(occupancy, values):
    (one,) = made_profile(kernels=[kernel("a", 1.0, occupancy=occupancy)]).kernels

    assert one.occupancy == values


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, 0.0), (0.25, 0.25), (-0.25, None), (math.nan, None)]
)
def test_parts_of_one_are_possible_values_and_less_than_nothing_is_none(value, expected):
    (found_kernel,) = made_profile(
        kernels=[kernel("a", 1.0, flops=value, bytes=value, blocks_per_multiprocessor=value)]
    ).kernels

    assert (found_kernel.flops, found_kernel.bytes, found_kernel.blocks_per_multiprocessor) == (
        expected,
        expected,
        expected,
    )
