"""Receives commands in comments, carries each out once and answers it.

The webhook only stores a command. A workflow, which may begin again at any point, carries it out:
what it changes is stored together with its answer, and the answer is found again by its marker.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import chain

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import NotFoundError, RemovedError
from perfledger_service.github.pull_requests import PullRequests
from perfledger_service.rendering.check import command_answers
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.store.comments.acceptances import add_acceptance
from perfledger_service.store.comments.command_jobs import command_jobs
from perfledger_service.store.comments.commands import (
    MAX_COMMANDS,
    CommandStatus,
    NewCommand,
    StoredCommand,
    add_command,
    command_by_id,
    is_known_comment,
    set_command,
    unfinished_commands,
)
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import lock_project
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import (
    newest_judged,
    restart_upload,
    upload_by_id,
)
from perfledger_service.usecases.comments.approvals import approve
from perfledger_service.usecases.comments.grammar import (
    MAX_LINE,
    AcceptCommand,
    ApprovalCommand,
    DisallowCommand,
    HelpQuestion,
    InvalidCommand,
    command_line,
    parse_command,
)
from perfledger_service.usecases.comments.job_commands import (
    disallow,
    queue_requested,
    requested_jobs,
)
from perfledger_service.usecases.events.pull_requests import (
    expect_accepted,
)
from perfledger_service.usecases.server.project import project_of_delivery
from perfledger_service.usecases.uploads.acceptances import acceptable_workloads
from perfledger_service.usecases.uploads.machine_classes import judged_of_head
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import work_on
from perfledger_service.values.acceptance import MAX_DAYS, Acceptance
from perfledger_service.values.jobs.queued_work import (
    QueuedAnswer,
    QueuedCommand,
    QueuedUpload,
    partition_of,
)

MAX_COMMENT_ID = 2**63 - 1
# GitHub's words for those who may push to the repository.
WRITERS = frozenset({"admin", "maintain", "write"})
# By whether a command waits for jobs.
_AFTER_ANSWER = {False: CommandStatus.DONE, True: CommandStatus.WAITING}
_NOT_SEEN = "the newest commit of this pull request had no result when this was written"
LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComment:
    """A new comment with its writer and the pull request's author."""

    repository: str
    repository_id: int  # GitHub's number
    pull_request: int
    comment_id: int
    login: str
    author: str
    body: str


@dataclass(frozen=True, slots=True)
class CommentReceipt:
    """The work that a comment causes, or the reason why there is none."""

    work: QueuedCommand | None
    reason: str = ""
    is_repeated: bool = False


def receive_comment(engine: Engine, comment: NewComment, *, now: datetime) -> CommentReceipt:
    """Store the command in a comment, only once however often it is delivered."""
    line = command_line(comment.body)
    if not line:
        return CommentReceipt(None, "not a command")
    is_possible = (
        0 < comment.pull_request <= MAX_PULL_REQUEST
        and 0 < abs(comment.comment_id) <= MAX_COMMENT_ID
        and LOGIN.fullmatch(comment.login)
    )
    if not is_possible:
        return CommentReceipt(None, "no such pull request, comment or login")
    with write_session(engine) as session:
        try:
            project = project_of_delivery(session, comment.repository, comment.repository_id)
        except NotFoundError as error:
            return CommentReceipt(None, str(error))
        lock_project(session, project.id)
        if is_known_comment(session, project.id, comment.comment_id):
            return CommentReceipt(None, "the comment was received before", is_repeated=True)
        command = add_command(
            session,
            NewCommand(
                project_id=project.id,
                pull_request=comment.pull_request,
                comment_id=comment.comment_id,
                login=comment.login,
                author=comment.author,
                line=line,
            ),
            now=now,
        )
        session.commit()
    if command is None:
        return CommentReceipt(
            None, f"more than {MAX_COMMANDS} commands of {comment.login} within a day"
        )
    return CommentReceipt(work_on_command(command, now=now))


def delivery_command_id(body: bytes) -> int:
    """Return the number of a delivery's command, negative so that no comment has it.

    GitHub signs the body and repeats it unchanged. The id of the delivery is a header, which is not
    signed: with another one, an old delivery would be a new command.
    """
    return -(int.from_bytes(sha256(body).digest()[:7]) + 1)


def unfinished_command_work(engine: Engine, *, now: datetime) -> tuple[QueuedCommand, ...]:
    """Return the stored commands that are not yet carried out or not yet answered."""
    with read_session(engine) as session:
        return tuple(work_on_command(command, now=now) for command in unfinished_commands(session))


def work_on_command(command: StoredCommand, *, now: datetime) -> QueuedCommand:
    """Return the queue entry of a command, or of a later edition of its answer."""
    partition = partition_of(command.project_id, command.pull_request)
    if not command.edition:
        return QueuedCommand(command_id=command.id, partition=partition, due_at=command.received_at)
    return QueuedAnswer(
        command_id=command.id, partition=partition, due_at=now, edition=command.edition
    )


def carry_out(
    engine: Engine,
    command_id: int,
    *,
    pull_requests: PullRequests | None,
    reports: UploadReports,
    public_url: str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> tuple[QueuedUpload, ...]:
    """Carry out a command and answer it, and return the uploads to post again.

    Can be repeated at any point: decisions are kept, and the answer is posted once. Without GitHub
    (None) nothing is answered. Raises GitHubError.
    """
    with read_session(engine) as session:
        command = command_by_id(session, command_id)
    if command.status is CommandStatus.RECEIVED:
        _decide(
            engine,
            command,
            pull_requests=pull_requests,
            reports=reports,
            public_url=public_url,
            now=now(),
        )
        with read_session(engine) as session:
            command = command_by_id(session, command_id)
    if command.status is CommandStatus.DECIDED:
        if pull_requests is not None:
            _answer(command, pull_requests)
        with write_session(engine) as session:
            waits = bool(command_jobs(session, command_id))
            set_command(session, command_id, _AFTER_ANSWER[waits])
            session.commit()
    with read_session(engine) as session:
        upload = newest_judged(session, command.project_id, command.pull_request)
        head = upload.head if upload else None
        uploads = judged_of_head(session, head) if head else ()
    return tuple(work_on(one) for one in uploads if one.retry_at is not None)


def fail_command(engine: Engine, command_id: int, reason: str) -> None:
    """Record that a command could not be carried out, and why."""
    with write_session(engine) as session:
        set_command(session, command_id, CommandStatus.FAILED, answer=reason)
        session.commit()


def _decide(
    engine: Engine,
    command: StoredCommand,
    *,
    pull_requests: PullRequests | None,
    reports: UploadReports,
    public_url: str,
    now: datetime,
) -> None:
    """Store what a command changes together with its answer, "" if it was carried out."""
    order = parse_command(command.line)
    # Before the lock: GitHub is asked, and a report may have to be computed.
    if isinstance(order, InvalidCommand):
        change = _answer_only(command_answers.invalid_answer(order.problem))
    elif isinstance(order, HelpQuestion):
        change = _answer_only(command_answers.help_answer())
    elif isinstance(order, ApprovalCommand):
        change = partial(_approve, command, order, now=now)
    elif pull_requests is None or not _may_write(command, pull_requests):
        answer = command_answers.no_write_access_answer(command.login, command.repository)
        change = _answer_only(answer)
    elif isinstance(order, AcceptCommand):
        head = _judged_head(engine, command, reports=reports, now=now)
        change = partial(_accept, command, order, head=head, now=now)
    elif isinstance(order, DisallowCommand):
        change = partial(disallow, command, now=now)
    else:
        jobs = requested_jobs(engine, command, order, pull_requests=pull_requests, now=now)
        change = partial(queue_requested, command, jobs, public_url=public_url, now=now)
    with write_session(engine) as session:
        lock_project(session, command.project_id)
        set_command(session, command.id, CommandStatus.DECIDED, answer=change(session))
        session.commit()


def _answer_only(answer: str) -> Callable[[Session], str]:
    """Return an answer without any change."""
    return lambda _session: answer


def _approve(
    command: StoredCommand, order: ApprovalCommand, session: Session, *, now: datetime
) -> str:
    return command_answers.refusal_answer(approve(session, command, order, now=now))


def _may_write(command: StoredCommand, pull_requests: PullRequests) -> bool:
    """Return whether GitHub says that a command's writer may push to the repository."""
    return pull_requests.permission(command.repository, command.login) in WRITERS


def _accept(
    command: StoredCommand,
    order: AcceptCommand,
    session: Session,
    *,
    head: "_JudgedHead | str",
    now: datetime,
) -> str:
    """Store an acceptance and restart what it covers; return why it is refused, or ""."""
    if order.until is not None and not _is_near(order.until, now=now):
        return command_answers.refusal_answer(
            f"--until {order.until} is not within {MAX_DAYS} days from today"
        )
    if isinstance(head, str):
        return command_answers.refusal_answer(head)
    all_workloads = tuple(dict.fromkeys(chain.from_iterable(head.workloads.values())))
    workload = next((name for name in all_workloads if _is_name(order.workload, name)), "")
    if order.workload and not workload:
        return command_answers.unknown_workload_answer(order.workload, all_workloads)
    acceptance = Acceptance(
        pull_request=command.pull_request,
        head_sha=head.sha,
        login=command.login,
        workload=workload,
        reason=order.reason,
        accepted_at=command.received_at,
        until=order.until,
    )
    if not add_acceptance(session, command.project_id, acceptance, comment_id=command.comment_id):
        return command_answers.refusal_answer("too much of this pull request is accepted already")
    expect_accepted(session, command.project_id, command.pull_request, now=now)
    for upload_id, names in head.workloads.items():
        if not workload or workload in names:
            restart_upload(session, upload_by_id(session, upload_id), retry_at=now)
    return ""


def _is_name(text: str, workload: str) -> bool:
    """Return whether a text is a workload's id, as far as a comment can tell."""
    return clean(text, limit=MAX_LINE) == clean(workload, limit=MAX_LINE)


@dataclass(frozen=True, slots=True)
class _JudgedHead:
    """A head commit, and the workloads of each of its newest uploads that can be accepted."""

    sha: str
    workloads: Mapping[str, tuple[str, ...]]


def _judged_head(
    engine: Engine, command: StoredCommand, *, reports: UploadReports, now: datetime
) -> _JudgedHead | str:
    """Return the head of a pull request's newest judged upload, or why nothing of it is accepted.

    The command's writer did not see results judged after it was written.
    """
    with read_session(engine) as session:
        newest = newest_judged(session, command.project_id, command.pull_request)
        head = newest.head if newest else None
        uploads = judged_of_head(session, head) if head else ()
        times = [upload.judged_at for upload in uploads if upload.judged_at is not None]
        if newest is None or min(times, default=now) > command.received_at:
            return _NOT_SEEN
        try:
            workloads = {
                one.id: acceptable_workloads(reports.report(session, one, today=now.date())[0])
                for one in uploads
            }
        except RemovedError as error:
            return f"{error}: measure it again with /perfledger rerun"
    return _JudgedHead(newest.head_sha, workloads)


def _is_near(until: date, *, now: datetime) -> bool:
    return now.date() <= until <= now.date() + timedelta(days=MAX_DAYS)


def _answer(command: StoredCommand, pull_requests: PullRequests) -> None:
    """Answer a command once: a thumbs-up if it was carried out, else a comment, edited later.

    Our own login gets no answer, since it could answer itself.
    """
    repository, me = command.repository, pull_requests.me()
    if command.login == me:
        return
    if not command.answer and command.comment_id < 0:  # a label cannot be given a thumb
        return
    if not command.answer:
        pull_requests.react(repository, command.comment_id)
        return
    marker = command_answers.answer_marker(command.comment_id)
    body = f"{marker}\n{command.answer}"
    ours = [
        comment
        for comment in pull_requests.comments(repository, command.pull_request)
        if comment.author == me and comment.body.startswith(marker)
    ]
    if ours and ours[0].body.strip() != body.strip():
        pull_requests.update_comment(repository, ours[0].id, body)
    for extra in ours[1:]:  # GitHub may have created one although its answer was lost
        pull_requests.delete_comment(repository, extra.id)
    if not ours and not command.edition:  # an answer that somebody deleted is not posted again
        pull_requests.create_comment(repository, command.pull_request, body)
