"""Tests what bounds a profiled step and why a step changed, on made-up profiles and bundles."""

from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, SM_ACTIVE, STEP_TIME
from perfledger.profile import (
    Bucket,
    HeldTensors,
    Kernel,
    Operation,
    OperationFamily,
    Profile,
    ProfiledDevice,
    ProfileReading,
)
from perfledger.records import Device, Machine, Revision, Side
from perfledger.step_work import TEMPORARY_MEMORY, Count, CountedWork, StepWork
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.diff.suggestions import PYTHON
from perfledger_profiles.hardware.device_state import DeviceState
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_service.usecases.trace.explain import (
    classify_profile,
    device_at_timing,
    explain_bundle,
    explain_change,
)
from perfledger_service.usecases.trace.waits import WAITS

WORKLOAD = "gpt:step"
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
T4 = replace(H100, model="Tesla T4", memory_bytes=15_843_721_216, power_cap_w=70.0)


def a_profile(side=Side.HEAD, seconds=0.01, **values):
    """Return a profile whose step is one operation of the host."""
    operation = Operation(name="aten::mm", bucket=Bucket.CPU, seconds=seconds, count=1.0)
    profile = Profile(
        workload=WORKLOAD,
        side=side,
        tool="torch.profiler",
        steps=4,
        step_seconds=seconds,
        operations=(operation,),
    )
    return replace(profile, **values)


def a_kernel(**values):
    kernel = Kernel(
        name="fusion", family=OperationFamily.FUSION, seconds=0.01, count=1.0, flops=1e11, bytes=1e8
    )
    return replace(kernel, **values)


def both(base=0.010, head=0.012, **values):
    return a_profile(Side.BASE, base, **values), a_profile(Side.HEAD, head, **values)


def at_clocks(bundle, base, head, slowed=None):
    """Return the bundle whose runs read these clocks, in megahertz."""
    clocks = {Side.BASE: base, Side.HEAD: head}
    runs = tuple(
        replace(
            run,
            clock_mhz=clocks[run.side],
            slowed=(slowed or {}) if run.side is Side.HEAD else {},
        )
        for run in bundle.runs
    )
    return replace(bundle, runs=runs)


def explained(bundle):
    return explain_bundle(bundle, judge_bundle(bundle))


def roofs(bundle):
    _, advice = explained(bundle)
    return [one.roof.ceilings.peak_flops_per_second for one in advice if one.roof is not None]


@pytest.mark.parametrize(("tool", "dtype"), [("ncu", "float32"), ("torch.profiler", "bfloat16")])
def test_what_ncu_counts_is_under_the_roof_of_what_it_counts(tool, dtype):
    profile = a_profile(
        seconds=1.0,
        tool=tool,
        operations=(),
        kernels=(a_kernel(seconds=1.0, flops=9.75e12, bytes=5e11),),
        device=ProfiledDevice(name="NVIDIA A100-SXM4-80GB"),
        has_steps=False,
    )

    roof = classify_profile("raw.csv", profile).roof

    assert roof is not None
    assert roof.dtype == dtype


def test_a_kernel_faster_than_a_roof_is_under_that_of_a_narrower_type():
    slow, fast = (
        a_profile(kernels=(a_kernel(flops=flops),), operations=()) for flops in (5e12, 15e12)
    )

    dtypes = [classify_profile("a", each, machine=H100).roof.dtype for each in (slow, fast)]

    assert dtypes == ["bfloat16", "float8"]


def test_a_device_without_bfloat16_is_under_the_roof_of_float16():
    profile = a_profile(
        kernels=(a_kernel(),),
        operations=(),
        device=ProfiledDevice(name="Tesla V100-SXM2-16GB", memory_bytes=17_000_000_000),
    )

    assert classify_profile("a", profile).roof.dtype == "float16"


def test_an_unknown_device_has_the_reason_why_there_is_no_roofline():
    unknown = a_profile(kernels=(a_kernel(),), device=ProfiledDevice(name="NVIDIA Z9000"))

    view = classify_profile("a", unknown)

    assert view.roof is None
    (caveat,) = view.caveats
    assert caveat.startswith("without the device's peaks there is no roofline: 'NVIDIA Z9000'")
    assert classify_profile("a", a_profile()).caveats == ()  # a CPU needs no excuse


def test_the_machine_of_the_check_goes_before_that_of_the_profile():
    profile = a_profile(kernels=(a_kernel(),), device=ProfiledDevice(name="NVIDIA Z9000"))

    assert classify_profile("a", profile, machine=H100).roof is not None


def test_a_throttled_device_says_nothing_on_the_code():
    hot = (
        ProfileReading(name="clock_event_reasons", value=0x40),
        ProfileReading(name="ecc_double_volatile", value=3),
    )

    primary = classify_profile("a", a_profile(readings=hot)).classification.primary

    assert primary is Bottleneck.ENVIRONMENT


def test_the_difference_of_two_profiles_is_the_operation_that_grew():
    explanation = explain_change(*both())

    (cause,) = explanation.causes
    assert cause.name == "aten::mm"
    assert explanation.head_step_seconds - explanation.base_step_seconds == pytest.approx(0.002)


def test_profiles_of_one_code_that_differ_as_much_leave_no_cause():
    explanation = explain_change(*both(), repeats=[a_profile(Side.BASE, 0.013)])

    assert explanation.noise_seconds is not None
    assert explanation.noise_seconds > 0.003
    assert explanation.causes == ()


def test_a_profile_that_contradicts_the_timing_is_not_believed():
    sure = explain_change(*both(), timing=(0.010, 0.010))
    unsure = explain_change(*both(), timing=(0.010, 0.010), timing_error_seconds=0.002)

    assert (sure.is_attributable, unsure.is_attributable) == (False, True)


def test_each_side_is_classified_at_its_own_clock():
    fast, slow = DeviceState(clock_hertz=1.98e9), DeviceState(clock_hertz=1.0e9)

    explanation = explain_change(*both(), devices=(fast, slow))

    assert (explanation.base_device, explanation.head_device) == (fast, slow)


def test_profiles_of_both_sides_are_explained_and_one_alone_is_not(make_bundle):
    bundle = make_bundle(ratio=1.2, profiles=both())

    (explanation,), _ = explained(bundle)

    assert explanation.causes[0].name == "aten::mm"
    assert explanation.noise_seconds is None
    assert explained(replace(bundle, profiles=both()[:1])) == ((), ())


def test_a_profile_that_is_faster_explains_no_regression(make_bundle):
    bundle = make_bundle(ratio=1.2, profiles=both(0.012, 0.010))

    (explanation,), _ = explained(bundle)

    assert explanation.causes == ()
    assert "the profiled step is faster, the opposite" in explanation.note


def test_repeated_profiles_of_a_check_are_its_noise(make_bundle):
    bundle = make_bundle(ratio=1.2, profiles=both(), repeats=both(0.013, 0.013))

    (explanation,), _ = explained(bundle)

    assert explanation.noise_seconds is not None
    assert explanation.noise_seconds > 0.002
    assert explanation.causes == ()


def test_a_profile_that_the_interval_of_the_timing_allows_is_believed(make_bundle):
    sure = make_bundle(ratio=1.1, profiles=both())
    runs = tuple(
        replace(
            run,
            samples={STEP_TIME.name: tuple(one * spread for one in run.samples[STEP_TIME.name])},
        )
        for run in sure.runs
        for spread in [1.06 if (run.pair % 2 and run.side is Side.HEAD) else 1.0]
    )

    bundles = [explained(bundle)[0][0] for bundle in (sure, replace(sure, runs=runs))]

    assert [one.is_attributable for one in bundles] == [False, True]


@pytest.mark.parametrize(("processor_ratio", "is_wait"), [(1.0, True), (1.05, True), (1.2, False)])
def test_a_longer_step_that_no_processor_works_for_is_advised_on_as_a_wait(
    make_bundle, processor_ratio, is_wait
):
    sides = tuple(
        replace(one, operations=(replace(one.operations[0], name=OUTSIDE_OPERATIONS),))
        for one in both()
    )
    bundle = make_bundle(ratio=1.2, profiles=sides, metrics=(STEP_TIME, CPU_TIME, PEAK_MEMORY))
    runs = tuple(
        replace(
            run,
            samples=run.samples
            | {CPU_TIME.name: (ratio * (1 + 1e-4 * run.pair),) * len(run.samples[STEP_TIME.name])},
        )
        for run in bundle.runs
        for ratio in [0.01 * (processor_ratio if run.side is Side.HEAD else 1.0)]
    )

    (explanation,), _ = explained(replace(bundle, runs=runs))

    assert explanation.causes[0].suggestion == (WAITS if is_wait else PYTHON)


def with_peaks(bundle, base, head):
    """Return the bundle whose runs have these peaks of memory, with a little noise."""
    peaks = {Side.BASE: base, Side.HEAD: head}
    runs = tuple(
        replace(
            run,
            samples={**run.samples, PEAK_MEMORY.name: (peaks[run.side] * (1 + 1e-4 * run.pair),)},
        )
        for run in bundle.runs
    )
    return replace(bundle, runs=runs)


def held_tensors(tensors_bytes):
    return (HeldTensors(operator="aten::mul", tensor="float32[9]", bytes=tensors_bytes, count=1),)


def test_more_memory_is_explained_by_what_the_steps_hold(make_bundle):
    base, head = both(0.01, 0.01)
    profiles = (
        replace(base, peak_tensors=held_tensors(1e8)),
        replace(head, peak_tensors=held_tensors(5e8)),
    )
    bundle = with_peaks(make_bundle(ratio=1.0, profiles=profiles), 10e8, 14e8)

    (explanation,), _ = explained(bundle)

    assert explanation.memory is not None
    assert [one.name for one in explanation.memory.causes] == ["aten::mul"]
    assert explanation.memory.is_attributable


def test_memory_of_xlas_programs_is_explained_by_their_counts(make_bundle):
    work = tuple(
        CountedWork(
            workload=WORKLOAD,
            side=side,
            work=StepWork(
                counts=(Count(name=TEMPORARY_MEMORY, unit="B", value=value, source="XLA"),)
            ),
        )
        for side, value in ((Side.BASE, 1e8), (Side.HEAD, 5e8))
    )
    bundle = make_bundle(ratio=1.0, profiles=both(0.01, 0.01), work=work)

    (explanation,), _ = explained(with_peaks(bundle, 10e8, 14e8))

    assert explanation.memory is not None
    assert [one.name for one in explanation.memory.causes] == ["(its temporaries)"]


def test_a_lower_utilization_has_a_note(make_bundle):
    active = {Side.BASE: 0.9, Side.HEAD: 0.5}
    bundle = make_bundle(
        ratio=1.0, profiles=both(0.01, 0.01), metrics=(STEP_TIME, PEAK_MEMORY, SM_ACTIVE)
    )
    runs = tuple(
        replace(
            run,
            samples={**run.samples, SM_ACTIVE.name: (active[run.side] * (1 + 1e-4 * run.pair),)},
        )
        for run in bundle.runs
    )

    (explanation,), _ = explained(replace(bundle, runs=runs))

    assert "the profiles list no kernels" in explanation.utilization_note


def test_memory_that_did_not_change_is_not_explained(make_bundle):
    base, head = both()
    profiles = (
        replace(base, peak_tensors=held_tensors(1e8)),
        replace(head, peak_tensors=held_tensors(5e8)),
    )

    (explanation,), _ = explained(make_bundle(ratio=1.2, profiles=profiles))

    assert explanation.memory is None


def test_clocks_that_differ_between_the_sides_are_in_the_explanation(make_bundle):
    profiles = tuple(a_profile(side, operations=()) for side in Side)
    slowed = {"its power cap": 0.5, "heat": 0.45}

    bundle = at_clocks(make_bundle(profiles=profiles), 1980.0, 1755.0, slowed)
    (explanation,), _ = explained(bundle)

    assert explanation.base_device == DeviceState(clock_hertz=1.98e9)
    assert explanation.head_device == DeviceState(clock_hertz=1.755e9, slowed_by=("its power cap",))


def test_clocks_of_one_side_alone_are_not_compared(make_bundle):
    (explanation,), _ = explained(at_clocks(make_bundle(profiles=both()), 1980.0, None))

    assert (explanation.base_device, explanation.head_device) == (None, None)


@pytest.mark.parametrize(("clock_mhz", "peak"), [(None, None), (795.0, 65e12 / 2)])
def test_a_capped_boards_roof_is_at_the_clock_that_it_was_timed_at(make_bundle, clock_mhz, peak):
    profiles = tuple(a_profile(side, 0.012, kernels=(a_kernel(),)) for side in Side)

    bundle = make_bundle(machine=T4, profiles=profiles)

    assert roofs(at_clocks(bundle, clock_mhz, clock_mhz)) == ([] if peak is None else [peak])


def test_the_device_state_is_the_median_of_the_runs_with_a_clock(make_bundle):
    runs = make_bundle(pairs=3).runs
    clocks = iter([1000.0, 1100.0, None])
    heads = [replace(run, clock_mhz=next(clocks)) for run in runs if run.side is Side.HEAD]

    assert device_at_timing(heads, WORKLOAD, Side.HEAD) == DeviceState(clock_hertz=1.05e9)
    assert device_at_timing(heads, WORKLOAD, Side.BASE) is None
    assert device_at_timing(heads, "other:step", Side.HEAD) is None


def test_the_command_that_profiles_again_is_in_the_explanation(make_bundle):
    name = "gpt:step[x='a b']"
    profiles = tuple(replace(one, workload=name) for one in both())

    (explanation,), _ = explained(make_bundle(workloads=(name,), profiles=profiles))

    assert explanation.reproduction == (
        "perfledger check --base aaaaaaaaaaaa --head bbbbbbbbbbbb "
        "--workload 'gpt:step[x='\"'\"'a b'\"'\"']'"
    )


def test_the_command_that_profiles_again_has_the_options_of_the_check(make_bundle):
    bundle = make_bundle(profiles=both(), settings={"suite": "pytest", "build": "make all"})

    (explanation,), _ = explained(bundle)

    assert " --build 'make all' --pytest --workload " in explanation.reproduction


@pytest.mark.parametrize(
    "values",
    [{"workloads": ("gpt:\x1b[31m",)}, {"head": Revision(sha="b" * 40, is_dirty=True)}],
)
def test_there_is_no_command_for_uncommitted_code_or_a_name_that_cannot_be_typed(
    make_bundle, values
):
    (name,) = values.get("workloads", (WORKLOAD,))
    profiles = tuple(replace(one, workload=name) for one in both())

    (explanation,), _ = explained(make_bundle(profiles=profiles, **values))

    assert explanation.reproduction == ""
