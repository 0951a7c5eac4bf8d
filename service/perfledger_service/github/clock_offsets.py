"""Compares our clock with GitHub's, by the date of its answers."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# In every answer of GitHub itself, and in no page of a proxy.
GITHUB_HEADER = "X-GitHub-Request-Id"
# Dates have whole seconds, and answers are under way for some.
MIN_OFFSET = timedelta(minutes=1)


def offset_of(headers: Mapping[str, str], *, now: datetime) -> timedelta | None:
    """Return how far GitHub's clock is ahead of ours, 0 for up to a minute.

    None if the answer is not GitHub's, or has no valid date.
    """
    if GITHUB_HEADER not in headers:
        return None
    try:
        date = parsedate_to_datetime(headers.get("Date", ""))
    except ValueError:
        return None
    offset = date.replace(tzinfo=date.tzinfo or UTC) - now
    return offset if abs(offset) > MIN_OFFSET else timedelta(0)
