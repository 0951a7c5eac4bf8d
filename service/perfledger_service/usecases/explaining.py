"""Profiles in, what explains them out: the one door to what perfledger_profiles works out."""

import shlex
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from perfledger.bundle import Bundle
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.profile import Profile
from perfledger.records import Machine, Run, Side
from perfledger_baselines.verdict import Estimate, Verdict
from perfledger_profiles.bottleneck import Classification
from perfledger_profiles.cause import Explanation
from perfledger_profiles.classify import classify
from perfledger_profiles.device_state import (
    DeviceState,
    device_state,
    disturbances,
    used_memory_share,
)
from perfledger_profiles.diff import explain
from perfledger_profiles.doubt import DeviceStates
from perfledger_profiles.hardware import Hardware
from perfledger_profiles.hardware_match import HardwareMatch, match_hardware
from perfledger_profiles.ncu import TOOL as NCU
from perfledger_profiles.noise import learn_noise
from perfledger_profiles.recommend import recommend
from perfledger_profiles.roofline import Roofline, roofline_of
from perfledger_profiles.whatif import WhatIf, WhatIfError, what_if
from perfledger_service.errors import UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.report import Advice
from perfledger_service.views import TraceView

# The peak that utilization is stated against, then those of the narrower types that a kernel must
# use if it is faster than that.
ROOF_DTYPES = ("bfloat16", "float8", "float4")
NCU_DTYPES = ("float32",)  # what its counters are read of
# Of matrix units that do not take bfloat16: Volta's and Turing's.
OLDER_ROOF_DTYPES = ("float16",)
# Of a roof: clocks and a table's figures are not exact.
MAX_ATTAINED = 1.05
# Of the readings that say so: what held a clock down less often did not set the pace.
MOSTLY = 0.5

_HERTZ_PER_MHZ = 1e6

Timing = tuple[float, float]


def look_at(
    name: str,
    profile: Profile,
    *,
    machine: Machine | None = None,
    timed_seconds: float | None = None,
    memory_share: float | None = None,
    state: DeviceState | None = None,
) -> TraceView:
    """Return what one profile says: what its step is bound by, and what to do about it.

    `machine` is what it was recorded on, and `state` its device's, where they are known better than
    the profile tells; `timed_seconds` is the step without a profiler.
    """
    match = _reached(profile, machine, state)
    hardware = match.hardware
    perturbation = profile.step_seconds / timed_seconds if timed_seconds else None
    classification = _classified(profile, machine, state, perturbation=perturbation)
    return TraceView(
        name=name,
        profile=profile,
        classification=classification,
        recommendations=recommend(
            profile,
            classification,
            hardware=hardware,
            memory_share=used_memory_share(profile) if memory_share is None else memory_share,
        ),
        roof=_roof(profile, hardware),
        caveats=_caveats(profile, match),
    )


def explain_change(
    base: Profile,
    head: Profile,
    *,
    machine: Machine | None = None,
    timing: Timing | None = None,
    timing_error_seconds: float = 0.0,
    devices: DeviceStates | None = None,
    repeats: Sequence[tuple[Profile, Profile]] = (),
    reproduction: str = "",
) -> Explanation:
    """Return why head's step takes another time.

    `timing` is both sides without a profiler, whose difference may be off by `timing_error_seconds`
    either way; `devices` what the device did meanwhile, by the profiles themselves unless given;
    `repeats` are pairs of profiles of the same code, which tell how much of a change is none.
    """
    return explain(
        base,
        head,
        noise=learn_noise(repeats),
        timing=timing,
        timing_error_seconds=timing_error_seconds,
        devices=devices or _both(device_state(base), device_state(head)),
        reproduction=reproduction,
        classifier=lambda profile: _classified(
            profile, machine, (devices[profile.side is Side.HEAD] if devices else None)
        ),
    )


def suppose(name: str, profile: Profile, changes: Mapping[str, float]) -> WhatIf:
    """Return the step with parts of it so many times faster; raises UsageError."""
    try:
        return what_if(profile, changes=changes)
    except WhatIfError as error:
        msg = f"{name}: {clean(str(error), limit=400)}"
        raise UsageError(msg) from error


def explain_bundle(
    bundle: Bundle, verdicts: Sequence[Verdict]
) -> tuple[tuple[Explanation, ...], tuple[Advice, ...]]:
    """Return why the step of each workload with profiles of both sides changed, and what to do."""
    found = {(profile.workload, profile.side): profile for profile in bundle.profiles}
    estimates = {(one.workload, one.metric.name): one.estimate for one in verdicts}
    machines = bundle.machines()
    explanations: list[Explanation] = []
    advice: list[Advice] = []
    for spec in bundle.workloads:
        base, head = (found.get((spec.id, side)) for side in (Side.BASE, Side.HEAD))
        if base is None or head is None:
            continue
        again = {one.side: one for one in bundle.repeats if one.workload == spec.id}
        machine = machines.get((spec.id, Side.HEAD), bundle.machine)
        timed = estimates.get((spec.id, STEP_TIME.name))
        timing = None if timed is None else (timed.base, timed.head)
        explanations.append(
            explain_change(
                base,
                head,
                machine=machine,
                timing=timing,
                timing_error_seconds=_error_seconds(timed),
                devices=_both(*(timed_device(bundle.runs, spec.id, side) for side in Side)),
                repeats=[(one, again[one.side]) for one in (base, head) if one.side in again],
                reproduction=_reproduction(bundle, spec.id),
            )
        )
        view = look_at(
            spec.id,
            head,
            machine=machine,
            timed_seconds=timing[1] if timing else None,
            memory_share=_memory_share(estimates.get((spec.id, PEAK_MEMORY.name)), machine),
            state=timed_device(bundle.runs, spec.id, Side.HEAD),
        )
        if view.recommendations or view.roof is not None:
            advice.append(Advice(spec.id, view.recommendations, view.roof))
    return tuple(explanations), tuple(advice)


def _error_seconds(timed: Estimate | None) -> float:
    """Return half of the interval of a step time's change, in seconds of a step."""
    return 0.0 if timed is None else timed.base * (timed.high - timed.low) / 2


def _classified(
    profile: Profile,
    machine: Machine | None,
    state: DeviceState | None,
    *,
    perturbation: float | None = None,
) -> Classification:
    """Return what a step is bound by, unless its device was not fit to measure on."""
    return classify(
        profile,
        hardware=_reached(profile, machine, state).hardware,
        perturbation=perturbation,
        environment=disturbances(profile, _match(profile, machine).hardware),
    )


def _both(base: DeviceState | None, head: DeviceState | None) -> DeviceStates | None:
    return None if base is None or head is None else (base, head)


def timed_device(runs: Sequence[Run], workload: str, side: Side) -> DeviceState | None:
    """Return at what clock a side of a workload was timed, and what mostly held it down."""
    mine = [run for run in runs if (run.workload, run.side) == (workload, side) and run.clock_mhz]
    if not mine:
        return None
    reasons = dict.fromkeys(words for run in mine for words in run.slowed)
    return DeviceState(
        clock_hertz=median(run.clock_mhz or 0.0 for run in mine) * _HERTZ_PER_MHZ,
        slowed_by=tuple(
            words
            for words in reasons
            if fmean(run.slowed.get(words, 0.0) for run in mine) >= MOSTLY
        ),
    )


def _reached(profile: Profile, machine: Machine | None, state: DeviceState | None) -> HardwareMatch:
    """Return the facts about the device at the clock that it computed at."""
    state = state or device_state(profile)
    return _match(profile, machine, clock_hertz=state.clock_hertz if state else None)


def _match(
    profile: Profile, machine: Machine | None, *, clock_hertz: float | None = None
) -> HardwareMatch:
    """Return the facts about the device; none where they are not known, or it is a CPU."""
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
    """Say what to mind with a device's peaks, and why an accelerator has none."""
    device = profile.device
    if match.hardware is not None or device is None or not device.name or device.peak_flops:
        return match.caveats
    return (f"without the device's peaks there is no roofline: {match.reason}",)


def _roof(profile: Profile, hardware: Hardware | None) -> Roofline | None:
    """Return the roofs of the widest type that no kernel is too fast for."""
    best: Roofline | None = None
    for dtype in _roof_dtypes(profile, hardware):
        roof = roofline_of(profile, hardware, dtype=dtype)
        best = roof or best
        if roof is not None and all(point.attained <= MAX_ATTAINED for point in roof.points):
            break
    return best


def _roof_dtypes(profile: Profile, hardware: Hardware | None) -> tuple[str, ...]:
    if profile.tool == NCU:
        return NCU_DTYPES
    has_first = hardware is None or ROOF_DTYPES[0] in hardware.peak_flops
    return ROOF_DTYPES if has_first else OLDER_ROOF_DTYPES


def _memory_share(estimate: Estimate | None, machine: Machine) -> float | None:
    """Return head's peak memory over the device's."""
    if estimate is None or not machine.memory_bytes:
        return None
    return estimate.head / machine.memory_bytes


def _reproduction(bundle: Bundle, workload: str) -> str:
    """Return the command that measures and profiles a workload again; "" for an unusable name."""
    if clean(workload, limit=len(workload) or 1) != workload or bundle.head.is_dirty:
        return ""
    base, head = bundle.base.sha[:12], bundle.head.sha[:12]
    return f"perfledger check --base {base} --head {head} -w {shlex.quote(workload)}"
