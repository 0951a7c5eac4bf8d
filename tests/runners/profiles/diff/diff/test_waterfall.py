from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, Kernel, Operation, OperationFamily, Profile, ProfiledStep
from perfledger.records import Side
from perfledger_profiles.diff.diff import waterfall
from perfledger_profiles.diff.noise import ProfileNoise


def profile(step_seconds, *operations, **more):
    return Profile(
        workload="m:f",
        side=Side.BASE,
        tool="torch.profiler",
        steps=4,
        step_seconds=step_seconds,
        operations=tuple(
            Operation(name=f"op{number}", bucket=bucket, seconds=seconds, count=1.0)
            for number, (bucket, seconds) in enumerate(operations)
        ),
        **more,
    )


def test_each_bucket_has_its_bar_in_the_order_of_buckets():
    base = profile(3.0, (Bucket.COMPUTE, 2.0), (Bucket.INPUT, 1.0))
    head = profile(5.0, (Bucket.COMPUTE, 2.5), (Bucket.INPUT, 2.5))

    bars = waterfall(base, head, ProfileNoise((base,), (head,)))

    assert tuple(bar.bucket for bar in bars) == tuple(Bucket)
    assert {bar.bucket: bar.delta_seconds for bar in bars if bar.delta_seconds} == {
        Bucket.COMPUTE: 0.5,
        Bucket.INPUT: 1.5,
    }


def test_what_operations_leave_of_a_step_is_others():
    base, head = profile(3.0, (Bucket.COMPUTE, 2.0)), profile(2.0)

    bars = waterfall(base, head, ProfileNoise((base,), (head,)))

    other = next(bar for bar in bars if bar.bucket is Bucket.OTHER)
    assert (other.base_seconds, other.head_seconds) == (1.0, 2.0)


def test_a_bars_noise_is_the_error_of_the_windows_difference():
    base = tuple(profile(1.0, (Bucket.COMPUTE, spent)) for spent in (0.9, 1.1))
    head = tuple(profile(1.0, (Bucket.COMPUTE, 1.0)) for _ in range(2))

    bars = waterfall(base[0], head[0], ProfileNoise(base, head))

    expected = 4.303 * 0.1  # Student's t of two degrees of freedom, and the standard error
    assert bars[0].noise_seconds == pytest.approx(expected)
    assert {bar.noise_seconds for bar in bars[1:]} == {0.0}


def test_of_lone_windows_it_is_the_error_of_their_steps_difference():
    compute = (1.0, 2.0, 3.0, 4.0)
    steps = tuple(
        ProfiledStep(number=number, seconds=spent, buckets=(spent, *(0.0,) * (len(Bucket) - 1)))
        for number, spent in enumerate(compute)
    )
    base = profile(2.5, (Bucket.COMPUTE, 2.5), each_step=steps)
    head = profile(2.5, (Bucket.COMPUTE, 2.5), each_step=steps[:1])

    bars = waterfall(base, head, ProfileNoise((base,), (head,)))

    # Without one of the steps the others' mean is 9, 8, 7 and 6 thirds: a jackknife of 3/4 x 5/9.
    squared_error = 3 / 4 * 5 / 9
    relative = 1 / 2.5  # head's one step has base's relative spread
    expected = 2.776 * (squared_error * (1 + relative**2)) ** 0.5
    assert bars[0].noise_seconds == pytest.approx(expected)


def test_a_summarys_kernels_are_what_it_computes():
    kernel = Kernel(name="k", family=OperationFamily.GEMM, seconds=0.75, count=3.0)
    summary = replace(profile(1.0), kernels=(kernel,), has_steps=False)

    bars = waterfall(summary, summary, ProfileNoise((summary,), (summary,)))

    base = {bar.bucket: bar.base_seconds for bar in bars}
    assert (base[Bucket.COMPUTE], base[Bucket.OTHER]) == (0.75, 0.25)


spent = st.lists(st.tuples(st.sampled_from(Bucket), st.floats(0, 1)), max_size=8)
steps = st.floats(1e-6, 10)


@given(spent, steps, spent, steps)
def test_the_bars_sum_to_the_steps_change(before, base_s, after, head_s):
    base, head = profile(base_s, *before), profile(head_s, *after)

    bars = waterfall(base, head, ProfileNoise((base,), (head,)))

    assert fsum(bar.delta_seconds for bar in bars) == pytest.approx(head_s - base_s, abs=1e-12)
