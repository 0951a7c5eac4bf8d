"""Defines notices about events: their targets, their states, and their messages."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MAX_ADDRESS = 254  # characters of a mail address: the longest that SMTP can carry (RFC 5321)


class NoticeChannel(StrEnum):
    """How a notice is sent."""

    WEBHOOK = "webhook"  # Slack, or what takes the same JSON
    MAIL = "mail"
    ISSUE = "issue"  # of the repository on GitHub


class NoticeStatus(StrEnum):
    """State of a notice."""

    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"
    HELD = "held"  # beyond the quota; it will be counted in a summary
    COUNTED = "counted"  # in a summary
    SKIPPED = "skipped"  # its event was there before its target


class NoticeSubject(StrEnum):
    """The content of a notice: an event's state as far as it is sent, or a summary of many."""

    OPEN = "open"
    FIXED = "fixed"
    EXPECTED = "expected"
    ENVIRONMENT = "environment"
    NOT_FOUND = "no longer found"
    SUMMARY = "summary"  # of those beyond the quota
    TRIAGE = "triage"  # the weekly report
    PRICES = "prices"  # they are too old
    REVIEW = "review"  # of a quarter


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTarget:
    """Where a project's notices go.

    `address` is the name of a webhook in the service's settings, or an address of mail; "" for
    issues. With `is_early` it also gets events that no A/B run confirmed; with `is_weekly` the
    triage report, and notices of old prices and of quarterly reviews. At most `hourly` events are
    sent in an hour.
    """

    channel: NoticeChannel
    address: str = ""
    is_early: bool = False
    is_weekly: bool = False
    hourly: int = 10
    id: int = 0  # 0 until it is stored
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice to one target; each edition is sent once, the later ones where the first went.

    `key` says what it is about, and is unique in its target. `upload_id` is the check that confirms
    its event, "" without one; `count` the number of events that a summary stands for. `cause` is
    what was sent of its event, by which it is recognized after regrouping; for a review, what it
    lacks, "" once it is stored. `reference` is the number of its issue.
    """

    id: int
    project_id: int
    target_id: int
    key: str
    subject: NoticeSubject
    status: NoticeStatus
    edition: int
    queued_at: datetime
    sent_at: datetime | None = None
    event_id: int | None = None
    upload_id: str = ""
    count: int = 0
    cause: str = ""
    reference: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeOverview:
    """Where a project's notices go, and its newest ones, newest first."""

    repository: str
    targets: tuple[NoticeTarget, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeMessage:
    """What is sent of a notice: in Markdown, as plain text, and in a few lines for a chat.

    `key` is this message's alone; one that `is_reply` goes where the one with the key `thread`
    went. An issue is closed after a message that `is_final`.
    """

    thread: str
    key: str
    title: str
    markdown: str
    text: str
    summary: str
    is_reply: bool
    is_final: bool
    since: datetime  # no attempt to send it is older
    written_at: datetime
