"""Profiles in, what explains them out: the one door to what perfledger_profiles works out."""

import shlex
from collections.abc import Mapping, Sequence

from perfledger.bundle import Bundle
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.profile import Profile
from perfledger.records import Machine, Side
from perfledger_baselines.verdict import Estimate, Verdict
from perfledger_profiles.cause import Explanation
from perfledger_profiles.classify import classify
from perfledger_profiles.diff import explain
from perfledger_profiles.hardware import Hardware
from perfledger_profiles.hardware_match import match_hardware
from perfledger_profiles.recommend import recommend
from perfledger_profiles.roofline import Roofline, roofline_of
from perfledger_profiles.whatif import WhatIfError, what_if
from perfledger_service.errors import UsageError
from perfledger_service.pages.escape import clean
from perfledger_service.report import Advice
from perfledger_service.views import RoofPoint, RoofView, Supposition, TraceView, WhatIfView

# The peak that utilization is stated against, then those of the narrower types that a kernel must
# use if it is faster than that.
ROOF_DTYPES = ("bfloat16", "float8", "float4")
# Of a roof: clocks and a table's figures are not exact.
MAX_ATTAINED = 1.05

Timing = tuple[float, float]


def look_at(
    name: str,
    profile: Profile,
    *,
    machine: Machine | None = None,
    timed_seconds: float | None = None,
    memory_share: float | None = None,
) -> TraceView:
    """Return what one profile says: what its step is bound by, and what to do about it.

    `machine` is what it was recorded on, where that is known better than the profile tells;
    `timed_seconds` is the step without a profiler.
    """
    hardware = _hardware(profile, machine)
    perturbation = profile.step_seconds / timed_seconds if timed_seconds else None
    classification = classify(profile, hardware=hardware, perturbation=perturbation)
    return TraceView(
        name=name,
        profile=profile,
        classification=classification,
        recommendations=recommend(
            profile, classification, hardware=hardware, memory_share=memory_share
        ),
        roof=_roof(profile, hardware),
    )


def explain_change(
    base: Profile,
    head: Profile,
    *,
    machine: Machine | None = None,
    timing: Timing | None = None,
    reproduction: str = "",
) -> Explanation:
    """Return why head's step takes another time; `timing` is both sides without a profiler."""
    return explain(
        base,
        head,
        timing=timing,
        reproduction=reproduction,
        classifier=lambda profile: classify(profile, hardware=_hardware(profile, machine)),
    )


def suppose(name: str, profile: Profile, changes: Mapping[str, float]) -> WhatIfView:
    """Return the step with parts of it so many times faster; raises UsageError."""
    try:
        found = what_if(profile, changes=changes)
    except WhatIfError as error:
        msg = f"{name}: {clean(str(error), limit=400)}"
        raise UsageError(msg) from error
    return WhatIfView(
        name=name,
        step_seconds=found.step_seconds,
        new_step_seconds=found.new_step_seconds,
        suppositions=tuple(
            Supposition(name=one.name, factor=one.factor, seconds=one.seconds, share=one.share)
            for one in found.changes
        ),
        ceiling=found.ceiling,
        notes=found.notes,
    )


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
        machine = machines.get((spec.id, Side.HEAD), bundle.machine)
        timed = estimates.get((spec.id, STEP_TIME.name))
        timing = None if timed is None else (timed.base, timed.head)
        explanations.append(
            explain_change(
                base,
                head,
                machine=machine,
                timing=timing,
                reproduction=_reproduction(bundle, spec.id),
            )
        )
        view = look_at(
            spec.id,
            head,
            machine=machine,
            timed_seconds=timing[1] if timing else None,
            memory_share=_memory_share(estimates.get((spec.id, PEAK_MEMORY.name)), machine),
        )
        if view.recommendations:
            advice.append(Advice(spec.id, view.recommendations))
    return tuple(explanations), tuple(advice)


def _hardware(profile: Profile, machine: Machine | None) -> Hardware | None:
    """Return the facts about the device; None where they are not known, or it is a CPU."""
    if machine is not None and machine.model:
        return match_hardware(
            machine.model,
            memory_bytes=machine.memory_bytes,
            mig=machine.mig,
            power_limit_watts=machine.power_cap_w,
        ).hardware
    device = profile.device
    if device is None:
        return None
    return match_hardware(
        device.name,
        memory_bytes=device.memory_bytes,
        compute_capability=device.compute_capability,
        multiprocessors=device.multiprocessors,
    ).hardware


def _roof(profile: Profile, hardware: Hardware | None) -> RoofView | None:
    """Return the roofs of the widest type that no kernel is too fast for."""
    best: Roofline | None = None
    for dtype in ROOF_DTYPES:
        roof = roofline_of(profile, hardware, dtype=dtype)
        best = roof or best
        if roof is not None and all(point.attained <= MAX_ATTAINED for point in roof.points):
            break
    if best is None:
        return None
    return RoofView(
        device=best.device,
        dtype=best.dtype,
        peak_flops_per_second=best.ceilings.peak_flops_per_second,
        bytes_per_second=best.ceilings.peak_bytes_per_second,
        points=tuple(
            RoofPoint(
                name=point.name,
                intensity=point.intensity_flop_per_byte,
                flops_per_second=point.flops_per_second,
                seconds=point.seconds,
            )
            for point in best.points
        ),
    )


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
