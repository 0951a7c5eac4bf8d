"""`/webhooks/github`: GitHub's signed deliveries in, approvals and the work they make out."""

import hmac
import re
from hashlib import sha256
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict

from perfledger_service.errors import NotFoundError, RefusedError, TooLargeError, UsageError
from perfledger_service.usecases.approving import Commented, hear
from perfledger_service.web.hub import AnyHub
from perfledger_service.web.limits import check_declared_size
from perfledger_service.web.uploads import PROBLEMS

# A comment and a pull request's text have 65,536 characters each, written as JSON.
MAX_DELIVERY_BYTES = 4 * 2**20
COMMENTED, CREATED, PERSON, CLOSED = "issue_comment", "created", "User", "closed"
UNSIGNED = "the delivery is not signed with the secret that is set here"
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")

router = APIRouter(prefix="/webhooks", tags=["webhooks"])


class HeardAnswer(BaseModel):
    """Whether a delivery made work, and if not why."""

    model_config = ConfigDict(frozen=True)

    is_heard: bool
    why: str


class _Person(msgspec.Struct):
    login: str
    type: str = ""


class _Repository(msgspec.Struct):
    full_name: str


class _Link(msgspec.Struct):
    """That the issue is a pull request; where it links to is not followed."""


class _Issue(msgspec.Struct):
    number: int
    user: _Person | None = None
    state: str = ""
    pull_request: _Link | None = None  # a plain issue has none


class _Comment(msgspec.Struct):
    id: int
    body: str | None = None
    user: _Person | None = None


class _Delivery(msgspec.Struct):
    """As much of an `issue_comment` as is read."""

    action: str
    repository: _Repository
    issue: _Issue
    comment: _Comment
    sender: _Person


async def signed_body(request: Request, hub: AnyHub) -> bytes:
    """Return a delivery that GitHub signed; raise NotFoundError, RefusedError and TooLargeError.

    A secret that is set to nothing is none: everybody could sign with it.
    """
    if not hub.webhook_secret:
        msg = "no webhooks here: set PERFLEDGER_WEBHOOK_SECRET, and the same secret at GitHub"
        raise NotFoundError(msg)
    given = request.headers.get("x-hub-signature-256", "")
    if not _SIGNATURE.fullmatch(given):
        raise RefusedError(UNSIGNED, status=401)
    check_declared_size(request.headers.get("content-length"), max_bytes=MAX_DELIVERY_BYTES)
    body = await _read_body(request)
    secret = hub.webhook_secret.get_secret_value().encode()
    wanted = f"sha256={hmac.new(secret, body, sha256).hexdigest()}"
    if not hmac.compare_digest(wanted, given):
        raise RefusedError(UNSIGNED, status=401)
    return body


@router.post(
    "/github",
    status_code=202,
    responses={
        400: {**PROBLEMS[400], "description": "signed, but no delivery of GitHub's"},
        401: {**PROBLEMS[401], "description": "not signed with the secret"},
        413: PROBLEMS[413],
    },
)
def receive_delivery(
    hub: AnyHub, request: Request, body: Annotated[bytes, Depends(signed_body)]
) -> HeardAnswer:
    """Hear what was commented under a pull request.

    A comment counts as it was written: edited ones do not, for others may edit them, and neither
    do those of machines.
    """
    if request.headers.get("x-github-event") != COMMENTED:
        return HeardAnswer(is_heard=False, why="not a comment")
    delivery = _read(body)
    writer = delivery.comment.user
    is_plain = delivery.action == CREATED and delivery.sender.type == PERSON
    if writer is None or not is_plain or writer.login != delivery.sender.login:
        return HeardAnswer(is_heard=False, why="not a new comment of a person")
    if delivery.issue.pull_request is None:
        return HeardAnswer(is_heard=False, why="not under a pull request")
    if delivery.issue.state == CLOSED:
        return HeardAnswer(is_heard=False, why="the pull request is closed")
    author = delivery.issue.user
    said = Commented(
        repository=delivery.repository.full_name,
        pull_request=delivery.issue.number,
        comment_id=delivery.comment.id,
        login=writer.login,
        author=author.login if author else "",
        body=delivery.comment.body or "",
    )
    heard = hear(hub.engine, said, now=hub.now())
    if heard.work is not None:
        hub.jobs.enqueue(heard.work)
    return HeardAnswer(is_heard=heard.work is not None, why=heard.why)


async def _read_body(request: Request) -> bytes:
    """Return a body of which no more is read, before it is known whose it is, than may be there."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_DELIVERY_BYTES:
            msg = f"a delivery of more than {MAX_DELIVERY_BYTES} bytes is none of GitHub's"
            raise TooLargeError(msg)
    return bytes(body)


def _read(body: bytes) -> _Delivery:
    try:
        return msgspec.json.decode(body, type=_Delivery)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"no issue_comment of GitHub's: {error}"
        raise UsageError(msg) from None
