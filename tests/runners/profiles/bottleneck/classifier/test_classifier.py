from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import (
    Bucket,
    Kernel,
    Operation,
    OperationFamily,
    Profile,
    ProfiledDevice,
    ProfiledStep,
    ProfileReading,
)
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckConfidence,
    BottleneckDetail,
)
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.timeline.trace import STACKS_RECORDED

DEVICE = ProfiledDevice(name="NVIDIA A100-SXM4-40GB")
OUTSIDE = Operation(name="(outside operations)", bucket=Bucket.OTHER, seconds=0.5, count=1.0)
COUNTERS = (
    ProfileReading(name="tensor_active", value=0.9),
    ProfileReading(name="dram_bw_util", value=0.3),
)


def profile_of(*, steps=4, counters=(), kernels=None, **shares):
    """Return a profile whose steps of one second have these shares, the rest on the device."""
    spent = {"compute": 1 - sum(shares.values()), **shares}
    buckets = tuple(spent.get(bucket.value, 0.0) for bucket in Bucket)
    gemm = Kernel(name="gemm", family=OperationFamily.GEMM, seconds=0.5, count=1.0)
    return Profile(
        workload="m:f",
        side=Side.HEAD,
        tool="torch.profiler",
        steps=steps,
        step_seconds=1.0,
        operations=(),
        device=DEVICE,
        kernels=(gemm,) if kernels is None else kernels,
        readings=counters,
        each_step=tuple(ProfiledStep(number=n, seconds=1.0, buckets=buckets) for n in range(steps)),
    )


@pytest.mark.parametrize(
    ("shares", "primary"),
    [
        ({"input": 0.20}, Bottleneck.INPUT),
        ({"input": 0.199}, Bottleneck.DEVICE),
        ({"communication": 0.15}, Bottleneck.COMMUNICATION),
        ({"communication": 0.149}, Bottleneck.DEVICE),
        ({"copy": 0.10}, Bottleneck.TRANSFER),
        ({"copy": 0.099}, Bottleneck.DEVICE),
        ({"copy": 0.099, "memset": 0.2, "device_copy": 0.5}, Bottleneck.DEVICE),
        ({"communication": 0.10, "peer_copy": 0.05}, Bottleneck.COMMUNICATION),
        ({"cpu": 0.25}, Bottleneck.HOST),
        ({"sync": 0.1, "runtime": 0.05, "cpu": 0.05, "other": 0.049}, Bottleneck.DEVICE),
        ({"input": 0.21, "other": 0.24}, Bottleneck.DEVICE),  # the largest is not high
        ({"other": 0.64, "communication": 0.15}, Bottleneck.HOST),
        ({"input": 0.33, "other": 0.1}, Bottleneck.INPUT),
    ],
)
def test_the_largest_overhead_is_the_label_from_its_high_mark_on(shares, primary):
    assert classify(profile_of(**shares)).primary is primary


def test_idle_time_that_the_hosts_calls_do_not_explain_is_of_unknown_reason():
    result = classify(replace(profile_of(other=0.56), is_host_known=False))

    assert result.primary is Bottleneck.UNKNOWN
    assert Bottleneck.HOST not in {share.bottleneck for share in result.shares}
    assert result.confidence is BottleneckConfidence.LOW
    assert "no host call was recorded in that time" in result.reasons[0]


def test_idle_time_beside_calls_of_the_host_that_do_not_explain_it_says_so():
    waiting = Operation(name="cudaMemcpyAsync", bucket=Bucket.SYNC, seconds=0.4, count=1.0)
    profile = replace(profile_of(sync=0.44), operations=(waiting,), is_host_known=False)

    result = classify(profile)

    assert "host's recorded calls do not show why" in result.reasons[0]
    assert result.primary is Bottleneck.DEVICE  # which has more of the step
    assert result.confidence is BottleneckConfidence.LOW


def test_recorded_python_calls_make_the_host_unsure():
    profile = profile_of(other=0.44)

    assert classify(profile).confidence is BottleneckConfidence.HIGH

    result = classify(replace(profile, notes=(STACKS_RECORDED,)))

    assert (result.primary, result.confidence) == (Bottleneck.HOST, BottleneckConfidence.LOW)
    assert "recording every Python call slows the host, so its share is too large" in result.reasons


def test_a_device_that_is_hardly_idle_is_bound_by_its_own_work_whatever_the_host_did():
    result = classify(replace(profile_of(other=0.002), is_host_known=False))

    assert result.primary not in (Bottleneck.HOST, Bottleneck.UNKNOWN)


@pytest.mark.parametrize(
    ("shares", "secondary"),
    [
        ({"input": 0.05}, (Bottleneck.INPUT,)),
        ({"input": 0.049}, ()),
        ({"communication": 0.03}, (Bottleneck.COMMUNICATION,)),
        ({"communication": 0.029}, ()),
        ({"copy": 0.05}, (Bottleneck.TRANSFER,)),
        ({"copy": 0.049}, ()),
        ({"other": 0.15}, (Bottleneck.HOST,)),
        ({"other": 0.149}, ()),
        ({"input": 0.3, "copy": 0.06, "other": 0.2}, (Bottleneck.HOST, Bottleneck.TRANSFER)),
    ],
)
def test_what_is_above_its_moderate_mark_is_secondary(shares, secondary):
    assert classify(profile_of(**shares)).secondary == secondary


def test_every_share_is_listed_with_its_ceiling():
    result = classify(profile_of(input=0.4, counters=COUNTERS))

    assert [share.bottleneck for share in result.shares[:2]] == [
        Bottleneck.COMPUTE,
        Bottleneck.INPUT,
    ]
    assert len(result.shares) == 5
    waiting = result.shares[1]
    assert (waiting.is_high, waiting.is_moderate) == (True, True)
    assert waiting.ceiling == pytest.approx(1 / 0.6)


def test_what_binds_the_device_names_its_share():
    memory = Kernel(name="add", family=OperationFamily.ELEMENTWISE, seconds=1.0, count=1.0)

    result = classify(profile_of(kernels=(memory,)))

    assert (result.primary, result.primary_share) == (Bottleneck.DEVICE, 1.0)
    assert (result.shares[0].bottleneck, result.shares[0].is_estimate) == (Bottleneck.MEMORY, True)


def test_the_devices_share_is_split_by_what_its_kernels_are_bound_by():
    gemm = Kernel(name="gemm", family=OperationFamily.GEMM, seconds=0.5, count=1.0)
    add = Kernel(name="add", family=OperationFamily.ELEMENTWISE, seconds=0.3, count=1.0)
    other = Kernel(name="x", family=OperationFamily.OTHER, seconds=0.2, count=1.0)

    result = classify(profile_of(cpu=0.1, kernels=(gemm, add, other)))

    assert {one.bottleneck: one.share for one in result.shares if one.share} == {
        Bottleneck.COMPUTE: pytest.approx(0.45),
        Bottleneck.MEMORY: pytest.approx(0.27),
        Bottleneck.DEVICE: pytest.approx(0.18),
        Bottleneck.HOST: pytest.approx(0.1),
    }
    assert result.primary_share == pytest.approx(0.9)


def test_the_winner_does_not_own_the_whole_busy_time():
    fast = Kernel(
        name="add", family=OperationFamily.OTHER, seconds=0.6, count=1.0, flops=1e9, bytes=1e9
    )
    other = Kernel(name="x", family=OperationFamily.OTHER, seconds=0.4, count=1.0)

    result = classify(profile_of(kernels=(fast, other)))

    assert result.primary is Bottleneck.MEMORY
    assert result.primary_share == pytest.approx(0.6)


def test_counters_make_it_sure():
    result = classify(profile_of(counters=COUNTERS))

    assert (result.primary, result.confidence) == (Bottleneck.COMPUTE, BottleneckConfidence.HIGH)
    assert not result.is_estimate


def test_kernel_names_alone_are_an_estimate():
    result = classify(profile_of())

    assert result.is_estimate
    assert result.primary is Bottleneck.DEVICE
    assert result.confidence is BottleneckConfidence.HIGH  # in the device, not in its parts


def test_the_device_that_the_profile_states_is_looked_up():
    add = Kernel(
        name="add", family=OperationFamily.OTHER, seconds=1.0, count=1.0, flops=1e9, bytes=1e9
    )

    result = classify(profile_of(kernels=(add,)))

    assert (result.primary, result.confidence) == (Bottleneck.MEMORY, BottleneckConfidence.HIGH)


def test_a_device_without_kernels_is_bound_by_its_own_work():
    result = classify(profile_of(kernels=()))

    assert result.primary is Bottleneck.DEVICE
    assert result.shares[0].bottleneck is Bottleneck.DEVICE
    assert result.reasons[-1] == "no kernel shows whether compute or memory limits it"


@pytest.mark.parametrize(
    ("perturbation", "confidence"),
    [
        (None, BottleneckConfidence.HIGH),
        (1.1, BottleneckConfidence.HIGH),
        (1.11, BottleneckConfidence.LOW),
    ],
)
def test_a_profiler_that_is_seen_itself_lowers_the_confidence(perturbation, confidence):
    result = classify(profile_of(input=0.3), perturbation=perturbation)

    assert result.confidence is confidence
    assert (f"{perturbation} times" in " ".join(result.reasons)) == (
        confidence is BottleneckConfidence.LOW
    )


@pytest.mark.parametrize(
    ("steps", "confidence"), [(3, BottleneckConfidence.HIGH), (2, BottleneckConfidence.LOW)]
)
def test_fewer_than_three_steps_lower_the_confidence(steps, confidence):
    assert classify(profile_of(steps=steps, input=0.3)).confidence is confidence


def test_the_mean_step_alone_is_of_medium_confidence(make):
    profile = make.profile(
        make.operation("gemm", 0.6), make.operation("load", 0.4, bucket=Bucket.INPUT)
    )

    assert classify(replace(profile, device=DEVICE)).confidence is BottleneckConfidence.MEDIUM


def test_a_step_without_overheads_says_so():
    assert classify(profile_of()).reasons[0] == (
        "the device has work during the whole step: the host never keeps it waiting"
    )


def test_a_file_without_steps_lowers_the_confidence():
    result = classify(replace(profile_of(input=0.3), has_steps=False))

    assert result.confidence is BottleneckConfidence.LOW
    assert any("marks no steps" in reason for reason in result.reasons)


@pytest.mark.parametrize(
    ("shares", "confidence"),
    [
        ({"input": 0.48}, BottleneckConfidence.LOW),  # 52 % on the device
        ({"input": 0.47}, BottleneckConfidence.HIGH),
        ({"input": 0.30, "other": 0.26}, BottleneckConfidence.LOW),
        ({"input": 0.32, "other": 0.26}, BottleneckConfidence.HIGH),
    ],
)
def test_two_shares_within_five_points_lower_the_confidence(shares, confidence):
    assert classify(profile_of(**shares)).confidence is confidence


def test_a_disturbed_machine_leaves_no_word_on_the_code():
    result = classify(profile_of(input=0.5), environment=("the clock was throttled",))

    assert result.primary is Bottleneck.ENVIRONMENT
    assert result.reasons == ("the clock was throttled",)
    assert result.secondary == ()
    assert result.shares


def test_a_profile_of_nothing_has_no_label():
    nothing = replace(profile_of(), each_step=(), kernels=(), step_seconds=0.0)

    result = classify(nothing)

    assert (result.primary, result.confidence) == (Bottleneck.UNKNOWN, BottleneckConfidence.LOW)
    assert result.shares == ()
    assert result.reasons


def test_the_host_and_the_collectives_have_details():
    launches = tuple(
        Kernel(name=f"k{n}", family=OperationFamily.OTHER, seconds=2e-3, count=1000.0)
        for n in range(3)
    )
    host = replace(profile_of(other=0.5, kernels=launches), operations=(OUTSIDE,))
    late = profile_of(
        communication=0.4, counters=(ProfileReading(name="comm_start_skew", value=0.5),)
    )

    assert classify(host).detail is BottleneckDetail.LAUNCH
    assert classify(late).detail is BottleneckDetail.STRAGGLER


def test_the_detail_is_of_the_label_alone():
    late = profile_of(input=0.4, counters=(ProfileReading(name="comm_start_skew", value=0.5),))

    assert classify(late).detail is BottleneckDetail.NONE


@pytest.mark.parametrize(
    ("operations", "primary", "detail"),
    [
        ((("aten::mm", Bucket.COMPUTE, 9), ("x", Bucket.OTHER, 1)), "device", "operators"),
        ((("aten::mm", Bucket.COMPUTE, 5), ("x", Bucket.OTHER, 5)), "host", "python"),
        ((("aten::mm", Bucket.COMPUTE, 5), ("load", Bucket.INPUT, 5)), "input", ""),
        (
            (("(XLA runtime)", Bucket.RUNTIME, 1), ("(compiling) f", Bucket.RUNTIME, 9)),
            "host",
            "compile",
        ),
    ],
)
def test_on_a_cpu_the_operators_are_what_computes(make, operations, primary, detail):
    spent = [make.operation(name, seconds, bucket=bucket) for name, bucket, seconds in operations]

    result = classify(make.profile(*spent))

    assert (result.primary, result.detail) == (primary, detail)


def test_on_a_cpu_compute_and_memory_are_not_told_apart(make):
    result = classify(make.profile(make.operation("aten::mm", 1.0)))

    assert result.is_estimate
    assert any("computing or memory" in reason for reason in result.reasons)


shares = st.fixed_dictionaries(
    {bucket.value: st.floats(0, 1, allow_subnormal=False) for bucket in Bucket}
)


@pytest.mark.slow
@given(st.lists(shares, min_size=1, max_size=5))
def test_a_label_never_comes_without_its_share(spents):
    steps = tuple(
        ProfiledStep(number=n, seconds=sum(spent.values()), buckets=tuple(spent.values()))
        for n, spent in enumerate(spents)
    )

    result = classify(replace(profile_of(), each_step=steps))

    assert result.primary_share is not None or result.primary is Bottleneck.UNKNOWN
    assert result.primary not in result.secondary
    assert result.reasons


@pytest.mark.slow
@given(shares.filter(lambda spent: sum(spent.values()) > 0.1), st.floats(1e-6, 1e6))
def test_a_faster_machine_has_the_same_bottleneck(spent, factor):
    buckets = tuple(spent.values())
    step = ProfiledStep(number=0, seconds=sum(buckets), buckets=buckets)
    scaled = ProfiledStep(
        number=0,
        seconds=step.seconds * factor,
        buckets=tuple(seconds * factor for seconds in buckets),
    )

    result = classify(replace(profile_of(), each_step=(step,)))
    faster = classify(replace(profile_of(), each_step=(scaled,)))

    assert [s.share for s in faster.shares] == pytest.approx([s.share for s in result.shares])


def test_kernels_that_are_added_up_have_no_step_to_be_faster():
    """Idle time and overlap are not in their sum, so nobody knows what is left without a part."""
    gemm = Operation(name="gemm", bucket=Bucket.COMPUTE, seconds=1.0, count=1.0)
    profile = replace(profile_of(), has_steps=False, each_step=(), operations=(gemm,))

    result = classify(profile)

    assert "the kernels' times are added up" in result.reasons[-1]
    assert not any("whole step" in reason for reason in result.reasons)
    assert all(one.share > 0 and one.ceiling == float("inf") for one in result.shares)
    assert result.confidence is BottleneckConfidence.LOW


def test_what_the_profile_does_not_show_has_no_bound():
    profile = replace(profile_of(other=0.6), is_host_known=False)

    (unknown_share,) = [
        one for one in classify(profile).shares if one.bottleneck is Bottleneck.UNKNOWN
    ]

    assert unknown_share.share == pytest.approx(0.6)
    assert unknown_share.ceiling == float("inf")
