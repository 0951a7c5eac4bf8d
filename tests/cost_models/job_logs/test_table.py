from math import inf

import pytest

from perfledger_cost_models.job_logs import table as job_table
from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of


def job(**changes):
    return Job(**({"submit_s": 0.0, "run_s": 1.0, "devices": 1} | changes))


def test_jobs_are_sorted_by_submission_and_ties_keep_their_order():
    jobs = table_of([job(submit_s=5.0), job(run_s=2.0), job(submit_s=5.0, run_s=3.0)])

    assert jobs.run_ms.tolist() == [2000, 1000, 3000]
    assert jobs.submit_ms.tolist() == [0, 5000, 5000]


def test_the_run_time_stands_in_for_a_missing_limit():
    jobs = table_of([job(run_s=2.0), job(run_s=2.0, limit_s=9.0)])

    assert jobs.limit_ms.tolist() == [2000, 9000]


def test_some_rows_keep_their_labels():
    jobs = table_of([job(team="nlp"), job(team="vision"), job(team="nlp")])

    kept_jobs = jobs.take(jobs.team.codes == 0)

    assert len(kept_jobs) == 2
    assert {kept_jobs.team.names[code] for code in kept_jobs.team.codes} == {"nlp"}


@pytest.mark.parametrize(
    "changes",
    [
        {"submit_s": inf},
        {"run_s": -1.0},
        {"devices": -1},
        {"share_milli": 1001},
        {"pool": "x" * 201},
    ],
)
def test_an_impossible_job_is_rejected_with_its_row(changes):
    with pytest.raises(JobLogError, match="job 2"):
        table_of([job(), job(**changes)])


def test_a_job_that_appears_twice_is_refused_by_its_id_and_times():
    jobs = [
        job(id="7", submit_s=3.0, wait_s=2.0),
        job(id="8"),
        job(id="7", submit_s=3.0, wait_s=2.0),
    ]

    with pytest.raises(JobLogError, match="job '7' appears twice, as jobs 1 and 3 of the log"):
        table_of(jobs)


def test_runs_of_a_requeued_job_and_of_a_reset_id_all_count():
    jobs = [job(id="7", wait_s=2.0), job(id="7", wait_s=9.0), job(id="7", submit_s=3.0)]

    assert len(table_of(jobs)) == 3


def test_alike_jobs_without_ids_count_until_the_log_is_there_twice():
    alike = [job(submit_s=float(at // 2)) for at in range(30)]
    different = [job(submit_s=100.0 + at) for at in range(30)]

    assert len(table_of([*alike, *different])) == 60
    with pytest.raises(JobLogError, match="30 of 60 jobs are copies of others"):
        table_of([*different, *different])


def test_a_few_alike_jobs_are_an_array():
    assert len(table_of([job()] * 20)) == 20


def test_a_job_requests_whole_devices_and_nothing_else_unless_it_says_so():
    jobs = table_of([job()])

    assert jobs.share_milli.tolist() == [1000]
    assert (jobs.cpu_milli[0], jobs.memory_mib[0], jobs.priority[0]) == (0, 0, 0)
    assert (jobs.wait_ms[0], jobs.limit_ms[0]) == (-1, 1000)


@pytest.mark.parametrize(
    ("name", "most", "step"),
    [
        ("submit_s", job_table.MAX_SECONDS, 1),
        ("run_s", job_table.MAX_SECONDS, 1),
        ("devices", job_table.MAX_DEVICES, 1),
        ("devices", 0, -1),
        ("share_milli", job_table.WHOLE_DEVICE, 1),
        ("share_milli", 0, -1),
        ("cpu_milli", job_table.MAX_AMOUNT, 1),
        ("cpu_milli", 0, -1),
        ("priority", -job_table.MAX_AMOUNT, -1),
        ("team", "x" * job_table.MAX_NAME, "x"),
    ],
)
def test_a_limit_of_a_job_counts_itself(name, most, step):
    assert len(table_of([job(**{name: most})])) == 1
    with pytest.raises(JobLogError, match="job 1"):
        table_of([job(**{name: most + step})])


def test_a_log_has_a_limited_number_of_jobs(monkeypatch):
    monkeypatch.setattr(job_table, "MAX_JOBS", 2)

    assert len(table_of([job(), job()])) == 2
    with pytest.raises(JobLogError, match="more than 2 jobs"):
        table_of([job()] * 3)


@pytest.mark.parametrize(
    ("share", "least", "is_refused"),
    [(0.5, 2, False), (0.49, 2, True), (0.49, 3, False)],
)
def test_copies_are_refused_above_their_share_from_their_least_number_on(
    monkeypatch, share, least, is_refused
):
    monkeypatch.setattr(job_table, "MAX_COPIES", share)
    monkeypatch.setattr(job_table, "MIN_COPIES", least)
    jobs = [job(), job(), job(run_s=2.0), job(run_s=2.0)]

    if is_refused:
        with pytest.raises(JobLogError, match="2 of 4 jobs are copies"):
            table_of(jobs)
    else:
        assert len(table_of(jobs)) == 4
