"""Sends a small request to a service once, with a short timeout; a check continues without it."""

import json
from contextlib import closing
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from perfledger_runners.bundles.upload import (
    NoRedirects,
    UploadError,
    UrlOpener,
    check_token,
    check_url,
)

TIMEOUT_S = 10.0  # a check goes on without the service's history
# Ten thousand spreads whose names are some 300 characters long each.
MAX_ANSWER_BYTES = 8 * 2**20


class ServiceRequestError(Exception):
    """A request without an answer; the message says why and never contains the token."""


def request_service(
    url: str,
    token: str,
    route: str,
    *,
    document: object = None,
    opener: UrlOpener | None = None,
) -> bytes:
    """Return the answer of the service at `url`, at most MAX_ANSWER_BYTES + 1 bytes.

    A document is posted as JSON. Raises ServiceRequestError, also for an invalid address or token.
    """
    try:
        check_url(url)
        check_token(token)
    except UploadError as error:
        raise ServiceRequestError(str(error)) from error
    headers = {"Authorization": f"Bearer {token}"}
    data = None
    if document is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(document).encode()
    request = Request(  # noqa: S310 - check_url allows https and loopback only
        f"{url.rstrip('/')}{route}", data=data, headers=headers
    )
    return open_request(request, opener, host="the service", max_bytes=MAX_ANSWER_BYTES + 1)


def open_request(request: Request, opener: UrlOpener | None, *, host: str, max_bytes: int) -> bytes:
    """Return the first bytes of an answer, without following redirects.

    Raises ServiceRequestError, which names the other end `host`.
    """
    try:
        with closing(
            (opener or build_opener(NoRedirects())).open(request, timeout=TIMEOUT_S)
        ) as answer:
            return answer.read(max_bytes)
    except HTTPError as error:
        with error:
            msg = f"{host} answered {error.code}"
        raise ServiceRequestError(msg) from error
    except (OSError, HTTPException) as error:
        msg = f"no answer from {host} ({error})"
        raise ServiceRequestError(msg) from error
