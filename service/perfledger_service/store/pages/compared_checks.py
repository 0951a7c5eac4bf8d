"""Finds the checks that the comparison page compares."""

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.page_queries import COUNTED_STATUSES, uploads_where
from perfledger_service.store.tables import UploadRow
from perfledger_service.values.upload_views import UploadView


def upload_named(session: Session, project_id: int, name: str) -> UploadView:
    """Return a project's judged upload by its id, or the newest whose head begins with a text.

    Imports are excluded, as they are not compared with anything. Raises NotFoundError if there is
    none, or if several commits begin with the text.
    """
    is_judged = _is_comparable(project_id)
    by_id = uploads_where(session, *is_judged, col(UploadRow.id) == name, most=1)
    if by_id:
        return by_id[0]
    begins_so = col(UploadRow.head_sha).startswith(name, autoescape=True)
    heads = session.exec(
        select(UploadRow.head_sha).where(*is_judged, begins_so).distinct().limit(2)
    ).all()
    if not heads:
        msg = f"no judged check has the id {name[:80]!r} or a head commit that begins with it"
        raise NotFoundError(msg)
    if len(heads) > 1:
        msg = f"several measured commits begin with {name[:80]!r}: give more of the SHA"
        raise NotFoundError(msg)
    return uploads_where(session, *is_judged, col(UploadRow.head_sha) == heads[0], most=1)[0]


def uploads_of_commit(session: Session, project_id: int, sha: str) -> tuple[UploadView, ...]:
    """Return a project's judged uploads of a head commit, newest first."""
    return uploads_where(session, *_is_comparable(project_id), col(UploadRow.head_sha) == sha)


def paired_uploads(
    session: Session, project_id: int, *, base_sha: str, head_sha: str
) -> tuple[UploadView, ...]:
    """Return the judged uploads that measured two commits in pairs, the newest of each class."""
    uploads = uploads_where(
        session,
        *_is_comparable(project_id),
        col(UploadRow.base_sha) == base_sha,
        col(UploadRow.head_sha) == head_sha,
    )
    newest: dict[str, UploadView] = {}
    for one in uploads:
        newest.setdefault(one.machine_class, one)
    return tuple(newest.values())


def _is_comparable(project_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for uploads that can be compared: judged ones, not imports."""
    return (
        col(UploadRow.project_id) == project_id,
        col(UploadRow.status).in_(COUNTED_STATUSES),
        ~IS_IMPORTED,
    )
