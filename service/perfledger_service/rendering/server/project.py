"""Presents the projects and their upload tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Preformatted,
    figure,
    name,
    table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTokenRow:
    """One upload token as shown: its prefix."""

    repository: str
    prefix: str
    created_on: str
    scope: str
    expires_on: str | None  # None: never
    revoked_on: str | None


_COLUMNS: tuple[Column[UploadTokenRow], ...] = (
    name("repository", "project", lambda row: row.repository, limit=200),
    name("prefix", "token", lambda row: row.prefix, show=lambda row: f"{row.prefix}_…"),
    figure("created_on", "created", lambda row: row.created_on),
    figure("scope", "may", lambda row: row.scope),
    figure("expires_on", "expires", lambda row: row.expires_on),
    figure("revoked_on", "revoked", lambda row: row.revoked_on),
)


def new_token_document(repository: str, token: str) -> Document:
    """Return a new token, alone on a line."""
    return Document(
        name="perfledger-new-token",
        facts={"repository": repository, "token": token},
        blocks=(Preformatted(token),),
    )


def tokens_document(rows: Sequence[UploadTokenRow]) -> Document:
    """Return upload tokens."""
    return Document(name="perfledger-tokens", blocks=(table(_COLUMNS, rows, key="tokens"),))
