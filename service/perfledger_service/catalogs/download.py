"""An address of a price service into the bytes of its answer, or a CatalogError.

Only what the service itself serves is read: https (plain only to this machine), the host that was
asked, no redirects, bounded bytes and bounded time.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from requests import Response, Session
from requests.exceptions import RequestException

from perfledger_service.errors import CatalogError

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 60.0  # without a byte
# The file of one of AWS's regions has 200 to 400 MB; at 2 MB/s it takes three minutes.
MAX_FILE_BYTES = 2 * 2**30
MAX_SECONDS = 1800.0
# Azure's answers for the instances that we know are some hundred pages of a hundred prices.
MAX_PAGES = 2000
CHUNK_BYTES = 2**18
LONGEST_LINE_BYTES = 2**20
HTTP_OK = 200
_PORTS = {"https": 443, "http": 80}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Watcher(Protocol):
    """Is told how far a download is."""

    def began(self, name: str, *, total_bytes: int | None) -> None:
        """Say that the next file or page comes, and its size where that is known."""
        ...

    def received(self, count: int) -> None:
        """Say how many bytes more have come."""
        ...


class Downloader:
    """Reads from price services, all under one deadline; close it to close its connections."""

    def __init__(
        self, watcher: Watcher, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._watcher = watcher
        self._monotonic = monotonic
        self._deadline = monotonic() + MAX_SECONDS
        self._session = Session()
        self._session.headers["User-Agent"] = "perfledger"

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def lines(self, url: str, *, root: str) -> Iterator[str]:
        """Yield the lines of a text in UTF-8, each with its end; raises CatalogError."""
        left = b""
        for chunk in self._chunks(url, root, {}, {}, most=MAX_FILE_BYTES):
            *whole, left = (left + chunk).split(b"\n")
            for line in whole:
                yield _decoded(line, url) + "\n"
            if len(left) > LONGEST_LINE_BYTES:
                msg = f"{_shown(url)} has a line of over {LONGEST_LINE_BYTES} bytes: no price list"
                raise CatalogError(msg)
        if left:
            yield _decoded(left, url)

    def page(
        self,
        url: str,
        *,
        root: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        most: int,
    ) -> bytes:
        """Return one answer of at most `most` bytes; raises CatalogError."""
        return b"".join(self._chunks(url, root, params, headers, most=most))

    def _chunks(
        self,
        url: str,
        root: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        *,
        most: int,
    ) -> Iterator[bytes]:
        check_address(url, root=root)
        try:
            with self._session.get(
                url,
                params=params,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
            ) as answer:
                _check_status(answer, url)
                self._watcher.began(_shown(url), total_bytes=_length(answer))
                yield from self._bounded(answer, url, most)
        except RequestException as error:
            # The error's own words hold the address with its parameters.
            msg = f"{_shown(url)} did not answer ({type(error).__name__}): try again later"
            raise CatalogError(msg) from error

    def _bounded(self, answer: Response, url: str, most: int) -> Iterator[bytes]:
        count = 0
        for chunk in answer.iter_content(CHUNK_BYTES):
            count += len(chunk)
            if count > most:
                msg = f"{_shown(url)} sends more than {most} bytes: it is no price file"
                raise CatalogError(msg)
            if self._monotonic() > self._deadline:
                msg = f"prices were not there after {MAX_SECONDS:.0f} s: try again, or use --from"
                raise CatalogError(msg)
            self._watcher.received(len(chunk))
            yield chunk


def check_address(url: str, *, root: str) -> None:
    """Raise CatalogError unless `url` is https at the host and port of `root`.

    The next page's address comes out of an answer, and must not lead elsewhere.
    """
    asked, allowed = _place(url), _place(root)
    is_safe = asked[0] == "https" or (asked[0] == "http" and asked[1] in _LOOPBACK)
    if asked != allowed or not is_safe:
        msg = f"{_shown(url)} is not at {_shown(root)}: it is not read"
        raise CatalogError(msg)


def _place(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", None, None


def _check_status(answer: Response, url: str) -> None:
    if answer.is_redirect or answer.status_code != HTTP_OK:
        what = "redirects elsewhere" if answer.is_redirect else f"answered {answer.status_code}"
        msg = f"{_shown(url)} {what}: nothing was read; look at the address in a browser"
        raise CatalogError(msg)


def _length(answer: Response) -> int | None:
    length = answer.headers.get("Content-Length", "")
    is_packed = "Content-Encoding" in answer.headers  # then the length is not that of what we count
    return int(length) if length.isdecimal() and not is_packed else None


def _decoded(line: bytes, url: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{_shown(url)} is no text in UTF-8: it is no price list"
        raise CatalogError(msg) from error


def _shown(url: str) -> str:
    """Return an address without what stands behind "?": a key may be there."""
    return url.split("?", maxsplit=1)[0][:200]
