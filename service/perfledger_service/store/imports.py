"""Files about the fleet as they were imported, stored and found by what they are of."""

from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import cast

from sqlalchemy import delete, text
from sqlalchemy.orm import QueryableAttribute, defer
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.tables import ImportedRow
from perfledger_service.store.uploads import add_if_new
from perfledger_service.views import ImportKind, StoredImport


@dataclass(frozen=True, slots=True, kw_only=True)
class NewImport:
    """A file to be stored; `content` is gzipped, and `sha256` that of what is in it."""

    kind: ImportKind
    source: str
    name: str
    sha256: str
    since: datetime | None
    until: datetime | None
    summary: str
    unpacked_bytes: int
    content: bytes


def lock_imports(session: Session) -> None:
    """Hold all imports until the transaction ends: what is beside one is looked at, then it added.

    SQLite has one writer anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text("lock table imported in share row exclusive mode"))


def add_import(session: Session, new: NewImport, *, now: datetime) -> None:
    """Store a file, unless the same one of the same kind and source is there already."""
    add_if_new(session, ImportedRow, {**asdict(new), "created_at": now})


def imports(
    session: Session, kind: ImportKind | None = None, *, source: str = "*"
) -> tuple[StoredImport, ...]:
    """Return the files of a kind whose source matches a glob, in the order of their time."""
    content = cast("QueryableAttribute[bytes]", ImportedRow.content)
    rows = session.exec(
        select(ImportedRow)
        .options(defer(content))
        .order_by(col(ImportedRow.kind), col(ImportedRow.source), col(ImportedRow.id))
    )
    found = (_stored(row) for row in rows)
    kept = [one for one in found if kind in (None, one.kind) and fnmatchcase(one.source, source)]
    return tuple(sorted(kept, key=lambda one: (one.kind, one.source, one.since or one.created_at)))


def import_content(session: Session, import_id: int) -> bytes:
    """Return a file's gzipped content; raise NotFoundError for an unknown id."""
    wanted = select(ImportedRow.content).where(col(ImportedRow.id) == import_id)
    content = session.exec(wanted).first()
    if content is None:
        raise _unknown(import_id)
    return content


def remove_import(session: Session, import_id: int) -> None:
    """Forget a file; raise NotFoundError for an unknown id."""
    wanted = select(ImportedRow.id).where(col(ImportedRow.id) == import_id)
    if session.exec(wanted).first() is None:
        raise _unknown(import_id)
    session.exec(delete(ImportedRow).where(col(ImportedRow.id) == import_id))


def _unknown(import_id: int) -> NotFoundError:
    return NotFoundError(f"no import {import_id}: perfledger import list names them")


def _stored(row: ImportedRow) -> StoredImport:
    assert row.id is not None  # noqa: S101 - it was stored
    return StoredImport(
        id=row.id,
        kind=ImportKind(row.kind),
        source=row.source,
        name=row.name,
        sha256=row.sha256,
        since=row.since,
        until=row.until,
        summary=row.summary,
        unpacked_bytes=row.unpacked_bytes,
        created_at=row.created_at,
    )
