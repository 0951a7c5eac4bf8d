"""Decodes the few fields of GitHub's deliveries that are read; all others may change."""

from enum import StrEnum
from typing import TypeVar

import msgspec

from perfledger_service.errors import UsageError
from perfledger_service.usecases.uploads.merge_groups import MERGE_GROUP_EVENT

_Fields = TypeVar("_Fields")


class WebhookEvent(StrEnum):
    """GitHub's events that are read; every other one is answered and ignored."""

    COMMENT = "issue_comment"
    PULL_REQUEST = "pull_request"
    MERGE_GROUP = MERGE_GROUP_EVENT
    CHECK_RUN = "check_run"
    CHECK_SUITE = "check_suite"


class DeliveredPerson(msgspec.Struct):
    """An account; its type is that of people, or of bots."""

    login: str
    type: str = ""


class DeliveredRepository(msgspec.Struct):
    """A repository by number and name."""

    id: int
    full_name: str


class _Link(msgspec.Struct):
    """Marker that the issue is a pull request; its link is not followed."""


class _Issue(msgspec.Struct):
    number: int
    user: DeliveredPerson | None = None
    state: str = ""
    pull_request: _Link | None = None  # None for an ordinary issue


class _Comment(msgspec.Struct):
    id: int
    body: str | None = None
    user: DeliveredPerson | None = None


class CommentDelivery(msgspec.Struct):
    """The fields of an `issue_comment` delivery that are read."""

    action: str
    repository: DeliveredRepository
    issue: _Issue
    comment: _Comment
    sender: DeliveredPerson


class _Commit(msgspec.Struct):
    sha: str


class DeliveredLabel(msgspec.Struct):
    """A label by its name."""

    name: str


class _Branch(msgspec.Struct):
    ref: str = ""


class _PullRequest(msgspec.Struct):
    number: int
    user: DeliveredPerson | None = None
    head: _Commit | None = None
    base: _Branch | None = None
    merged: bool = False
    merge_commit_sha: str | None = None


class _ChangedText(msgspec.Struct, rename={"before": "from"}):
    before: str


class _ChangedBase(msgspec.Struct):
    ref: _ChangedText | None = None


class _Changes(msgspec.Struct):
    base: _ChangedBase | None = None


class PullRequestDelivery(msgspec.Struct):
    """The fields of a `pull_request` delivery that are read; a push has commits."""

    action: str
    repository: DeliveredRepository
    pull_request: _PullRequest
    sender: DeliveredPerson | None = None
    label: DeliveredLabel | None = None
    changes: _Changes | None = None  # of an edit
    before: str = ""
    after: str = ""


class _MergeGroup(msgspec.Struct):
    head_sha: str
    head_ref: str
    base_sha: str


class MergeGroupDelivery(msgspec.Struct):
    """The fields of a `merge_group` delivery that are read; `reason` says why it ended."""

    action: str
    repository: DeliveredRepository
    merge_group: _MergeGroup
    reason: str = ""


class _Check(msgspec.Struct):
    head_sha: str


class CheckDelivery(msgspec.Struct):
    """The fields of a `check_run` or `check_suite` delivery that are read."""

    action: str
    repository: DeliveredRepository
    sender: DeliveredPerson
    check_run: _Check | None = None
    check_suite: _Check | None = None


# Created here, since msgspec crashes if several threads are the first to decode a type.
_COMMENT_DECODER = msgspec.json.Decoder(CommentDelivery)
_PULL_REQUEST_DECODER = msgspec.json.Decoder(PullRequestDelivery)
_MERGE_GROUP_DECODER = msgspec.json.Decoder(MergeGroupDelivery)
_CHECK_DECODER = msgspec.json.Decoder(CheckDelivery)


def read_comment(body: bytes) -> CommentDelivery:
    """Return the fields of a comment's delivery; raise UsageError if it is not GitHub's."""
    return _read_delivery(body, _COMMENT_DECODER, event=WebhookEvent.COMMENT)


def read_pull_request(body: bytes) -> PullRequestDelivery:
    """Return the fields of a pull request's delivery; raise UsageError if it is not GitHub's."""
    return _read_delivery(body, _PULL_REQUEST_DECODER, event=WebhookEvent.PULL_REQUEST)


def read_merge_group(body: bytes) -> MergeGroupDelivery:
    """Return the fields of a merge group's delivery; raise UsageError if it is not GitHub's."""
    return _read_delivery(body, _MERGE_GROUP_DECODER, event=WebhookEvent.MERGE_GROUP)


def read_check(body: bytes) -> CheckDelivery:
    """Return the fields of a check's delivery; raise UsageError if it is not GitHub's."""
    return _read_delivery(body, _CHECK_DECODER, event=WebhookEvent.CHECK_RUN)


def _read_delivery(body: bytes, decoder: msgspec.json.Decoder[_Fields], *, event: str) -> _Fields:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the body is not a delivery of {event} from GitHub: {error}"
        raise UsageError(msg) from None
