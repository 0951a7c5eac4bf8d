"""Presents a revoked token."""

from perfledger_service.rendering.layout.document import Document, fact_document


def revoked_token_document(prefix: str) -> Document:
    """Return the prefix of a revoked token."""
    return fact_document(
        "perfledger-revoked-token", {"prefix": prefix}, f"{prefix} is revoked.", names=(prefix,)
    )
