"""Stores GitHub's ids of posted comments and check runs."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from perfledger_service.store.tables import GitHubPostRow
from perfledger_service.store.uploads import CheckedHead


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedIds:
    """GitHub's ids of the pull request's comment and of the head commit's check run.

    `upload_id` is the upload last posted for the head commit, "" for none.
    """

    comment_id: int | None
    check_run_id: int | None
    upload_id: str = ""


def posted_ids(session: Session, head: CheckedHead) -> PostedIds:
    """Return the ids that a post about a head would update."""
    rows = session.exec(
        select(GitHubPostRow)
        .where(
            col(GitHubPostRow.project_id) == head.project_id,
            col(GitHubPostRow.pull_request) == head.pull_request,
        )
        .order_by(col(GitHubPostRow.updated_at).desc(), col(GitHubPostRow.id).desc())
    ).all()
    comments = (row.comment_id for row in rows if row.comment_id is not None)
    post = next((row for row in rows if row.head_sha == head.head_sha), None)
    return PostedIds(
        comment_id=next(comments, None),
        check_run_id=post.check_run_id if post else None,
        upload_id=(post.upload_id if post else None) or "",
    )


def save_posted_ids(
    session: Session, head: CheckedHead, posts: PostedIds, *, now: datetime
) -> None:
    """Store the ids under which a head's report was posted."""
    row = session.exec(
        select(GitHubPostRow).where(
            col(GitHubPostRow.project_id) == head.project_id,
            col(GitHubPostRow.pull_request) == head.pull_request,
            col(GitHubPostRow.head_sha) == head.head_sha,
        )
    ).first()
    if row is None:
        row = GitHubPostRow(
            project_id=head.project_id,
            pull_request=head.pull_request,
            head_sha=head.head_sha,
            updated_at=now,
        )
    row.upload_id = posts.upload_id or None
    row.comment_id = posts.comment_id
    row.check_run_id = posts.check_run_id
    row.updated_at = now
    session.add(row)
