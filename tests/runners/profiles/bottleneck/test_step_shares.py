from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import (
    Bucket,
    Kernel,
    OperationFamily,
    Profile,
    ProfiledDevice,
    ProfiledStep,
)
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.step_shares import (
    is_on_cpu,
    median_shares,
    overhead_shares,
    typical_step_seconds,
)

EMPTY = Profile(
    workload="m:f", side=Side.HEAD, tool="nsys", steps=1, step_seconds=0.0, operations=()
)


def step(number, **spent):
    buckets = tuple(spent.get(bucket.value, 0.0) for bucket in Bucket)
    return ProfiledStep(number=number, seconds=sum(buckets), buckets=buckets)


def stepped(make, *steps):
    return replace(make.profile(make.operation("k", 1.0)), each_step=steps)


def test_each_bucket_belongs_to_one_candidate(make):
    steps = [step(0, **dict.fromkeys(Bucket, 1.0))]

    shares = median_shares(stepped(make, *steps))

    assert shares == {
        Bottleneck.DEVICE: pytest.approx(3 / 11),  # with copies on the device and memsets
        Bottleneck.COMMUNICATION: pytest.approx(2 / 11),  # with copies between devices
        Bottleneck.TRANSFER: pytest.approx(1 / 11),
        Bottleneck.INPUT: pytest.approx(1 / 11),
        Bottleneck.HOST: pytest.approx(4 / 11),
    }


def test_one_step_that_was_held_up_does_not_move_the_median(make):
    usual = [step(n, compute=0.9, other=0.1) for n in range(5)]

    shares = median_shares(stepped(make, *usual, step(5, compute=0.9, other=9.0)))

    assert shares[Bottleneck.HOST] == pytest.approx(0.1)


def test_without_steps_the_mean_step_is_taken(make):
    profile = make.profile(
        make.operation("k", 3.0), make.operation("load", 1.0, bucket=Bucket.INPUT)
    )

    assert median_shares(profile)[Bottleneck.INPUT] == 0.25


def test_the_typical_step_is_the_median_one_where_steps_are_known(make):
    steps = [step(n, compute=seconds) for n, seconds in enumerate((1.0, 2.0, 9.0))]

    assert typical_step_seconds(stepped(make, *steps)) == 2.0
    assert typical_step_seconds(make.profile(make.operation("k", 4.0))) == 4.0


def test_nothing_that_took_time_has_no_shares(make):
    empty = replace(make.profile(), step_seconds=0.0)

    assert median_shares(empty) == {}
    assert median_shares(stepped(make, step(0), step(1))) == {}


def test_a_copy_on_the_cpu_is_work(make):
    profile = make.profile(
        make.operation("aten::mm", 1.0), make.operation("copy.3", 1.0, bucket=Bucket.COPY)
    )

    shares = median_shares(profile)

    assert shares[Bottleneck.DEVICE] == 1.0
    assert shares[Bottleneck.TRANSFER] == 0.0


@pytest.mark.parametrize(
    ("name", "bucket", "is_cpu"),
    [
        ("aten::mm", Bucket.COMPUTE, True),
        ("aten::_log_softmax", Bucket.COMPUTE, True),
        ("aten::mm", Bucket.CPU, False),  # beside a device
        ("void at::native::vectorized_elementwise_kernel<4>", Bucket.COMPUTE, False),
        ("(XLA runtime)", Bucket.RUNTIME, True),
        ("copy-done.4", Bucket.COPY, False),
    ],
)
def test_operations_tell_work_on_the_cpu(make, name, bucket, is_cpu):
    assert is_on_cpu(make.profile(make.operation(name, 1.0, bucket=bucket))) is is_cpu


def test_a_device_that_is_named_decides(make):
    profile = make.profile(make.operation("aten::mm", 1.0))
    kernel = Kernel(name="aten::mm", family=OperationFamily.GEMM, seconds=1.0, count=1.0)

    assert not is_on_cpu(replace(profile, device=ProfiledDevice(name="NVIDIA L4")))
    assert not is_on_cpu(replace(profile, kernels=(kernel,)))
    assert is_on_cpu(replace(profile, kernels=(kernel,), device=ProfiledDevice(name="CPU")))


def test_overheads_are_without_the_devices_own_work(make):
    shares = median_shares(stepped(make, step(0, compute=6.0, input=1.0, sync=2.0, copy=1.0)))

    assert [name for name, _ in overhead_shares(shares)[:1]] == [Bottleneck.HOST]
    assert Bottleneck.DEVICE not in dict(overhead_shares(shares))


spent = st.fixed_dictionaries(
    {bucket.value: st.floats(0, 1e3, allow_subnormal=False) for bucket in Bucket}
)


@pytest.mark.slow
@given(spent.filter(lambda spent: sum(spent.values()) > 0.001))
def test_the_shares_of_a_step_sum_to_one(spent):
    shares = median_shares(replace(EMPTY, each_step=(step(0, **spent),)))

    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(share >= 0 for share in shares.values())


@pytest.mark.slow
@given(st.lists(spent, min_size=1, max_size=7), st.randoms())
def test_the_order_of_the_steps_changes_nothing(spents, random):
    steps = [step(n, **spent) for n, spent in enumerate(spents)]
    shuffled = random.sample(steps, len(steps))

    shares = median_shares(replace(EMPTY, each_step=tuple(steps)))

    assert median_shares(replace(EMPTY, each_step=tuple(shuffled))) == shares
