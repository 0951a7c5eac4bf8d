"""Tests describing a measured workload's work per unit, and its hardware, on made-up bundles."""

from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Operation, Profile
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import BYTES, FLOPS, Count, CountedWork, StepWork
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.trace.workload_descriptor import (
    HOST_BUCKETS,
    machine_of,
    measured_descriptor,
    measured_hardware,
)

A100 = Machine(
    device=Device.CUDA,
    model="NVIDIA A100-SXM4-80GB",
    memory_bytes=85_000_000_000,
    cpu_model="A Xeon",
)
SPEC = WorkloadSpec(id="gpt:step", module="gpt", function="step", unit="tokens", units_per_step=8.0)
SPEED = (90.0, 100.0, 110.0)


def count(name, value):
    return Count(name=name, unit="", value=value, source=f"a counter of {name}")


def counted(*counts, side=Side.HEAD, workload="gpt:step"):
    return CountedWork(workload=workload, side=side, work=StepWork(counts=counts))


def profile(side=Side.HEAD, workload="gpt:step", **seconds):
    """Return a profile of a step of 10 ms with seconds by bucket."""
    operations = tuple(
        Operation(name=bucket, bucket=Bucket(bucket), seconds=spent, count=1.0)
        for bucket, spent in seconds.items()
    )
    return Profile(
        workload=workload,
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=0.01,
        operations=operations,
    )


@pytest.fixture
def bundle(make_bundle):
    """A bundle of an A100 whose step was counted on both sides."""
    work = (
        counted(count(FLOPS, 4e12), count(BYTES, 8e9)),
        counted(count(FLOPS, 1.0), count(BYTES, 1.0), side=Side.BASE),
        counted(count(FLOPS, 2.0), count(BYTES, 2.0), workload="other:step"),
    )
    return replace(make_bundle(machine=A100, work=work), workloads=(SPEC,))


def described(bundle, dtype="bfloat16"):
    return measured_descriptor(bundle, SPEC, units_per_second=SPEED, dtype=dtype)


def test_the_heads_work_is_described_per_unit_with_its_source(bundle):
    descriptor = described(bundle, dtype="float8")

    assert (descriptor.name, descriptor.unit) == ("gpt:step", "tokens")
    (arithmetic,), (memory,) = descriptor.arithmetic, descriptor.memory
    assert (arithmetic.flops, arithmetic.dtypes) == (4e12 / 8, ("float8",))
    assert arithmetic.source == f"a counter of {FLOPS}"
    assert (memory.bytes, memory.source) == (8e9 / 8, f"a counter of {BYTES}")


@pytest.mark.parametrize(
    "counts",
    [
        (),
        (count(FLOPS, 4e12),),
        (count(BYTES, 8e9),),
        (count(FLOPS, 0.0), count(BYTES, 8e9)),
        (count(FLOPS, 4e12), count(BYTES, 0.0)),
    ],
)
def test_a_count_that_is_missing_or_zero_is_not_taken_for_no_work(bundle, counts):
    with pytest.raises(NotFoundError, match="the work of gpt:step was not counted: declare it"):
        described(replace(bundle, work=(counted(*counts),)))


@pytest.mark.parametrize("name", [FLOPS, BYTES])
def test_an_incomplete_count_is_not_projected(bundle, name):
    counts = (count(FLOPS, 4e12), count(BYTES, 8e9))
    result = tuple(replace(each, is_complete=each.name != name) for each in counts)

    with pytest.raises(NotFoundError, match="the work of gpt:step was not counted completely"):
        described(replace(bundle, work=(counted(*result),)))


def test_a_step_on_several_devices_exchanges_what_is_not_counted(bundle):
    with pytest.raises(UsageError, match="ran on 8 devices, whose communication is not counted"):
        described(replace(bundle, machine=replace(A100, count=8)))


def test_without_a_profile_of_the_head_the_host_time_is_unknown(bundle):
    others = (profile(Side.BASE, cpu=0.004), profile(workload="other:step", cpu=0.004))
    without_steps = replace(profile(cpu=0.004), has_steps=False)

    for profiles in ((), others, (without_steps,)):
        assert described(replace(bundle, profiles=profiles)).fixed is None


def test_host_time_is_the_profiled_share_of_the_time_without_a_profiler(bundle):
    shown_profile = profile(compute=0.006, copy=0.001, input=0.002, sync=0.001)

    fixed = described(replace(bundle, profiles=(profile(Side.BASE, cpu=0.01), shown_profile))).fixed

    assert fixed.seconds == pytest.approx(0.3 / 100)
    assert fixed.source == "torch.profiler: 30.0 % of the step without a busy device"


@pytest.mark.parametrize("bucket", Bucket)
def test_copies_messages_and_kernels_are_no_host_time(bundle, bucket):
    fixed = described(replace(bundle, profiles=(profile(**{bucket: 0.005}),))).fixed

    copies = {Bucket.COPY, Bucket.DEVICE_COPY, Bucket.PEER_COPY, Bucket.MEMSET}
    on_device = {Bucket.COMPUTE, Bucket.COMMUNICATION} | copies
    assert fixed.seconds == (0 if bucket in on_device else pytest.approx(0.005))
    assert (bucket in HOST_BUCKETS) is (bucket not in on_device)


def test_host_time_is_at_most_the_step(bundle):
    fixed = described(replace(bundle, profiles=(profile(cpu=0.02),))).fixed

    assert fixed.seconds == pytest.approx(1 / 100)


def test_the_hardware_is_that_of_the_head(bundle):
    assert measured_hardware(bundle, SPEC).key == "a100-sxm4-80gb"


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (Machine(device=Device.CPU, model="Test CPU"), "measured on a CPU, and projections need"),
        (replace(A100, model="NVIDIA Z9000"), "cannot be projected: 'NVIDIA Z9000' is not in"),
    ],
)
def test_hardware_without_known_peaks_is_an_error(bundle, machine, message):
    with pytest.raises(NotFoundError, match=f"gpt:step .*{message}"):
        measured_hardware(replace(bundle, machine=machine), SPEC)


def test_what_ran_on_the_cpu_beside_a_gpu_is_not_projected_from_the_gpu(bundle):
    on_cpu = replace(bundle, runs=tuple(replace(run, device=Device.CPU) for run in bundle.runs))

    assert machine_of(on_cpu, SPEC).model == "A Xeon"
    with pytest.raises(NotFoundError, match="measured on a CPU"):
        measured_hardware(on_cpu, SPEC)


def test_without_runs_the_machine_is_the_bundles(bundle):
    assert machine_of(replace(bundle, runs=()), SPEC) == A100
