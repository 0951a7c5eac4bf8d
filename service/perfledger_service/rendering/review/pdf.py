"""Writes a review's HTML as a PDF; the only module that uses WeasyPrint."""

from typing import Any

import weasyprint  # pyright: ignore[reportMissingTypeStubs] - it ends here


def review_pdf(html: str) -> bytes:
    """Return the PDF; nothing is loaded from anywhere: the document holds all of itself."""
    nowhere: Any = weasyprint.URLFetcher(allowed_protocols=())
    document: Any = weasyprint.HTML(string=html, url_fetcher=nowhere)
    content: bytes = document.write_pdf()
    return content
