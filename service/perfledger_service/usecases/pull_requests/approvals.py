"""Takes approvals of what a pull request's head costs from its comments.

    /perfledger approve b1946ac 12400 until 2026-12-31: the larger batch is worth it

The comment names the commit and the USD a year that the approver saw: it covers neither a later
push nor a more expensive result of the same commit.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Engine

from perfledger_cost_models.change.approval import is_entitled
from perfledger_cost_models.change.cost_policy import Approval
from perfledger_service.errors import NotFoundError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.store.approvals import MAX_APPROVALS, add_approval
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import lock_project, project_named
from perfledger_service.store.uploads import (
    StoredUpload,
    newest_judged,
    restart_upload,
    upload_by_id,
)
from perfledger_service.usecases.pull_requests.upload_reports import bundle_of
from perfledger_service.usecases.pull_requests.uploads import MAX_PULL_REQUEST, work_on
from perfledger_service.workflows import QueuedUpload

# A quarter, after which prices are reviewed; a year is as far ahead as prices are known.
DEFAULT_DAYS = 90
MOST_DAYS = 366
MAX_REASON = 300
MAX_COMMENT_ID = 2**63 - 1

_COMMAND = re.compile(
    r"/perfledger +approve +(?P<commit>[0-9a-f]{7,40}) +(?P<usd>[0-9][0-9,]{0,15}(?:\.[0-9]{1,2})?)"
    r"(?P<unpriced> +unpriced)?(?: +until +(?P<until>[0-9]{4}-[0-9]{2}-[0-9]{2}))? *: *"
    r"(?P<reason>[^ ].*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComment:
    """A new comment with its writer and the pull request's author."""

    repository: str
    pull_request: int
    comment_id: int
    login: str
    author: str
    body: str


@dataclass(frozen=True, slots=True)
class CommentResult:
    """Result of a comment: the work that it causes, or the reason why there is none."""

    work: QueuedUpload | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalCommand:
    """An approval as it was written in a comment."""

    commit: str  # a prefix
    usd_per_year: Decimal
    covers_unpriced: bool
    until: date | None
    reason: str


def parse_approval(body: str) -> ApprovalCommand | None:
    """Return the approval in a comment's first line, None for other comments."""
    line = body[: 10 * MAX_REASON].strip().splitlines()[:1]
    match = _COMMAND.fullmatch(line[0].rstrip()) if line else None
    if match is None:
        return None
    try:
        until = date.fromisoformat(match["until"]) if match["until"] else None
    except ValueError:
        return None
    return ApprovalCommand(
        commit=match["commit"],
        usd_per_year=Decimal(match["usd"].replace(",", "")),
        covers_unpriced=match["unpriced"] is not None,
        until=until,
        reason=clean(match["reason"], limit=MAX_REASON),
    )


def receive_comment(engine: Engine, new_comment: NewComment, *, now: datetime) -> CommentResult:
    """Store the approval in a comment, once, and post the commit's result again.

    Only approvers that a policy of the measured configuration names are accepted. Whether an
    approval counts is decided each time the result is posted or shown.
    """
    command = parse_approval(new_comment.body)
    if command is None:
        return CommentResult(None, "not an approval")
    until = command.until or now.date() + timedelta(days=DEFAULT_DAYS)
    if not now.date() <= until <= now.date() + timedelta(days=MOST_DAYS):
        return CommentResult(None, f"until {until}: give a day within {MOST_DAYS} days from today")
    upload = _upload_to_approve(engine, new_comment, command)
    if isinstance(upload, str):
        return CommentResult(None, upload)
    approval = Approval(
        login=new_comment.login,
        is_author=new_comment.login.lower() == new_comment.author.lower(),
        usd_per_year=command.usd_per_year,
        covers_unpriced=command.covers_unpriced,
        reason=command.reason,
        approved_at=now,
        until=until,
    )
    with write_session(engine) as session:
        lock_project(session, upload.project_id)
        is_new = add_approval(session, upload, approval, comment_id=new_comment.comment_id)
        if is_new:
            restart_upload(session, upload_by_id(session, upload.id))
        session.commit()
    if not is_new:
        return CommentResult(None, f"already stored, or {MAX_APPROVALS} others are")
    with read_session(engine) as session:
        return CommentResult(work_on(upload_by_id(session, upload.id)))


def _upload_to_approve(
    engine: Engine, new_comment: NewComment, command: ApprovalCommand
) -> StoredUpload | str:
    """Return the upload that an approval is for, or the reason why there is none."""
    if not (
        0 < new_comment.pull_request <= MAX_PULL_REQUEST
        and 0 < new_comment.comment_id <= MAX_COMMENT_ID
    ):
        return "the number of the pull request or comment is out of range"
    with read_session(engine) as session:
        try:
            project = project_named(session, new_comment.repository)
        except NotFoundError as error:
            return str(error)
        upload = newest_judged(session, project.id, new_comment.pull_request)
        if upload is None:
            return "the pull request has no judged upload"
        if not upload.head_sha.startswith(command.commit):
            return f"the newest result is of {upload.head_sha}"
        policies = bundle_of(session, upload).pricing.policies
    if not any(is_entitled(policy, new_comment.login) for policy in policies):
        return f"no policy names {clean(new_comment.login, limit=40)} as an approver"
    return upload
