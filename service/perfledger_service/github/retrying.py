"""Retries requests if a retry is safe and may succeed."""

import time
from collections.abc import Callable
from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as LostConnectionError, Timeout

MAX_ATTEMPTS = 4  # beyond them the post waits in the database
FIRST_WAIT_S = 0.5  # doubled with each attempt
# Idempotent methods; a POST whose answer was lost may have succeeded.
REPEATABLE = frozenset({"GET", "PATCH", "DELETE"})
# Marks a request that is never repeated, whatever its method; the header is not sent.
ONCE = "Perfledger-Once"
SERVER_ERRORS = frozenset({500, 502, 503, 504})


class RetryingAdapter(HTTPAdapter):
    """Adapter that retries server and network errors of repeatable requests for a few seconds.

    Longer outages are left to the workflow, so that no thread is blocked.
    """

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
        is_once = request.headers.pop(ONCE, None) is not None
        is_repeatable = request.method in REPEATABLE and not is_once
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
            is_error = response.status_code in SERVER_ERRORS
            # If GitHub asks to wait, no thread sleeps here.
            if is_last or not (is_error and is_repeatable) or "Retry-After" in response.headers:
                return response
            response.close()
            self._sleep(backoff_s)
        msg = "unreachable: the last attempt returns or raises"
        raise AssertionError(msg)
