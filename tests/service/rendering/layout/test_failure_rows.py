from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.layout.failure_rows import (
    MAX_ALIKE,
    failure_rows,
    fold_alike,
    without_unmeasured,
)
from perfledger_service.rendering.layout.verdict_rows import verdict_rows


def test_a_failure_on_both_sides_is_one_row_that_names_both(reports):
    report = reports["not_measured"]
    (failure,) = report.failures
    again = replace(failure, pair=1, log_tail="another log")
    other_side = replace(failure, side=Side.BASE, log_tail="base's log")

    (row,) = failure_rows(replace(report, failures=(failure, again, other_side)))

    assert row.why == "raised an error on base and head"
    assert row.log_tail == "base's log"


def test_other_failures_of_the_sides_are_rows_of_their_own_and_base_comes_first(reports, make):
    report = reports["not_measured"]
    (failure,) = report.failures
    other = replace(failure, workload=make.ATTENTION)
    other_side = replace(failure, side=Side.BASE, detail="another error")

    rows = failure_rows(replace(report, failures=(failure, other, other_side)))

    assert [(row.workload, row.why, row.summary) for row in rows] == [
        (failure.workload, "raised an error on base", "raised an error on base and head"),
        (failure.workload, "raised an error on head", "raised an error on base and head"),
        (make.ATTENTION, "raised an error on head", "raised an error on head"),
    ]


def test_a_workload_that_is_only_new_did_not_fail(reports, make):
    missing = Failure(workload=make.ATTENTION, side=Side.BASE, why=FailureReason.MISSING, detail="")
    report = replace(reports["undecided"], failures=(missing,))

    assert failure_rows(report) == ()
    assert len(failure_rows(replace(report, new_workloads=()))) == 1


def test_what_was_measured_and_could_not_be_judged_is_a_failure_too(reports, make):
    verdict = make.verdict(make.GPT, STEP_TIME, Outcome.NOT_MEASURED, None, reason="no numbers")
    report = replace(reports["unchanged"], verdicts=(verdict,))

    (row,) = failure_rows(report)

    assert (row.workload, row.why, row.detail) == (make.GPT, "could not be judged", "no numbers")


@pytest.mark.parametrize(
    ("workloads", "alike"), [(MAX_ALIKE, [0] * MAX_ALIKE), (MAX_ALIKE + 1, [MAX_ALIKE])]
)
def test_many_workloads_that_were_not_measured_for_one_reason_are_one_row(
    unreached, workloads, alike
):
    rows = failure_rows(unreached(workloads))

    assert [row.alike for row in fold_alike(rows)] == alike


def test_workloads_with_other_reasons_keep_their_rows(unreached):
    (first, *others) = failure_rows(unreached(20))
    hung = replace(first, workload="bench.other:step", why="did not finish in time")

    assert fold_alike((hung, first, *others)) == (hung, replace(first, alike=19))


@pytest.mark.parametrize(("workloads", "listed"), [(MAX_ALIKE, 1 + MAX_ALIKE), (MAX_ALIKE + 1, 1)])
def test_many_unmeasured_workloads_have_no_rows_among_the_results(unreached, workloads, listed):
    rows = verdict_rows(unreached(workloads))

    assert len(without_unmeasured(rows)) == listed
    assert Outcome.UNCHANGED in {row.outcome for row in without_unmeasured(rows)}
