"""Turns what was imported into terminal text and rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean
from perfledger_service.views import StoredImport

_NAME = 26
_SUMMARY = 60


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
            day=figures.day(one.created_at.date()),
        )
        for one in imports
    )


def imports_text(imports: Sequence[StoredImport]) -> Table | Text:
    """Return imported files for a terminal."""
    if not imports:
        return Text("nothing was imported yet: perfledger import usage FILE")
    table = Table("no.", "kind", "source", "file", "of", "what", box=None)
    for row in import_rows(imports):
        table.add_row(
            str(row.id),
            row.kind,
            *(Text(clean(each, limit=_NAME)) for each in (row.source, row.name)),
            row.period,
            Text(clean(row.summary, limit=_SUMMARY)),
        )
    return table


def _period(one: StoredImport) -> str:
    if one.since is None or one.until is None:
        return ""
    return figures.TO.join(figures.day(each.date()) for each in (one.since, one.until))
