"""Presents imported files."""

from collections.abc import Sequence
from functools import partial

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    fact_document,
    figure,
    name,
    sentences,
    table,
)
from perfledger_service.values.fleet_views import StoredImport

_COLUMNS: tuple[Column[StoredImport], ...] = (
    figure("id", "no.", lambda stored: stored.id, str),
    figure("kind", "kind", lambda stored: stored.kind),
    name("source", "source", lambda stored: stored.source),
    name("name", "file", lambda stored: stored.name),
    figure("period", "period", lambda stored: number_format.days(stored.since, stored.until)),
    name("summary", "content", lambda stored: stored.summary),
    figure("day", "imported", lambda stored: number_format.day(stored.created_at)),
)


def new_imports_document(imported: Sequence[tuple[StoredImport, bool]]) -> Document:
    """Return the files of an import, each with whether it was new."""
    columns = (
        *(fact(column.key, partial(_value, column)) for column in _COLUMNS),
        fact("is_new", _is_new),
    )
    quoted = [
        sentence
        for stored, is_new in imported
        for sentence in sentences(
            [_sentence(stored, is_new=is_new)], names=(stored.name, stored.source, stored.summary)
        )
    ]
    return Document(
        name="perfledger-new-imports", blocks=(table(columns, imported, key="imports"), *quoted)
    )


def imports_document(imports: Sequence[StoredImport]) -> Document:
    """Return imported files."""
    empty = (
        []
        if imports
        else ["No imported files yet; to import one: perfledger server import usage FILE"]
    )
    return Document(
        name="perfledger-imports",
        blocks=(table(_COLUMNS, imports, key="imports"), *sentences(empty)),
    )


def removed_import_document(number: int) -> Document:
    """Return the number of an imported file that was removed."""
    return fact_document(
        "perfledger-removed-import", {"id": number}, f"Import {number} is removed."
    )


def _value(column: Column[StoredImport], row: tuple[StoredImport, bool]) -> object:
    return column.value(row[0])


def _is_new(row: tuple[StoredImport, bool]) -> bool:
    return row[1]


def _sentence(stored: StoredImport, *, is_new: bool) -> str:
    state = "imported" if is_new else "is already imported"
    return f"{stored.name}: {state} as {stored.id} of {stored.source}: {stored.summary}"
