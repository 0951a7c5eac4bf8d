"""Explains the profiled steps of two checks' heads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_baselines.judging.verdict import EffectEstimate, Verdict
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.usecases.trace.explain import (
    classify_profile,
    device_at_timing,
    explain_change,
)
from perfledger_service.values.comparison_view import (
    ComparedSteps,
    MissingProfile,
    UnprofiledSide,
)

_PROFILE_NOTE = "profile"  # in each of a check's notes on a missing profile


def compared_steps(base: Bundle, head: Bundle, verdicts: Sequence[Verdict]) -> ComparedSteps:
    """Explain how the heads of two checks differ, if both have profiles.

    Steps on two machine classes are only shown side by side: what bounds them is not stated, and
    their times without a profiler are not compared.
    """
    bundles = {Side.BASE: base, Side.HEAD: head}
    profiles = {side: head_profiles(bundle, side) for side, bundle in bundles.items()}
    estimates = {one.workload: one.estimate for one in verdicts if one.metric == STEP_TIME}
    workloads = dict.fromkeys(spec.id for one in bundles.values() for spec in one.workloads)
    explained_names = [
        name for name in workloads if all(name in mine for mine in profiles.values())
    ]
    return ComparedSteps(
        explanations=tuple(
            _explanation(
                bundles, {side: profiles[side][name] for side in Side}, estimates.get(name)
            )
            for name in explained_names
        ),
        profiles=tuple(
            mine[name] for name in workloads for mine in profiles.values() if name in mine
        ),
        roofs={
            (name, side): roof
            for side, mine in profiles.items()
            for name, profile in mine.items()
            if (roof := _roof(bundles[side], profile)) is not None
        },
        unprofiled=tuple(
            _unprofiled_side(bundles[side], side, name)
            for name in workloads
            for side in Side
            if name not in profiles[side]
        ),
    )


def head_profiles(bundle: Bundle, side: Side) -> Mapping[str, Profile]:
    """Return the profiles of a check's head by workload, as one side of a comparison."""
    return {one.workload: replace(one, side=side) for one in _of_head(bundle.profiles)}


def _of_head(profiles: Sequence[Profile]) -> Iterator[Profile]:
    return (one for one in profiles if one.side is Side.HEAD)


def _explanation(
    bundles: Mapping[Side, Bundle], sides: Mapping[Side, Profile], timed: EffectEstimate | None
) -> StepTimeExplanation:
    workload = sides[Side.HEAD].workload
    machines = [one.machines().get((workload, Side.HEAD), one.machine) for one in bundles.values()]
    is_same = machines[0].machine_class == machines[1].machine_class
    before, after = (device_at_timing(one.runs, workload, Side.HEAD) for one in bundles.values())
    return explain_change(
        sides[Side.BASE],
        sides[Side.HEAD],
        machine=machines[1] if is_same else None,
        timing=None if timed is None else (timed.base, timed.head),
        timing_error_seconds=0.0 if timed is None else timed.base * (timed.high - timed.low) / 2,
        devices=(before, after) if before and after and is_same else None,
        repeats=[
            replace(one, side=side)
            for side, bundle in bundles.items()
            for one in _of_head(bundle.repeats)
            if one.workload == workload
        ],
    )


def _roof(bundle: Bundle, profile: Profile) -> Roofline | None:
    machine = bundle.machines().get((profile.workload, Side.HEAD), bundle.machine)
    state = device_at_timing(bundle.runs, profile.workload, Side.HEAD)
    return classify_profile(profile.workload, profile, machine=machine, state=state).roof


def _unprofiled_side(bundle: Bundle, side: Side, workload: str) -> UnprofiledSide:
    """Return why a check has no profile of a workload's head."""
    notes = [note for note in bundle.notes if workload in note and _PROFILE_NOTE in note]
    if notes:
        why = MissingProfile.FAILED
    elif bundle.runs_of(workload, Side.HEAD):
        why = MissingProfile.NOT_CHANGED
    else:
        why = MissingProfile.NOT_MEASURED
    return UnprofiledSide(workload=workload, side=side, why=why, note=notes[0] if notes else "")
