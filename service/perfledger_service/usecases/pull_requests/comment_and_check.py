"""Posts a judged upload as one comment and one check run on its pull request.

The report that is posted comes from `upload_reports`, which builds it and knows no GitHub.
"""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_service.github.pull_requests import FinishedCheckRun, PullRequest, PullRequests
from perfledger_service.rendering.check.comment import MARKER, check_summary, comment
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.github_posts import PostedIds, posted_ids, save_posted_ids
from perfledger_service.store.uploads import StoredUpload, set_posted, set_status, upload_by_id
from perfledger_service.usecases.pull_requests.upload_reports import (
    UploadReports,
    measured_at,
    moment,
)
from perfledger_service.values.report import Report
from perfledger_service.values.upload_views import UploadStatus

CHECK_NAME = "perfledger"
NEWER_RESULT = "a newer result of the same commit is already posted"


def post_report(
    engine: Engine,
    upload_id: str,
    *,
    pull_requests: PullRequests | None,
    reports: UploadReports,
    public_url: str,
    now: datetime,
) -> None:
    """Post an upload's report on its pull request, or refuse it if something newer is there.

    Newer means another head of the pull request, or a later measurement of the same head. Can be
    repeated at any point: existing posts are found and updated. Without GitHub (None) the upload
    stays judged. Raises GitHubError.
    """
    with read_session(engine) as session:
        upload = upload_by_id(session, upload_id)
        number = upload.pull_request
        if upload.status is not UploadStatus.JUDGED or pull_requests is None or number is None:
            return
        posts = posted_ids(session, upload)
        report, bundle = reports.report(session, upload, today=now.date())
        is_late = bool(posts.upload_id) and measured_at(session, posts.upload_id) > moment(bundle)
    reason = NEWER_RESULT if is_late else ""
    reason = reason or _objection(upload, pull_requests.pull_request(upload.repository, number))
    if reason:
        _refuse(engine, upload, posts, reason)
        return
    url = f"{public_url}/{upload.repository}/pull/{number}"
    body = comment(report, url=url)
    comment_id = _post_comment(pull_requests, upload.repository, number, body, posts.comment_id)
    _save_posts(
        engine, upload, PostedIds(comment_id=comment_id, check_run_id=posts.check_run_id), now=now
    )
    check = _check(upload, report, url)
    check_run_id = _post_check(pull_requests, upload.repository, check, posts.check_run_id)
    _save_posts(
        engine, upload, PostedIds(comment_id=comment_id, check_run_id=check_run_id), now=now
    )
    _mark_posted(engine, upload, report)


def _objection(upload: StoredUpload, current: PullRequest | None) -> str:
    """Return why a report is not posted, or "": the bundle must be of the current head."""
    if current is None:
        return f"{upload.repository} has no pull request #{upload.pull_request}"
    if not current.is_open:
        return f"pull request #{current.number} is closed"
    if current.head_sha != upload.head_sha:
        return f"the pull request is at {current.head_sha} now, the bundle is about another commit"
    return ""


def _post_comment(
    pull_requests: PullRequests, repository: str, number: int, body: str, comment_id: int | None
) -> int:
    """Update our comment, or create it; never change another login's, even with our marker."""
    if comment_id is not None and pull_requests.update_comment(repository, comment_id, body):
        return comment_id
    me = pull_requests.me()
    ours = [
        comment.id
        for comment in pull_requests.comments(repository, number)
        if comment.author == me and comment.body.startswith(MARKER)
    ]
    updated_id = next(
        (one for one in ours if pull_requests.update_comment(repository, one, body)), None
    )
    for extra in ours:
        if extra != updated_id:
            pull_requests.delete_comment(repository, extra)
    return (
        pull_requests.create_comment(repository, number, body) if updated_id is None else updated_id
    )


def _post_check(
    pull_requests: PullRequests, repository: str, check: FinishedCheckRun, check_run_id: int | None
) -> int:
    """Update the head commit's check run, or add it."""
    if check_run_id is not None and pull_requests.update_check(repository, check_run_id, check):
        return check_run_id
    for candidate in pull_requests.check_runs(repository, check.head_sha, check.name):
        if pull_requests.update_check(repository, candidate, check):
            return candidate
    return pull_requests.create_check(repository, check)


def _check(upload: StoredUpload, report: Report, url: str) -> FinishedCheckRun:
    return FinishedCheckRun(
        name=CHECK_NAME,
        head_sha=upload.head_sha,
        conclusion=report.conclusion,
        title=report.title,
        summary=check_summary(report, url=url),
        details_url=url,
        external_id=upload.id,
    )


def _save_posts(engine: Engine, upload: StoredUpload, posts: PostedIds, *, now: datetime) -> None:
    with write_session(engine) as session:
        save_posted_ids(session, upload, posts, now=now)
        session.commit()


def _mark_posted(engine: Engine, upload: StoredUpload, outcome: StoredUpload | Report) -> None:
    with write_session(engine) as session:
        set_posted(
            session,
            upload,
            conclusion=outcome.conclusion,
            title=outcome.title,
            headline=outcome.headline,
        )
        session.commit()


def _refuse(engine: Engine, upload: StoredUpload, posts: PostedIds, reason: str) -> None:
    """Refuse an upload; one that is already posted and was to be posted again stays as it is."""
    if upload.attempt > 1 and posts.upload_id == upload.id and posts.check_run_id is not None:
        _mark_posted(engine, upload, upload)
        return
    with write_session(engine) as session:
        set_status(session, upload.id, UploadStatus.REFUSED, reason=reason)
        session.commit()
