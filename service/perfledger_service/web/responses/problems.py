"""Defines the API's problem documents (RFC 9457) and their stable types."""

from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, Field

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:perfledger:problem:"
# For answers that none of our errors describes. Any other status needs no explanation.
STATUS_PROBLEMS: Final = {
    400: "usage",
    404: "not-found",
    405: "method-not-allowed",
    421: "misdirected",
    422: "invalid-request",
    500: "internal",
    503: "unavailable",
}
ITSELF: Final = "about:blank"


class Problem(BaseModel):
    """Reason why a request failed (RFC 9457); `type` is stable, and `detail` is for people."""

    type: str = Field(description="stable: docs/reference/errors.md lists them all")
    title: str = Field(description="the status in words")
    status: int
    detail: str = Field(description="what happened, to what, and what to do")
    instance: str = Field(description="the path of the request")


def problem_of(status: int, detail: str, *, name: str | None, path: str) -> Problem:
    """Return the document of an error; without a name its type follows from the status."""
    problem = name or STATUS_PROBLEMS.get(status)
    return Problem(
        type=f"{TYPE_PREFIX}{problem}" if problem else ITSELF,
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=quote(path),
    )
