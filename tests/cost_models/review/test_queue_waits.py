from datetime import UTC, datetime
from decimal import Decimal

import pytest

from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.procurement.plan import WaitObjective
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_cost_models.review.queue_waits import MAX_TEAMS, recorded_waits

JULY = datetime(2026, 7, 1, tzinfo=UTC).timestamp()
HOUR = WaitObjective(wait_minutes=Decimal(60), share=Decimal("0.9"))


def job(wait_s, *, team="a", at=0.0, devices=1, run_s=60.0):
    return Job(submit_s=JULY + at, run_s=run_s, wait_s=wait_s, devices=devices, team=team)


def waits(*jobs, objective=None):
    quarter = quarter_of("2026Q3")
    return recorded_waits(table_of(jobs), log="jobs.csv", quarter=quarter, objective=objective)


def test_waits_are_told_of_all_and_of_each_team():
    found_recorded_waits = waits(*[job(100.0 * place) for place in range(11)], job(50.0, team="b"))

    assert found_recorded_waits.overall.jobs == 12
    assert [(one.team, one.jobs, one.wait_p50_s) for one in found_recorded_waits.teams] == [
        ("a", 11, 500.0),
        ("b", 1, 50.0),
    ]
    assert found_recorded_waits.teams[0].wait_p95_s == pytest.approx(950)
    assert found_recorded_waits.is_met is None


@pytest.mark.parametrize(("late", "is_met"), [(1, True), (2, False)])
def test_waits_are_held_against_the_objective(late, is_met):
    found_recorded_waits = waits(
        *[job(3600.0)] * (10 - late), *[job(3600.1)] * late, objective=HOUR
    )

    assert found_recorded_waits.overall.met_share == pytest.approx(1 - late / 10)
    assert found_recorded_waits.is_met is is_met


def test_only_the_quarters_jobs_with_devices_count():
    found_recorded_waits = waits(
        job(1.0),
        job(9e5, at=-1.0),
        job(9e5, at=92 * 86400.0),
        job(9e5, devices=0),
        job(9e5, run_s=None),
    )

    assert (found_recorded_waits.overall.jobs, found_recorded_waits.overall.wait_mean_s) == (1, 1.0)


def test_a_log_of_another_quarter_is_an_error():
    with pytest.raises(JobLogError, match="2026Q3"):
        waits(job(1.0, at=-1.0))


def test_a_log_that_lacks_starts_is_an_error():
    with pytest.raises(JobLogError, match="8 of 10 jobs"):
        waits(*[job(1.0)] * 8, *[job(None)] * 2)


def test_the_largest_of_very_many_teams_are_told():
    found_recorded_waits = waits(
        *[job(1.0, team=f"{place:04}") for place in range(MAX_TEAMS + 9)], job(2.0, team="0058")
    )

    assert len(found_recorded_waits.teams) == MAX_TEAMS
    assert found_recorded_waits.teams[0].team == "0058"


def test_nine_of_ten_starts_are_enough_and_a_job_that_took_nothing_counts():
    assert waits(*[job(1.0, run_s=0.0)] * 9, job(None)).overall.jobs == 9
    with pytest.raises(JobLogError, match="17 of 19 jobs"):
        waits(*[job(1.0)] * 17, *[job(None)] * 2)
