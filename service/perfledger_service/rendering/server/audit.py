"""Presents the audit log as a table."""

from collections.abc import Sequence

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    display,
    fact,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME
from perfledger_service.values.people.person import AuditEntry

_MAX_DETAIL = 400


_COLUMNS: tuple[Column[AuditEntry], ...] = (
    display("when", lambda entry: f"{entry.noted_at:%Y-%m-%d %H:%M}"),
    name("actor", "who", lambda entry: entry.actor, limit=MAX_LONG_NAME),
    figure("action", "what", lambda entry: entry.action.value),
    name("repository", "project", lambda entry: entry.repository or "", limit=MAX_LONG_NAME),
    name("detail", "detail", lambda entry: entry.detail, limit=_MAX_DETAIL),
    name("address", "from", lambda entry: entry.address, show=lambda entry: entry.address or "-"),
    fact("account", lambda entry: entry.account),
    fact("noted_at", lambda entry: entry.noted_at.isoformat()),
    fact("id", lambda entry: entry.id),
)


def audit_document(entries: Sequence[AuditEntry]) -> Document:
    """Return entries of the audit log, newest first."""
    return Document(name="perfledger-audit", blocks=(table(_COLUMNS, entries, key="entries"),))
