"""Fetches the pair spreads that a service has learnt from earlier checks.

Without an answer, a check measures a few more pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import msgspec

from perfledger.bundle import KnownSpread
from perfledger_runners.bundles.service_requests import (
    MAX_ANSWER_BYTES,
    ServiceRequestError,
    request_service,
)
from perfledger_runners.bundles.upload import UrlOpener
from perfledger_runners.bundles.validation import check_spreads
from perfledger_runners.bundles.value_checks import BundleError

ROUTE = "/api/v1/priors"


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
    url: str, token: str, machine_classes: Sequence[str] = (), *, opener: UrlOpener | None = None
) -> ServiceHistory:
    """Return the priors of the service at `url` for workloads on any of these machine classes.

    Without a class, all are returned. Raises ServiceRequestError.
    """
    query = urlencode([("machine_class", each) for each in machine_classes])
    return read_history(request_service(url, token, f"{ROUTE}?{query}", opener=opener))


def read_history(data: bytes, *, source: str = "the service's answer") -> ServiceHistory:
    """Return the history in a service's answer, or in a file of this name with one.

    Raises ServiceRequestError.
    """
    if len(data) > MAX_ANSWER_BYTES:
        msg = f"{source} has more than {MAX_ANSWER_BYTES} bytes"
        raise ServiceRequestError(msg)
    try:
        answer = _SERVICE_HISTORY_DECODER.decode(data)
        check_spreads("priors", answer.priors)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, BundleError) as error:
        msg = f"{source} is not a history: {error}"
        raise ServiceRequestError(msg) from error
    if answer.history < 0:
        msg = f"{source} is not a history: it has {answer.history} entries"
        raise ServiceRequestError(msg)
    return answer
