import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.kernel_times import KernelTimes, WorkloadKernels
from perfledger_baselines.estimation.kernel_families import (
    PairedSeconds,
    kernel_families,
    sum_of,
    whole_steps,
)


def kernel(family, base, head, *, name="k", counts=(1.0, 1.0)):
    return KernelTimes(
        family=family,
        name=name,
        base_count=counts[0],
        head_count=counts[1],
        base=base,
        head=head,
    )


def test_the_kernels_of_a_family_are_summed_step_by_step_before_they_are_estimated():
    first = kernel("mm", ((1.0, 9.0, 1.0),), ((2.0, 2.0, 2.0),))
    second = kernel("mm", ((9.0, 1.0, 9.0),), ((1.0, 1.0, 1.0),))

    (family,) = kernel_families([first, second], places=[0])

    # Each sum is 10; the estimates of the parts alone are 3 and 7.
    assert family.total.base.tolist() == [10.0]
    assert family.total.head.tolist() == [3.0]
    assert [one.name for one in family.kernels] == ["k", "k"]


def test_other_load_in_most_steps_does_not_move_a_pair():
    quiet, disturbed = (1.0,) * 5, (1.0, 9.0, 40.0, 1.0, 3.0)

    (family,) = kernel_families([kernel("mm", (quiet,), (disturbed,))], places=[0])

    assert family.total.head_seconds == family.total.base_seconds == 1.0


def test_steps_that_do_not_run_it_say_nothing_of_its_time():
    sometimes, never = (0.0, 3.0, 0.0, 0.0, 3.0), (0.0,) * 5

    (family,) = kernel_families([kernel("sgd", (sometimes,), (never,))], places=[0])

    assert family.total.base.tolist() == [3.0]
    assert family.total.head.tolist() == [0.0]
    assert family.total.most_seconds == 3.0


def test_what_the_shortest_steps_leave_out_is_in_the_means_over_all_steps():
    one = kernel("sync", ((0.0, 3.0, 0.0, 0.0),), ((3.0, 3.0, 9.0, 9.0),))

    (family,) = kernel_families([one], places=[0])
    mean, shortest_by_share = family.over_all_steps

    assert family.total.base_seconds == family.total.head_seconds == 3.0
    assert (mean.base_seconds, mean.head_seconds) == (0.75, 6.0)
    assert (shortest_by_share.base_seconds, shortest_by_share.head_seconds) == (0.75, 3.0)


def test_only_the_chosen_pairs_count_and_pairs_may_have_different_numbers_of_steps():
    one = kernel("mm", ((1.0,), (5.0, 5.0), (2.0, 2.0)), ((1.0,), (7.0,), (3.0,)))

    (family,) = kernel_families([one], places=[1, 2])

    assert family.total.base.tolist() == [5.0, 2.0]
    assert family.total.head.tolist() == [7.0, 3.0]


@pytest.mark.parametrize(
    ("counts", "is_restructured"),
    [((2.0, 2.0), False), ((2.0, 2.01), False), ((2.0, 3.0), True), ((0.0, 1.0), True)],
)
def test_a_family_is_restructured_where_a_kernel_is_called_another_number_of_times(
    counts, is_restructured
):
    times = ((1.0,),)

    (family,) = kernel_families([kernel("mm", times, times, counts=counts)], places=[0])

    assert family.is_restructured is is_restructured


def test_the_longest_family_is_first():
    short = kernel("add", ((1.0,),), ((1.0,),))
    long = kernel("mm", ((1.0,),), ((3.0,),))

    assert [f.total.name for f in kernel_families([short, long], places=[0])] == ["mm", "add"]


@given(st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e3)), min_size=1, max_size=5))
def test_things_together_add_what_their_parts_add(parts):
    seconds = [
        PairedSeconds(name="x", base=np.array([base]), head=np.array([head]))
        for base, head in parts
    ]

    together = sum_of("all", seconds)

    assert together.base_seconds == pytest.approx(sum(one.base_seconds for one in seconds))
    assert together.head_seconds == pytest.approx(sum(one.head_seconds for one in seconds))


def test_the_whole_step_has_one_value_for_each_pair():
    windows = WorkloadKernels(
        workload="w", pairs=(0, 1), base_steps=((2.0, 4.0), (8.0,)), head_steps=((3.0,), (9.0,))
    )

    step = whole_steps(windows, places=[0, 1])

    assert step.base.tolist() == [2.0, 8.0]
    assert step.head.tolist() == [3.0, 9.0]
