from dataclasses import replace
from itertools import permutations
from math import inf, nan

import pytest
from hypothesis import assume, given, strategies as st

from perfledger.profile import Bucket, Kernel, Operation, OperationFamily, Profile, ProfiledStep
from perfledger.records import Side
from perfledger_profiles.bottleneck.whatif import WhatIfError, what_if

NAMES = ("input", "compute", "gemm", "aten::mm", "aten::*", "*")


def kernel(name, family, seconds):
    return Kernel(name=name, family=family, seconds=seconds, count=1.0)


def operation(name, seconds, bucket=Bucket.COMPUTE, path=""):
    return Operation(name=name, bucket=bucket, seconds=seconds, count=1.0, path=path)


def step(*operations, kernels=()):
    return Profile(
        workload="m:f",
        side=Side.HEAD,
        tool="torch.profiler",
        steps=3,
        step_seconds=sum(op.seconds for op in operations),
        operations=operations,
        kernels=kernels,
    )


STEP = step(
    operation("aten::mm", 4.0),
    operation("sgemm", 3.0),
    operation("load", 2.0, Bucket.INPUT),
    operation("aten::add", 1.0),
    kernels=(kernel("sgemm", OperationFamily.GEMM, 3.0),),
)


def test_all_of_the_hosts_and_of_the_copies_time_have_a_name():
    profile = step(
        operation("aten::mm", 4.0),
        operation("cudaLaunchKernel", 3.0, Bucket.RUNTIME),
        operation("(outside operations)", 2.0, Bucket.OTHER),
        operation("Memcpy HtoD", 1.0, Bucket.COPY),
    )

    assert what_if(profile, changes={"host": inf}).new_step_seconds == pytest.approx(5.0)
    assert what_if(profile, changes={"transfer": inf}).new_step_seconds == pytest.approx(9.0)


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 10.0),
        ({"input": inf}, 8.0),
        ({"input": 2.0}, 9.0),
        ({"input": 0.5}, 12.0),
        ({"gemm": inf}, 7.0),
        ({"sgemm": inf}, 7.0),
        ({"aten::*": inf}, 5.0),
        ({"aten::?dd": inf}, 9.0),
        ({"input": inf, "aten::mm": 4.0}, 5.0),
        ({"aten::mm": 2.0, "aten::*": 2.0}, 6.5),  # one of them by both
        ({"*": inf}, 0.0),
    ],
)
def test_exclusive_shares_add(changes, seconds):
    assert what_if(STEP, changes=changes).new_step_seconds == pytest.approx(seconds)


def test_each_change_says_what_it_is_about():
    found_what_if = what_if(STEP, changes={"input": 2.0, "aten::mm": inf})

    assert [(c.name, c.factor, c.seconds, c.share) for c in found_what_if.changes] == [
        ("input", 2.0, 2.0, 0.2),
        ("aten::mm", inf, 4.0, 0.4),
    ]
    assert found_what_if.changes[1].ceiling == pytest.approx(1 / 0.6)
    assert found_what_if.share == pytest.approx(0.6)
    assert found_what_if.ceiling == pytest.approx(2.5)
    assert found_what_if.new_step_seconds == pytest.approx(5)


def test_the_median_step_is_what_gets_faster():
    steps = tuple(
        ProfiledStep(number=n, seconds=s, buckets=()) for n, s in enumerate((8.0, 9.0, 13.0))
    )

    found_what_if = what_if(replace(STEP, each_step=steps), changes={"input": inf})

    assert found_what_if.step_seconds == 9.0
    assert found_what_if.new_step_seconds == pytest.approx(9.0 * 0.8)


def test_removing_everything_has_no_end():
    found_what_if = what_if(STEP, changes={"*": inf})

    assert (
        found_what_if.new_step_seconds,
        found_what_if.ceiling,
        found_what_if.changes[0].ceiling,
    ) == (0, inf, inf)


def test_a_bucket_goes_before_a_family_and_an_operation_of_its_name():
    copies = step(
        operation("Memcpy", 3.0, Bucket.COPY),
        operation("transpose", 2.0),
        operation("copy", 1.0),
        kernels=(kernel("transpose", OperationFamily.COPY, 2.0),),
    )

    assert what_if(copies, changes={"copy": inf}).new_step_seconds == 3.0


def test_brackets_are_part_of_a_name():
    copies = step(operation("[CUDA memcpy]", 1.0), operation("C", 1.0))

    assert what_if(copies, changes={"[CUDA*": inf}).new_step_seconds == 1.0


def test_a_kernel_that_bears_its_programs_name_is_found():
    both = step(
        operation("fusion.1", 3.0, path="jit_f"),
        operation("fusion.1", 2.0, path="jit_g"),
        kernels=(
            kernel("jit_f:fusion.1", OperationFamily.FUSION, 3.0),
            kernel("jit_g:fusion.1", OperationFamily.REDUCTION, 2.0),
        ),
    )

    assert what_if(both, changes={"jit_f:*": inf}).new_step_seconds == 2.0
    assert what_if(both, changes={"reduction": inf}).new_step_seconds == 3.0


@pytest.mark.parametrize("factor", [0.0, -1.0, nan, -inf])
def test_a_factor_has_to_be_above_zero(factor):
    with pytest.raises(WhatIfError, match=r"'input' cannot be .* times faster"):
        what_if(STEP, changes={"input": factor})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sgem", "did you mean 'sgemm'"),
        ("inputs", "did you mean 'input'"),
        ("attention", "the profile has nothing named 'attention'"),
        ("", "give one of compute, communication"),
    ],
)
def test_a_name_that_nothing_has_is_an_error(name, hint):
    with pytest.raises(WhatIfError, match=hint):
        what_if(STEP, changes={name: 2.0})


def test_a_bucket_that_took_no_time_changes_nothing():
    found_what_if = what_if(STEP, changes={"memset": inf})

    assert found_what_if.new_step_seconds == STEP.step_seconds
    assert found_what_if.share == 0.0


@pytest.mark.parametrize("empty", [step(), replace(STEP, step_seconds=0.0)])
def test_a_profile_without_a_step_has_no_answer(empty):
    with pytest.raises(WhatIfError, match="give a trace of steps"):
        what_if(empty, changes={"input": 2.0})


def test_what_runs_behind_other_work_may_come_out():
    hidden = replace(STEP, kernels=(kernel("sgemm", OperationFamily.GEMM, 8.2),))

    assert "2 % of the step's device work" in what_if(hidden, changes={"gemm": 2.0}).notes[0]
    assert what_if(STEP, changes={"gemm": 2.0}).notes == ()


def test_input_may_uncover_work_of_the_host():
    (note,) = what_if(STEP, changes={"input": inf}).notes

    assert "4 to 6 % longer" in note


factors = st.floats(1.0, 1e6) | st.just(inf)
several = st.dictionaries(st.sampled_from(NAMES), factors, max_size=4)


@pytest.mark.slow
@given(st.sets(st.sampled_from(NAMES)))
def test_nothing_faster_changes_nothing(names):
    found_what_if = what_if(STEP, changes=dict.fromkeys(names, 1.0))

    assert found_what_if.new_step_seconds == STEP.step_seconds


@pytest.mark.slow
@given(several, st.sampled_from(NAMES), factors, factors)
def test_more_of_the_same_never_makes_it_slower(changes, name, one, other):
    less, more = sorted((one, other))

    slow = what_if(STEP, changes={**changes, name: less}).new_step_seconds
    fast = what_if(STEP, changes={**changes, name: more}).new_step_seconds

    assert fast <= slow + 1e-9


@pytest.mark.slow
@given(several)
def test_the_order_of_changes_does_not_matter(changes):
    orders = [dict(order) for order in permutations(changes.items())]

    step_times = [what_if(STEP, changes=order).new_step_seconds for order in orders]

    assert step_times == pytest.approx([step_times[0]] * len(step_times))


@pytest.mark.slow
@given(several)
def test_no_change_beats_its_ceiling(changes):
    found_what_if = what_if(STEP, changes=changes)

    assume(found_what_if.new_step_seconds > 1e-9)
    assert (
        found_what_if.step_seconds / found_what_if.new_step_seconds <= found_what_if.ceiling + 1e-9
    )


def test_operations_that_overlap_are_the_whole_step_and_no_more():
    overlapping = replace(STEP, step_seconds=5.0)

    assert what_if(overlapping, changes={"compute": 2.0}).share == 1
