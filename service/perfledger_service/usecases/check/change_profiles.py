"""Profiles both sides of the workloads that regressed or became faster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from perfledger.bundle import Bundle
from perfledger.metrics import MetricKind
from perfledger.records import Framework, WorkloadSpec
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome, Verdict, is_memory_change_alone
from perfledger_runners.measuring.profile_runs import NO_PROFILER_NOTE, ProfileRuns
from perfledger_service.usecases.trace.explain import explain_bundle

# Metrics that the time of profiled steps explains. More windows add nothing about memory contents
# or a process's start-up time.
_EXPLAINED_BY_WINDOWS = (MetricKind.SPEED, MetricKind.CPU_TIME)


# Most seconds of profiles that explain peak memory, as pairs of their workloads. They have fewer
# steps than a pair, one of which is slowed down by recording its operators.
MEMORY_PAIRS = 3
MIN_MEMORY_S = 30.0


# Profiles both sides of workloads: within so many seconds what explains peak memory, or, with None,
# what explains the time of steps.
Profiler = Callable[[Sequence[WorkloadSpec], float | None], ProfileRuns]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChangedWorkloads:
    """Workloads that changed in one direction, in words for the stage and for the notes."""

    specs: tuple[WorkloadSpec, ...]
    outcome: Outcome
    change: str
    is_of_memory: bool = False  # alone: their steps take as long as before


def with_profiles(
    bundle: Bundle,
    *,
    profile: Profiler,
    stage: Callable[[str], None],
    has_time: Callable[[], bool] = lambda: True,
) -> Bundle:
    """Add one profile per side of each changed workload; unchanged ones are not worth the time.

    Workloads that regressed come first, then those whose steps are faster. If the profiles do not
    explain the change of a step's time, they are taken once more in new processes, and all windows
    count. A regression of peak memory alone has a profile of a few steps, with a time limit.
    Nothing is profiled once the budget is spent, nor plain Python, which has no profiler.
    """
    verdicts = judge_bundle(bundle)
    for changed in _changed_workloads(bundle, verdicts):
        specs = tuple(spec for spec in changed.specs if spec.framework is not Framework.HOST)
        host_workloads = [each.id for each in changed.specs if each not in specs]
        bundle = replace(bundle, notes=(*bundle.notes, *_plain_notes(host_workloads)))
        if not specs:
            continue
        if not has_time():
            bundle = replace(bundle, notes=(*bundle.notes, _no_time_note(specs, changed.change)))
            continue
        stage(f"profiling {changed.outcome} workloads")
        if changed.is_of_memory:
            pairs_s = sum(bundle.pair_seconds.get(spec.id, 0.0) for spec in specs)
            memory_s = max(MEMORY_PAIRS * pairs_s, MIN_MEMORY_S)
            bundle = _add_profiles(bundle, profile(specs, memory_s))
        else:
            bundle = _profile_group(
                bundle, verdicts, specs, profile=profile, stage=stage, has_time=has_time
            )
    return bundle


def _plain_notes(workloads: Sequence[str]) -> tuple[str, ...]:
    """Return one note on workloads of plain Python, however many they are."""
    if len(workloads) > 1:
        first, count = workloads[0], len(workloads) - 1
        rest = f"{count} other workload{'s' if count > 1 else ''}"
        return (f"{first} and {rest} were not profiled: plain Python has no profiler here",)
    return tuple(map(NO_PROFILER_NOTE.format, workloads))


def _changed_workloads(
    bundle: Bundle, verdicts: Sequence[Verdict]
) -> tuple[_ChangedWorkloads, ...]:
    """Return the workloads with any regression, then those whose steps only became faster.

    Those that regressed in memory alone follow the other regressions.
    """
    worse = {verdict.workload for verdict in verdicts if verdict.is_regression}
    faster = {verdict.workload for verdict in verdicts if verdict.is_faster}
    heavier = {name for name in worse if is_memory_change_alone(name, verdicts)}
    groups = (
        (worse - heavier, Outcome.REGRESSED, "it is slower"),
        (heavier, Outcome.REGRESSED, "it uses more memory"),
        (faster - worse, Outcome.IMPROVED, "it is faster"),
    )
    return tuple(
        _ChangedWorkloads(
            specs=tuple(spec for spec in bundle.workloads if spec.id in names),
            outcome=outcome,
            change=change,
            is_of_memory=names is heavier,
        )
        for names, outcome, change in groups
        if any(spec.id in names for spec in bundle.workloads)
    )


def _profile_group(
    bundle: Bundle,
    verdicts: Sequence[Verdict],
    specs: Sequence[WorkloadSpec],
    *,
    profile: Profiler,
    stage: Callable[[str], None],
    has_time: Callable[[], bool],
) -> Bundle:
    """Add the profiles of these workloads."""
    first = _add_profiles(bundle, profile(specs, None))
    attributable = _attributable(first, verdicts)
    retimed = {one.workload for one in verdicts if _is_change_of_time(one)}
    unclear = {
        spec.id for spec in specs if spec.id in retimed and not attributable.get(spec.id, True)
    }
    if not unclear or not has_time():
        return first
    stage("profiling again where the profiles do not explain the change")
    second = profile([spec for spec in specs if spec.id in unclear], None)
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
        profiles=bundle.profiles + profile_runs.profiles,
        repeats=bundle.repeats + profile_runs.repeats,
        notes=bundle.notes + profile_runs.notes,
    )


def _is_change_of_time(verdict: Verdict) -> bool:
    is_change = verdict.outcome in (Outcome.REGRESSED, Outcome.IMPROVED)
    return is_change and verdict.metric.kind in _EXPLAINED_BY_WINDOWS


def _attributable(bundle: Bundle, verdicts: Sequence[Verdict]) -> dict[str, bool]:
    """Return for each workload whether the profiles of both sides explain its change."""
    explanations, _ = explain_bundle(bundle, verdicts)
    return {one.workload: one.is_attributable for one in explanations}


def _second_profile_note(workload: str) -> str:
    return f"{workload} was profiled twice: the first profiles did not explain its change"


def _no_time_note(specs: Sequence[WorkloadSpec], change: str) -> str:
    names = ", ".join(spec.id for spec in specs)
    return f"the budget left no time for profiles, which say why {change}: {names}; raise it"
