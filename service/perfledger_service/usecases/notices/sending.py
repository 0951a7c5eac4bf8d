"""Sends a queued notice to its target, idempotently as far as the target allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import NoticeServiceError
from perfledger_service.github.issues import Issues
from perfledger_service.notice_services.mail import MailSender
from perfledger_service.notice_services.webhook import WebhookSender
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import (
    last_reference,
    notice_by_id,
    target_by_id,
    update_notice,
)
from perfledger_service.store.projects import Project, project_by_id
from perfledger_service.usecases.notices.messages import message_of
from perfledger_service.usecases.notices.queue import TRIAGE_KEY
from perfledger_service.values.jobs.queued_work import QueuedNotice
from perfledger_service.values.notices.notice import (
    Notice,
    NoticeChannel,
    NoticeMessage,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)

MAX_PROBLEM = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSenders:
    """The channels that send notices; `issues` is None without GitHub."""

    webhooks: WebhookSender
    mail: MailSender
    issues: Issues | None


def send_notice(
    engine: Engine,
    work: QueuedNotice,
    *,
    senders: NoticeSenders,
    public_url: str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> str | None:
    """Send an edition of a notice and return the number of its issue, "" for none.

    Returns None if it was already sent or its target is gone. Raises NoticeServiceError and
    GitHubError.
    """
    with read_session(engine) as session:
        notice = notice_by_id(session, work.notice_id)
        if notice is None or not _is_due(notice, work):
            return None
        target = target_by_id(session, notice.target_id)
        project = project_by_id(session, notice.project_id)
        reference = notice.reference or _earlier_reference(session, notice)
    message = message_of(engine, project, notice, public_url=public_url, now=now())
    return _send(senders, project, target, message, reference=reference)


def record_sent(
    engine: Engine,
    work: QueuedNotice,
    reference: str,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Record that a notice was sent; separate from sending, so that either can be repeated."""
    sent = {"status": NoticeStatus.SENT, "sent_at": now(), "reference": reference, "problem": ""}
    _update_due(engine, work, sent)


def fail_notice(engine: Engine, work: QueuedNotice, reason: str, is_final: bool) -> None:
    """Record why a notice was not sent; if `is_final`, it is not attempted again."""
    status = NoticeStatus.FAILED if is_final else NoticeStatus.QUEUED
    _update_due(engine, work, {"status": status, "problem": reason[:MAX_PROBLEM]})


def _update_due(engine: Engine, work: QueuedNotice, changes: Mapping[str, object]) -> None:
    """Change a notice unless this edition has meanwhile changed otherwise."""
    with write_session(engine) as session:
        notice = notice_by_id(session, work.notice_id)
        if notice is None or not _is_due(notice, work):
            return
        update_notice(session, notice, **changes)
        session.commit()


def _is_due(notice: Notice, work: QueuedNotice) -> bool:
    return notice.status is NoticeStatus.QUEUED and notice.edition == work.edition


def _earlier_reference(session: Session, notice: Notice) -> str:
    """Return where a target's earlier reports are, so that the next one joins them."""
    if notice.subject is not NoticeSubject.TRIAGE:
        return ""
    return last_reference(session, notice.target_id, prefix=TRIAGE_KEY)


def _send(
    senders: NoticeSenders,
    project: Project,
    target: NoticeTarget,
    message: NoticeMessage,
    *,
    reference: str,
) -> str:
    """Send a message and return the number of its issue, "" for none."""
    match target.channel:
        case NoticeChannel.WEBHOOK:
            senders.webhooks.send(target.address, message)
        case NoticeChannel.MAIL:
            senders.mail.send(target.address, message)
        case NoticeChannel.ISSUE:
            if senders.issues is None:
                msg = "no issue is opened without GitHub credentials: set those of the App"
                raise NoticeServiceError(msg, is_transient=True)
            return _send_issue(senders.issues, project.repository, message, reference=reference)
    return ""


def _send_issue(issues: Issues, repository: str, message: NoticeMessage, *, reference: str) -> str:
    """Comment on the issue of earlier messages, or open one; return its number.

    If an attempt's answer was lost, what it wrote is found by its marker.
    """
    marker = f"<!-- perfledger:notice:{message.key} -->"
    body = f"{marker}\n{message.markdown}"
    if reference:
        number = int(reference)
        if issues.add_comment(repository, number, marker, body):
            issues.set_open(repository, number, is_open=not message.is_final)
            return reference
        if message.is_reply:  # people deleted the issue: its end is not announced
            return reference
    known_number = issues.find(repository, marker, since=message.since)
    number = known_number or issues.create(repository, message.title, body)
    if message.is_final:  # the first notice never opened an issue
        issues.set_open(repository, number, is_open=False)
    return str(number)
