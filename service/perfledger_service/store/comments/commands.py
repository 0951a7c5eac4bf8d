"""Stores the commands in comments."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
from sqlalchemy import func, update
from sqlmodel import Session, col, select

from perfledger_service.store.comments.tables import CommentCommandRow
from perfledger_service.store.tables import ProjectRow

# Per person, pull request and day; further commands are neither carried out nor answered.
MAX_COMMANDS = 50
COUNTED_PERIOD = timedelta(days=1)


class CommandStatus(StrEnum):
    """Status of a command: its changes are stored with `decided`, then it is answered.

    A command that waits for jobs is decided again when its answer changes.
    """

    RECEIVED = "received"
    DECIDED = "decided"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommand:
    """A new comment's command, with its writer and the pull request's author."""

    project_id: int
    pull_request: int
    comment_id: int
    login: str
    author: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCommand(NewCommand):
    """A stored command; `answer` is "" if it is carried out without a reply."""

    id: int
    repository: str
    received_at: datetime
    status: CommandStatus
    answer: str
    edition: int  # of the answer, 0 is the first


_STORED_COMMAND_DECODER = msgspec.json.Decoder(StoredCommand)


def is_known_comment(session: Session, project_id: int, comment_id: int) -> bool:
    """Return whether a comment's command is stored."""
    is_it = col(CommentCommandRow.comment_id) == comment_id
    of_project = col(CommentCommandRow.project_id) == project_id
    return session.exec(select(CommentCommandRow.id).where(of_project, is_it)).first() is not None


def add_command(session: Session, command: NewCommand, *, now: datetime) -> StoredCommand | None:
    """Store a new comment's command; return None if its writer has reached the limit.

    The caller holds the project's lock.
    """
    of_project = col(CommentCommandRow.project_id) == command.project_id
    count = select(func.count()).where(
        of_project,
        col(CommentCommandRow.pull_request) == command.pull_request,
        func.lower(CommentCommandRow.login) == command.login.lower(),
        col(CommentCommandRow.received_at) > now - COUNTED_PERIOD,
    )
    if session.exec(count).one() >= MAX_COMMANDS:
        return None
    row = CommentCommandRow(
        project_id=command.project_id,
        pull_request=command.pull_request,
        comment_id=command.comment_id,
        login=command.login,
        author=command.author,
        line=command.line,
        received_at=now,
    )
    session.add(row)
    session.flush()
    return command_by_id(session, row.id or 0)


def command_by_id(session: Session, command_id: int) -> StoredCommand:
    """Return a command."""
    row, repository = session.exec(
        select(CommentCommandRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(CommentCommandRow.id) == command_id)
    ).one()
    return row.to_value(_STORED_COMMAND_DECODER, repository=repository)


def unfinished_commands(session: Session) -> tuple[StoredCommand, ...]:
    """Return the commands not yet carried out or answered, oldest first."""
    return commands_with(session, CommandStatus.RECEIVED, CommandStatus.DECIDED)


def commands_with(session: Session, *statuses: CommandStatus) -> tuple[StoredCommand, ...]:
    """Return the commands with some statuses, oldest first."""
    rows = session.exec(
        select(CommentCommandRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(CommentCommandRow.status).in_(statuses))
        .order_by(col(CommentCommandRow.id))
    )
    return tuple(
        row.to_value(_STORED_COMMAND_DECODER, repository=repository) for row, repository in rows
    )


def set_command(
    session: Session,
    command_id: int,
    status: CommandStatus,
    *,
    answer: str | None = None,
    edition: int | None = None,
) -> None:
    """Record a command's status and, if given, its answer and the answer's edition."""
    columns = {"status": status, "answer": answer, "edition": edition}
    values = {name: value for name, value in columns.items() if value is not None}
    session.exec(
        update(CommentCommandRow).where(col(CommentCommandRow.id) == command_id).values(**values)
    )
