"""Tests `perfledger server job` on a database: the queue, schedules and budgets."""

import json

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.jobs.runner_queue import queue_job
from tests.service.job_policies import job_policy


@pytest.fixture
def job_id(engine, now):
    job = NewRunnerJob(
        key="ab:1", kind=RunnerJobKind.AB, machine_class="cuda:*H100*:1", head_sha="b" * 40
    )
    with write_session(engine) as session:
        project_id = project_for(session, "octo/models", now=now).id
        job_id = queue_job(session, project_id, job, now=now).id
        session.commit()
    return job_id


def test_jobs_are_listed_and_cancelled(run, database_url, job_id):
    def server_job(*words):
        return run("server", "job", *words, PERFLEDGER_DATABASE_URL=database_url)

    assert "queued" in server_job("list", "octo/models")
    assert server_job("cancel", "octo/models", job_id) == f"Job {job_id} is cancelled.\n"
    (row,) = json.loads(server_job("list", "octo/models", "--json"))["jobs"]
    assert (row["id"], row["state"], row["head_sha"]) == (job_id, "cancelled", "b" * 40)
    assert row["reason"] == "by the operator"


@pytest.mark.usefixtures("job_id")
def test_schedules_and_budgets_are_set(run, database_url, engine):
    def server_job(*words):
        return run("server", "job", *words, PERFLEDGER_DATABASE_URL=database_url)

    output = server_job("schedule", "octo/models", "nightly", "--hour", 4)
    assert output == "Nightly runs of octo/models on * at 04:00 UTC.\n"
    output = server_job("budget", "octo/models", "--usd", 50, "--device-price", 2.5)
    assert output == "Jobs of octo/models are limited to 50 USD a week.\n"
    output = server_job(
        "budget", "octo/models", "--device-minutes", 600, "--usd", 50, "--device-price", 2.5
    )
    assert output == "Jobs of octo/models are limited to 600 device-minutes and 50 USD a week.\n"
    minutes = json.loads(server_job("budget", "octo/models", "--device-minutes", 600, "--json"))
    assert (minutes["device_minutes"], minutes["usd"]) == (600.0, None)
    assert server_job("budget", "octo/models") == "Jobs of octo/models are not limited.\n"
    server_job("budget", "octo/models", "--usd", 50, "--device-price", 2.5)
    budget, (schedule,) = job_policy(engine, "octo/models")
    assert (budget.usd, budget.usd_per_device_hour, schedule.hour) == (50.0, 2.5, 4)

    output = server_job("schedule", "octo/models", "weekly", "--machine-class", "H100*")
    assert output == "Weekly runs of octo/models on H100* at 02:00 UTC.\n"
    server_job("schedule", "octo/models", "weekly", "--machine-class", "H100*", "--off")
    output = server_job("schedule", "octo/models", "nightly", "--off")
    assert output == "No more nightly runs of octo/models on *.\n"
    assert job_policy(engine, "octo/models") == (budget, ())
