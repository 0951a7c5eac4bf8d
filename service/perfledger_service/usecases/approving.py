"""A comment under a pull request in, an approval of what its head costs out.

    /perfledger approve b1946ac 12400 until 2026-12-31: the larger batch is worth it

names the commit and the USD a year that were seen: neither a later push nor a dearer result of the
same commit is covered by it.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Engine

from perfledger_cost_models.approval import is_entitled
from perfledger_cost_models.policy import Approval
from perfledger_service.errors import NotFoundError
from perfledger_service.jobs import Work
from perfledger_service.pages.escape import clean
from perfledger_service.store.approvals import MAX_APPROVALS, add_approval
from perfledger_service.store.database import reading, writing
from perfledger_service.store.projects import lock_project, project_named
from perfledger_service.store.uploads import (
    StoredUpload,
    begin_again,
    newest_judged,
    upload_by_id,
)
from perfledger_service.usecases.uploads import MAX_PULL_REQUEST, bundle_of, work_on

# As long as a quarter's prices are looked at again; a year is as far as prices can be seen at all.
USUAL_DAYS = 90
MOST_DAYS = 366
MAX_REASON = 300
MAX_COMMENT_ID = 2**63 - 1

_COMMAND = re.compile(
    r"/perfledger +approve +(?P<commit>[0-9a-f]{7,40}) +(?P<usd>[0-9][0-9,]{0,15}(?:\.[0-9]{1,2})?)"
    r"(?P<unpriced> +unpriced)?(?: +until +(?P<until>[0-9]{4}-[0-9]{2}-[0-9]{2}))? *: *"
    r"(?P<reason>[^ ].*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commented:
    """A comment that GitHub says was just written, by whom, and who wrote the pull request."""

    repository: str
    pull_request: int
    comment_id: int
    login: str
    author: str
    body: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of a comment: work, or why there is none."""

    work: Work | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """An approval as it was written."""

    commit: str  # the beginning of it
    usd_per_year: Decimal
    covers_unpriced: bool
    until: date | None
    reason: str


def command_in(body: str) -> Command | None:
    """Return the approval that a comment's first line is, None for any other comment."""
    line = body[: 10 * MAX_REASON].strip().splitlines()[:1]
    match = _COMMAND.fullmatch(line[0].rstrip()) if line else None
    if match is None:
        return None
    try:
        until = date.fromisoformat(match["until"]) if match["until"] else None
    except ValueError:
        return None
    return Command(
        commit=match["commit"],
        usd_per_year=Decimal(match["usd"].replace(",", "")),
        covers_unpriced=match["unpriced"] is not None,
        until=until,
        reason=clean(match["reason"], limit=MAX_REASON),
    )


def hear(engine: Engine, said: Commented, *, now: datetime) -> Heard:
    """Store the approval that a comment is, once, and have the commit's result said anew.

    Only those whom a policy of the measured configuration names are heard. Whether an approval
    counts is decided each time that the result is said or shown.
    """
    command = command_in(said.body)
    if command is None:
        return Heard(None, "no approval")
    until = command.until or now.date() + timedelta(days=USUAL_DAYS)
    if not now.date() <= until <= now.date() + timedelta(days=MOST_DAYS):
        return Heard(None, f"until {until}: give a day within {MOST_DAYS} days from today")
    upload = _measured(engine, said, command)
    if isinstance(upload, str):
        return Heard(None, upload)
    approval = Approval(
        login=said.login,
        is_author=said.login.lower() == said.author.lower(),
        usd_per_year=command.usd_per_year,
        covers_unpriced=command.covers_unpriced,
        reason=command.reason,
        said_at=now,
        until=until,
    )
    with writing(engine) as session:
        lock_project(session, upload.project_id)
        is_new = add_approval(session, upload, approval, comment_id=said.comment_id)
        if is_new:
            begin_again(session, upload_by_id(session, upload.id))
        session.commit()
    if not is_new:
        return Heard(None, f"heard before, or {MAX_APPROVALS} others were")
    with reading(engine) as session:
        return Heard(work_on(upload_by_id(session, upload.id)))


def _measured(engine: Engine, said: Commented, command: Command) -> StoredUpload | str:
    """Return the upload that an approval speaks of, or why there is none for it."""
    if not (0 < said.pull_request <= MAX_PULL_REQUEST and 0 < said.comment_id <= MAX_COMMENT_ID):
        return "no number of a pull request or of a comment"
    with reading(engine) as session:
        try:
            project = project_named(session, said.repository)
        except NotFoundError as error:
            return str(error)
        upload = newest_judged(session, project.id, said.pull_request)
        if upload is None:
            return "nothing is judged there"
        if not upload.head_sha.startswith(command.commit):
            return f"the newest result is of {upload.head_sha}"
        policies = bundle_of(session, upload).pricing.policies
    if not any(is_entitled(policy, said.login) for policy in policies):
        return f"no policy names {clean(said.login, limit=40)} as an approver"
    return upload
