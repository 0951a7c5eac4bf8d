"""Writes a review's HTML as a PDF; the only module that uses WeasyPrint."""

from typing import Any

import weasyprint  # pyright: ignore[reportMissingTypeStubs] - it ends here


def review_pdf(html: str) -> bytes:
    """Return the PDF; the document is self-contained and loads nothing."""
    nowhere: Any = weasyprint.URLFetcher(allowed_protocols=())
    document: Any = weasyprint.HTML(string=html, url_fetcher=nowhere)
    content: bytes = document.write_pdf()
    return content
