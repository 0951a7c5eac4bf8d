"""Queues notices by comparing the stored events with the notices that each target received.

It can be repeated at any time, by any replica: an event has one notice per target, which gets a new
edition if the event's state differs from the one sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.event_tracking import place_of
from perfledger_baselines.history.commits.tracked_event import TrackedEvent
from perfledger_service.store.confirmation_state import alerts_of
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import MAX_TRACKED, events_of
from perfledger_service.store.events.notices import (
    add_notice,
    count_begun,
    held_notices,
    last_of_kind,
    notices_of_events,
    projects_with_targets,
    queued_notices,
    targets_of,
    update_notice,
)
from perfledger_service.store.projects import lock_project
from perfledger_service.store.uploads import newest_judged
from perfledger_service.usecases.events.confirming_alerts import alerts_at
from perfledger_service.usecases.events.search import places_of_commits
from perfledger_service.usecases.jobs.budget import week_of
from perfledger_service.usecases.notices.told_causes import is_told_cause, told_cause
from perfledger_service.values.branch_views import AlertView
from perfledger_service.values.jobs.queued_work import QueuedNotice
from perfledger_service.values.notices.notice import (
    Notice,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)

EVENT_KEY, SUMMARY_KEY, TRIAGE_KEY = "event-", "summary-", "triage-"
QUOTA_PERIOD = timedelta(hours=1)
# At most one notice in this time of an event that opens and closes repeatedly.
MIN_BETWEEN = timedelta(minutes=10)
TRIAGE_HOUR = timedelta(hours=8)  # of Monday, UTC

_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Alarm:
    """The content of an event's notice; `upload_id` is the check that confirms it, "" for none."""

    event: TrackedEvent
    subject: NoticeSubject | None  # None: nothing new
    upload_id: str


@dataclass(frozen=True, slots=True)
class _Branch:
    """The regressions of a project's default branch, oldest first, and its commits' places."""

    alarms: tuple[_Alarm, ...]
    places: Mapping[str, int]


def queue_notices(engine: Engine, *, now: datetime) -> tuple[QueuedNotice, ...]:
    """Queue the notices of every project, and return all that have to be sent.

    A failure in one project is logged and does not stop the others.
    """
    with read_session(engine) as session:
        project_ids = projects_with_targets(session)
    for project_id in project_ids:
        try:
            _queue_project(engine, project_id, now=now)
        except Exception as error:  # this project fails, the others are served
            _log.error("notices are not queued", project_id=project_id, exc_info=error)
    with read_session(engine) as session:
        return tuple(work_on_notice(notice) for notice in queued_notices(session))


def work_on_notice(notice: Notice) -> QueuedNotice:
    """Return the queue entry of a notice's edition."""
    return QueuedNotice(
        notice_id=notice.id,
        target_id=notice.target_id,
        edition=notice.edition,
        due_at=notice.queued_at,
    )


def skip_open_events(
    session: Session, project_id: int, target: NoticeTarget, *, now: datetime
) -> None:
    """Record that a new target gets no notices of existing events.

    The caller holds the project's lock.
    """
    for alarm in _branch(session, project_id).alarms:
        if alarm.subject is NoticeSubject.OPEN:
            notice = _event_notice(project_id, target, alarm, NoticeStatus.SKIPPED, now=now)
            add_notice(session, notice)


def _queue_project(engine: Engine, project_id: int, *, now: datetime) -> None:
    with write_session(engine) as session:
        lock_project(session, project_id)
        branch = _branch(session, project_id)
        for target in targets_of(session, project_id):
            _queue_events(session, project_id, target, branch, now=now)
            _queue_summary(session, project_id, target, now=now)
            _queue_triage(session, project_id, target, now=now)
        session.commit()


def _queue_events(
    session: Session, project_id: int, target: NoticeTarget, branch: _Branch, *, now: datetime
) -> None:
    event_ids = [alarm.event.id for alarm in branch.alarms]
    notices = notices_of_events(session, target.id, event_ids)
    for alarm in branch.alarms:
        if alarm.subject is NoticeSubject.OPEN and alarm.event.id not in notices:
            _follow_cause(session, project_id, target, branch, alarm, notices=notices, now=now)
    begun = count_begun(session, target.id, prefix=EVENT_KEY, since=now - QUOTA_PERIOD)
    for alarm in branch.alarms:
        notice = notices.get(alarm.event.id)
        if notice is not None:
            _queue_new_state(session, notice, alarm, now=now)
        elif alarm.subject is NoticeSubject.OPEN and (alarm.upload_id or target.is_early):
            is_within = begun < target.hourly
            status = NoticeStatus.QUEUED if is_within else NoticeStatus.HELD
            add_notice(session, _event_notice(project_id, target, alarm, status, now=now))
            begun += is_within


def _follow_cause(
    session: Session,
    project_id: int,
    target: NoticeTarget,
    branch: _Branch,
    alarm: _Alarm,
    *,
    notices: dict[int, Notice],
    now: datetime,
) -> None:
    """Recognize an event that more data made out of one already sent: it gets no new notice.

    It takes over the notice of the event that is no longer found.
    """
    for other in branch.alarms:
        notice = notices.get(other.event.id)
        if notice is None or other.subject is NoticeSubject.FIXED:
            continue
        if not is_told_cause(notice.cause, alarm.event, branch.places):
            continue
        if other.event.is_detected:
            skipped = _event_notice(project_id, target, alarm, NoticeStatus.SKIPPED, now=now)
            add_notice(session, skipped)
            notices[alarm.event.id] = skipped
        else:
            cause = told_cause(alarm.event)
            update_notice(session, notice, event_id=alarm.event.id, cause=cause)
            del notices[other.event.id]
            notices[alarm.event.id] = replace(notice, event_id=alarm.event.id, cause=cause)
        return


def _queue_new_state(session: Session, notice: Notice, alarm: _Alarm, *, now: datetime) -> None:
    """Send a target an event's new state if it was sent another one, or was going to be."""
    is_other = alarm.subject not in {None, notice.subject}
    is_over = notice.status in {NoticeStatus.SENT, NoticeStatus.FAILED}
    if is_other and is_over and now - notice.queued_at >= MIN_BETWEEN:
        upload_id = alarm.upload_id or notice.upload_id
        changes = {"subject": alarm.subject, "upload_id": upload_id}
        queue_next_edition(session, notice, changes, now=now)


def _queue_summary(
    session: Session, project_id: int, target: NoticeTarget, *, now: datetime
) -> None:
    """Count the notices beyond the quota, at most once per period."""
    notices = held_notices(session, target.id)
    last = last_of_kind(session, target.id, prefix=SUMMARY_KEY)
    if not notices or (last is not None and now - last.queued_at < QUOTA_PERIOD):
        return
    for notice in notices:
        update_notice(session, notice, status=NoticeStatus.COUNTED)
    summary = new_notice(
        project_id, target, f"{SUMMARY_KEY}{notices[0].id}", NoticeSubject.SUMMARY, now=now
    )
    add_notice(session, replace(summary, count=len(notices)))


def _queue_triage(
    session: Session, project_id: int, target: NoticeTarget, *, now: datetime
) -> None:
    """Queue the newest weekly report if it became due after the target was added."""
    due_at = week_of(now) + TRIAGE_HOUR
    if not target.is_weekly or now < due_at or (target.created_at or now) >= due_at:
        return
    key = f"{TRIAGE_KEY}{due_at:%Y-%m-%d}"
    last = last_of_kind(session, target.id, prefix=TRIAGE_KEY)
    if last is None or last.key != key:  # else each look would use up a number on PostgreSQL
        add_notice(session, new_notice(project_id, target, key, NoticeSubject.TRIAGE, now=now))


def _branch(session: Session, project_id: int) -> _Branch:
    """Return the notices' content for the regressions of a project's default branch."""
    places, alerts = places_of_commits(session, project_id), alerts_of(session, project_id)
    views = events_of(session, project_id, is_imported=False, most=MAX_TRACKED)
    events = [view.event for view in views]
    alarms = tuple(
        _Alarm(
            event,
            _subject(event),
            _confirming_upload(session, project_id, event, alerts, places),
        )
        for event in reversed(events)
        if event.harm is Harm.WORSE and event.occurrences
    )
    return _Branch(alarms, places)


def _subject(event: TrackedEvent) -> NoticeSubject | None:
    if not event.is_detected:
        return NoticeSubject.NOT_FOUND
    match event.state:
        case EventState.OPEN:
            return NoticeSubject.OPEN
        case EventState.ACKNOWLEDGED:
            return None
        case EventState.EXPECTED:
            return NoticeSubject.EXPECTED
        case EventState.FIXED:
            return NoticeSubject.FIXED
        case EventState.ENVIRONMENT:
            return NoticeSubject.ENVIRONMENT


def _confirming_upload(
    session: Session,
    project_id: int,
    event: TrackedEvent,
    alerts: tuple[AlertView, ...],
    places: Mapping[str, int],
) -> str:
    """Return the check whose pairs confirm an event, "" for none.

    It is an A/B run of one of its series in overlapping commits, or the check of the pull request
    that was merged there.
    """
    commits = place_of(event.occurrences[-1], places)
    series = {(one.workload, one.machine_class) for one in event.series}
    confirming = alerts_at(commits, series, alerts, places) if commits else ()
    if confirming:
        return confirming[0].upload_id
    if event.pull_request is None or not event.measured_series:
        return ""
    upload = newest_judged(session, project_id, event.pull_request)
    return upload.id if upload else ""


def _event_notice(
    project_id: int,
    target: NoticeTarget,
    alarm: _Alarm,
    status: NoticeStatus,
    *,
    now: datetime,
) -> Notice:
    key = f"{EVENT_KEY}{alarm.event.id}"
    notice = new_notice(project_id, target, key, NoticeSubject.OPEN, now=now)
    return replace(
        notice,
        status=status,
        event_id=alarm.event.id,
        upload_id=alarm.upload_id,
        cause=told_cause(alarm.event),
    )


def queue_next_edition(
    session: Session, notice: Notice, changes: Mapping[str, object], *, now: datetime
) -> None:
    """Queue a notice again with some fields changed.

    It becomes another edition even if the last one is still queued, since that one may be on its
    way.
    """
    again = {
        "status": NoticeStatus.QUEUED,
        "edition": notice.edition + 1,
        "queued_at": now,
        "problem": "",
    }
    update_notice(session, notice, **again, **changes)


def new_notice(
    project_id: int, target: NoticeTarget, key: str, subject: NoticeSubject, *, now: datetime
) -> Notice:
    """Return the first edition of a notice to a target, to be sent."""
    return Notice(
        id=0,
        project_id=project_id,
        target_id=target.id,
        key=key,
        subject=subject,
        status=NoticeStatus.QUEUED,
        edition=1,
        queued_at=now,
    )
