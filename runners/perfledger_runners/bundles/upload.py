"""Uploads a spooled bundle to a service; retries are safe, since the service stores it once.

The idempotency key is the hash of the bundle: sending it again, after a lost answer or from another
process, returns the first receipt.
"""

import gzip
import hashlib
import ipaddress
import re
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Protocol
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from perfledger_runners.bundles.files import unpack
from perfledger_runners.safe_text import clean_text

ROUTE = "/api/v1/uploads"
TIMEOUT_S = 60.0  # for one attempt; the service answers once the bundle is stored
# 1, 2, 4, ... seconds: about a minute in all, which outlasts a restart of the service.
MAX_ATTEMPTS = 7
MAX_WAIT_S = 120.0  # between two attempts, also if the service asks for a longer wait
# Too busy, or a proxy's answer: the service may be available a moment later.
TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
MAX_ANSWER_BYTES = 64 * 1024  # an answer is an id or an error
MAX_MESSAGE = 500  # characters of the service's error that are shown
TOKEN = re.compile(r"[\x21-\x7e]+")


class UploadError(Exception):
    """A bundle that the service refused; the message says why and never contains the token."""


class NoReceiptError(UploadError):
    """A bundle that a service accepted in none of the attempts; a later one may succeed."""


@dataclass(frozen=True, slots=True)
class UploadReceipt:
    """A service's receipt of a bundle: the upload's id, its status and its page."""

    id: str
    status: str
    url: str


@dataclass(frozen=True, slots=True)
class ServiceProblem:
    """The fields of a service's answer to a failed request."""

    detail: str


_UPLOAD_RECEIPT_DECODER = msgspec.json.Decoder(UploadReceipt)
_PROBLEM_DECODER = msgspec.json.Decoder(ServiceProblem)


class HttpResponse(Protocol):
    """The answer that an opener returns."""

    def read(self, amount: int, /) -> bytes:
        """Return at most `amount` bytes of the body."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


class UrlOpener(Protocol):
    """The sender of a request: urllib's OpenerDirector, or a test's."""

    def open(
        self, fullurl: Request, data: None = None, timeout: float | None = None
    ) -> HttpResponse:
        """Return the answer; raises HTTPError for an error status and OSError for no answer."""
        ...


def upload(
    path: Path,
    url: str,
    token: str,
    *,
    route: str = ROUTE,
    sleep: Callable[[float], object] = time.sleep,
    opener: UrlOpener | None = None,
) -> UploadReceipt:
    """Send the bundle at `path` to the service at `url` and return the receipt.

    Raises UploadError as `upload_content` does.
    """
    try:
        return upload_content(
            path.read_bytes(), url, token, route=route, sleep=sleep, opener=opener
        )
    except NoReceiptError as error:
        msg = f"{error}; {path} is kept"
        raise UploadError(msg) from error


def upload_content(
    content: bytes,
    url: str,
    token: str,
    *,
    route: str = ROUTE,
    sleep: Callable[[float], object] = time.sleep,
    opener: UrlOpener | None = None,
) -> UploadReceipt:
    """Send a bundle, gzipped or plain, to the service at `url` and return the receipt.

    Retries after a missing answer or a transient refusal, waiting as long as the service asks.
    Raises UploadError, which is a NoReceiptError once all attempts are used up.
    """
    check_url(url)
    check_token(token)
    request = _request(unpack(content), f"{url.rstrip('/')}{route}", token)
    sender = opener or build_opener(NoRedirects())
    complaint = ""
    for attempt in range(MAX_ATTEMPTS):
        try:
            return _send(request, sender)
        except HTTPError as error:
            complaint = _complaint(error, token)
            if error.code not in TRANSIENT_STATUSES:
                msg = f"{url} refused the bundle: {complaint}"
                raise UploadError(msg) from error
            wait_s = _retry_after(error.headers)
        except (OSError, HTTPException) as error:
            complaint, wait_s = f"no answer ({error})", None
        if attempt < MAX_ATTEMPTS - 1:
            sleep(2.0**attempt if wait_s is None else wait_s)
    msg = f"{url} did not accept the bundle in {MAX_ATTEMPTS} attempts: {complaint}"
    raise NoReceiptError(msg)


def check_url(url: str) -> None:
    """Raise UploadError unless a token may be sent there: over TLS, or within this machine."""
    msg = "the upload URL is not of the form https://host/path, without a name or password"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:  # an invalid port or IPv6 address
        raise UploadError(msg) from error
    if parts.username is not None or parts.password is not None or not host or port == 0:
        raise UploadError(msg)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        msg = f"the upload URL {url!r} is not https: a token would travel in the clear"
        raise UploadError(msg)


def check_token(token: str) -> None:
    """Raise UploadError for a token with characters that tokens do not have."""
    if not TOKEN.fullmatch(token):
        msg = "the upload token is empty or contains invalid characters"
        raise UploadError(msg)


class NoRedirects(HTTPRedirectHandler):
    """A handler that follows no redirect, as the token would go wherever it points."""

    def redirect_request(  # noqa: PLR0917 - urllib's signature
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return no request to follow; the redirect is then an HTTPError like any other."""


def _request(bundle: bytes, url: str, token: str) -> Request:
    return Request(  # noqa: S310 - check_url allows https and loopback only
        url,
        data=gzip.compress(bundle, mtime=0),
        method="POST",
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "Idempotency-Key": hashlib.sha256(bundle).hexdigest(),
        },
    )


def _send(request: Request, opener: UrlOpener) -> UploadReceipt:
    with closing(opener.open(request, timeout=TIMEOUT_S)) as answer:
        body = answer.read(MAX_ANSWER_BYTES)
    try:
        return _UPLOAD_RECEIPT_DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the service's answer is not a receipt: {error}"
        raise UploadError(msg) from error


def _complaint(error: HTTPError, token: str) -> str:
    with error:
        try:
            words = _detail(error.read(MAX_ANSWER_BYTES))
        except (OSError, HTTPException):
            words = ""
    if error.code in range(300, 400):
        words = f"it redirects to {error.headers.get('Location')!r}: set the URL to the right one"
    excerpt = clean_text(words.replace(token, "***")).strip()[:MAX_MESSAGE]
    return f"{error.code} {error.reason}: {excerpt}"


def _detail(answer: bytes) -> str:
    """Return the text of a problem document (RFC 9457), and any other answer unchanged."""
    try:
        return _PROBLEM_DECODER.decode(answer).detail
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return answer.decode(errors="replace")


def _retry_after(headers: Message) -> float | None:
    """Return how many seconds the service asks to wait (RFC 9110, section 10.2.3)."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return min(float(value), MAX_WAIT_S)
    try:
        wait_s = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return None
    return min(max(wait_s, 0.0), MAX_WAIT_S)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
