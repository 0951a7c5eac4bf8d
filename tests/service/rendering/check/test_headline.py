from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.records import Failure, FailureReason, FindingLevel, HostFinding, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_profiles.bottleneck.classification import Bottleneck, BottleneckConfidence
from perfledger_profiles.diff.cause import ChangeKind
from perfledger_service.rendering.check.headline import (
    cause_phrase,
    headline,
    telling_rows,
    workload_counts,
)
from perfledger_service.rendering.layout.verdict_rows import verdict_rows


def words(report):
    return headline(report).replace("\N{NO-BREAK SPACE}", " ")


def slower(make, workload, change, metric=STEP_TIME):
    return make.verdict(workload, metric, Outcome.REGRESSED, (0.1, 0.1 * (1 + change)))


def test_one_regression_is_named_with_its_size_figures_and_cause(reports):
    assert words(reports["regressed"]) == (
        "benchmarks.gpt:train_step[batch=8] is 18.2 % slower (12.3 \N{RIGHTWARDS ARROW} 14.5 ms), "
        "peak memory +27.0 %: aten::_softmax replaces aten::_scaled_dot_product_flash_attention"
    )


BUSY = HostFinding(name="other programs", level=FindingLevel.BUSY, detail="they use 2 cores")


@pytest.mark.parametrize(
    ("findings", "change", "begin"),
    [
        (
            (BUSY,),
            5.95,
            "{}: CPU time is 595 % higher (100 \N{RIGHTWARDS ARROW} 695 ms), step time",
        ),
        ((), 5.95, "{} is 1,504 % slower ("),
        ((BUSY,), 16.0, "{} is 1,504 % slower ("),
    ],
)
def test_beside_load_the_headline_leads_with_the_cpu_time_that_grew_less(
    findings, change, begin, reports, make
):
    verdicts = (
        slower(make, make.GPT, 15.04),
        slower(make, make.GPT, change, metric=CPU_TIME),
    )
    report = replace(reports["regressed"], verdicts=verdicts, host_findings=findings)

    assert words(report).startswith(begin.format(make.GPT))


def test_a_step_time_without_waits_leads_also_beside_load(reports, make):
    step_time = replace(slower(make, make.GPT, 15.04), queued_share=0.7)
    verdicts = (step_time, slower(make, make.GPT, 5.95, metric=CPU_TIME))
    report = replace(reports["regressed"], verdicts=verdicts, host_findings=(BUSY,))

    assert words(report).startswith(f"{make.GPT} is 1,504 % slower (")


def test_of_several_regressions_the_two_largest_are_named(reports, make):
    verdicts = (
        slower(make, make.GPT, 0.043),
        slower(make, make.RESNET, 0.01),
        make.verdict(make.TRANSFORMER, PEAK_MEMORY, Outcome.REGRESSED, (1e9, 1.2e9)),
        *make.unchanged(make.ATTENTION, 0.001),
    )
    report = replace(reports["regressed"], verdicts=verdicts)

    assert words(report) == (
        f"3 of 4 workloads regressed, worst {make.TRANSFORMER} peak memory +20.0 %, "
        f"{make.GPT} step time +4.3 %"
    )


def test_what_could_not_be_measured_is_counted_beside_a_regression(reports, make):
    lost = make.verdict(make.RESNET, STEP_TIME, Outcome.NOT_MEASURED, None, reason="raised")
    failure = Failure(
        workload=make.RESNET, side=Side.HEAD, why=FailureReason.RAISED, detail="KeyError"
    )
    report = replace(
        reports["regressed"],
        verdicts=(slower(make, make.GPT, 0.1), lost),
        failures=(failure,),
        explanations=(),
    )

    assert words(report).endswith(
        "% slower (100 \N{RIGHTWARDS ARROW} 110 ms); 1 could not be measured"
    )


def test_faster_steps_take_less_time(reports, make):
    faster = make.verdict(make.GPT, STEP_TIME, Outcome.IMPROVED, (0.1, 0.05))
    report = replace(reports["unchanged"], verdicts=(faster,))

    assert words(report).startswith(f"{make.GPT} takes 50.0 % less time (100")


@pytest.mark.parametrize(("head", "expected"), [(1.2e9, "20.0 % higher"), (0.5e9, "50.0 % lower")])
def test_other_metrics_are_higher_or_lower(reports, make, head, expected):
    verdict = make.verdict(make.GPT, PEAK_MEMORY, Outcome.REGRESSED, (1e9, head))
    report = replace(reports["unchanged"], verdicts=(verdict,))

    assert words(report).startswith(f"{make.GPT}: peak memory is {expected} (954")


def test_an_undecided_check_says_how_far_it_came(reports):
    assert words(reports["undecided"]) == (
        "Undecided: benchmarks.resnet:infer[batch=32] step time +2.1 % (-1.0 to +5.6)"
    )


def test_a_warning_alone_is_no_regression(reports):
    report = reports["undecided"]
    report = replace(report, verdicts=report.verdicts[1:])

    assert words(report).startswith("No regression, but a warning: ")
    assert [row.is_warning for row in telling_rows(report, verdict_rows(report))] == [True]


def test_what_failed_is_named_with_its_side(reports, make):
    report = reports["not_measured"]
    several = replace(report.failures[0], workload=make.TRANSFORMER)
    on_base = replace(report.failures[0], side=Side.BASE, detail="the same error at another line")

    assert words(report) == f"Not measured: {make.GPT} raised an error on head"
    assert words(replace(report, failures=(*report.failures, on_base))) == (
        f"Not measured: {make.GPT} raised an error on base and head"
    )
    assert words(replace(report, failures=(*report.failures, several))) == (
        f"2 of 2 workloads were not measured, first {make.GPT} raised an error on head"
    )


def test_nothing_measured_is_not_called_unchanged(reports):
    nothing = replace(reports["unchanged"], verdicts=(), new_workloads=(), title="Not measured")

    assert words(nothing) == "Nothing was measured"
    assert workload_counts(nothing) == "none of 0 workloads"


def test_unchanged_is_said_with_its_margin_unless_workloads_have_their_own(reports, make):
    report = reports["unchanged"]
    one = replace(report, verdicts=make.unchanged(make.GPT, 0.01), new_workloads=(make.RESNET,))
    own = replace(report, plan=replace(report.plan, margins={make.GPT: 0.02}))

    assert words(report) == "Unchanged: all 4 workloads, proven to within 1 %"
    assert words(one) == "Unchanged: 1 of 2 workloads, proven to within 1 %"
    assert words(own) == "Unchanged: all 4 workloads"


@pytest.mark.parametrize(
    ("kind", "counts", "expected"),
    [
        (ChangeKind.NEW, (0.0, 4.0), "aten::mm is new"),
        (ChangeKind.COUNT, (4.0, 8.0), "aten::mm is called more often"),
        (ChangeKind.RATE, (4.0, 4.0), "aten::mm is slower"),
    ],
)
def test_the_first_cause_of_the_same_sign_is_named(make, reports, kind, counts, expected):
    explanation = replace(
        reports["regressed"].explanations[0],
        causes=(
            make.cause("aten::add", ChangeKind.GONE, (0.003, 0.0), (1.0, 0.0)),
            make.cause("aten::mm", kind, (0.002, 0.004), counts),
        ),
    )

    assert cause_phrase(explanation) == expected


def test_a_step_that_begins_to_wait_is_said_to_wait_only_if_that_is_sure(make, reports):
    explanation = reports["regressed"].explanations[0]
    waiting = make.classification(Bottleneck.INPUT, 0.7)
    sure = replace(explanation, head_bottleneck=waiting)
    doubtful = replace(waiting, confidence=BottleneckConfidence.LOW)

    assert cause_phrase(sure) == "it waits for input"
    assert "waits" not in cause_phrase(replace(sure, head_bottleneck=doubtful))
    assert "waits" not in cause_phrase(replace(sure, base_bottleneck=waiting))
    assert cause_phrase(replace(sure, is_attributable=False)) == ""
