"""Gets the token that identifies a GitHub Actions run to a service.

GitHub gives each job with `permissions: id-token: write` an address and a secret for requesting it.
Each upload has its own token, which is valid for some minutes and for one service.
"""

from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit
from urllib.request import Request

import msgspec

from perfledger_runners.bundles.service_requests import ServiceRequestError, open_request
from perfledger_runners.bundles.upload import UrlOpener

MAX_ANSWER_BYTES = 64 * 1024  # GitHub's token has about two kilobytes


class _Answer(msgspec.Struct):
    value: str


_ANSWER_DECODER = msgspec.json.Decoder(_Answer)


@dataclass(frozen=True, slots=True)
class ActionsIdentity:
    """The address at which a job requests its tokens from GitHub, and the secret for it."""

    url: str
    secret: str = field(repr=False)

    def token_for(self, service: str, *, opener: UrlOpener | None = None) -> str:
        """Return a new token for the service at this address; raise ServiceRequestError."""
        if urlsplit(self.url).scheme != "https":
            msg = "ACTIONS_ID_TOKEN_REQUEST_URL is not https: no token was requested"
            raise ServiceRequestError(msg)
        request = Request(  # noqa: S310 - https, as checked
            f"{self.url}&audience={quote(service.rstrip('/'), safe='')}",
            headers={"Authorization": f"Bearer {self.secret}"},
        )
        try:
            answer = open_request(request, opener, host="GitHub", max_bytes=MAX_ANSWER_BYTES)
            return _ANSWER_DECODER.decode(answer).value
        except (
            ServiceRequestError,
            msgspec.MsgspecError,
            UnicodeDecodeError,
            RecursionError,
        ) as error:
            msg = f"GitHub gave the run no token: {error}"
            raise ServiceRequestError(msg) from error
