"""Turns a review's HTML into a PDF for sign-off: the only module that faces WeasyPrint."""

from typing import Any

import weasyprint  # pyright: ignore[reportMissingTypeStubs] - it ends here


def review_pdf(html: str) -> bytes:
    """Return the PDF; nothing is loaded from anywhere: the document holds all of itself."""
    nowhere: Any = weasyprint.URLFetcher(allowed_protocols=())
    document: Any = weasyprint.HTML(string=html, url_fetcher=nowhere)
    content: bytes = document.write_pdf()
    return content
