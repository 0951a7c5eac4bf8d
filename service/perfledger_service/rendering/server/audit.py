"""Presents the audit log, as a table and as the page of a project's admins."""

from collections.abc import Sequence

from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    display,
    fact,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.people.person import AuditEntry

_MAX_NAME = 200
_MAX_DETAIL = 400


_COLUMNS: tuple[Column[AuditEntry], ...] = (
    display("when", lambda entry: f"{entry.noted_at:%Y-%m-%d %H:%M}"),
    name("actor", "who", lambda entry: entry.actor, limit=_MAX_NAME),
    figure("action", "what", lambda entry: entry.action.value),
    name("repository", "project", lambda entry: entry.repository or "", limit=_MAX_NAME),
    display("detail", lambda entry: entry.detail, kind=CellKind.NAME, limit=_MAX_DETAIL),
    name("address", "from", lambda entry: entry.address, show=lambda entry: entry.address or "-"),
    fact("noted_at", lambda entry: entry.noted_at.isoformat()),
    fact("id", lambda entry: entry.id),
)


def audit_document(entries: Sequence[AuditEntry]) -> Document:
    """Return entries of the audit log, newest first."""
    return Document(name="perfledger-audit", blocks=(table(_COLUMNS, entries, key="entries"),))


def audit_page(repository: str, entries: Sequence[AuditEntry]) -> str:
    """Return the page of what people did in a project."""
    (listed,) = audit_document(entries).keyed_tables
    return render("html/audit.html.j2", repository=repository, entries=listed)
