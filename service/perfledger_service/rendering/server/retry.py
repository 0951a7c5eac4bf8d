"""Presents the uploads to be retried."""

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
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME

_MAX_REASON = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedUploadRow:
    """One upload before its retry, and the reason."""

    upload_id: str
    repository: str
    pull_request: int | None
    status: str
    reason: str


_COLUMNS: tuple[Column[RetriedUploadRow], ...] = (
    name("upload_id", "upload", lambda row: row.upload_id, show=lambda row: row.upload_id[:8]),
    name("repository", "project", lambda row: row.repository, limit=MAX_LONG_NAME),
    figure("pull_request", "pull request", lambda row: row.pull_request),
    name("status", "was", lambda row: row.status),
    name("reason", "because", lambda row: row.reason, limit=_MAX_REASON),
)


def retried_document(rows: Sequence[RetriedUploadRow]) -> Document:
    """Return the uploads to be retried."""
    nothing = () if rows else (Preformatted("No upload failed, and none is waiting."),)
    uploads = table(_COLUMNS, rows, key="uploads")
    return Document(name="perfledger-retried-uploads", blocks=(*nothing, uploads))
