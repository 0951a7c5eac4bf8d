from datetime import timedelta

import pytest
from sqlalchemy import text, update
from sqlmodel import col

from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, add_runner_job
from perfledger_service.store.jobs.tables import RunnerJobRow
from perfledger_service.store.maintenance.service_counts import service_counts
from perfledger_service.store.projects import project_for
from perfledger_service.store.tables import UploadRow
from perfledger_service.values.report import Conclusion
from perfledger_service.values.upload_views import UploadStatus
from tests.service.imported_bundle import imported

HOUR = timedelta(hours=1)
UPLOAD_STATE = "environment_hash, status, conclusion"


def counts_of(engine, now):
    with read_session(engine) as session:
        return service_counts(session, now=now)


def test_an_empty_database_has_zero_of_everything(any_engine, now):
    counts = counts_of(any_engine, now)

    assert counts.uploads == dict.fromkeys(UploadStatus, 0)
    assert counts.checks == dict.fromkeys(Conclusion, 0)
    assert counts.jobs == dict.fromkeys(RunnerJobState, 0)
    assert (counts.waiting, counts.oldest_waiting_s) == (0, 0.0)
    assert (counts.held_leases, counts.expired_leases) == (0, 0)
    assert counts.database_bytes > 0


def test_what_waits_is_counted_with_the_age_of_the_oldest(
    any_engine, judged, received, make_bundle, now
):
    retried = judged(any_engine, make_bundle(seed=1), now=now - 3 * HOUR)
    judged(any_engine, make_bundle(seed=2), upload_id="2" * 32, now=now - 9 * HOUR)
    received(any_engine, make_bundle(seed=3), upload_id="3" * 32, now=now - HOUR)
    with write_session(any_engine) as session:
        is_retried = UploadRow.id == retried.id
        session.exec(update(UploadRow).where(is_retried).values(retry_at=now + HOUR))
        session.commit()
    counts = counts_of(any_engine, now)

    assert (counts.waiting, counts.oldest_waiting_s) == (2, 3 * 3600.0)
    assert counts.uploads[UploadStatus.JUDGED] == 2
    assert counts.checks[Conclusion.FAILURE] == 2


def test_imports_count_apart_from_checks(any_engine, judged, make_bundle, now):
    judged(any_engine, make_bundle(pairs=4))
    judged(any_engine, imported(make_bundle()), upload_id="2" * 32)
    counts = counts_of(any_engine, now)

    assert counts.uploads == dict.fromkeys(UploadStatus, 0) | {UploadStatus.JUDGED: 1}
    assert counts.imports == dict.fromkeys(UploadStatus, 0) | {UploadStatus.JUDGED: 1}
    assert sum(counts.checks.values()) == 1


def test_leases_are_held_until_their_last_moment(any_engine, now):
    with write_session(any_engine) as session:
        project_id = project_for(session, "octo/models", now=now).id
        for number, ends_at in enumerate([now, now + HOUR, None]):
            job = NewRunnerJob(key=str(number), kind=RunnerJobKind.AB, machine_class="cpu")
            job_id = f"{number:032x}"
            add_runner_job(session, project_id, job, job_id=job_id, now=now)
            if ends_at is not None:
                values = {"state": RunnerJobState.LEASED, "lease_expires_at": ends_at}
                is_this = col(RunnerJobRow.id) == job_id
                session.exec(update(RunnerJobRow).where(is_this).values(**values))
        session.commit()
    counts = counts_of(any_engine, now)

    assert (counts.held_leases, counts.expired_leases) == (1, 1)
    assert counts.jobs[RunnerJobState.LEASED] == 2
    assert counts.jobs[RunnerJobState.QUEUED] == 1


@pytest.mark.parametrize(
    "query",
    [
        f"select {UPLOAD_STATE}, count(*) from upload group by {UPLOAD_STATE}",
        "select state, count(*) from runner_job group by state",
    ],
)
def test_an_index_answers_a_count_without_the_table(engine, query):
    with engine.connect() as connection:
        plan = str(connection.execute(text(f"explain query plan {query}")).all())

    assert "COVERING INDEX" in plan


def test_what_waits_is_found_at_once_by_indexes(engine, record_statements, now):
    statements = record_statements(engine)
    counts_of(engine, now)
    (query,) = [statement for statement, _ in statements if "retry_at" in statement]
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"explain query plan {query}", ("received", "")).all()

    assert "MULTI-INDEX OR" in str(plan)
    assert "SCAN" not in str(plan)
