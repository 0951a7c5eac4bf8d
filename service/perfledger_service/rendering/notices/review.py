"""Renders the notice that a quarter's review is stored, or what it lacks."""

from perfledger_service.rendering.layout.document import Document, sentences, title

MAX_PROBLEM = 2000
_READERS = "Its decision is on the reviews page, which the project's maintainers can read"
_NEXT = (
    "The service tries again every day, and stores the review once nothing is missing",
    "perfledger review --publish stores one at once",
)


def review_notice_document(quarter: str, problem: str) -> Document:
    """Return the notice about a quarter's review; `problem` is "" if it is stored."""
    if problem:
        lines = (f"Reason: {problem[:MAX_PROBLEM].rstrip('.')}", *_NEXT)
        return Document(
            name="",
            blocks=(title(f"The review of {quarter} is not decided"), *sentences(lines)),
        )
    return Document(
        name="", blocks=(title(f"The review of {quarter} is stored"), *sentences((_READERS,)))
    )
