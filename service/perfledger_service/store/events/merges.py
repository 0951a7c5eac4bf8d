"""Stores the commits as which pull requests were merged."""

from sqlmodel import Session

from perfledger_service.store.events.tables import MergeRow


def add_merge(session: Session, project_id: int, pull_request: int, merged_sha: str) -> None:
    """Record the commit as which a pull request was merged; the caller holds the project's lock."""
    key = (project_id, pull_request)
    row = session.get(MergeRow, key) or MergeRow(project_id=project_id, pull_request=pull_request)
    row.merged_sha = merged_sha
    session.add(row)
    session.flush()


def merged_sha_of(session: Session, project_id: int, pull_request: int) -> str:
    """Return the commit as which a pull request was merged, "" until it is."""
    row = session.get(MergeRow, (project_id, pull_request))
    return "" if row is None else row.merged_sha
