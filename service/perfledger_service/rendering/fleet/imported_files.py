"""Presents the imported files."""

from collections.abc import Sequence

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


def period(stored: StoredImport) -> str:
    """Return the first and the last day of a file, "" for one without times."""
    if stored.since is None or stored.until is None:
        return ""
    return number_format.INTERVAL_TO.join(map(number_format.day, (stored.since, stored.until)))


_COLUMNS: tuple[Column[StoredImport], ...] = (
    figure("id", "no.", lambda stored: stored.id, str),
    figure("kind", "kind", lambda stored: stored.kind),
    name("source", "source", lambda stored: stored.source),
    name("name", "file", lambda stored: stored.name),
    figure("period", "period", period),
    name("summary", "content", lambda stored: stored.summary),
    figure("day", "imported", lambda stored: number_format.day(stored.created_at)),
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
        blocks=(table(_COLUMNS, imports, key="imports"), *sentences(empty)),
    )
