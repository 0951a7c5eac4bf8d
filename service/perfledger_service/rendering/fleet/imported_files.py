"""Presents the files that were imported."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    figure,
    name,
    sentences,
    table,
)
from perfledger_service.values.fleet_views import StoredImport


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """One imported file as it is shown."""

    id: int
    kind: str
    source: str
    name: str
    period: str
    summary: str
    day: str


_COLUMNS: tuple[Column[ImportRow], ...] = (
    figure("id", "no.", lambda row: row.id, str),
    figure("kind", "kind", lambda row: row.kind),
    name("source", "source", lambda row: row.source),
    name("name", "file", lambda row: row.name),
    figure("period", "period", lambda row: row.period),
    name("summary", "content", lambda row: row.summary),
    figure("day", "imported", lambda row: row.day),
)


def import_rows(imports: Sequence[StoredImport]) -> tuple[ImportRow, ...]:
    """Return imported files as rows, in their order."""
    return tuple(
        ImportRow(
            id=one.id,
            kind=one.kind,
            source=one.source,
            name=one.name,
            period=_period(one),
            summary=one.summary,
            day=number_format.day(one.created_at.date()),
        )
        for one in imports
    )


def imports_document(imports: Sequence[StoredImport]) -> Document:
    """Return imported files."""
    empty = (
        []
        if imports
        else ["No files are imported yet; to import one: perfledger server import usage FILE"]
    )
    return Document(
        name="perfledger-imports",
        blocks=(table(_COLUMNS, import_rows(imports), key="imports"), *sentences(empty)),
    )


def _period(stored: StoredImport) -> str:
    if stored.since is None or stored.until is None:
        return ""
    return number_format.INTERVAL_TO.join(
        number_format.day(each.date()) for each in (stored.since, stored.until)
    )
