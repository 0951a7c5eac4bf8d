"""Serves `/webhooks/github`, which takes commands from GitHub's signed deliveries."""

import hmac
import re
from dataclasses import replace
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, SecretStr

from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import NotFoundError, RefusedError, TooLargeError
from perfledger_service.usecases.comments.commands import (
    CommentReceipt,
    NewComment,
    delivery_command_id,
    receive_comment,
)
from perfledger_service.usecases.comments.grammar import PREFIX
from perfledger_service.usecases.comments.rerequests import Rerequest, receive_rerequest
from perfledger_service.usecases.uploads.machine_classes import work_at
from perfledger_service.usecases.uploads.merge_groups import ENDINGS, group_of, receive_group
from perfledger_service.usecases.uploads.merges import receive_closing
from perfledger_service.usecases.uploads.pushes import (
    receive_base_change,
    receive_opening,
    receive_push,
)
from perfledger_service.usecases.uploads.same_commit import checks_to_post
from perfledger_service.web.app_state import AppState, CurrentAppState
from perfledger_service.web.body_limit import check_declared_size
from perfledger_service.web.delivery_documents import (
    CheckDelivery,
    CommentDelivery,
    DeliveredLabel,
    MergeGroupDelivery,
    PullRequestDelivery,
    WebhookEvent,
    read_check,
    read_comment,
    read_merge_group,
    read_pull_request,
)
from perfledger_service.web.responses.problems import Problem
from perfledger_service.web.uploads import PROBLEMS

# A comment and a pull request's description have up to 65,536 characters each, written as JSON.
MAX_DELIVERY_BYTES = 4 * 2**20
CREATED_ACTION, USER_ACCOUNT = "created", "User"
CLOSED_STATE, OPENED, PUSH_ACTION, REOPENED = "closed", "opened", "synchronize", "reopened"
CHECKS_REQUESTED, DESTROYED = "checks_requested", "destroyed"
EDITED, LABELED, UNLABELED = "edited", "labeled", "unlabeled"
REREQUESTED = "rerequested"
ALLOW_LABEL = "perfledger-allow"
UNSIGNED_DELIVERY = "the delivery is not signed with PERFLEDGER_WEBHOOK_SECRET"
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")

router = APIRouter(prefix="/webhooks", tags=["webhooks"])


class CommentResponse(BaseModel):
    """Whether a delivery was accepted, and if not, the reason."""

    is_accepted: bool
    reason: str


async def signed_body(request: Request, state: CurrentAppState) -> bytes:
    """Return a delivery that GitHub signed; raise NotFoundError, RefusedError and TooLargeError.

    An empty secret counts as unset, because anybody could sign with it. While the secret is being
    replaced, both the old and the new one are accepted.
    """
    if not state.webhook_secret:
        msg = "webhooks are off: set PERFLEDGER_WEBHOOK_SECRET, and the same secret on GitHub"
        raise NotFoundError(msg)
    signature = request.headers.get("x-hub-signature-256", "")
    if not _SIGNATURE.fullmatch(signature):
        raise RefusedError(UNSIGNED_DELIVERY, status=401)
    check_declared_size(request.headers.get("content-length"), max_bytes=MAX_DELIVERY_BYTES)
    body = await _read_body(request)
    secrets = filter(None, (state.webhook_secret, state.previous_webhook_secret))
    matches = [_is_signed(body, signature, secret) for secret in secrets]  # always compared
    if not any(matches):
        raise RefusedError(UNSIGNED_DELIVERY, status=401)
    return body


@router.post(
    "/github",
    status_code=202,
    responses={
        200: {"model": CommentResponse, "description": "a comment that was already delivered"},
        400: {"model": Problem, "description": "signed, but not a delivery from GitHub"},
        401: {"model": Problem, "description": "not signed with the secret"},
        404: {"model": Problem, "description": "the service has no secret, and takes no webhooks"},
        413: PROBLEMS[413],
    },
)
def receive_delivery(
    state: CurrentAppState,
    request: Request,
    response: Response,
    body: Annotated[bytes, Depends(signed_body)],
) -> CommentResponse:
    """Receive a comment on a pull request; its command is carried out after the answer.

    Also receives pull requests that are opened, closed, labelled, pushed to or get another base,
    merge groups, and checks that somebody has run again.

    Only new comments by people count: others may edit a comment later. A comment that was already
    delivered is answered with 200 and changes nothing.
    """
    match request.headers.get("x-github-event"):
        case WebhookEvent.COMMENT:
            return _receive_comment(state, read_comment(body), response)
        case WebhookEvent.PULL_REQUEST:
            number = delivery_command_id(body)
            return _receive_change(state, read_pull_request(body), response, number=number)
        case WebhookEvent.MERGE_GROUP:
            return _receive_group(state, read_merge_group(body))
        case WebhookEvent.CHECK_RUN | WebhookEvent.CHECK_SUITE:
            return _receive_rerequest(state, read_check(body), body)
        case _:
            reason = "not a comment, a pull request, a merge group or a check"
            return CommentResponse(is_accepted=False, reason=reason)


def _receive_comment(
    state: AppState, delivery: CommentDelivery, response: Response
) -> CommentResponse:
    """Receive a comment; it is a command only if a person wrote it on an open pull request."""
    writer = delivery.comment.user
    is_from_person = delivery.action == CREATED_ACTION and delivery.sender.type == USER_ACCOUNT
    if writer is None or not is_from_person or writer.login != delivery.sender.login:
        return CommentResponse(is_accepted=False, reason="not a new comment by a person")
    if delivery.issue.pull_request is None:
        return CommentResponse(is_accepted=False, reason="not on a pull request")
    if delivery.issue.state == CLOSED_STATE:
        return CommentResponse(is_accepted=False, reason="the pull request is closed")
    author = delivery.issue.user
    new_comment = NewComment(
        repository=delivery.repository.full_name,
        repository_id=delivery.repository.id,
        pull_request=delivery.issue.number,
        comment_id=delivery.comment.id,
        login=writer.login,
        author=author.login if author else "",
        body=delivery.comment.body or "",
    )
    receipt = receive_comment(state.engine, new_comment, now=state.now())
    return _accept_command(state, receipt, response)


def _accept_command(
    state: AppState, receipt: CommentReceipt, response: Response
) -> CommentResponse:
    """Enqueue the work of a command; one that was already delivered is answered with 200."""
    if receipt.work is not None:
        state.workflow.enqueue_command(receipt.work)
    if receipt.is_repeated:
        response.status_code = 200
    return CommentResponse(is_accepted=receipt.work is not None, reason=receipt.reason)


def _receive_label(
    state: AppState, delivery: PullRequestDelivery, label: DeliveredLabel, *, number: int
) -> CommentReceipt:
    """Receive a label as the command that it stands for, by the person who added or removed it."""
    changed, sender = delivery.pull_request, delivery.sender
    if label.name != ALLOW_LABEL:
        return CommentReceipt(None, f"not the label {ALLOW_LABEL}")
    if sender is None or sender.type != USER_ACCOUNT or changed.head is None:
        return CommentReceipt(None, "not a label by a person")
    is_allowed = delivery.action == LABELED
    words = f"allow {changed.head.sha}" if is_allowed else "disallow"
    new_comment = NewComment(
        repository=delivery.repository.full_name,
        repository_id=delivery.repository.id,
        pull_request=changed.number,
        comment_id=number,
        login=sender.login,
        author=changed.user.login if changed.user else "",
        body=f"{PREFIX} {words}",
    )
    return receive_comment(state.engine, new_comment, now=state.now())


def _is_signed(body: bytes, signature: str, secret: SecretStr) -> bool:
    key = secret.get_secret_value().encode()
    expected = f"sha256={hmac.new(key, body, sha256).hexdigest()}"
    return hmac.compare_digest(expected, signature)


def _receive_change(
    state: AppState, delivery: PullRequestDelivery, response: Response, *, number: int
) -> CommentResponse:
    """Receive that a pull request was opened, closed, labelled or changed.

    `number` is that of the delivery's command.
    """
    changed, repository = delivery.pull_request, delivery.repository
    _post_shared_checks(state, delivery)
    if delivery.label is not None and delivery.action in {LABELED, UNLABELED}:
        receipt = _receive_label(state, delivery, delivery.label, number=number)
        return _accept_command(state, receipt, response)
    if delivery.action == PUSH_ACTION:
        reason = receive_push(
            state.engine,
            repository.full_name,
            repository.id,
            changed.number,
            before_sha=delivery.before,
            head_sha=delivery.after,
            now=state.now(),
        )
    elif delivery.action == CLOSED_STATE and (changed.merge_commit_sha or not changed.merged):
        reason = receive_closing(
            state.engine,
            repository.full_name,
            repository.id,
            changed.number,
            merged_sha=changed.merge_commit_sha if changed.merged else None,
            now=state.now(),
        )
    elif delivery.action == OPENED and changed.head is not None and changed.base is not None:
        reason = receive_opening(
            state.engine,
            repository.full_name,
            repository.id,
            changed.number,
            head_sha=changed.head.sha,
            base_ref=changed.base.ref,
            now=state.now(),
        )
    elif delivery.action == EDITED:
        reason = _receive_edit(state, delivery)
    else:
        reason = "not a closed pull request or a push to one"
    return CommentResponse(is_accepted=not reason, reason=reason)


def _receive_edit(state: AppState, delivery: PullRequestDelivery) -> str:
    """Receive that a pull request is to be merged into another branch; return why it is not."""
    changed, repository = delivery.pull_request, delivery.repository
    before = delivery.changes.base if delivery.changes else None
    if before is None or before.ref is None or changed.head is None or changed.base is None:
        return "not a change of a pull request's base"
    checks, reason = receive_base_change(
        state.engine,
        repository.full_name,
        repository.id,
        changed.number,
        head_sha=changed.head.sha,
        before_ref=before.ref.before,
        base_ref=changed.base.ref,
        now=state.now(),
    )
    for check in checks:
        state.workflow.enqueue_check(check)
    return reason


def _post_shared_checks(state: AppState, delivery: PullRequestDelivery) -> None:
    """Enqueue the check of a commit that others share with a pull request that came or left."""
    head_sha = delivery.pull_request.head.sha if delivery.pull_request.head else ""
    if delivery.action not in {CLOSED_STATE, PUSH_ACTION, REOPENED}:
        return
    checks = checks_to_post(
        state.engine,
        delivery.repository.full_name,
        delivery.repository.id,
        delivery.pull_request.number,
        delivery.before if delivery.action == PUSH_ACTION else head_sha,
        is_at=delivery.action == REOPENED,
        now=state.now(),
    )
    for check in checks:
        state.workflow.enqueue_check(check)


def _receive_group(state: AppState, delivery: MergeGroupDelivery) -> CommentResponse:
    """Receive a merge group that needs a check, or the end of one."""
    sent = delivery.merge_group
    group = group_of(sent.head_ref, sent.head_sha)
    if group is None or not SHA.fullmatch(sent.base_sha):
        return CommentResponse(is_accepted=False, reason="not a branch of a merge queue")
    is_new = delivery.action == CHECKS_REQUESTED
    is_end = delivery.action == DESTROYED and delivery.reason in ENDINGS
    if not (is_new or is_end):
        return CommentResponse(
            is_accepted=False, reason="not a merge group to check, nor the end of one"
        )
    group = replace(group, base_sha=sent.base_sha, ending=delivery.reason if is_end else "")
    now, repository = state.now(), delivery.repository
    head, reason = receive_group(state.engine, repository.full_name, repository.id, group, now=now)
    if head is not None:
        state.workflow.enqueue_check(work_at(head, now))
    return CommentResponse(is_accepted=head is not None, reason=reason)


def _receive_rerequest(state: AppState, delivery: CheckDelivery, body: bytes) -> CommentResponse:
    """Receive that somebody has our check run again, by GitHub's button of one check or of all."""
    check = delivery.check_run or delivery.check_suite
    if delivery.action != REREQUESTED or check is None:
        return CommentResponse(is_accepted=False, reason="not a check to run again")
    sender = delivery.sender
    rerequest = Rerequest(
        repository=delivery.repository.full_name,
        repository_id=delivery.repository.id,
        head_sha=check.head_sha,
        login=sender.login if sender.type == USER_ACCOUNT else "",
    )
    receipt = receive_rerequest(state.engine, rerequest, body=body, now=state.now())
    for one in receipt.checks:
        state.workflow.enqueue_check(one)
    for command in receipt.commands:
        state.workflow.enqueue_command(command)
    return CommentResponse(is_accepted=bool(receipt.checks), reason=receipt.reason)


async def _read_body(request: Request) -> bytes:
    """Return the body; raise TooLargeError past the limit, since the sender is not yet verified."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_DELIVERY_BYTES:
            msg = f"the delivery has more than {MAX_DELIVERY_BYTES} bytes: GitHub sends less"
            raise TooLargeError(msg)
    return bytes(body)
