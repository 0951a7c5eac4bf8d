"""The verdict on kernels within a bundle: only where it was asked for, and never green without."""

from dataclasses import replace

import pytest

from perfledger.kernel_times import OPERATOR_ARROW, WorkloadKernels
from perfledger.metrics import KERNELS, METRICS, family_metric
from perfledger.records import FailureReason, Side
from perfledger_baselines.estimation.kernel_families import MAX_FAMILY_NAME
from perfledger_baselines.judging.explanation import DecidedBy, explain_verdict
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.kernel_judgement import (
    KernelChange,
    KernelFigures,
    KernelJudgement,
)
from perfledger_baselines.judging.kernel_verdicts import NO_SHARE_REASON, family_verdicts
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule
from tests.baselines.judging.example_kernels import on_head, times
from tests.baselines.judging.test_kernel_judgement import SLOWER

PAIRS = 6
ASKED = (*METRICS.values(), KERNELS)


def kernels(build, *, ratio=1.0, pairs=PAIRS, workload="m:f", **values):
    """Return one kernel of a tenth of the step, whose head is so many times its base."""
    changed = build.changed(ratio, pairs=pairs)
    base, head = (tuple((0.1 * pair[side],) for pair in changed) for side in range(2))
    one = times("aten::gelu", base, head)
    steps = ((1.0,),) * pairs
    return WorkloadKernels(
        workload=workload,
        pairs=tuple(range(pairs)),
        base_steps=steps,
        head_steps=steps,
        kernels=(one,),
        **values,
    )


def judged(build, *windows, step=1.0, pairs=PAIRS, share=0.2, metrics=ASKED, **values):
    bundle = build.bundle(
        {"m:f": {"step_time_p50": build.changed(step, pairs=pairs)}},
        plan=build.plan(kernel_pairs=12, kernel_share=share),
        metrics=metrics,
        kernels=windows,
        **values,
    )
    return judgement_of(bundle)


def verdict_of(judgement):
    (verdict,) = [each for each in judgement.verdicts if each.metric == KERNELS]
    return verdict


def test_a_slower_kernel_is_a_regression_of_an_unchanged_step(build):
    judgement = judged(build, kernels(build, ratio=1.05))

    step, verdict = judgement.verdicts
    assert (step.outcome, verdict.outcome) == (Outcome.UNCHANGED, Outcome.REGRESSED)
    assert verdict.is_regression
    assert not verdict.is_faster
    assert verdict.estimate.change == pytest.approx(0.05, abs=0.01)
    assert verdict.reason.startswith("aten::gelu 5 % slower: 0.5 % of the step")
    assert judgement.kernels[0].step_detectable == step.estimate.smallest_detectable
    assert explain_verdict(verdict, build.plan()).decided_by is DecidedBy.CHANGE


def test_unchanged_kernels_are_a_verdict_without_figures(build):
    verdict = verdict_of(judged(build, kernels(build)))

    assert (verdict.outcome, verdict.estimate) == (Outcome.UNCHANGED, None)
    assert explain_verdict(verdict, build.plan()).decided_by is DecidedBy.EQUIVALENCE


def test_kernels_that_nobody_asked_for_have_no_verdict(build):
    judgement = judged(build, kernels(build, ratio=1.5), metrics=tuple(METRICS.values()))

    assert [each.metric.name for each in judgement.verdicts] == ["step_time_p50"]
    assert judgement.kernels == ()


def test_what_was_asked_for_and_has_no_windows_is_not_measured(build):
    assert verdict_of(judged(build)).outcome is Outcome.NOT_MEASURED


def test_without_a_share_of_alpha_nothing_is_green(build):
    verdict = verdict_of(judged(build, kernels(build), share=0.0))

    assert (verdict.outcome, verdict.reason) == (Outcome.NOT_MEASURED, NO_SHARE_REASON)


def test_a_check_that_ended_early_has_too_few_pairs_and_says_how_many_it_needs(build):
    verdict = verdict_of(judged(build, kernels(build, pairs=4), step=1.5, pairs=4))
    explanation = explain_verdict(verdict, build.plan())

    assert verdict.outcome is Outcome.UNDECIDED
    assert explanation.decided_by is DecidedBy.TOO_FEW_PAIRS
    assert explanation.pairs_needed == 5


def test_noise_is_not_settled_by_more_pairs_than_have_windows(build):
    noisy = kernels(build)
    (one,) = noisy.kernels
    head = tuple((0.1 * factor,) for factor in (0.5, 2.0, 0.6, 1.7, 1.0, 1.4))
    verdict = verdict_of(judged(build, replace(noisy, kernels=(on_head(one, head),))))
    explanation = explain_verdict(verdict, build.plan())

    assert verdict.outcome is Outcome.UNDECIDED
    assert (explanation.decided_by, explanation.pairs_needed) == (DecidedBy.KERNEL_WINDOWS, None)


def test_a_failed_workload_has_one_verdict_only(build):
    failure = build.failure(why=FailureReason.RAISED)

    judgement = judged(build, kernels(build, ratio=1.5), failures=(failure,))

    assert [each.outcome for each in judgement.verdicts] == [Outcome.NOT_MEASURED]
    assert judgement.kernels == ()


def test_windows_beyond_the_planned_pairs_do_not_count(build):
    judgement = judged(build, kernels(build, pairs=14), pairs=14)

    assert judgement.kernels[0].pairs == 12


def test_pairs_at_other_clocks_are_left_out(build):
    runs = [
        replace(run, clock_mhz=1800.0 if run.pair == 2 and run.side is Side.HEAD else 1000.0)
        for pair in build.pairs(step_time_p50=build.changed(1.0, pairs=8))
        for run in pair
    ]

    judgement = judged(build, kernels(build, pairs=8), pairs=8, runs=tuple(runs))

    assert judgement.kernels[0].pairs == 7


def test_kernels_take_their_share_of_alpha_from_the_other_tests(build):
    plan = build.plan(alpha=0.05, kernel_pairs=12, kernel_share=0.2)

    assert DecisionRule.from_plan(plan).alpha == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("pairs", "decided_by"), [(4, DecidedBy.TOO_FEW_PAIRS), (5, DecidedBy.KERNEL_WINDOWS)]
)
def test_an_undecided_kernel_without_a_figure_needs_pairs_only_below_the_fewest(
    build, pairs, decided_by
):
    verdict = Verdict(
        workload="m:f",
        metric=KERNELS,
        outcome=Outcome.UNDECIDED,
        estimate=None,
        adjusted_p=0.001,
        is_warning=False,
        reason="too noisy to tell whether clone became slower or the others faster",
        profiled_pairs=pairs,
    )

    assert explain_verdict(verdict, build.plan()).decided_by is decided_by


def test_a_family_has_a_verdict_by_the_metric_of_its_history(build):
    judgement = judged(build, kernels(build, ratio=1.05))

    (verdict,) = family_verdicts(judgement.kernels)

    assert verdict.metric == family_metric("aten::gelu")
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.estimate.change == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.REGRESSED),
        ({"change": KernelChange.FASTER}, Outcome.IMPROVED),
        ({"is_moved": True}, Outcome.UNDECIDED),
        ({"is_outweighed": True}, Outcome.UNDECIDED),
        ({"is_proven": False}, Outcome.UNDECIDED),
        ({"family": "aten::native_layer_norm"}, Outcome.UNDECIDED),
    ],
)
def test_only_what_a_family_surely_lost_or_gained_itself_is_a_change_of_it(changes, outcome):
    finding = replace(SLOWER, **{"family": "aten::gelu", **changes})
    figures = KernelFigures(
        family="aten::gelu",
        base_seconds=1.0,
        head_seconds=1.1,
        base_share=0.1,
        estimate=None,
        largest_change=None,
    )
    judgement = KernelJudgement(
        workload="m:f",
        outcome=Outcome.REGRESSED,
        reason="",
        findings=(finding,),
        tested=(figures, replace(figures, family=f"aten::add{OPERATOR_ARROW}aten::sub")),
    )

    assert [one.outcome for one in family_verdicts([judgement])] == [outcome]


def test_of_families_that_share_a_history_none_answers_for_it():
    template = "gemm<" + "x" * MAX_FAMILY_NAME
    figures = [
        KernelFigures(
            family=name,
            base_seconds=1.0,
            head_seconds=1.1,
            base_share=0.1,
            estimate=None,
            largest_change=None,
        )
        for name in (f"{template}1>", "aten::add", f"{template}2>")
    ]
    judgement = KernelJudgement(
        workload="m:f", outcome=Outcome.UNCHANGED, reason="", tested=tuple(figures)
    )

    assert [one.metric for one in family_verdicts([judgement])] == [family_metric("aten::add")]
