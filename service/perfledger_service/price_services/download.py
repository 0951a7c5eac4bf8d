"""Downloads price lists over HTTPS.

Only https is used (http to this machine only), only the requested host, no redirects, and bounded
bytes and time.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from requests import Response, Session
from requests.exceptions import RequestException

from perfledger.rounding import integer
from perfledger_service.errors import PriceServiceError
from perfledger_service.settings.network_addresses import is_loopback

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 60.0  # longest silence
# The file of one AWS region has 200 to 400 MB; at 2 MB/s that takes three minutes.
MAX_FILE_BYTES = 2 * 2**30
MAX_SECONDS = 1800.0  # for one list; beyond it the download ends with an error
# Azure returns about a hundred pages of a hundred prices for the instances that we know.
MAX_PAGES = 2000
CHUNK_BYTES = 2**18
MAX_LINE_BYTES = 2**20
HTTP_OK = 200
_PORTS = {"https": 443, "http": 80}


class DownloadProgress(Protocol):
    """Receiver of a download's progress."""

    def began(self, name: str, *, total_bytes: int | None) -> None:
        """Report the start of the next file or page, with its size if known."""
        ...

    def received(self, count: int) -> None:
        """Report how many bytes have arrived since the last call."""
        ...


class Downloader:
    """Client of price services, with one deadline for all downloads."""

    def __init__(
        self, progress: DownloadProgress, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._watcher = progress
        self._monotonic = monotonic
        self._deadline = monotonic() + MAX_SECONDS
        self._session = Session()
        self._session.headers["User-Agent"] = "perfledger"

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def lines(self, url: str, *, root: str) -> Iterator[str]:
        """Yield the lines of a UTF-8 text, each with its line end; raises PriceServiceError."""
        left = b""
        for chunk in self._chunks(url, root, {}, {}, most=MAX_FILE_BYTES):
            *complete, left = (left + chunk).split(b"\n")
            for line in complete:
                yield _decode_line(line, url) + "\n"
            if len(left) > MAX_LINE_BYTES:
                where = _without_query(url)
                msg = f"{where} has a line of over {MAX_LINE_BYTES} bytes: not a price list"
                raise PriceServiceError(msg)
        if left:
            yield _decode_line(left, url)

    def page(
        self,
        url: str,
        *,
        root: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        most: int,
    ) -> bytes:
        """Return one answer of at most `most` bytes; raises PriceServiceError."""
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
                self._watcher.began(_without_query(url), total_bytes=_length(answer))
                yield from self._chunks_within(answer, url, most)
        except RequestException as error:
            # The error's text contains the address with its query.
            msg = f"{_without_query(url)} did not answer ({type(error).__name__}): try again later"
            raise PriceServiceError(msg) from error

    def _chunks_within(self, answer: Response, url: str, most: int) -> Iterator[bytes]:
        count = 0
        for chunk in answer.iter_content(CHUNK_BYTES):
            count += len(chunk)
            if count > most:
                msg = f"{_without_query(url)} sends more than {most} bytes: it is not a price file"
                raise PriceServiceError(msg)
            if self._monotonic() > self._deadline:
                seconds = integer(MAX_SECONDS)
                msg = f"no prices after {seconds} s: try again, or read files with --file"
                raise PriceServiceError(msg)
            self._watcher.received(len(chunk))
            yield chunk


def check_address(url: str, *, root: str) -> None:
    """Raise PriceServiceError unless `url` is https at the host and port of `root`.

    The next page's address comes from an answer, and must not lead to another host.
    """
    requested, allowed = _origin_of(url), _origin_of(root)
    is_safe = requested[0] == "https" or (
        requested[0] == "http" and is_loopback(requested[1] or "")
    )
    if requested != allowed or not is_safe:
        msg = f"{_without_query(url)} is not at {_without_query(root)}: it was not read"
        raise PriceServiceError(msg)


def _origin_of(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", None, None


def _check_status(answer: Response, url: str) -> None:
    if answer.is_redirect or answer.status_code != HTTP_OK:
        problem = "redirects" if answer.is_redirect else f"answered {answer.status_code}"
        msg = f"{_without_query(url)} {problem}: open the address in a browser to see why"
        raise PriceServiceError(msg)


def _length(answer: Response) -> int | None:
    length = answer.headers.get("Content-Length", "")
    # The length of a compressed answer is not that of the bytes that we count.
    is_packed = "Content-Encoding" in answer.headers
    return int(length) if length.isdecimal() and not is_packed else None


def _decode_line(line: bytes, url: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{_without_query(url)} is not UTF-8 text: it is not a price list"
        raise PriceServiceError(msg) from error


def _without_query(url: str) -> str:
    """Return an address without its query, which may contain a key."""
    return url.split("?", maxsplit=1)[0][:200]
