"""A measured bundle in, the same with profiles of both sides of what regressed out."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from perfledger.bundle import Bundle
from perfledger.records import WorkloadSpec
from perfledger_baselines.judge import judge_bundle
from perfledger_baselines.verdict import Verdict
from perfledger_runners.explain import Explained
from perfledger_service.usecases.explaining import explain_bundle


def with_profiles(
    bundle: Bundle,
    *,
    profile: Callable[[Sequence[WorkloadSpec]], Explained],
    stage: Callable[[str], None],
) -> Bundle:
    """Add one profile of each side of what regressed; nothing else is worth the time.

    Where the profiles do not account for the change they are taken once more, of new processes: a
    few seconds beside a busy neighbour are no picture of the step. The second ones count where they
    do account for it, and the first ones everywhere else.
    """
    verdicts = judge_bundle(bundle)
    slower = {verdict.workload for verdict in verdicts if verdict.is_regression}
    chosen = [spec for spec in bundle.workloads if spec.id in slower]
    if not chosen:
        return bundle
    stage("profiling what regressed")
    first = _with(bundle, profile(chosen))
    attributable = _attributable(first, verdicts)
    unclear = {workload for workload, is_clear in attributable.items() if not is_clear}
    if not unclear:
        return first
    stage("profiling again what the profiles do not account for")
    again = profile([spec for spec in chosen if spec.id in unclear])
    second = _attributable(_with(bundle, again), verdicts)
    settled = {workload for workload in unclear if second.get(workload, False)}
    newer = {(one.workload, one.side): one for one in again.profiles if one.workload in settled}
    return replace(
        first,
        profiles=tuple(newer.get((one.workload, one.side), one) for one in first.profiles),
        repeats=(
            *(one for one in first.repeats if one.workload not in settled),
            *(one for one in again.repeats if one.workload in settled),
        ),
        notes=(*first.notes, *map(_profiled_twice, sorted(unclear)), *again.notes),
    )


def _with(bundle: Bundle, found: Explained) -> Bundle:
    return replace(
        bundle,
        profiles=found.profiles,
        repeats=found.repeats,
        notes=bundle.notes + found.notes,
    )


def _attributable(bundle: Bundle, verdicts: Sequence[Verdict]) -> dict[str, bool]:
    """Tell of each workload with profiles of both sides whether they account for its change."""
    explanations, _ = explain_bundle(bundle, verdicts)
    return {one.workload: one.is_attributable for one in explanations}


def _profiled_twice(workload: str) -> str:
    return f"{workload} was profiled twice: the first profiles did not account for its change"
