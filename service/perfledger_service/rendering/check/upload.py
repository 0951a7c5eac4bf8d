"""Presents an uploaded bundle."""

from perfledger_service.rendering.layout.document import Document, Preformatted


def upload_document(url: str) -> Document:
    """Return the address of an upload's page, on one line."""
    return Document(name="perfledger-upload", facts={"url": url}, blocks=(Preformatted(url),))
