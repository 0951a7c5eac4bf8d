"""A judged upload in, one comment and one check run on its pull request out."""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_service.github.pull_requests import Check, PullRequest, PullRequests
from perfledger_service.pages.comment import MARKER, check_summary, comment
from perfledger_service.report import Report
from perfledger_service.store.database import reading, writing
from perfledger_service.store.said import Said, remember_said, said_before
from perfledger_service.store.uploads import (
    StoredUpload,
    set_said,
    set_status,
    upload_by_id,
)
from perfledger_service.usecases.uploads import Reporter, measured_at, moment, report_of
from perfledger_service.views import UploadStatus

CHECK_NAME = "perfledger"
NEWER = "a newer result of the same commit is already said"


def say(
    engine: Engine,
    upload_id: str,
    *,
    pull_requests: PullRequests | None,
    reporter: Reporter,
    public_url: str,
    now: datetime,
) -> None:
    """Say an upload's verdict on its pull request, or refuse it if something newer is there.

    Newer is another head of the pull request, and a later measurement of the same head.

    May be called again at any point: what is already there is found and updated. Without GitHub
    (None) the upload stays judged. Raises GitHubError.
    """
    with reading(engine) as session:
        upload = upload_by_id(session, upload_id)
        number = upload.pull_request
        if upload.status is not UploadStatus.JUDGED or pull_requests is None or number is None:
            return
        said = said_before(session, upload)
        report, bundle = report_of(session, upload, reporter=reporter, today=now.date())
        is_late = bool(said.upload_id) and measured_at(session, said.upload_id) > moment(bundle)
    reason = NEWER if is_late else ""
    reason = reason or _objection(upload, pull_requests.pull_request(upload.repository, number))
    if reason:
        _refuse(engine, upload, said, reason)
        return
    url = f"{public_url}/{upload.repository}/pull/{number}"
    body = comment(report, url=url)
    comment_id = _say_comment(pull_requests, upload.repository, number, body, said.comment_id)
    _remember(engine, upload, Said(comment_id=comment_id, check_run_id=said.check_run_id), now=now)
    check = _check(upload, report, url)
    check_run_id = _say_check(pull_requests, upload.repository, check, said.check_run_id)
    _remember(engine, upload, Said(comment_id=comment_id, check_run_id=check_run_id), now=now)
    _end(engine, upload, report)


def _objection(upload: StoredUpload, current: PullRequest | None) -> str:
    """Return why nothing is to be said, or "": the bundle must be about what is there now."""
    if current is None:
        return f"{upload.repository} has no pull request #{upload.pull_request}"
    if not current.is_open:
        return f"pull request #{current.number} is closed"
    if current.head_sha != upload.head_sha:
        return f"the pull request is at {current.head_sha} now, the bundle is about another commit"
    return ""


def _say_comment(
    pull_requests: PullRequests, repository: str, number: int, body: str, known: int | None
) -> int:
    """Update the one comment, or write it: never another's, even if it begins like ours."""
    if known is not None and pull_requests.update_comment(repository, known, body):
        return known
    me = pull_requests.me()
    ours = [
        found.id
        for found in pull_requests.comments(repository, number)
        if found.author == me and found.body.startswith(MARKER)
    ]
    kept = next((one for one in ours if pull_requests.update_comment(repository, one, body)), None)
    for extra in ours:
        if extra != kept:
            pull_requests.delete_comment(repository, extra)
    return pull_requests.create_comment(repository, number, body) if kept is None else kept


def _say_check(
    pull_requests: PullRequests, repository: str, check: Check, known: int | None
) -> int:
    """Update the head commit's check run, or add it."""
    if known is not None and pull_requests.update_check(repository, known, check):
        return known
    for candidate in pull_requests.check_runs(repository, check.head_sha, check.name):
        if pull_requests.update_check(repository, candidate, check):
            return candidate
    return pull_requests.create_check(repository, check)


def _check(upload: StoredUpload, report: Report, url: str) -> Check:
    return Check(
        name=CHECK_NAME,
        head_sha=upload.head_sha,
        conclusion=report.conclusion,
        title=report.title,
        summary=check_summary(report, url=url),
        details_url=url,
        external_id=upload.id,
    )


def _remember(engine: Engine, upload: StoredUpload, said: Said, *, now: datetime) -> None:
    with writing(engine) as session:
        remember_said(session, upload, said, now=now)
        session.commit()


def _end(engine: Engine, upload: StoredUpload, ending: StoredUpload | Report) -> None:
    with writing(engine) as session:
        set_said(
            session,
            upload,
            conclusion=ending.conclusion,
            title=ending.title,
            headline=ending.headline,
        )
        session.commit()


def _refuse(engine: Engine, upload: StoredUpload, said: Said, reason: str) -> None:
    """Refuse an upload; what was said already and was to be said anew stays as it was said."""
    if upload.attempt > 1 and said.upload_id == upload.id and said.check_run_id is not None:
        _end(engine, upload, upload)
        return
    with writing(engine) as session:
        set_status(session, upload.id, UploadStatus.REFUSED, reason=reason)
        session.commit()
