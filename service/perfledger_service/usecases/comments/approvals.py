"""Stores approvals of the cost of a pull request's head.

    /perfledger approve b1946ac 12400 until 2026-12-31: the larger batch is worth it

The comment names the commit and the USD a year that the approver saw: it covers neither a later
push nor a more expensive result of the same commit.
"""

from datetime import datetime, timedelta

from sqlmodel import Session

from perfledger_cost_models.change_price.approval import is_entitled
from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_service.errors import RemovedError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.store.comments.approvals import MAX_APPROVALS, add_approval
from perfledger_service.store.comments.commands import StoredCommand
from perfledger_service.store.uploads import StoredUpload, newest_judged, restart_upload
from perfledger_service.usecases.comments.grammar import ApprovalCommand
from perfledger_service.usecases.uploads.reports import bundle_of
from perfledger_service.values.acceptance import MAX_DAYS

DEFAULT_DAYS = 90  # a quarter, after which prices are reviewed


def approve(
    session: Session, command: StoredCommand, order: ApprovalCommand, *, now: datetime
) -> str:
    """Store an approval and restart its upload; return why it is refused, or "".

    Only approvers named by a policy of the measured configuration are accepted. Whether an approval
    counts is decided each time the result is posted or shown. The caller holds the project's lock.
    """
    until = order.until or now.date() + timedelta(days=DEFAULT_DAYS)
    if not now.date() <= until <= now.date() + timedelta(days=MAX_DAYS):
        return f"until {until}: give a day within {MAX_DAYS} days from today"
    upload = _upload_to_approve(session, command, order)
    if isinstance(upload, str):
        return upload
    approval = Approval(
        login=command.login,
        is_author=command.login.lower() == command.author.lower(),
        usd_per_year=order.usd_per_year,
        covers_unpriced=order.covers_unpriced,
        reason=order.reason,
        approved_at=now,
        until=until,
    )
    if not add_approval(session, upload, approval, comment_id=command.comment_id):
        return f"this commit has {MAX_APPROVALS} approvals already"
    restart_upload(session, upload, retry_at=now)
    return ""


def _upload_to_approve(
    session: Session, command: StoredCommand, order: ApprovalCommand
) -> StoredUpload | str:
    """Return the upload that an approval is for, or the reason why there is none."""
    upload = newest_judged(session, command.project_id, command.pull_request)
    if upload is None:
        return "the pull request has no judged upload"
    if not upload.head_sha.startswith(order.commit):
        return f"the newest result is of {upload.head_sha}"
    try:
        policies = bundle_of(session, upload).pricing.policies
    except RemovedError as error:
        return f"{error}: measure it again with /perfledger rerun"
    if not any(is_entitled(policy, command.login) for policy in policies):
        return f"no policy names {clean(command.login, limit=40)} as an approver"
    return upload
