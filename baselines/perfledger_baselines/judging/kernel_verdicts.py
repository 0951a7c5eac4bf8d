"""Judges the kernels of a bundle, if the check was asked for them, and words the verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType

from perfledger.bundle import Bundle
from perfledger.kernel_times import OPERATOR_ARROW, WorkloadKernels
from perfledger.metrics import KERNELS, STEP_TIME, Metric, family_metric
from perfledger.records import Device, Run
from perfledger_baselines.estimation.clock_states import clock_difference, has_usual_clocks
from perfledger_baselines.estimation.foreign_load import possible_wait_share
from perfledger_baselines.estimation.kernel_families import MAX_FAMILY_NAME
from perfledger_baselines.estimation.pairing import PairedTest, RunPairs
from perfledger_baselines.judging.decision import Decision
from perfledger_baselines.judging.kernel_gate import judge_kernels
from perfledger_baselines.judging.kernel_judgement import (
    KernelFigures,
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule

NO_SHARE_REASON = "kernels: the plan leaves them no share of alpha"


def kernel_judgements(
    bundle: Bundle,
    rule: DecisionRule,
    decided: Iterable[tuple[PairedTest, Decision]],
    runs: RunPairs,
) -> tuple[KernelJudgement, ...]:
    """Judge the kernels of each decided workload; none if the check was not asked for them.

    `runs` are the bundle's complete pairs. The kernels share the alpha that the plan leaves for
    them. Fails closed: each workload has a judgement, if need be NOT_MEASURED.
    """
    if all(metric.name != KERNELS.name for metric in bundle.metrics):
        return ()
    decided = tuple(decided)
    names = dict.fromkeys(test.workload for test, _ in decided)
    level = bundle.plan.alpha * bundle.plan.kernel_share
    if not (level > 0 and bundle.plan.kernel_pairs > 0):
        return tuple(
            KernelJudgement(workload=name, outcome=Outcome.NOT_MEASURED, reason=NO_SHARE_REASON)
            for name in names
        )
    windows = {each.workload: each for each in bundle.kernels}
    return judge_windows(
        [windows.get(name, WorkloadKernels(workload=name)) for name in names],
        runs,
        level=level,
        rule=rule,
        kernel_pairs=bundle.plan.kernel_pairs,
        device=bundle.machine.device,
        step_detectable={
            test.workload: decision.estimate.smallest_detectable
            for test, decision in decided
            if test.metric.name == STEP_TIME.name and decision.estimate is not None
        },
    )


def judge_windows(
    windows: Sequence[WorkloadKernels],
    runs: RunPairs,
    *,
    level: float,
    rule: DecisionRule,
    kernel_pairs: int,
    device: Device,
    step_detectable: Mapping[str, float] = MappingProxyType({}),
) -> tuple[KernelJudgement, ...]:
    """Judge the windows of all workloads of a check, or those so far, with their runs."""
    runs_at_usual_clocks = {
        each.workload: _usual_pairs(
            [pair for pair in runs.get(each.workload, ()) if pair[0].pair < kernel_pairs]
        )
        for each in windows
    }
    return judge_kernels(
        windows,
        level=level,
        rule=rule,
        kernel_pairs=kernel_pairs,
        pairs={
            name: [base.pair for base, _ in pairs] for name, pairs in runs_at_usual_clocks.items()
        },
        wait_shares={
            name: possible_wait_share((base for base, _ in pairs), device)
            for name, pairs in runs_at_usual_clocks.items()
            if pairs
        },
        step_detectable=step_detectable,
    )


def kernel_verdicts(judgements: Iterable[KernelJudgement]) -> tuple[Verdict, ...]:
    """Return one verdict for each workload whose kernels were judged."""
    return tuple(
        Verdict(
            workload=each.workload,
            metric=KERNELS,
            outcome=each.outcome,
            estimate=each.estimate,
            adjusted_p=each.adjusted_p,
            is_warning=each.is_warning,
            reason=each.reason,
            profiled_pairs=each.pairs,
        )
        for each in judgements
    )


def _usual_pairs(pairs: Sequence[tuple[Run, Run]]) -> tuple[tuple[Run, Run], ...]:
    """Return the pairs at the usual clocks."""
    usual = has_usual_clocks([clock_difference(*pair) for pair in pairs])
    return tuple(compress(pairs, usual))


def family_verdicts(judgements: Iterable[KernelJudgement]) -> tuple[Verdict, ...]:
    """Return a verdict for each tested kernel family, by the metric of its history.

    A change is what was surely added or saved; cost that moved, and a loss beside a larger gain,
    are undecided. A family whose operator differs between base and head has no such history, and
    families whose names begin alike share one: none of them answers for it.
    """
    verdicts: list[Verdict] = []
    for judgement in judgements:
        metrics = [_family_metric(figures) for figures in judgement.tested]
        for metric, figures in zip(metrics, judgement.tested, strict=True):
            if OPERATOR_ARROW not in figures.family and metrics.count(metric) == 1:
                verdicts.append(_family_verdict(judgement, figures))
    return tuple(verdicts)


def _family_metric(figures: KernelFigures) -> Metric:
    return family_metric(figures.family[:MAX_FAMILY_NAME])


def _family_verdict(judgement: KernelJudgement, figures: KernelFigures) -> Verdict:
    finding = next((one for one in judgement.findings if one.family == figures.family), None)
    return Verdict(
        workload=judgement.workload,
        metric=_family_metric(figures),
        outcome=_family_outcome(finding),
        estimate=figures.estimate,
        adjusted_p=1.0 if finding is None else finding.adjusted_p,
        is_warning=False,
        reason=judgement.reason,
        profiled_pairs=judgement.pairs,
    )


def _family_outcome(finding: KernelFinding | None) -> Outcome:
    if finding is None or not finding.is_proven or finding.is_moved or finding.is_outweighed:
        return Outcome.UNDECIDED
    return Outcome.REGRESSED if finding.is_alarm else Outcome.IMPROVED
