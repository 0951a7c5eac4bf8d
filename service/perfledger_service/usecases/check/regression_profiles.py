"""Profiles both sides of regressed workloads."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from perfledger.bundle import Bundle
from perfledger.records import WorkloadSpec
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Verdict
from perfledger_runners.measuring.profile_runs import ProfileRuns
from perfledger_service.usecases.trace.explain import explain_bundle


def with_profiles(
    bundle: Bundle,
    *,
    profile: Callable[[Sequence[WorkloadSpec]], ProfileRuns],
    stage: Callable[[str], None],
    has_time: Callable[[], bool] = lambda: True,
) -> Bundle:
    """Add one profile per side of each regressed workload; others are not worth the time.

    If the profiles do not explain the change, they are taken once more in new processes, and all
    windows count. Nothing is profiled once the budget is spent.
    """
    verdicts = judge_bundle(bundle)
    slower = {verdict.workload for verdict in verdicts if verdict.is_regression}
    regressed_specs = [spec for spec in bundle.workloads if spec.id in slower]
    if not regressed_specs:
        return bundle
    if not has_time():
        return replace(bundle, notes=(*bundle.notes, _no_time_note(regressed_specs)))
    stage("profiling regressed workloads")
    first = _add_profiles(bundle, profile(regressed_specs))
    attributable = _attributable(first, verdicts)
    unclear = {workload for workload, is_clear in attributable.items() if not is_clear}
    if not unclear or not has_time():
        return first
    stage("profiling again where the profiles do not explain the change")
    second = profile([spec for spec in regressed_specs if spec.id in unclear])
    return replace(
        first,
        repeats=(
            *first.repeats,
            *(one.operations_only() for one in second.profiles),
            *second.repeats,
        ),
        notes=(*first.notes, *map(_second_profile_note, sorted(unclear)), *second.notes),
    )


def _add_profiles(bundle: Bundle, profile_runs: ProfileRuns) -> Bundle:
    return replace(
        bundle,
        profiles=profile_runs.profiles,
        repeats=profile_runs.repeats,
        notes=bundle.notes + profile_runs.notes,
    )


def _attributable(bundle: Bundle, verdicts: Sequence[Verdict]) -> dict[str, bool]:
    """Return by workload whether the profiles of both sides explain its change."""
    explanations, _ = explain_bundle(bundle, verdicts)
    return {one.workload: one.is_attributable for one in explanations}


def _second_profile_note(workload: str) -> str:
    return f"{workload} was profiled twice: the first profiles did not explain its change"


def _no_time_note(specs: Sequence[WorkloadSpec]) -> str:
    names = ", ".join(spec.id for spec in specs)
    return f"the budget left no time for profiles, which say why it is slower: {names}; raise it"
