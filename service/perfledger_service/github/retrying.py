"""Retries requests where a retry is safe and may succeed."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as LostConnectionError, Timeout

MAX_ATTEMPTS = 4
FIRST_WAIT_S = 0.5
# For longer waits the workflow retries, so that no thread is blocked.
MAX_WAIT_S = 60.0
# Idempotent methods; a POST whose answer was lost may have succeeded.
REPEATABLE = frozenset({"GET", "PATCH", "DELETE"})
SERVER_ERRORS = frozenset({500, 502, 503, 504})
# Rate limits: nothing was written, whatever the method.
REFUSALS = frozenset({403, 429})


class RetryingAdapter(HTTPAdapter):
    """Adapter that retries rate limits and, except for POST, server and network errors."""

    def __init__(self, *, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__()
        self._sleep = sleep

    def send(  # noqa: PLR0917 - the signature of requests
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,  # noqa: ANN401 - requests keeps the type to itself
        verify: bool | str = True,
        cert: Any = None,  # noqa: ANN401 - requests keeps the type to itself
        proxies: dict[str, str] | None = None,
    ) -> Response:
        """Send the request, at most MAX_ATTEMPTS times."""
        is_repeatable = request.method in REPEATABLE
        for attempt in range(MAX_ATTEMPTS):
            is_last = attempt == MAX_ATTEMPTS - 1
            backoff_s = FIRST_WAIT_S * 2**attempt
            try:
                response = super().send(request, stream, timeout, verify, cert, proxies)
            except (LostConnectionError, Timeout):
                if is_last or not is_repeatable:
                    raise
                self._sleep(backoff_s)
                continue
            wait_s = _wait_s(response, is_repeatable=is_repeatable, backoff_s=backoff_s)
            if is_last or wait_s is None or wait_s > MAX_WAIT_S:
                return response
            response.close()
            self._sleep(wait_s)
        msg = "unreachable: the last attempt returns or raises"
        raise AssertionError(msg)


def _wait_s(response: Response, *, is_repeatable: bool, backoff_s: float) -> float | None:
    """Return the wait before the next attempt, or None without one."""
    if response.status_code in REFUSALS:
        return retry_after_s(response.headers)
    if response.status_code in SERVER_ERRORS and is_repeatable:
        return max(backoff_s, retry_after_s(response.headers) or 0.0)
    return None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks for; GitHub sends no dates in it."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
