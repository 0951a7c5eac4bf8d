"""What every rendering of a report says of single kernels."""

import json
from dataclasses import replace

import pytest

from perfledger.metrics import KERNELS, STEP_TIME
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.kernel_judgement import (
    KernelChange,
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.headline import headline, workload_counts
from perfledger_service.rendering.check.next_steps import next_steps
from perfledger_service.rendering.check.report_json import report_json
from perfledger_service.rendering.check.terminal import report_table
from perfledger_service.rendering.layout import provenance_facts, verdict_rows
from tests.service.rendering.terminal_lines import lines_at

NORM = KernelFinding(
    family="aten::native_layer_norm",
    change=KernelChange.SLOWER,
    base_seconds=1e-4,
    head_seconds=1.06e-4,
    relative_change=0.06,
    step_share=0.002,
    adjusted_p=0.001,
)
SLOWER = "aten::native_layer_norm 6 % slower: 0.2 % of the step, below what the step's own timing"
UNCHANGED = "none of 14 kernel families changed"


def with_kernels(report, outcome, reason, *findings):
    workload = report.workloads[0].id
    judgement = KernelJudgement(
        workload=workload, outcome=outcome, reason=reason, pairs=12, families=14, findings=findings
    )
    verdict = Verdict(
        workload=workload,
        metric=KERNELS,
        outcome=outcome,
        estimate=None,
        adjusted_p=0.001,
        is_warning=False,
        reason=reason,
    )
    return replace(
        report,
        plan=replace(report.plan, kernel_pairs=12, kernel_share=0.2),
        verdicts=(*report.verdicts, verdict),
        kernels=(judgement,),
    )


@pytest.fixture
def slower(reports):
    return with_kernels(reports["regressed"], Outcome.REGRESSED, SLOWER, NORM)


def test_terminal_and_comment_name_the_kernel(slower):
    terminal = " ".join(lines_at(report_table(slower), width=80).split())

    assert SLOWER in terminal
    assert "aten::native" in comment(slower)
    assert "0.2 % of the step" in comment(slower).replace("\N{NO-BREAK SPACE}", " ")


def test_the_json_has_every_figure_of_a_finding(slower):
    (kernels,) = json.loads(report_json(slower))["kernels"]

    assert (kernels["outcome"], kernels["families"]) == ("regressed", 14)
    (finding,) = kernels["findings"]
    assert finding["family"] == "aten::native_layer_norm"
    assert (finding["change"], finding["is_moved"]) == ("slower", False)
    assert finding["relative_change"] == 0.06


def test_kernels_that_did_not_change_take_no_line_of_their_own(reports):
    report = with_kernels(reports["regressed"], Outcome.UNCHANGED, UNCHANGED)
    rows = [row for row in verdict_rows.verdict_rows(report) if row.kind is KERNELS.kind]

    assert [(row.word, row.base, row.change) for row in rows] == [("unchanged", "", "")]
    assert UNCHANGED not in " ".join(lines_at(report_table(report), width=80).split())


def test_cost_that_moved_is_told_beside_an_unchanged_verdict(reports):
    moved_norm = replace(NORM, is_moved=True)
    report = with_kernels(reports["regressed"], Outcome.UNCHANGED, "cost moved", moved_norm)

    rows = verdict_rows.uncertain_rows(verdict_rows.verdict_rows(report))

    assert "cost moved" in [row.reason for row in rows]


def test_the_decision_says_which_share_of_alpha_kernels_have(slower, reports):
    sentences = " ".join(provenance_facts.decision_sentences(slower))

    assert (
        "Kernels: 14 families, judged by profiled windows of the first pairs, 12 at most"
        in sentences
    )
    assert "their part of that chance is 1\N{NO-BREAK SPACE}%" in sentences
    assert "Kernels" not in " ".join(provenance_facts.decision_sentences(reports["regressed"]))


def undecided_kernels(reports, make):
    """Return a report whose only undecided result is on kernels, with a wide interval."""
    noisy = make.verdict(make.GPT, KERNELS, Outcome.UNDECIDED, (1e-4, 1.02e-4))
    return replace(reports["unchanged"], verdicts=(replace(noisy, profiled_pairs=12),))


def test_no_number_of_pairs_is_advised_for_undecided_kernels(reports, make):
    report = undecided_kernels(reports, make)
    rows = verdict_rows.verdict_rows(report)

    assert "pairs" not in rows[0].reason.removeprefix(report.verdicts[0].reason)
    sentences = next_steps(report, rows).sentences
    assert not any("margin" in sentence or "measure" in sentence for sentence in sentences)


def test_a_loss_beside_a_larger_gain_is_in_the_headline(reports):
    lost = replace(NORM, is_outweighed=True)
    reason = "aten::native_layer_norm 6 % slower, beside a larger gain of others: 0.2 % of the step"
    report = with_kernels(
        reports["unchanged"], Outcome.IMPROVED, f"{reason}; aten::mm 9 % faster", lost
    )
    *others, kernels = report.verdicts
    report = replace(report, verdicts=(*others, replace(kernels, is_warning=True)))
    report = replace(report, headline=headline(report))

    assert report.headline == f"No regression, but a warning: {kernels.workload}: {reason}"
    assert "1 warning" in workload_counts(report)
    assert "slower, beside a larger gain of others" in comment(report)


@pytest.mark.parametrize(
    ("profiled_pairs", "looks", "sentence"),
    [
        (0, (5, 20), "only 0 of 12 pairs count for the kernels, and the report says why; more"),
        (4, (5, 20), "only 4 of 12 pairs count for the kernels, and the report says why; no"),
        (4, (5, 8), "only 4 of 8 pairs count for the kernels, and the report says why; measure 10"),
        (4, (4,), "measure 5 pairs: "),
    ],
)
def test_lost_windows_are_named_and_more_pairs_only_where_they_have_windows(
    reports, make, profiled_pairs, looks, sentence
):
    report = reports["unchanged"]
    few = make.verdict(make.GPT, KERNELS, Outcome.UNDECIDED, (1e-4, 1.02e-4))
    most = min(max(looks), 12)
    numbers = tuple(range(1, most + 1))
    times = (0.01,) * most
    test = PairedTest(workload=make.GPT, metric=STEP_TIME, base=times, head=times, numbers=numbers)
    report = replace(
        report,
        verdicts=(replace(few, estimate=None, profiled_pairs=profiled_pairs),),
        plan=replace(report.plan, looks=looks, kernel_pairs=most),
        tests=(test,),
    )

    (first, *_) = next_steps(report, verdict_rows.verdict_rows(report)).sentences

    assert first.startswith(sentence)
