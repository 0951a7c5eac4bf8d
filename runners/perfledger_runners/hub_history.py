"""A hub's address in, what the hub knows of how much pairs differ out.

It is asked once, and not for long: a check that knows nothing in advance measures a few pairs more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, build_opener

import msgspec

from perfledger.bundle import KnownSpread
from perfledger_runners.bundle_checks import BundleError, check_spreads
from perfledger_runners.upload import TOKEN, NoRedirects, Opener, UploadError, check_url

ROUTE = "/api/v1/priors"
TIMEOUT_S = 10.0
# Ten thousand spreads whose names are some 300 characters long each.
MAX_ANSWER_BYTES = 8 * 2**20


class HistoryError(Exception):
    """The hub told no history; the message says why and never holds the token."""


@dataclass(frozen=True, slots=True)
class HubHistory:
    """What the hub knew when it was asked; `history` is the number of its newest entry in it."""

    history: int
    priors: tuple[KnownSpread, ...]

    def to_json(self) -> bytes:
        """Return it as the hub tells it."""
        return msgspec.json.encode(self)


def ask_history(
    url: str, token: str, device_classes: Sequence[str] = (), *, opener: Opener | None = None
) -> HubHistory:
    """Return what the hub at `url` knows of workloads on any of these classes of devices.

    Without a class it is all that the hub knows. Raises HistoryError.
    """
    query = urlencode([("device_class", each) for each in device_classes])
    return read_history(get_from_hub(url, token, f"{ROUTE}?{query}", opener=opener))


def get_from_hub(url: str, token: str, route: str, *, opener: Opener | None = None) -> bytes:
    """Return what the hub at `url` answers with, of MAX_ANSWER_BYTES + 1 bytes at most.

    Raises HistoryError, also for an address or a token that none can be sent to.
    """
    try:
        check_url(url)
    except UploadError as error:
        raise HistoryError(str(error)) from error
    if not TOKEN.fullmatch(token):
        msg = "the upload token is empty or has characters that no token has"
        raise HistoryError(msg)
    request = Request(  # noqa: S310 - check_url allows https and loopback only
        f"{url.rstrip('/')}{route}", headers={"Authorization": f"Bearer {token}"}
    )
    return _answer(request, opener or build_opener(NoRedirects()))


def read_history(data: bytes) -> HubHistory:
    """Return the history in what a hub answered; raises HistoryError."""
    if len(data) > MAX_ANSWER_BYTES:
        msg = f"the service's answer has more than {MAX_ANSWER_BYTES} bytes"
        raise HistoryError(msg)
    try:
        found = msgspec.json.decode(data, type=HubHistory)
        check_spreads("priors", found.priors)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, BundleError) as error:
        msg = f"the service's answer is no history: {error}"
        raise HistoryError(msg) from error
    if found.history < 0:
        msg = f"the service's answer is no history: it has {found.history} entries"
        raise HistoryError(msg)
    return found


def _answer(request: Request, opener: Opener) -> bytes:
    try:
        answer = opener.open(request, timeout=TIMEOUT_S)
        try:
            return answer.read(MAX_ANSWER_BYTES + 1)
        finally:
            answer.close()
    except HTTPError as error:
        with error:
            msg = f"the service answered {error.code}"
        raise HistoryError(msg) from error
    except (OSError, HTTPException) as error:
        msg = f"no answer from the service ({error})"
        raise HistoryError(msg) from error
