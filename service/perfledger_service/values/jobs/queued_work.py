"""Defines the entries of the queue of durable work.

The engine stores them by name, so `workflows` must know each of these names forever.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

MAX_LATER_ATTEMPTS = 100  # of a check to post, a command or a notice: for a day


def partition_of(project_id: int, subject: int | str) -> str:
    """Return the partition of a pull request's work, or of a commit without one.

    It has no name of the repository: work before and after it was renamed must not overlap.
    """
    return f"{project_id}#{subject}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedUpload:
    """An upload to process; uploads of one partition are processed in order, one at a time.

    `attempt` counts from 1: a failed upload runs again only as the next attempt, which may be due
    later.
    """

    upload_id: str
    partition: str
    attempt: int = 1
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedCheck:
    """A pull request's head whose check will be posted, or posted again, at a given time."""

    project_id: int
    repository: str
    pull_request: int
    head_sha: str
    due_at: datetime
    attempt: int = 1

    @property
    def partition(self) -> str:
        """Return the partition of the uploads of the same pull request."""
        return partition_of(self.project_id, self.pull_request)

    @property
    def id(self) -> str:
        """Return the id of the work: one per head and time."""
        moment = self.due_at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f")
        return f"check-{self.project_id}-{self.pull_request}-{self.head_sha}-{moment}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedCommand:
    """A command in a comment, to carry out once, with the partition of its pull request."""

    command_id: int
    partition: str
    due_at: datetime
    attempt: int = 1

    @property
    def id(self) -> str:
        """Return the id of the work: one per command and attempt."""
        return f"command-{self.command_id}-{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedAnswer(QueuedCommand):
    """A later edition of the answer to a command, which waits for its jobs."""

    edition: int

    @property
    def id(self) -> str:
        """Return the id of the work: one per edition and attempt."""
        return f"answer-{self.command_id}-{self.edition}-{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRetention:
    """The removal of what is past its retention period, once from a time on: a day's midnight."""

    due_at: datetime

    @property
    def id(self) -> str:
        """Return the id of the work, which is done once."""
        return f"retention-{self.due_at:%Y-%m-%d}"

    @property
    def partition(self) -> str:
        """Return the queue's partition: one at a time."""
        return "retention"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedReview:
    """A day's attempt to make the review of a past quarter."""

    quarter: str
    due_at: datetime

    @property
    def id(self) -> str:
        """Return the id of the work: one per quarter and day, until its review is stored."""
        return f"review-{self.quarter}-{self.due_at:%Y-%m-%d}"

    @property
    def partition(self) -> str:
        """Return the queue's partition: one at a time."""
        return "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedNotice:
    """An edition of a notice, to send once; those to one target are sent in order."""

    notice_id: int
    target_id: int
    edition: int
    due_at: datetime
    attempt: int = 1

    @property
    def partition(self) -> str:
        """Return the partition of the notices to the same target."""
        return f"notices-{self.target_id}"

    @property
    def id(self) -> str:
        """Return the id of the work: one per edition and attempt."""
        return f"notice-{self.notice_id}-{self.edition}-{self.attempt}"
