"""Queues a notice when a quarter's review is stored, or when it lacks something."""

from dataclasses import replace
from datetime import datetime

from sqlmodel import Session

from perfledger_service.store.events.notices import (
    add_notice,
    last_of_kind,
    targets_of,
)
from perfledger_service.usecases.notices.queue import new_notice, queue_next_edition
from perfledger_service.values.notices.notice import (
    NoticeChannel,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)

REVIEW_KEY = "review-"


def queue_review_notices(
    session: Session, project_id: int, quarter: str, *, problem: str, now: datetime
) -> None:
    """Notify the readers of a project's weekly report once of a review, or of its problem.

    `problem` is "" for a review that is stored. After a problem, only the stored review is
    announced, or the next problem if the first could not be sent. Nothing goes to the repository's
    issues, as a problem may name private files and prices. The caller holds the project's lock.
    """
    for target in targets_of(session, project_id):
        if target.is_weekly and target.channel is not NoticeChannel.ISSUE:
            _queue(session, project_id, target, quarter, problem=problem, now=now)


def _queue(
    session: Session,
    project_id: int,
    target: NoticeTarget,
    quarter: str,
    *,
    problem: str,
    now: datetime,
) -> None:
    key = f"{REVIEW_KEY}{quarter}"
    notice = last_of_kind(session, target.id, prefix=key)
    if notice is None:
        first = new_notice(project_id, target, key, NoticeSubject.REVIEW, now=now)
        add_notice(session, replace(first, cause=problem))
    elif notice.cause and (not problem or notice.status is NoticeStatus.FAILED):
        queue_next_edition(session, notice, {"cause": problem}, now=now)
