from datetime import UTC, datetime

from hypothesis import given, strategies as st

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_cost_models.review.quarter_jobs import quarter_jobs

THIRD = quarter_of("2026Q3")
JULY = datetime(2026, 7, 1, tzinfo=UTC).timestamp()
OCTOBER = datetime(2026, 10, 1, tzinfo=UTC).timestamp()


def job(submit_s):
    return Job(submit_s=submit_s, run_s=60.0, devices=1)


def test_the_quarters_first_moment_is_in_it_and_its_end_is_not():
    jobs = table_of([job(JULY - 1), job(JULY), job(OCTOBER - 1), job(OCTOBER)])

    kept_job_table = quarter_jobs(jobs, THIRD)

    assert kept_job_table.start_s == JULY
    assert kept_job_table.submit_ms.tolist() == [0, (OCTOBER - 1 - JULY) * 1000]


def test_a_log_of_another_quarter_leaves_none():
    assert len(quarter_jobs(table_of([job(JULY - 1)]), THIRD)) == 0


@given(st.lists(st.integers(-10_000_000, 20_000_000), min_size=1, max_size=20))
def test_each_job_is_in_the_quarter_before_in_it_or_after(places):
    jobs = table_of([job(JULY + place) for place in places])

    kept_job_table = quarter_jobs(jobs, THIRD)

    inside = sorted(JULY + place for place in places if JULY <= JULY + place < OCTOBER)
    assert [
        kept_job_table.start_s + ms / 1000 for ms in kept_job_table.submit_ms.tolist()
    ] == inside


def test_a_quarters_own_log_is_kept_as_it_is():
    jobs = table_of([job(JULY + 5), job(JULY + 9)])

    kept_job_table = quarter_jobs(jobs, THIRD)

    assert (kept_job_table.start_s, kept_job_table.submit_ms.tolist()) == (
        jobs.start_s,
        jobs.submit_ms.tolist(),
    )
