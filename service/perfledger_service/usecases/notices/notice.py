"""Sets where a project's notices go, and lists those sent."""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_service.errors import UsageError
from perfledger_service.notice_services.mail import is_address
from perfledger_service.notice_services.webhook import WEBHOOK_NAME, WEBHOOKS_SETTING
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import (
    add_target,
    notices_of,
    remove_target,
    targets_of,
)
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import lock_project, project_named
from perfledger_service.usecases.notices.queue import skip_open_events
from perfledger_service.values.notices.notice import NoticeChannel, NoticeOverview, NoticeTarget
from perfledger_service.values.people.person import Actor, AuditAction

MAX_HOURLY = 1000  # notices of a target; beyond it they are counted in a summary


def set_target(
    engine: Engine, repository: str, target: NoticeTarget, *, actor: Actor, now: datetime
) -> NoticeOverview:
    """Send a project's notices to a target from now on, except for existing events.

    Raises UsageError for an address that is not one of its channel, NotFoundError for no project
    and ConflictError for too many targets.
    """
    _check_target(target)
    with write_session(engine) as session:
        project = project_named(session, repository)
        lock_project(session, project.id)
        is_new = not any(
            (one.channel, one.address) == (target.channel, target.address)
            for one in targets_of(session, project.id)
        )
        stored = add_target(session, project.id, target, now=now)
        if is_new:
            skip_open_events(session, project.id, stored, now=now)
        detail = f"notices to {stored.channel} {stored.address}".rstrip()
        add_audit_entry(
            session,
            AuditAction.CHANGE_PROJECT,
            actor,
            project_id=project.id,
            detail=detail,
            now=now,
        )
        session.commit()
    return notice_overview(engine, repository)


def end_target(
    engine: Engine,
    repository: str,
    channel: NoticeChannel,
    address: str,
    *,
    actor: Actor,
    now: datetime,
) -> NoticeOverview:
    """Stop sending notices to a target; raise NotFoundError if none go there."""
    with write_session(engine) as session:
        project = project_named(session, repository)
        lock_project(session, project.id)
        remove_target(session, project.id, channel, address)
        detail = f"no more notices to {channel} {address}".rstrip()
        add_audit_entry(
            session,
            AuditAction.CHANGE_PROJECT,
            actor,
            project_id=project.id,
            detail=detail,
            now=now,
        )
        session.commit()
    return notice_overview(engine, repository)


def notice_overview(engine: Engine, repository: str) -> NoticeOverview:
    """Return where a project's notices go; raise NotFoundError for no project."""
    with read_session(engine) as session:
        project = project_named(session, repository)
        return NoticeOverview(
            repository=project.repository,
            targets=targets_of(session, project.id),
            notices=notices_of(session, project.id),
        )


def _check_target(target: NoticeTarget) -> None:
    problem = _address_problem(target.channel, target.address)
    if problem:
        raise UsageError(problem)
    if not 1 <= target.hourly <= MAX_HOURLY:
        msg = f"{target.hourly} notices an hour is not between 1 and {MAX_HOURLY}"
        raise UsageError(msg)


def _address_problem(channel: NoticeChannel, address: str) -> str:
    """Return what is wrong with an address for its channel, "" if nothing is."""
    match channel:
        case NoticeChannel.WEBHOOK:
            is_fine = WEBHOOK_NAME.fullmatch(address) is not None
            return "" if is_fine else f"name a webhook of {WEBHOOKS_SETTING}, not its URL"
        case NoticeChannel.MAIL:
            return "" if is_address(address) else "give one address of mail"
        case NoticeChannel.ISSUE:
            return "" if not address else "issues are those of the repository: give no address"
