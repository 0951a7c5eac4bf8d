"""Stores imported files about the fleet, by kind and source."""

from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import cast

import msgspec
from sqlalchemy import delete, text
from sqlalchemy.orm import QueryableAttribute, defer
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.tables import ImportedFileRow, add_if_new
from perfledger_service.values.fleet_views import ImportKind, StoredImport

_STORED_IMPORT_DECODER = msgspec.json.Decoder(StoredImport)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewImport:
    """A file to store; `content` is gzipped, and `sha256` is of the unpacked content."""

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
    """Lock all imports until the transaction ends, so that the overlap check stays valid.

    SQLite has only one writer anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text("lock table imported_file in share row exclusive mode"))


def add_import(session: Session, new: NewImport, *, now: datetime) -> None:
    """Store a file, unless it is already stored with the same kind and source."""
    add_if_new(session, ImportedFileRow, {**asdict(new), "created_at": now})


def imports(
    session: Session, kind: ImportKind | None = None, *, source: str = "*"
) -> tuple[StoredImport, ...]:
    """Return the files of a kind whose source matches a glob, in order of time."""
    content = cast("QueryableAttribute[bytes]", ImportedFileRow.content)
    rows = session.exec(
        select(ImportedFileRow)
        .options(defer(content))
        .order_by(col(ImportedFileRow.kind), col(ImportedFileRow.source), col(ImportedFileRow.id))
    )
    stored = (row.to_value(_STORED_IMPORT_DECODER) for row in rows)
    matches = [
        one for one in stored if kind in (None, one.kind) and fnmatchcase(one.source, source)
    ]
    return tuple(
        sorted(matches, key=lambda one: (one.kind, one.source, one.since or one.created_at))
    )


def import_content(session: Session, import_id: int) -> bytes:
    """Return a file's gzipped content; raise NotFoundError for an unknown id."""
    query = select(ImportedFileRow.content).where(col(ImportedFileRow.id) == import_id)
    content = session.exec(query).first()
    if content is None:
        raise _unknown_import(import_id)
    return content


def remove_import(session: Session, import_id: int) -> None:
    """Delete a file; raise NotFoundError for an unknown id."""
    query = select(ImportedFileRow.id).where(col(ImportedFileRow.id) == import_id)
    if session.exec(query).first() is None:
        raise _unknown_import(import_id)
    session.exec(delete(ImportedFileRow).where(col(ImportedFileRow.id) == import_id))


def _unknown_import(import_id: int) -> NotFoundError:
    return NotFoundError(f"no import {import_id}: `perfledger server import list` shows all")
