import re
from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import FailureReason, FindingLevel, Side
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.headline import telling_rows
from perfledger_service.rendering.check.next_steps import CommandHint, command_hints, next_steps
from perfledger_service.rendering.layout.verdict_rows import verdict_rows
from perfledger_service.values.check_options import CheckOptions, TimeBudget
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
        f"PERFLEDGER_MAX_PAIRS=60 {CHECK} --budget 17m "
        "--workload 'benchmarks.resnet:infer[batch=32]'"
    )

    (sentence,) = steps_of(report).sentences

    assert sentence == (
        f"measure 60 pairs: {command}, or set max_pairs and budget in the configuration of the "
        "default branch"
    )
    assert command in steps_of(report).typed


def test_pairs_that_nobody_would_wait_for_are_not_advised(reports):
    undecided = reports["undecided"]
    times = dict.fromkeys((each.workload for each in undecided.verdicts), 15.0)
    result = next(one for one in undecided.verdicts if one.outcome is Outcome.UNDECIDED)
    wide = replace(result.estimate, smallest_detectable=result.estimate.smallest_detectable * 4)
    narrow = replace(wide, narrow_low=wide.narrow_low * 4, narrow_high=wide.narrow_high * 4)
    report = replace(
        undecided,
        verdicts=tuple(
            replace(one, estimate=narrow) if one is result else one for one in undecided.verdicts
        ),
        pair_seconds=times,
    )

    assert "otherwise no practical number of pairs settles it" in steps_of(report).sentences


def test_as_many_pairs_as_were_planned_need_a_longer_budget_alone(reports):
    report = reports["undecided"]
    plan = replace(report.plan, looks=(4, 60))
    times = dict.fromkeys((each.workload for each in report.verdicts), 15.0)

    (sentence,) = steps_of(replace(report, plan=plan, held_s=300.0, pair_seconds=times)).sentences

    assert sentence.startswith(f"measure 60 pairs: {CHECK} --budget 17m ")
    assert "or set budget in" in sentence


def test_a_budget_that_is_long_enough_is_not_blamed(reports):
    report = reports["undecided"]
    times = dict.fromkeys((each.workload for each in report.verdicts), 15.0)
    report = replace(report, held_s=300.0, pair_seconds=times, budget=TimeBudget(1020.0))

    (sentence,) = steps_of(report).sentences

    assert sentence.startswith(f"measure 60 pairs: PERFLEDGER_MAX_PAIRS=60 {CHECK} --workload ")
    assert sentence.endswith(", or set max_pairs in the configuration of the default branch")

    planned = replace(report, plan=replace(report.plan, looks=(4, 60)))
    assert steps_of(planned).sentences[0].endswith("infer[batch=32]'")


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        (
            {"budget": "5m"},
            "set max_pairs in the configuration of the default branch and raise budget",
        ),
        ({"budget": "5m", "max_pairs": "20"}, "or raise max_pairs and budget"),
    ],
)
def test_what_a_check_was_started_with_is_raised_there_and_once_in_the_command(
    reports, settings, where
):
    report = reports["undecided"]
    times = dict.fromkeys((each.workload for each in report.verdicts), 15.0)
    options = CheckOptions(settings=settings)
    report = replace(report, held_s=300.0, pair_seconds=times, options=options)

    (sentence,) = steps_of(report).sentences

    assert sentence.startswith(f"measure 60 pairs: PERFLEDGER_MAX_PAIRS=60 {CHECK} --budget 17m ")
    assert sentence.endswith(f"{where} where the check is started")


def test_where_money_limits_a_check_no_command_is_promised(reports):
    report = replace(reports["undecided"], budget=TimeBudget(None, ("budget", "budget_usd")))

    (sentence,) = steps_of(report).sentences

    assert sentence == (
        "measure 60 pairs: set max_pairs, budget and budget_usd in the configuration of the "
        "default branch"
    )


def few_readings(make, counted, measured, metric=CPU_TIME):
    """Tests of a workload whose other metric counts in fewer pairs than its step time."""
    values = tuple(0.01 for _ in range(measured))
    some = tuple(0.01 if place < counted else None for place in range(measured))
    numbers = tuple(range(1, measured + 1))
    return (
        PairedTest(
            workload=make.RESNET, metric=STEP_TIME, base=values, head=values, numbers=numbers
        ),
        PairedTest(workload=make.RESNET, metric=metric, base=some, head=some, numbers=numbers),
    )


def too_few(reports, make, counted, measured):
    verdict = replace(
        make.verdict(make.RESNET, CPU_TIME, Outcome.UNDECIDED, (1.0, 1.0)), estimate=None
    )
    report = reports["undecided"]
    return replace(
        report,
        verdicts=(verdict,),
        tests=few_readings(make, counted, measured),
        plan=replace(report.plan, looks=(5, 20)),
        held_s=100.0,
        pair_seconds={make.RESNET: 5.0},
        budget=TimeBudget(600.0),
    )


def test_missing_readings_are_blamed_and_not_the_budget(reports, make):
    (sentence,) = steps_of(too_few(reports, make, 3, 20)).sentences

    assert sentence.startswith(
        "only 3 of 20 pairs count for the CPU time, and the report says why; "
        f"measure 27 pairs: PERFLEDGER_MAX_PAIRS=27 {CHECK} --workload "
    )
    assert "budget" not in sentence


def test_where_no_practical_number_of_pairs_would_have_enough_readings_none_is_named(reports, make):
    (sentence,) = steps_of(too_few(reports, make, 1, 300)).sentences

    assert sentence == (
        "only 1 of 300 pairs count for the CPU time, and the report says why; no practical number "
        "of pairs settles it"
    )


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
    assert "perfledger bench doctor" in steps_of(replace(report, host_findings=())).typed


def test_noise_around_no_change_says_which_margin_the_pairs_would_prove(reports, make):
    report = reports["undecided"]
    verdict = make.verdict(
        make.RESNET, STEP_TIME, Outcome.UNDECIDED, (1.0, 1.002), spread=0.02, pairs=20
    )

    sentences = steps_of(replace(report, verdicts=(verdict,), host_findings=())).sentences

    sentence = "decide that changes of up to 1.8 % do not matter here: margin = 0.018"
    assert sentences[-1] == f"or {sentence}"
    report = reports["noisy"]
    verdict = make.verdict(
        make.RESNET, STEP_TIME, Outcome.UNDECIDED, (1.0, 0.991), spread=0.41, pairs=8
    )
    estimate = replace(verdict.estimate, narrow_low=-0.01, narrow_high=0.018)
    busy = replace(report.host_findings[0], level=FindingLevel.BUSY)
    alone = replace(report, verdicts=(replace(verdict, estimate=estimate),), host_findings=(busy,))
    assert steps_of(alone).sentences == (sentence,)


@pytest.mark.parametrize("narrow", [(-0.6, 0.1), (-0.1, 1.4), (-0.1, 0.9999), (-0.1, 0.1001)])
def test_a_margin_that_nobody_would_set_is_not_advised(reports, make, narrow):
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


def test_beside_other_programs_hundreds_of_pairs_are_the_second_choice(reports, make):
    verdict = make.verdict(
        make.RESNET, STEP_TIME, Outcome.UNDECIDED, (1.0, 1.002), spread=0.06, pairs=20
    )
    report = replace(reports["undecided"], verdicts=(verdict,))
    busy = replace(report.host_findings[0], level=FindingLevel.BUSY)

    first, second = steps_of(replace(report, host_findings=(busy,))).sentences[:2]

    assert first == "repeat it when the machine is quiet"
    assert re.match(r"otherwise measure \d{3} pairs: ", second)
    assert steps_of(replace(report, host_findings=())).sentences[0].startswith("measure ")


def test_a_command_with_long_options_is_not_cut_but_pointed_at(reports):
    report = replace(reports["no_price"], options=CheckOptions(settings={"build": "make" * 60}))

    assert steps_of(report).sentences == (
        "repeat it on such a machine: its command is at the end of the report",
    )


@pytest.mark.parametrize("why", FailureReason)
def test_each_reason_of_a_failure_has_something_to_do(reports, why):
    report = reports["not_measured"]
    failures = (replace(report.failures[0], why=why),)

    (sentence,) = steps_of(replace(report, failures=failures)).sentences

    assert sentence
    assert not sentence.endswith(".")


def test_advice_is_about_the_reason_that_the_report_names_first(reports):
    report = reports["not_measured"]
    head = replace(report.failures[0], side=Side.HEAD, why=FailureReason.IN_USE)
    base = replace(head, side=Side.BASE, why=FailureReason.RAISED)
    first = replace(base, workload="a:first", why=FailureReason.BUDGET)

    assert steps_of(replace(report, failures=(head, base))).sentences == (
        "fix the error: the end of its log is in the report",
    )
    assert steps_of(replace(report, failures=(first, base))).sentences == (
        "raise budget, or choose fewer workloads with -k or paths",
    )


def test_code_or_data_of_another_commit_may_be_no_installed_copy(reports):
    report = reports["not_measured"]
    pointer = replace(report.failures[0], why=FailureReason.WRONG_CODE, detail="a pointer")

    (sentence,) = steps_of(replace(report, failures=(pointer,))).sentences
    assert sentence == (
        "let each side use its own code and data: the reason names the file that it did not have, "
        "and what gets it"
    )


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
