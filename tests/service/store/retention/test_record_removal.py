"""Jobs, entries of the audit log and events that go, and those that stay."""

from datetime import timedelta

import pytest
from sqlmodel import select

from perfledger_runners.jobs.runner_job import RunnerJobState
from perfledger_service.errors import NotFoundError, RemovedError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import MAX_TRACKED, event_by_id
from perfledger_service.store.events.tables import TrackedEventRow
from perfledger_service.store.jobs.tables import RunnerJobRow
from perfledger_service.store.people.tables import AuditEntryRow
from perfledger_service.store.removals.tables import EventRemovalRow
from perfledger_service.store.retention.record_removal import removable_records, remove_records
from perfledger_service.values.storage.retention import RetentionClass, RetentionPolicy
from tests.service.retention_history import (
    KEPT_DAYS,
    rows_by_class,
)

pytestmark = pytest.mark.slow


@pytest.mark.slow(ci_only=True)
def test_jobs_and_entries_of_the_audit_log_go_and_open_jobs_stay(any_engine, history, prune, now):
    (upload,) = history({"ratio": 1.0})
    old = now - timedelta(days=200)
    with write_session(any_engine) as session:
        for job_id, state, finished_at in (
            ("1", RunnerJobState.DONE, old),
            ("2", RunnerJobState.QUEUED, None),
            ("3", RunnerJobState.DONE, now),
        ):
            session.add(
                RunnerJobRow(
                    id=job_id,
                    project_id=upload.project_id,
                    key=job_id,
                    kind="nightly",
                    machine_class="*",
                    state=state,
                    created_at=old,
                    due_at=old,
                    finished_at=finished_at,
                )
            )
        for at in (old, now):
            session.add(
                AuditEntryRow(
                    noted_at=at, actor="ada", action="token", detail="made", address="127.0.0.1"
                )
            )
        session.commit()

    report = rows_by_class(prune())

    assert report[RetentionClass.JOBS].removed.rows == 1
    assert report[RetentionClass.AUDIT].removed.rows == 1
    with read_session(any_engine) as session:
        assert set(session.exec(select(RunnerJobRow.id))) == {"2", "3"}


@pytest.mark.slow(ci_only=True)
def test_an_ended_event_stays_while_a_search_is_compared_with_it(any_engine, history, prune, now):
    (upload,) = history({"ratio": 1.0})
    old = now - timedelta(days=200)
    states = ["fixed", "open", "expected"] + ["fixed"] * MAX_TRACKED
    with write_session(any_engine) as session:
        for state in states:
            session.add(
                TrackedEventRow(
                    project_id=upload.project_id,
                    state=state,
                    opened_at=old,
                    changed_at=old,
                    content=b"",
                )
            )
            session.flush()
        session.commit()

    report = rows_by_class(prune(RetentionPolicy({RetentionClass.EVENTS: KEPT_DAYS})))

    assert report[RetentionClass.EVENTS].removed.rows == 1  # the first


@pytest.fixture
def fixed_events(any_engine, now):
    """Store one more event than stay, all fixed long ago, and return the oldest's number."""

    def store(project_id):
        old = now - timedelta(days=200)
        rows = [
            TrackedEventRow(
                project_id=project_id, state="fixed", opened_at=old, changed_at=old, content=b""
            )
            for _ in range(MAX_TRACKED + 1)
        ]
        with write_session(any_engine) as session:
            session.add_all(rows)
            session.commit()
            return min(row.id for row in rows if row.id)

    return store


@pytest.mark.slow(ci_only=True)
def test_an_event_that_went_says_when_and_why_in_its_project_alone(
    any_engine, history, prune, fixed_events
):
    (upload,) = history({"ratio": 1.0})
    event_id = fixed_events(upload.project_id)

    prune(RetentionPolicy({RetentionClass.EVENTS: KEPT_DAYS}))

    with read_session(any_engine) as session:
        with pytest.raises(RemovedError, match=f"event {event_id} was removed on 2026-11-20 by"):
            event_by_id(session, upload.project_id, event_id)
        with pytest.raises(NotFoundError, match=f"no event {event_id} in this project"):
            event_by_id(session, upload.project_id + 1, event_id)


@pytest.mark.slow(ci_only=True)
def test_an_event_whose_state_is_set_meanwhile_stays(any_engine, history, fixed_events, now):
    (upload,) = history({"ratio": 1.0})
    event_id = fixed_events(upload.project_id)
    removal = {"removed_at": now, "kept_days": KEPT_DAYS}
    with write_session(any_engine) as session:
        ids = removable_records(session, RetentionClass.EVENTS, before=now)
        row = session.get_one(TrackedEventRow, event_id)
        row.state, row.changed_at = "open", now
        session.add(row)
        session.flush()
        remove_records(session, RetentionClass.EVENTS, ids, **removal)
        session.commit()

    assert ids == (event_id,)
    with read_session(any_engine) as session:
        assert session.get(TrackedEventRow, event_id) is not None
        assert session.get(EventRemovalRow, event_id) is None
