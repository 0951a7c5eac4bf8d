"""Kernels of both sides are matched as a diff of profiles matches them, with every step's time."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Side
from perfledger_profiles.diff.kernel_times import (
    kernel_times,
    kernels_of_side,
    step_seconds,
    undisturbed_seconds,
)
from perfledger_profiles.timeline.breakdown import MAX_OPERATIONS, OTHER_OPERATIONS

LINEAR = "aten::linear"


def operation(name, seconds, *, bucket=Bucket.COMPUTE, count=2.0, path="", shapes=""):
    return Operation(
        name=name, bucket=bucket, seconds=seconds, count=count, path=path, shapes=shapes
    )


def window(*operations, steps=()):
    return Profile(
        workload="w",
        side=Side.BASE,
        tool="torch.profiler",
        steps=len(steps) or 1,
        step_seconds=sum(one.seconds for one in operations),
        operations=operations,
        call_times=tuple(tuple((seconds,) for seconds in step) for step in steps),
    )


def matched(base, head):
    """Return the kernels of one pair by family."""
    times = kernel_times([kernels_of_side(base)], [kernels_of_side(head)])
    assert len({one.family for one in times}) == len(times)
    return {one.family: one for one in times}


def test_every_step_of_every_window_is_a_sample():
    first = window(operation("aten::mm", 2.0), steps=((1.0,), (3.0,)))
    second = window(operation("aten::mm", 4.0, count=4.0), steps=((4.0,),))

    (mm,) = kernels_of_side([first, second])

    assert (mm.seconds, mm.count) == ((1.0, 3.0, 4.0), 3.0)
    assert step_seconds([first, second]) == (1.0, 3.0, 4.0)


def test_each_call_counts_at_its_shortest_over_all_windows():
    mm = operation("aten::mm", 2.0)
    first = replace(window(mm), call_times=(((1.0, 9.0),), ((9.0, 2.0),)))
    second = replace(window(mm), call_times=(((9.0, 9.0),), ((5.0, 3.0),)))

    (one,) = kernels_of_side([first, second])

    assert one.seconds == (10.0, 11.0, 18.0, 8.0)
    assert one.undisturbed == 3.0


@given(
    st.lists(st.lists(st.floats(0.1, 9.0), min_size=3, max_size=3), min_size=1, max_size=9),
    st.floats(1.0, 9.0),
)
def test_load_that_lengthens_one_call_of_each_step_moves_no_undisturbed_time_beyond_its_steps(
    steps, load
):
    sums = sorted(map(sum, steps))
    disturbed = [
        [one + load * (n % 3 == at) for at, one in enumerate(calls)]
        for n, calls in enumerate(steps)
    ]

    before, after = undisturbed_seconds(steps), undisturbed_seconds(disturbed)
    assert before is not None
    assert after is not None
    assert before <= sums[-1] + 1e-9
    assert before <= after + 1e-9
    assert undisturbed_seconds([*steps, [0.0, 0.0, 0.0], []]) == before


def test_the_undisturbed_time_of_steps_with_different_numbers_of_calls_is_unknown():
    assert undisturbed_seconds([(1.0, 4.0), (2.0, 2.0, 2.0), (9.0,)]) is None
    assert undisturbed_seconds([(), (0.0,)]) == 0.0


def with_calls(*steps):
    return replace(window(operation("aten::mm", 2.0)), call_times=tuple((one,) for one in steps))


ALIKE = with_calls((1.0, 9.0), (9.0, 2.0))
WITH_ONE_MORE = with_calls((1.0, 9.0), (9.0, 2.0, 1.0), ())


@pytest.mark.parametrize(
    ("base", "head", "undisturbed"),
    [
        (ALIKE, ALIKE, (3.0, 3.0)),
        (ALIKE, WITH_ONE_MORE, (10.0, 10.0)),
        (WITH_ONE_MORE, ALIKE, (10.0, 10.0)),
    ],
)
def test_an_additional_call_in_a_step_of_one_side_makes_the_shortest_steps_count_on_both(
    base, head, undisturbed
):
    mm = matched([base], [head])["aten::mm"]

    assert (*mm.base_undisturbed, *mm.head_undisturbed) == undisturbed


def test_a_window_without_single_steps_has_its_mean_step():
    (mm,) = kernels_of_side([window(operation("aten::mm", 2.0))])

    assert mm.seconds == (2.0,)


def test_time_outside_kernels_is_part_of_the_step_alone():
    outside = operation("(outside operations)", 1.0, bucket=Bucket.OTHER)
    waiting = operation("cudaStreamSynchronize", 0.5, bucket=Bucket.SYNC)
    one = window(operation("aten::mm", 2.0), outside, waiting)

    assert [kernel.name for kernel in kernels_of_side([one])] == ["aten::mm"]
    assert step_seconds([one]) == (3.5,)


def test_a_kernel_that_a_window_lacks_took_no_time_there():
    kernels = kernels_of_side(
        [window(operation("aten::mm", 2.0)), window(operation("aten::add", 1.0))]
    )

    assert {one.name: (one.seconds, one.count) for one in kernels} == {
        "aten::mm": ((2.0, 0.0), 1.0),
        "aten::add": ((0.0, 1.0), 1.0),
    }


def test_operations_of_different_shapes_at_one_place_are_one_kernel():
    one = window(operation("aten::mm", 2.0, shapes="a"), operation("aten::mm", 1.0, shapes="b"))

    (mm,) = kernels_of_side([one])

    assert (mm.seconds, mm.count) == ((3.0,), 4.0)


def test_the_same_work_is_one_kernel_with_both_sides_times():
    mm = matched([window(operation("aten::mm", 2.0))], [window(operation("aten::mm", 3.0))])

    assert (mm["aten::mm"].base, mm["aten::mm"].head) == (((2.0,),), ((3.0,),))
    assert mm["aten::mm"].base_count == mm["aten::mm"].head_count == 2.0


def test_a_kernel_belongs_to_the_operator_that_launched_it_and_is_named_by_its_place():
    path = "forward/aten::addmm"
    base = [window(operation("ampere_sgemm_64x64_nn", 2.0, path=path))]
    head = [window(operation("ampere_sgemm_128x64_nn", 2.0, path=path))]

    addmm = matched(base, head)["aten::addmm"]

    assert addmm.name == f"{path}/ampere_sgemm_128x64_nn"
    assert (addmm.base, addmm.head) == (((2.0,),), ((2.0,),))


def test_a_fusion_is_one_kernel_with_its_parts():
    base = [window(operation("aten::add", 1.0), operation("aten::relu", 2.0))]
    head = [window(operation("triton_poi_fused_add_relu_0", 2.5, count=1.0))]

    (fused,) = matched(base, head).values()

    assert (fused.base, fused.head) == (((3.0,),), ((2.5,),))
    assert fused.family == "aten::relu → triton_poi_fused_add_relu"
    assert (fused.base_count, fused.head_count) == (4.0, 1.0)


def test_what_only_one_side_runs_took_no_time_on_the_other():
    both = operation("aten::mm", 2.0)
    times = matched([window(both)], [window(both, operation("aten::sort", 1.0))])

    assert times["aten::sort"].base == ((0.0,),)
    assert times["aten::sort"].head == ((1.0,),)
    assert times["aten::sort"].base_count == 0


def test_pairs_keep_their_order_and_their_own_numbers_of_steps():
    pairs = [
        kernels_of_side([window(operation("aten::mm", seconds), steps=((seconds,),) * steps)])
        for seconds, steps in ((1.0, 2), (2.0, 3))
    ]

    (mm,) = kernel_times(pairs, pairs[::-1])

    assert mm.base == ((1.0, 1.0), (2.0, 2.0, 2.0))
    assert mm.head == ((2.0, 2.0, 2.0), (1.0, 1.0))


@pytest.mark.slow(ci_only=True)
def test_of_many_names_the_longest_of_either_side_are_kept_and_the_rest_is_one():
    """As with windows of which each has other names among its longest: 7,200 on a side."""
    base, head = (
        [
            kernels_of_side(
                [
                    window(
                        operation("aten::mm", 9.0),
                        *(
                            operation(f"{side}_{chr(97 + pair)}{n}_kernel", 1 + n / 1000)
                            for n in range(600)
                        ),
                    )
                ]
            )
            for pair in range(12)
        ]
        for side in ("base", "head")
    )

    times = kernel_times(base, head)

    assert len(times) <= 2 * MAX_OPERATIONS + 1
    (mm,) = [one for one in times if one.family == "aten::mm"]
    (rest,) = [one for one in times if one.family == OTHER_OPERATIONS]
    assert mm.base == mm.head == ((9.0,),) * 12
    assert sum(rest.base[0]) > 0
    for pairs, side in ((base, "base"), (head, "head")):
        for place, kernels in enumerate(pairs):
            kept_total = sum(getattr(one, side)[place][0] for one in times)
            assert kept_total == pytest.approx(sum(one.seconds[0] for one in kernels))


def test_a_kernel_among_the_longest_of_one_side_is_kept_on_both():
    others = [operation(f"aten::op_{chr(97 + n // 26)}{chr(97 + n % 26)}", 2.0) for n in range(199)]
    shorter, longer = operation("aten::sort", 1.0), operation("aten::topk", 1.5)
    base = [window(*others, shorter, longer)]
    head = [window(*others, replace(shorter, seconds=1.6), longer)]

    times = matched(base, head)

    assert times["aten::sort"].base == ((1.0,),)
    assert times["aten::sort"].head == ((1.6,),)
    assert times["aten::topk"].base == times["aten::topk"].head == ((1.5,),)


def test_pairs_without_any_kernel_have_none():
    assert kernel_times([()], [()]) == ()


@pytest.mark.parametrize("length", [10, 5000])
def test_a_name_keeps_its_end(length):
    one = window(operation("aten::mm", 1.0, path="p" * length))

    (mm,) = kernel_times([kernels_of_side([one])], [kernels_of_side([one])])

    assert mm.name.endswith("p/aten::mm")
    assert len(mm.name) <= 300


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((4.0, 3.0, 2.0, 1.0), 1.0),
        ((5.0, 4.0, 3.0, 2.0, 1.0), 1.5),  # a quarter of five, rounded up
        ((9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 1.0, 2.0), 2.0),
    ],
)
def test_a_call_takes_the_mean_of_the_shortest_quarter_of_its_times(seconds, expected):
    assert undisturbed_seconds([[each] for each in seconds]) == pytest.approx(expected)


def test_steps_without_calls_are_left_out_also_where_the_others_are_short():
    assert undisturbed_seconds([[0.25, 0.5], [], [0.0]]) == pytest.approx(0.75)
    assert undisturbed_seconds([[], []]) == 0.0
