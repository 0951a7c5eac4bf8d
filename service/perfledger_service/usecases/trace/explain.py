"""Explains profiles: what bounds a step, and why it changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from perfledger.bundle import Bundle
from perfledger.metrics import CPU_TIME, PEAK_MEMORY, SM_ACTIVE, STEP_TIME, MetricKind
from perfledger.profile import Profile
from perfledger.records import Machine, Run, Side
from perfledger.step_work import StepWork
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_profiles.bottleneck.classification import Classification
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.diff.cause import (
    CompileExplanation,
    MemoryExplanation,
    StepTimeExplanation,
)
from perfledger_profiles.diff.caveats import DeviceStates
from perfledger_profiles.diff.compilation_change import explain_compiling
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.diff.memory_change import explain_memory, held_by_programs
from perfledger_profiles.diff.utilization_change import utilization_note
from perfledger_profiles.hardware.device_lookup import HardwareMatch, match_hardware
from perfledger_profiles.hardware.device_peaks import HardwareSpec
from perfledger_profiles.hardware.device_state import (
    DeviceState,
    device_state,
    disturbances,
    memory_notes,
)
from perfledger_profiles.hardware.roofline import Roofline, roofline_of
from perfledger_profiles.nsight_compute.launches_to_profile import TOOL as NCU
from perfledger_profiles.parsing.units import MEGA
from perfledger_service.rendering.layout.check_command import check_words, is_typable
from perfledger_service.usecases.trace.waits import with_waits
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.report import BottleneckAdvice
from perfledger_service.values.trace_views import TraceView

# Utilization is relative to the first type's peak; the narrower types are for kernels that exceed
# it.
ROOF_DTYPES = ("bfloat16", "float8", "float4")
NCU_DTYPES = ("float32",)  # its counters are read
# For matrix units without bfloat16: Volta's and Turing's.
OLDER_ROOF_DTYPES = ("float16",)
# Share of a roof: clocks and the table's figures are inexact.
MAX_ATTAINED = 1.05
# Share of the readings: a reason that limited the clock less often did not determine the speed.
MAIN_REASON_SHARE = 0.5

_CHANGES = (Outcome.REGRESSED, Outcome.IMPROVED)

Timing = tuple[float, float]


def classify_profile(
    name: str,
    profile: Profile,
    *,
    machine: Machine | None = None,
    timed_seconds: float | None = None,
    state: DeviceState | None = None,
) -> TraceView:
    """Return what bounds a profile's step, and what to do about it.

    `machine` and `state` describe the device, if known better than from the profile;
    `timed_seconds` is the step time without a profiler.
    """
    match = _hardware_at_clock(profile, machine, state)
    hardware = match.hardware
    perturbation = profile.step_seconds / timed_seconds if timed_seconds else None
    classification = _classify_step(profile, machine, state, perturbation=perturbation)
    return TraceView(
        name=name,
        profile=profile,
        classification=classification,
        recommendations=recommendations(
            profile, classification, hardware=hardware, timed_seconds=timed_seconds
        ),
        roof=_roof(profile, hardware),
        caveats=(*_caveats(profile, match), *memory_notes(profile)),
    )


def explain_change(
    base: Profile,
    head: Profile,
    *,
    machine: Machine | None = None,
    timing: Timing | None = None,
    timing_error_seconds: float = 0.0,
    is_judged_slower: bool | None = None,
    devices: DeviceStates | None = None,
    repeats: Sequence[Profile] = (),
    reproduction: str = "",
) -> StepTimeExplanation:
    """Return why head's step time differs from base's.

    `timing` is both sides' step time without a profiler, whose difference may be off by
    `timing_error_seconds` either way; `is_judged_slower` is the verdict on the step's time, if it
    changed; `devices` are the device states, by default of the profiles; `repeats` are more windows
    of either side.
    """
    return explain(
        base,
        head,
        repeats=repeats,
        timing=timing,
        timing_error_seconds=timing_error_seconds,
        is_judged_slower=is_judged_slower,
        devices=devices or _device_states(device_state(base), device_state(head)),
        reproduction=reproduction,
        classifier=lambda profile: _classify_step(
            profile, machine, (devices[profile.side is Side.HEAD] if devices else None)
        ),
    )


def explain_bundle(
    bundle: Bundle, verdicts: Sequence[Verdict]
) -> tuple[tuple[StepTimeExplanation, ...], tuple[BottleneckAdvice, ...]]:
    """Return explanations and advice for workloads with profiles of both sides."""
    profiles = {(profile.workload, profile.side): profile for profile in bundle.profiles}
    estimates = {(one.workload, one.metric.name): one.estimate for one in verdicts}
    idler = {
        one.workload: one.estimate
        for one in verdicts
        if one.metric.name == SM_ACTIVE.name and one.is_regression and one.estimate is not None
    }
    grown = {one.workload: one for one in verdicts if _is_memory_change(one)}
    restarted = {one.workload for one in verdicts if _is_start_change(one)}
    judged_slower = _judged_slower(verdicts)
    machines = bundle.machines()
    explanations: list[StepTimeExplanation] = []
    advice: list[BottleneckAdvice] = []
    for spec in bundle.workloads:
        base, head = (profiles.get((spec.id, side)) for side in (Side.BASE, Side.HEAD))
        if base is None or head is None:
            continue
        machine = machines.get((spec.id, Side.HEAD), bundle.machine)
        timed = estimates.get((spec.id, STEP_TIME.name))
        timing = None if timed is None else (timed.base, timed.head)
        explanation = explain_change(
            base,
            head,
            machine=machine,
            timing=timing,
            timing_error_seconds=_error_of_change(timed),
            is_judged_slower=judged_slower.get(spec.id),
            devices=_device_states(
                *(device_at_timing(bundle.runs, spec.id, side) for side in Side)
            ),
            repeats=[one for one in bundle.repeats if one.workload == spec.id],
            reproduction=_reproduction(bundle, spec.id),
        )
        if spec.id in grown:
            memory = _memory(bundle, base, head, grown[spec.id].estimate)
            explanation = replace(explanation, memory=memory)
        if spec.id in restarted:
            explanation = replace(explanation, compiling=_compiling(bundle.runs, base, head))
        if spec.id in idler:
            shares = (idler[spec.id].base, idler[spec.id].head)
            note = utilization_note(base, head, shares=shares)
            explanation = replace(explanation, utilization_note=note)
        explanations.append(
            with_waits(
                explanation,
                timed,
                estimates.get((spec.id, CPU_TIME.name)),
                cores=machine.cores,
            )
        )
        view = classify_profile(
            spec.id,
            head,
            machine=machine,
            timed_seconds=timing[1] if timing else None,
            state=device_at_timing(bundle.runs, spec.id, Side.HEAD),
        )
        if view.recommendations or view.roof is not None:
            advice.append(BottleneckAdvice(spec.id, view.recommendations, view.roof))
    return tuple(explanations), tuple(advice)


def _error_of_change(estimate: EffectEstimate | None) -> float:
    """Return half the interval of a metric's change, in the metric's unit."""
    return 0.0 if estimate is None else estimate.base * (estimate.high - estimate.low) / 2


def _judged_slower(verdicts: Sequence[Verdict]) -> Mapping[str, bool]:
    """Return which workloads' steps changed their time, and whether they are slower.

    A change of the processors' time alone counts too: load hides that of the step.
    """
    slower: dict[str, bool] = {}
    for kind in (MetricKind.CPU_TIME, MetricKind.SPEED):
        slower |= {
            one.workload: one.is_regression
            for one in verdicts
            if one.metric.kind is kind and one.outcome in _CHANGES
        }
    return slower


def _is_memory_change(verdict: Verdict) -> bool:
    is_change = verdict.outcome in _CHANGES
    return verdict.metric.name == PEAK_MEMORY.name and is_change


def _is_start_change(verdict: Verdict) -> bool:
    is_change = verdict.outcome in _CHANGES
    return verdict.metric.kind is MetricKind.START and is_change


def _compiling(runs: Sequence[Run], base: Profile, head: Profile) -> CompileExplanation | None:
    """Return what the processes of both sides compiled, with the reasons in the profiles."""
    records = [
        [run.compiled for run in runs if (run.workload, run.side) == (one.workload, one.side)]
        for one in (base, head)
    ]
    return explain_compiling(
        *([record for record in side if record is not None] for side in records),
        base_compilations=base.compilations,
        head_compilations=head.compilations,
    )


def _memory(
    bundle: Bundle, base: Profile, head: Profile, estimate: EffectEstimate | None
) -> MemoryExplanation | None:
    """Return why peak memory changed: from both profiles' allocations, else from XLA's counts."""
    if estimate is None:
        return None
    tensors = [one.peak_tensors for one in (base, head)]
    if not all(tensors):
        work = bundle.work_of(base.workload)
        tensors = [held_by_programs(work.get(one.side, StepWork())) for one in (base, head)]
    return explain_memory(
        *tensors,
        measured=(estimate.base, estimate.head),
        error_bytes=_error_of_change(estimate),
    )


def _classify_step(
    profile: Profile,
    machine: Machine | None,
    state: DeviceState | None,
    *,
    perturbation: float | None = None,
) -> Classification:
    """Return what bounds a step, unless its device was disturbed."""
    return classify(
        profile,
        hardware=_hardware_at_clock(profile, machine, state).hardware,
        perturbation=perturbation,
        environment=disturbances(profile, _match(profile, machine).hardware),
    )


def _device_states(base: DeviceState | None, head: DeviceState | None) -> DeviceStates | None:
    return None if base is None or head is None else (base, head)


def device_at_timing(runs: Sequence[Run], workload: str, side: Side) -> DeviceState | None:
    """Return the clock at which one side of a workload was timed, and what limited it."""
    mine = [run for run in runs if (run.workload, run.side) == (workload, side) and run.clock_mhz]
    if not mine:
        return None
    reasons = dict.fromkeys(words for run in mine for words in run.slowed)
    return DeviceState(
        clock_hertz=median(run.clock_mhz or 0.0 for run in mine) * MEGA,
        slowed_by=tuple(
            words
            for words in reasons
            if fmean(run.slowed.get(words, 0.0) for run in mine) >= MAIN_REASON_SHARE
        ),
    )


def _hardware_at_clock(
    profile: Profile, machine: Machine | None, state: DeviceState | None
) -> HardwareMatch:
    """Return the hardware specs of the device at its actual clock."""
    state = state or device_state(profile)
    return _match(profile, machine, clock_hertz=state.clock_hertz if state else None)


def _match(
    profile: Profile, machine: Machine | None, *, clock_hertz: float | None = None
) -> HardwareMatch:
    """Return the hardware specs of the device; none for an unknown device or a CPU."""
    if machine is not None and machine.model:
        return match_hardware(
            machine.model,
            memory_bytes=machine.memory_bytes,
            mig=machine.mig,
            power_limit_watts=machine.power_cap_w,
            clock_hz=clock_hertz,
        )
    device = profile.device
    if device is None:
        return HardwareMatch(hardware=None)
    return match_hardware(
        device.name,
        memory_bytes=device.memory_bytes,
        compute_capability=device.compute_capability,
        multiprocessors=device.multiprocessors,
        clock_hz=clock_hertz,
    )


def _caveats(profile: Profile, match: HardwareMatch) -> tuple[str, ...]:
    """Return caveats of a device's peaks, and why an accelerator has none."""
    device = profile.device
    if match.hardware is not None or device is None or not device.name or device.peak_flops:
        return match.caveats
    return (f"without the device's peaks there is no roofline: {match.reason}",)


def _roof(profile: Profile, hardware: HardwareSpec | None) -> Roofline | None:
    """Return the roofs of the widest data type that no kernel exceeds."""
    best: Roofline | None = None
    for dtype in _roof_dtypes(profile, hardware):
        roof = roofline_of(profile, hardware, dtype=dtype)
        best = roof or best
        if roof is not None and all(point.attained <= MAX_ATTAINED for point in roof.points):
            break
    return best


def _roof_dtypes(profile: Profile, hardware: HardwareSpec | None) -> tuple[str, ...]:
    if profile.tool == NCU:
        return NCU_DTYPES
    has_first = hardware is None or ROOF_DTYPES[0] in hardware.peak_flops
    return ROOF_DTYPES if has_first else OLDER_ROOF_DTYPES


def _reproduction(bundle: Bundle, workload: str) -> str:
    """Return the command that measures and profiles a workload again; "" for an unusable name."""
    if bundle.head.is_dirty or not is_typable(workload):
        return ""
    options = CheckOptions.of_bundle(bundle)
    return " ".join(check_words(bundle.base, bundle.head, options, workloads=[workload]))
