import re
from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.headline import telling_rows
from perfledger_service.rendering.check.next_steps import CommandHint, command_hints, next_steps
from perfledger_service.rendering.layout.verdict_rows import verdict_rows
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.report import Conclusion

CHECK = "perfledger check --base 8c1f0a2b3c4d --head d41e7b9a0c2f"
RERUN = CommandHint("/perfledger rerun", "to measure again")


def steps_of(report):
    return next_steps(report, telling_rows(report, verdict_rows(report)))


def hints_of(report):
    return command_hints(report, verdict_rows(report))


def test_a_result_that_more_pairs_settle_has_the_command_with_their_number_and_time(reports):
    undecided = reports["undecided"]
    times = dict.fromkeys((each.workload for each in undecided.verdicts), 15.0)  # 40 more pairs
    report = replace(undecided, held_s=300.0, pair_seconds=times)
    command = (
        f"PERFLEDGER_MAX_PAIRS=60 PERFLEDGER_BUDGET=17m {CHECK} "
        "--workload 'benchmarks.resnet:infer[batch=32]'"
    )

    (sentence,) = steps_of(report).sentences

    assert sentence == (
        f"measure 60 pairs: {command}, or set max_pairs and budget in the configuration of the "
        "default branch"
    )
    assert command in steps_of(report).quotes


def test_as_many_pairs_as_were_planned_need_a_longer_budget_alone(reports):
    report = reports["undecided"]
    plan = replace(report.plan, looks=(4, 60))
    times = dict.fromkeys((each.workload for each in report.verdicts), 15.0)

    (sentence,) = steps_of(replace(report, plan=plan, held_s=300.0, pair_seconds=times)).sentences

    assert sentence.startswith("measure 60 pairs: PERFLEDGER_BUDGET=17m perfledger check")
    assert "or set budget in" in sentence


def test_where_no_number_of_pairs_helps_the_setting_that_adds_noise_is_named(reports):
    report = reports["noisy"]
    advice = report.host_findings[0].advice

    assert steps_of(report).sentences == (
        f"make the machine quieter (governor: powersave): {advice}",
    )
    assert advice in steps_of(report).quotes
    assert steps_of(replace(report, host_findings=())).sentences == (
        "run perfledger bench doctor on that machine to find what disturbs it",
    )


def test_noise_around_no_change_says_which_margin_the_pairs_would_prove(reports, make):
    report = reports["undecided"]
    verdict = make.verdict(
        make.RESNET, STEP_TIME, Outcome.UNDECIDED, (1.0, 1.002), spread=0.02, pairs=20
    )

    sentences = steps_of(replace(report, verdicts=(verdict,), host_findings=())).sentences

    assert sentences[-1].endswith("do not matter here: margin = 0.018")


@pytest.mark.parametrize("narrow", [(-0.6, 0.1), (-0.1, 1.4), (-0.1, 0.9999)])
def test_a_margin_that_no_setting_may_be_is_not_advised(reports, make, narrow):
    verdict = make.verdict(
        make.RESNET, STEP_TIME, Outcome.UNDECIDED, (1.0, 1.002), spread=0.02, pairs=20
    )
    estimate = replace(verdict.estimate, narrow_low=narrow[0], narrow_high=narrow[1])
    verdict = replace(verdict, estimate=estimate)

    sentences = steps_of(
        replace(reports["undecided"], verdicts=(verdict,), host_findings=())
    ).sentences

    assert sentences
    assert not any("margin = " in one for one in sentences)


def test_a_command_with_long_options_is_not_cut_but_shorter(reports):
    report = replace(reports["no_price"], options=CheckOptions(build="make" * 60))

    assert steps_of(report).sentences == (f"repeat it on such a machine: {CHECK}",)


@pytest.mark.parametrize("why", FailureReason)
def test_each_reason_of_a_failure_has_something_to_do(reports, why):
    report = reports["not_measured"]
    failures = (replace(report.failures[0], why=why),)

    (sentence,) = steps_of(replace(report, failures=failures)).sentences

    assert sentence
    assert not sentence.endswith(".")


def test_a_module_that_is_not_installed_is_named_with_the_ways_to_get_it(reports):
    report = reports["not_measured"]
    detail = "benchmarks/a.py cannot be imported: ModuleNotFoundError: No module named 'chex' (a:3)"
    raised = replace(report.failures[0], why=FailureReason.RAISED, detail=detail)

    steps = steps_of(replace(report, failures=(raised,)))

    (sentence,) = steps.sentences
    assert sentence.startswith("install chex for the Python that runs the workloads, ")
    assert {"isolated", "import_paths"} <= set(re.findall(r"[a-z_]+", sentence))
    assert steps.quotes == ("chex",)
    killed = replace(raised, why=FailureReason.KILLED)
    assert "chex" not in steps_of(replace(report, failures=(killed,))).sentences[0]


@pytest.mark.parametrize("name", ["unchanged", "improved"])
def test_what_passed_asks_for_nothing(reports, name):
    assert steps_of(reports[name]).sentences == ()
    assert hints_of(replace(reports[name], takes_commands=True)) == ()


def test_a_regression_may_be_accepted_or_measured_again(reports, make):
    report = replace(reports["regressed"], takes_commands=True)
    accept = CommandHint(f"/perfledger accept {make.GPT} --reason …", "if this is intended")

    assert hints_of(report) == (accept, RERUN)
    assert hints_of(replace(report, takes_commands=False)) == ()
    assert hints_of(replace(report, pull_request=None)) == ()
    assert hints_of(replace(report, conclusion=Conclusion.NEUTRAL)) == ()


def test_what_is_undecided_can_be_measured_again(reports):
    assert hints_of(replace(reports["undecided"], takes_commands=True)) == (RERUN,)


@pytest.mark.parametrize(
    ("why", "hints"), [(FailureReason.RAISED, ()), (FailureReason.KILLED, (RERUN,))]
)
def test_only_a_failure_that_may_pass_next_time_is_measured_again(reports, why, hints):
    report = replace(reports["not_measured"], takes_commands=True)

    assert hints_of(replace(report, failures=(replace(report.failures[0], why=why),))) == hints


def test_the_removal_of_a_workload_may_be_accepted(reports, make):
    report = replace(reports["not_measured"], takes_commands=True)
    removed = replace(report.failures[0], why=FailureReason.MISSING)

    (hint,) = hints_of(replace(report, failures=(removed,)))

    assert hint.command.startswith(f"/perfledger accept {make.GPT} ")
    new = replace(removed, side=Side.BASE)
    assert hints_of(replace(report, failures=(new,))) == ()


def test_new_workloads_alone_need_nothing_on_a_first_use_and_the_same_names_otherwise(reports):
    first = reports["first_check"]
    failed = replace(first, conclusion=Conclusion.FAILURE)

    assert steps_of(first).sentences[0].startswith("nothing yet: ")
    assert steps_of(failed).sentences[0].startswith("compare the same workloads on both sides: ")
