"""Counts the requests to GitHub by outcome."""

import threading
from collections import Counter
from enum import StrEnum

SERVER_ERROR = 500


class RequestOutcome(StrEnum):
    """Outcome of a request to GitHub."""

    DONE = "done"
    REFUSED = "refused"  # a status from 300 to 499, also for a missing resource
    FAILED = "failed"  # GitHub's own failure
    NO_ANSWER = "no_answer"


class RequestCounts:
    """Counts of one process's requests since it started; safe across threads."""

    def __init__(self) -> None:
        self._numbers: Counter[tuple[str, RequestOutcome]] = Counter()
        self._rate_limits = 0
        self._lock = threading.Lock()

    def note_request(self, method: str, outcome: RequestOutcome) -> None:
        """Count a request."""
        with self._lock:
            self._numbers[method, outcome] += 1

    def note_rate_limit(self) -> None:
        """Count a refusal after which no request is sent for a while."""
        with self._lock:
            self._rate_limits += 1

    @property
    def rate_limits(self) -> int:
        """Return how often GitHub asked us to wait."""
        return self._rate_limits

    def numbers(self) -> dict[tuple[str, RequestOutcome], int]:
        """Return the number of requests by method and outcome."""
        with self._lock:
            return dict(self._numbers)


def outcome_of(status: int) -> RequestOutcome:
    """Return the outcome of a request that was answered with a status of 300 or more."""
    return RequestOutcome.FAILED if status >= SERVER_ERROR else RequestOutcome.REFUSED
