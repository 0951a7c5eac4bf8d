import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.kernel_times import KernelTimes, WorkloadKernels
from perfledger_baselines.estimation import kernel_families as families_module
from perfledger_baselines.estimation.kernel_families import (
    MAX_FAMILY_NAME,
    PairedSeconds,
    common_ratios,
    history_families,
    kernel_families,
    least_step,
    median_step,
    sum_of,
    whole_steps,
)


def kernel(family, base, head, *, name="k", counts=(1.0, 1.0)):
    """Return a kernel with one call in each step, undisturbed in the shortest that runs it."""
    return KernelTimes(
        family=family,
        name=name,
        base_count=counts[0],
        head_count=counts[1],
        base=base,
        head=head,
        base_undisturbed=tuple(min(filter(None, steps), default=0.0) for steps in base),
        head_undisturbed=tuple(min(filter(None, steps), default=0.0) for steps in head),
    )


def test_the_undisturbed_kernels_of_a_family_are_summed():
    first = kernel("mm", ((1.0, 9.0, 1.0),), ((2.0, 2.0, 2.0),))
    second = kernel("mm", ((9.0, 2.0, 9.0),), ((1.0, 1.0, 1.0),))

    (family,) = kernel_families([first, second], places=[0])

    assert family.total.base.tolist() == [3.0]
    assert family.total.head.tolist() == [3.0]
    assert [one.name for one in family.kernels] == ["k", "k"]
    assert family.median_seconds == 10.0


def test_what_the_undisturbed_calls_leave_out_is_in_the_means_over_all_steps():
    one = kernel("sync", ((0.0, 3.0, 0.0, 0.0),), ((3.0, 3.0, 9.0, 9.0),))

    (family,) = kernel_families([one], places=[0])
    mean, undisturbed_by_share = family.over_all_steps

    assert family.total.base_seconds == family.total.head_seconds == 3.0
    assert (mean.base_seconds, mean.head_seconds) == (0.75, 6.0)
    assert (undisturbed_by_share.base_seconds, undisturbed_by_share.head_seconds) == (0.75, 3.0)


def test_only_the_chosen_pairs_count_and_pairs_may_have_different_numbers_of_steps():
    one = kernel("mm", ((1.0,), (5.0, 5.0), (2.0, 2.0)), ((1.0,), (7.0,), (3.0,)))

    (family,) = kernel_families([one], places=[1, 2])

    assert family.total.base.tolist() == [5.0, 2.0]
    assert family.total.head.tolist() == [7.0, 3.0]


@pytest.mark.parametrize(
    ("base", "head", "is_long"),
    [
        ((0.01, 0.01), (0.01, 0.01), True),
        ((0.001, 0.001), (0.001, 0.001), False),
        ((0.0, 0.01), (0.0, 0.01), True),  # in the steps that run it
        ((0.001, 0.1, 0.1), (0.001, 0.001, 0.001), True),  # in most of base's steps
        ((0.001, 0.001, 0.1), (0.001, 0.001, 0.001), False),  # other load lengthened one
    ],
)
def test_a_family_is_long_in_a_step_that_runs_it_or_in_the_median_step(base, head, is_long):
    windows = WorkloadKernels(workload="w", pairs=(0,), base_steps=((1.0,),), head_steps=((1.5,),))
    (family,) = kernel_families([kernel("mm", (base,), (head,))], places=[0])

    steps = whole_steps(windows, places=[0])

    assert (
        family.is_long(steps.base_seconds, median_step(windows, places=[0]), share=0.005) is is_long
    )


def test_a_family_that_few_pairs_run_is_long_by_its_share_on_average():
    windows = WorkloadKernels(
        workload="w", pairs=(0, 1, 2), base_steps=((1.0,),) * 3, head_steps=((1.0,),) * 3
    )
    (family,) = kernel_families(
        [kernel("mm", ((0.0,), (0.0,), (0.03,)), ((0.0,),) * 3)], places=[0, 1, 2]
    )

    steps = whole_steps(windows, places=[0, 1, 2])

    assert family.is_long(steps.base_seconds, 1.0, share=0.005)
    assert not family.is_long(steps.base_seconds, 1.0, share=0.02)


def families_with(*ratios, seconds=(1.0,) * 9):
    """Return families of which the n-th takes so many times as long on head as on base."""
    return kernel_families(
        [
            kernel(f"f{n}", ((one,),), ((one * ratio,),))
            for n, (one, ratio) in enumerate(zip(seconds, ratios, strict=False))
        ],
        places=[0],
    )


def test_what_most_families_have_in_common_is_no_change_of_one():
    families = families_with(1.3, 1.3, 1.3, 1.3, 2.0)

    ratios = common_ratios(families, pairs=1)

    assert ratios.tolist() == pytest.approx([1.3])
    relative = {one.total.name: one.total.relative_to(ratios) for one in families}
    assert relative["f0"].head_seconds == pytest.approx(1.0)
    assert relative["f4"].head_seconds == pytest.approx(2 / 1.3)


def test_a_family_that_is_nearly_all_of_the_step_is_not_what_all_have_in_common():
    families = families_with(1.1, 1.0, 1.0, 1.0, 1.0, seconds=(100.0, 0.1, 0.1, 0.1, 0.1))

    assert common_ratios(families, pairs=1).tolist() == [1.0]


def test_few_families_or_those_of_one_side_have_nothing_in_common():
    assert common_ratios(families_with(1.3, 1.3, 1.3, 1.3), pairs=1).tolist() == [1.0]
    assert common_ratios(families_with(1.3, 1.3, 1.3, 1.3, 0.0), pairs=1).tolist() == [1.0]
    assert common_ratios((), pairs=3).tolist() == [1.0] * 3


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

    paired_seconds = sum_of("all", seconds)

    assert paired_seconds.base_seconds == pytest.approx(sum(one.base_seconds for one in seconds))
    assert paired_seconds.head_seconds == pytest.approx(sum(one.head_seconds for one in seconds))


def test_the_shortest_step_of_each_pair_counts():
    windows = WorkloadKernels(
        workload="w", pairs=(0, 1), base_steps=((2.0, 4.0), (8.0,)), head_steps=((3.0,), (9.0,))
    )

    step = whole_steps(windows, places=[0, 1])

    assert step.base.tolist() == [2.0, 8.0]
    assert step.head.tolist() == [3.0, 9.0]
    assert median_step(windows, places=[0, 1]) == 6.0


@pytest.mark.parametrize(
    ("base_steps", "wait_share", "least"),
    [
        pytest.param(((4.0, 5.0), (4.0, 4.0)), 0.0, 4.0, id="quiet"),
        pytest.param(((40.0, 50.0), (4.0, 4.0)), 0.0, 4.0, id="beside load in all but one pair"),
        pytest.param(((4.0, 5.0), (2.0, 4.0)), 0.0, 3.0, id="no longer than its kernels"),
        pytest.param(((40.0, 50.0), (8.0, 8.0)), 0.5, 4.0, id="half of it waits"),
        pytest.param(((40.0, 50.0), (8.0, 8.0)), 1.0, 3.0, id="unknown waits"),
    ],
)
def test_the_least_step_has_its_kernels_and_the_rest_at_their_shortest(
    base_steps, wait_share, least
):
    kernels = (
        kernel("mm", ((2.0, 3.0), (2.0, 2.0)), ((9.0,), (9.0,))),
        kernel("add", ((1.0, 1.0), (1.0, 1.0)), ((9.0,), (9.0,))),
    )
    windows = WorkloadKernels(
        workload="w",
        pairs=(0, 1),
        base_steps=base_steps,
        head_steps=((9.0,), (9.0,)),
        kernels=kernels,
    )

    assert least_step(windows, places=[0, 1], wait_share=wait_share) == least


def test_the_least_step_is_no_longer_than_a_typical_one():
    kernels = (kernel("mm", ((2.0, 3.0),), ((9.0,),)),)
    steps = ((4.0, 6.0),)
    windows = WorkloadKernels(
        workload="w", pairs=(0,), base_steps=steps, head_steps=((9.0,),), kernels=kernels
    )

    assert least_step(windows, places=[0], wait_share=0.0) == 4.0


@pytest.mark.parametrize(
    ("step", "middle", "is_long"),
    [(2.0, 9.0, True), (2.1, 9.0, False), (9.0, 2.0, True), (9.0, 2.1, False)],
)
def test_a_family_is_long_from_its_share_of_a_step_or_of_the_median_one_on(step, middle, is_long):
    (family,) = kernel_families([kernel("mm", ((1.0,),), ((1.0,),))], places=[0])

    assert family.is_long(step, middle, share=0.5) is is_long


@pytest.mark.parametrize(("calls", "is_restructured"), [(3.0, False), (2.9, True)])
def test_calls_count_as_many_within_a_share_of_them(monkeypatch, calls, is_restructured):
    monkeypatch.setattr(families_module, "SAME_COUNT", 0.25)
    one = kernel("mm", ((1.0,),), ((1.0,),), counts=(calls, 4.0))

    (family,) = kernel_families([one], places=[0])

    assert family.is_restructured is is_restructured


def test_of_two_middle_families_the_faster_one_is_the_typical_one():
    count = 2 * families_module.MIN_FAMILIES
    kernel_times = [
        kernel(f"k{place}", ((1.0,),), ((0.5 + place / 100,),)) for place in range(count)
    ]

    (ratio,) = common_ratios(kernel_families(kernel_times, places=[0]), pairs=1)

    assert ratio == pytest.approx(0.5 + (count // 2 - 1) / 100)


def steps_of(*kernels, seconds=1.0, pairs=1):
    steps = ((seconds,),) * pairs
    return WorkloadKernels(
        workload="w",
        pairs=tuple(range(pairs)),
        base_steps=steps,
        head_steps=steps,
        kernels=kernels,
    )


def test_a_history_has_what_takes_a_hundredth_of_a_step_on_either_side_the_longest_first():
    windows = steps_of(
        kernel("short", ((0.009,),), ((0.009,),)),
        kernel("new", ((0.0,),), ((0.02,),), counts=(0.0, 1.0)),
        kernel("mm", ((0.3,),), ((0.2,),)),
        kernel("mm", ((0.1,),), ((0.1,),), name="other"),
    )

    mm, new = history_families(windows)

    assert (mm.name, new.name) == ("mm", "new")
    assert (mm.base.tolist(), mm.head.tolist()) == ([0.4], [pytest.approx(0.3)])
    assert (new.base.tolist(), new.head.tolist()) == ([0.0], [0.02])


def test_work_that_another_operator_runs_now_is_each_sides_own_operators():
    windows = steps_of(
        kernel("attention → bmm", ((0.2,),), ((0.5,),)), kernel("bmm", ((0.1,),), ((0.1,),))
    )

    bmm, attention = history_families(windows)

    assert (bmm.name, bmm.base.tolist(), bmm.head.tolist()) == ("bmm", [0.1], [0.6])
    assert (attention.name, attention.base.tolist(), attention.head.tolist()) == (
        "attention",
        [0.2],
        [0.0],
    )


def test_families_whose_long_names_begin_alike_are_one_of_a_history():
    name = "x" * MAX_FAMILY_NAME
    windows = steps_of(
        kernel(f"{name}<float>", ((0.2,),), ((0.2,),)),
        kernel(f"{name}<half>", ((0.1,),), ((0.1,),)),
    )

    (family,) = history_families(windows)

    assert family.name == name
    assert family.base.tolist() == [pytest.approx(0.3)]


def test_a_history_has_at_most_twenty_families_and_none_without_a_window():
    many = [kernel(f"k{number}", ((0.02,),), ((0.02,),)) for number in range(25)]

    assert len(history_families(steps_of(*many))) == 20
    assert history_families(WorkloadKernels(workload="w", failure="the profiler ended")) == ()
