"""Defers posts that GitHub may accept later, and attempts them again.

The time of the next attempt is stored with the upload: no thread or worker waits for it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from perfledger_service.errors import UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.uploads import (
    StoredUpload,
    due_uploads,
    restart_upload,
    set_retry,
    stuck_uploads,
    upload_by_id,
)
from perfledger_service.usecases.uploads.uploads import work_on
from perfledger_service.values.jobs.queued_work import QueuedUpload
from perfledger_service.values.people.person import Actor, AuditAction

# Between attempts to post. A secondary rate limit lasts at least a minute.
MIN_WAIT, MAX_WAIT = timedelta(minutes=1), timedelta(minutes=15)
# Covers an outage of GitHub, or an expired key that somebody replaces the next morning.
GIVE_UP_AFTER = timedelta(hours=24)


def defer_upload(
    engine: Engine, upload_id: str, reason: str, wait_s: float | None, *, now: datetime
) -> QueuedUpload | None:
    """Record why an upload could not be posted, and return its next attempt.

    The first retry is after a minute; each later delay equals the time since the first attempt, at
    most a quarter of an hour and at least `wait_s`. Returns None after a day of failures.
    """
    with write_session(engine) as session:
        upload = upload_by_id(session, upload_id)
        failing_for = now - (upload.failing_since or now)
        if failing_for > GIVE_UP_AFTER:
            return None
        wait = max(MIN_WAIT, min(failing_for, MAX_WAIT), timedelta(seconds=wait_s or 0.0))
        moment = f"{(now + wait).astimezone(UTC):%H:%M} UTC"
        full_reason = f"next attempt at {moment}: {reason}"
        set_retry(session, upload, reason=full_reason, retry_at=now + wait, now=now)
        session.commit()
    with read_session(engine) as session:
        return work_on(upload_by_id(session, upload_id))


def due_work(engine: Engine, *, now: datetime) -> tuple[QueuedUpload, ...]:
    """Return the uploads that a sweep enqueues, in case their own entry was lost."""
    with read_session(engine) as session:
        return tuple(work_on(upload) for upload in due_uploads(session, now=now))


def retry_uploads(
    engine: Engine, upload_ids: Sequence[str], *, actor: Actor | None = None, now: datetime
) -> tuple[StoredUpload, ...]:
    """Let the running service retry uploads: all that failed or wait, if none is named.

    Returns them as they were. `actor` is recorded. Raises NotFoundError for an unknown id,
    UsageError for one that neither failed nor waits.
    """
    with write_session(engine) as session:
        stuck = {upload.id: upload for upload in stuck_uploads(session)}
        for upload_id in upload_ids:
            if upload_id not in stuck:
                status = upload_by_id(session, upload_id).status
                msg = f"upload {upload_id} is {status}: only one that failed or waits is retried"
                raise UsageError(msg)
        chosen = tuple(stuck[one] for one in dict.fromkeys(upload_ids or stuck))
        for upload in chosen:
            restart_upload(session, upload, retry_at=now)
            if actor is not None:
                add_audit_entry(
                    session,
                    AuditAction.RETRY_UPLOAD,
                    actor,
                    project_id=upload.project_id,
                    detail=upload.id,
                    now=now,
                )
        session.commit()
    return chosen
