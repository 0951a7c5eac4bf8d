"""Fetches the pair spreads that a service has learnt from earlier checks.

One request with a short timeout: without an answer a check measures a few pairs more.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, build_opener

import msgspec

from perfledger.bundle import KnownSpread
from perfledger_runners.bundles.bundle_checks import check_spreads
from perfledger_runners.bundles.upload import (
    NoRedirects,
    UploadError,
    UrlOpener,
    check_token,
    check_url,
)
from perfledger_runners.bundles.value_checks import BundleError

ROUTE = "/api/v1/priors"
TIMEOUT_S = 10.0
# Ten thousand spreads whose names are some 300 characters long each.
MAX_ANSWER_BYTES = 8 * 2**20


class ServiceHistoryError(Exception):
    """A service that sent no history; the message says why and never contains the token."""


@dataclass(frozen=True, slots=True)
class ServiceHistory:
    """A service's spread priors; `history` is the number of its newest entry."""

    history: int
    priors: tuple[KnownSpread, ...]

    def to_json(self) -> bytes:
        """Return the JSON that the service sends."""
        return msgspec.json.encode(self)


_SERVICE_HISTORY_DECODER = msgspec.json.Decoder(ServiceHistory)


def fetch_history(
    url: str, token: str, device_classes: Sequence[str] = (), *, opener: UrlOpener | None = None
) -> ServiceHistory:
    """Return the priors of the service at `url` for workloads on any of these device classes.

    Without a class, return all. Raises ServiceHistoryError.
    """
    query = urlencode([("device_class", each) for each in device_classes])
    return read_history(get_from_service(url, token, f"{ROUTE}?{query}", opener=opener))


def get_from_service(url: str, token: str, route: str, *, opener: UrlOpener | None = None) -> bytes:
    """Return the answer of the service at `url`, at most MAX_ANSWER_BYTES + 1 bytes.

    Raises ServiceHistoryError, also for an address or a token that is not valid.
    """
    try:
        check_url(url)
        check_token(token)
    except UploadError as error:
        raise ServiceHistoryError(str(error)) from error
    request = Request(  # noqa: S310 - check_url allows https and loopback only
        f"{url.rstrip('/')}{route}", headers={"Authorization": f"Bearer {token}"}
    )
    return _answer(request, opener or build_opener(NoRedirects()))


def read_history(data: bytes) -> ServiceHistory:
    """Return the history in a service's answer; raise ServiceHistoryError."""
    if len(data) > MAX_ANSWER_BYTES:
        msg = f"the service's answer has more than {MAX_ANSWER_BYTES} bytes"
        raise ServiceHistoryError(msg)
    try:
        answer = _SERVICE_HISTORY_DECODER.decode(data)
        check_spreads("priors", answer.priors)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, BundleError) as error:
        msg = f"the service's answer is not a history: {error}"
        raise ServiceHistoryError(msg) from error
    if answer.history < 0:
        msg = f"the service's answer is not a history: it has {answer.history} entries"
        raise ServiceHistoryError(msg)
    return answer


def _answer(request: Request, opener: UrlOpener) -> bytes:
    try:
        with closing(opener.open(request, timeout=TIMEOUT_S)) as answer:
            return answer.read(MAX_ANSWER_BYTES + 1)
    except HTTPError as error:
        with error:
            msg = f"the service answered {error.code}"
        raise ServiceHistoryError(msg) from error
    except (OSError, HTTPException) as error:
        msg = f"no answer from the service ({error})"
        raise ServiceHistoryError(msg) from error
