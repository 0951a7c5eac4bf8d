"""Receives that somebody has a check run again with GitHub's own button.

GitHub resets the check to *queued*, and shows nothing else until we post it again.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session
from perfledger_service.store.heads.merge_groups import merge_group
from perfledger_service.store.heads.uploads import other_heads
from perfledger_service.store.uploads import MERGE_GROUP, CheckedHead
from perfledger_service.usecases.comments.commands import (
    NewComment,
    delivery_command_id,
    receive_comment,
)
from perfledger_service.usecases.comments.grammar import PREFIX
from perfledger_service.usecases.server.project import project_of_delivery
from perfledger_service.usecases.uploads.machine_classes import work_at
from perfledger_service.values.jobs.queued_work import QueuedCheck, QueuedCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerequest:
    """A commit whose check is to run again; `login` is the person's, "" for a program."""

    repository: str
    repository_id: int
    head_sha: str
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RerequestReceipt:
    """The checks to post again and the commands to carry out, or why there are none."""

    checks: tuple[QueuedCheck, ...] = ()
    commands: tuple[QueuedCommand, ...] = ()
    reason: str = ""


def receive_rerequest(
    engine: Engine, rerequest: Rerequest, *, body: bytes, now: datetime
) -> RerequestReceipt:
    """Have a commit's check posted again, and measured again if it is a pull request's.

    A person's request is the command `rerun` on each pull request with that head; `body` is the
    delivery, which is carried out once.
    """
    head_sha = rerequest.head_sha
    if not SHA.fullmatch(head_sha):
        return RerequestReceipt(reason="no such commit")
    with read_session(engine) as session:
        try:
            project = project_of_delivery(session, rerequest.repository, rerequest.repository_id)
        except NotFoundError as error:
            return RerequestReceipt(reason=str(error))
        group = CheckedHead(
            project_id=project.id,
            repository=project.repository,
            pull_request=MERGE_GROUP,
            head_sha=head_sha,
        )
        heads = other_heads(session, group)
        is_group = merge_group(session, project.id, head_sha) is not None
    if not (heads or is_group):
        return RerequestReceipt(reason="no check of this commit is posted")
    receipts = [
        receive_comment(
            engine,
            NewComment(
                repository=rerequest.repository,
                repository_id=rerequest.repository_id,
                pull_request=head.pull_request,
                comment_id=delivery_command_id(body + b"#%d" % head.pull_request),
                login=rerequest.login,
                author="",
                body=f"{PREFIX} rerun {head_sha}",
            ),
            now=now,
        )
        for head in (heads if rerequest.login else ())
    ]
    posted = (*heads[:1], *((group,) if is_group else ()))  # one check, whoever's head it is
    return RerequestReceipt(
        checks=tuple(work_at(one, now) for one in posted),
        commands=tuple(one.work for one in receipts if one.work is not None),
    )
