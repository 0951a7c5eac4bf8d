"""Posts the measurements of a pull request's head as one comment and one check run.

The posted text comes from `machine_classes`, which combines the reports of all classes.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import GitHubError, RemovedError
from perfledger_service.github.pull_requests import CheckRunContent, PullRequest, PullRequests
from perfledger_service.rendering.check.class_sections import classes_comment, classes_summary
from perfledger_service.rendering.check.comment import MARKER
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.github_posts import PostedIds, posted_ids, save_posted_ids
from perfledger_service.store.heads.merge_groups import MERGED, MergeGroup
from perfledger_service.store.heads.uploads import other_heads
from perfledger_service.store.uploads import (
    CheckedHead,
    StoredUpload,
    set_posted,
    set_status,
    upload_by_id,
)
from perfledger_service.usecases.uploads.machine_classes import (
    OTHER_BASE,
    UNPLACED_BASE,
    conclude_commit,
    deciding_report,
    is_late,
    pending_work,
    pull_request_report,
    work_at,
)
from perfledger_service.usecases.uploads.merge_groups import find_group
from perfledger_service.usecases.uploads.pushes import refuse_other_bases
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.same_commit import (
    CHECK_NAME,
    MAX_CHECK_POSTS,
    SameCommit,
    annotations_of,
    post_check_run,
    stored_first,
)
from perfledger_service.usecases.uploads.uploads import fail_upload
from perfledger_service.values.jobs.queued_work import QueuedCheck
from perfledger_service.values.pull_request_report import (
    ClassStatus,
    OtherPullRequest,
    PullRequestReport,
)
from perfledger_service.values.report import Conclusion, Report
from perfledger_service.values.upload_views import UploadStatus

# GitHub's conclusions for merge groups that ended: the first is no failure of the branch.
MERGED_UNMEASURED, ENDED_UNMEASURED = "neutral", "cancelled"
NEWER_RESULT = "a newer result of the same commit is already posted"
# Why posting refuses an upload whose head still has to be posted.
_OVERTAKEN = frozenset({OTHER_BASE, UNPLACED_BASE, NEWER_RESULT})

_log = structlog.stdlib.get_logger(__name__)


def post_report(
    engine: Engine,
    upload_id: str,
    *,
    pull_requests: PullRequests | None,
    reports: UploadReports,
    public_url: str,
    now: datetime,
) -> tuple[QueuedCheck, ...]:
    """Post an upload's report on its pull request, or refuse it if there is something newer.

    Newer means another head of the pull request, or a later measurement of the same head on the
    same machine class. Other classes' reports are posted with it. Can be repeated at any point:
    existing posts are found and updated. Without GitHub (None) the upload stays judged. Raises
    GitHubError.

    Returns the work on other pull requests with the same head commit, whose comments may have to
    say that this result decides their check, and the work at the deadlines of classes that have to
    report again. Where an earlier attempt refused the upload and may not have posted the others, it
    is the work that does.
    """
    with read_session(engine) as session:
        upload = upload_by_id(session, upload_id)
        head = upload.head
        was_refused = upload.status is UploadStatus.REFUSED and upload.reason in _OVERTAKEN
        is_open = upload.status is UploadStatus.JUDGED or was_refused
        if not is_open or pull_requests is None or head is None:
            return ()
        posts = posted_ids(session, head)
        other_works = tuple(work_at(one, now) for one in other_heads(session, head))
        outcome = _outcome(session, upload, reports=reports, now=now)
    if was_refused:  # by an attempt that ended before GitHub took the post
        return (*other_works, work_at(head, now))
    current = _pull_request_of(pull_requests, head, posts)
    objection = _reason_not_to_post(head, current)
    if current is None or objection:
        SameCommit(
            engine, head, pull_requests, reports=reports, public_url=public_url, now=now
        ).post_check_of_another()
        _refuse(engine, upload, posts, objection)
        return ()
    refused_ids = refuse_other_bases(engine, head, current, pull_requests=pull_requests, now=now)
    is_refused = upload_id in refused_ids
    # Only now: a later result that compares with another base does not count.
    if not is_refused and is_late(engine, head, upload):
        _refuse(engine, upload, posts, NEWER_RESULT)
        if not refused_ids:
            return ()
        is_refused = True
    refusal = _post(
        engine,
        head,
        posts.upload_id if is_refused else upload_id,
        pull_requests=pull_requests,
        reports=reports,
        public_url=public_url,
        now=now,
        may_raise=not (is_refused or refused_ids),
    )
    if refusal is not None and not is_refused:
        fail_upload(engine, upload.id, str(refusal))
    elif not is_refused:
        _mark_posted(engine, upload, outcome)
    return (*other_works, *(pending_work(engine, head, now=now) if refused_ids else ()))


def repost_reports(
    engine: Engine,
    head: CheckedHead,
    *,
    pull_requests: PullRequests | None,
    reports: UploadReports,
    public_url: str,
    now: datetime,
) -> tuple[QueuedCheck, ...]:
    """Post a head's current reports again, for example when a machine class is overdue.

    If the pull request is closed or has moved to another commit, nothing is posted on it: only
    the check of another pull request with the same commit is brought up to date. A merge group's
    head is skipped if GitHub knows no such group. Raises GitHubError.

    Returns the work at the deadlines of classes that have to report.
    """
    if pull_requests is None:
        return ()
    if head.is_merge_group:
        group = find_group(engine, head, pull_requests=pull_requests, now=now)
        if group is not None:
            _post_group(
                engine,
                head,
                group,
                pull_requests=pull_requests,
                reports=reports,
                public_url=public_url,
                now=now,
            )
        return ()
    with read_session(engine) as session:
        posts = posted_ids(session, head)
    current = _pull_request_of(pull_requests, head, posts)
    if current is None or _reason_not_to_post(head, current):
        SameCommit(
            engine, head, pull_requests, reports=reports, public_url=public_url, now=now
        ).post_check_of_another()
        return ()
    refuse_other_bases(engine, head, current, pull_requests=pull_requests, now=now)
    refusal = _post(
        engine,
        head,
        posts.upload_id,
        pull_requests=pull_requests,
        reports=reports,
        public_url=public_url,
        now=now,
    )
    if refusal is not None:
        _log.warning("a comment is not posted", head=asdict(head), reason=str(refusal))
    # Also those of an attempt that refused results and could not post.
    return pending_work(engine, head, now=now)


def _post(
    engine: Engine,
    head: CheckedHead,
    upload_id: str,
    *,
    pull_requests: PullRequests,
    reports: UploadReports,
    public_url: str,
    now: datetime,
    may_raise: bool = False,
) -> GitHubError | None:
    """Post the reports of all machine classes as one comment and one check run.

    While no class has reported, on any base, there is no comment. GitHub's refusal of one, as in a
    locked conversation, is raised after the check for another attempt, or else returned.
    """
    with read_session(engine) as session:
        posts = replace(posted_ids(session, head), upload_id=upload_id)
        result = pull_request_report(session, head, reports=reports, now=now)
    url = f"{public_url}/{head.repository}/pull/{head.pull_request}"
    same_commit = SameCommit(
        engine, head, pull_requests, reports=reports, public_url=public_url, now=now
    )
    refusal: GitHubError | None = None
    if any(one.status is not ClassStatus.PENDING or one.reason for one in result.classes):
        deciding = deciding_report(result, same_commit.reports())
        body = classes_comment(result, public_url=public_url, url=url, deciding=deciding)
        try:
            comment_id = _post_comment(
                pull_requests, head.repository, head.pull_request, body, posts.comment_id
            )
        except GitHubError as error:
            if error.is_transient:
                raise
            refusal = error
        else:
            posts = replace(posts, comment_id=comment_id)
            _save_posts(engine, head, posts, now=now)
    check_run_id = same_commit.post_check(posts)
    _save_posts(engine, head, replace(posts, check_run_id=check_run_id), now=now)
    if refusal and may_raise:
        raise refusal
    return refusal


def _post_group(
    engine: Engine,
    head: CheckedHead,
    group: MergeGroup,
    *,
    pull_requests: PullRequests,
    reports: UploadReports,
    public_url: str,
    now: datetime,
) -> None:
    """Post the reports on a merge group's head as a check run: a group has no comment.

    Others may push a branch with a group's name, at the head of a pull request, whose results may
    come while the check is posted: whoever posts last reads them afterwards, and posts again.
    """
    same_commit = SameCommit(
        engine, head, pull_requests, reports=reports, public_url=public_url, now=now
    )

    def current() -> tuple[PullRequestReport, CheckRunContent]:
        with read_session(engine) as session:
            result = pull_request_report(session, head, reports=reports, now=now)
        other_reports = same_commit.reports()
        return result, _group_check(head, group, result, other_reports, public_url=public_url)

    with read_session(engine) as session:
        posts = posted_ids(session, head)
    result, check = current()
    for _ in range(MAX_CHECK_POSTS):
        posted = check
        annotated = replace(check, annotations=annotations_of(pull_requests, head, result))
        check_run_id = post_check_run(pull_requests, head.repository, annotated, posts.check_run_id)
        posts = replace(posts, check_run_id=check_run_id, upload_id=check.external_id)
        result, check = current()
        if (check.conclusion, check.title) == (posted.conclusion, posted.title):
            break
    _save_posts(engine, head, posts, now=now)


def _group_check(
    head: CheckedHead,
    group: MergeGroup,
    result: PullRequestReport,
    other_reports: Sequence[OtherPullRequest],
    *,
    public_url: str,
) -> CheckRunContent:
    """Return the check run of a merge group's head, without annotations.

    A group that ended before all classes reported is neither red nor green, unless one failed.
    """
    upload_ids = [one.upload_id for one in result.classes if one.upload_id]
    page = f"runs/{upload_ids[0]}" if upload_ids else head.repository
    url = f"{public_url}/{page}"
    conclusion: str | None
    conclusion, title = conclude_commit(result, other_reports)
    has_failed = any(one.result and one.conclusion is Conclusion.FAILURE for one in result.classes)
    is_complete = result.classes and all(one.result for one in result.classes)
    if group.ending and not is_complete and not has_failed and title == result.title:
        conclusion = MERGED_UNMEASURED if group.ending == MERGED else ENDED_UNMEASURED
        title = f"The merge group was {group.ending} before it was measured"
    return CheckRunContent(
        name=CHECK_NAME,
        head_sha=head.head_sha,
        conclusion=conclusion or "",
        title=title,
        summary=classes_summary(replace(result, title=title), public_url=public_url, url=url),
        details_url=url,
        external_id=upload_ids[0] if upload_ids else "",
    )


def _outcome(
    session: Session, upload: StoredUpload, *, reports: UploadReports, now: datetime
) -> Report | StoredUpload:
    """Return an upload's report, or the upload itself once retention has removed its bundle."""
    try:
        return reports.report(session, upload, today=now.date())[0]
    except RemovedError:
        return upload


def _pull_request_of(
    pull_requests: PullRequests, head: CheckedHead, posts: PostedIds
) -> PullRequest | None:
    """Return a head's pull request, or None if GitHub never had it.

    Pull requests are not deleted: one that was posted to will be found again.
    """
    current = pull_requests.pull_request(head.repository, head.pull_request)
    if current is None and (posts.comment_id or posts.check_run_id):
        msg = f"GitHub does not find pull request #{head.pull_request} of {head.repository} now"
        raise GitHubError(msg, is_transient=True)
    return current


def _reason_not_to_post(head: CheckedHead, current: PullRequest | None) -> str:
    """Return why a report is not posted, or "": it must be of the pull request's current head."""
    if current is None:
        return f"{head.repository} has no pull request #{head.pull_request}"
    if not current.is_open:
        return f"pull request #{current.number} is closed"
    if current.head_sha != head.head_sha:
        return f"the pull request is at {current.head_sha} now, the bundle is about another commit"
    return ""


def _post_comment(
    pull_requests: PullRequests, repository: str, number: int, body: str, comment_id: int | None
) -> int:
    """Update our comment, or create it, and delete our others.

    GitHub may create a comment long after its answer was lost, so any post may find another one.
    Another login's comment is never changed, even with our marker.
    """
    ours = _our_comments(pull_requests, repository, number)
    candidates = stored_first(ours, comment_id)
    posted_id = next(
        (one for one in candidates if pull_requests.update_comment(repository, one, body)), None
    )
    if posted_id is None:
        posted_id = pull_requests.create_comment(repository, number, body)
        ours = _our_comments(pull_requests, repository, number)
    for extra in ours:
        if extra != posted_id:
            pull_requests.delete_comment(repository, extra)
    return posted_id


def _our_comments(pull_requests: PullRequests, repository: str, number: int) -> tuple[int, ...]:
    """Return the ids of our comments with the marker, oldest first."""
    me = pull_requests.me()
    return tuple(
        comment.id
        for comment in pull_requests.comments(repository, number)
        if comment.author == me and comment.body.startswith(MARKER)
    )


def _save_posts(engine: Engine, head: CheckedHead, posts: PostedIds, *, now: datetime) -> None:
    with write_session(engine) as session:
        save_posted_ids(session, head, posts, now=now)
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
    """Refuse an upload; one that was already posted and queued for posting again is left alone."""
    if upload.attempt > 1 and posts.upload_id == upload.id and posts.check_run_id is not None:
        _mark_posted(engine, upload, upload)
        return
    with write_session(engine) as session:
        set_status(session, upload.id, UploadStatus.REFUSED, reason=reason)
        session.commit()
