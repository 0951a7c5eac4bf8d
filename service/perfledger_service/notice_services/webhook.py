"""Sends notices to webhooks that take Slack's JSON: only https, no private address, no redirect.

A host's name is resolved once, and the connection uses the address that was checked, so a name that
changes its address in between cannot lead elsewhere.
"""

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_service.errors import NoticeServiceError, SettingsError
from perfledger_service.values.notices.notice import NoticeMessage

WEBHOOKS_SETTING = "PERFLEDGER_NOTICE_WEBHOOKS"
WEBHOOK_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 5.0, 10.0
# Longest that a whole request may take, without the name lookup. Limit for a whole request except
# the name lookup: a server that answers byte by byte, or many addresses that do not answer, cannot
# hold a worker longer.
MAX_SECONDS = 20.0
MAX_ANSWER_BYTES = 4096  # only its beginning is quoted if the notice is refused
MAX_REASON = 200  # characters of the answer in the reason why a notice failed
MAX_WAIT_S = float(SECONDS_PER_HOUR)  # of the receiver's Retry-After
# If the answer was lost, the message may have been accepted: it is not sent again at once.
LOST_ANSWER_WAIT_S = 60.0
# Slack truncates longer texts.
MAX_TEXT = 39_000
HTTPS_PORT = 443
_OK = range(200, 300)
_PASSING_STATUSES = frozenset({408, 425, 429})
_FIRST_SERVER_ERROR = 500
# All addresses that are assigned to the internet; Python also calls some obsolete forms outside
# this range global.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def read_webhooks(setting: SecretStr | None) -> Mapping[str, SecretStr]:
    """Return the webhooks of a setting (`NAME=URL`, separated by spaces) by name.

    Raises SettingsError, which never quotes the setting: a webhook's URL is a secret.
    """
    words = setting.get_secret_value().split() if setting else []
    webhooks: dict[str, SecretStr] = {}
    for number, word in enumerate(words, 1):
        name, _, url = word.partition("=")
        if WEBHOOK_NAME.fullmatch(name) is None or _split(url) is None:
            msg = f"{WEBHOOKS_SETTING}: entry {number} is not NAME=https://…"
            raise SettingsError(msg)
        webhooks[name] = SecretStr(url)
    return webhooks


class WebhookSender:
    """Client of the webhooks of the service's settings."""

    def __init__(
        self,
        webhooks: Mapping[str, SecretStr],
        *,
        allows_private: bool = False,
        tls: ssl.SSLContext | None = None,
        max_seconds: float = MAX_SECONDS,
    ) -> None:
        self._webhooks = webhooks
        self._allows_private = allows_private
        self._tls = tls or ssl.create_default_context()
        self._max_seconds = max_seconds

    def send(self, name: str, message: NoticeMessage) -> None:
        """Send a message to the named webhook; raise NoticeServiceError if it is not accepted.

        Errors name the webhook, never its URL.
        """
        secret = self._webhooks.get(name)
        url = _split(secret.get_secret_value()) if secret else None
        if url is None:
            msg = f"{WEBHOOKS_SETTING} has no webhook {name!r}: add it, or remove the target"
            raise NoticeServiceError(msg, is_transient=True)
        body = json.dumps({"text": slack_text(message.summary)}).encode()
        try:
            status, retry_after, answer = self._post(name, url, body)
        except (OSError, HTTPException) as error:
            msg = f"the webhook {name!r} did not answer ({type(error).__name__})"
            raise NoticeServiceError(msg, is_transient=True, wait_s=LOST_ANSWER_WAIT_S) from None
        if status not in _OK:
            raise _refusal(name, status, retry_after, answer)

    def _post(self, name: str, url: SplitResult, body: bytes) -> tuple[int, str, bytes]:
        host, port = url.hostname or "", url.port or HTTPS_PORT
        connection = HTTPSConnection(host, port, context=self._tls)
        addresses = self._addresses(name, host, port)
        end_s = time.monotonic() + self._max_seconds
        opened_socket = _connect(addresses, end_s)
        # Shutting the connection down ends a read in progress.
        second_handle = opened_socket.dup()
        end = threading.Timer(end_s - time.monotonic(), _shut_down, [second_handle])
        end.daemon = True
        end.start()
        try:
            with (
                opened_socket,
                self._tls.wrap_socket(opened_socket, server_hostname=host) as tls_socket,
            ):
                connection.sock = tls_socket
                headers = {"Content-Type": "application/json", "User-Agent": "perfledger"}
                target = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
                connection.request("POST", target, body, headers)
                with connection.getresponse() as response:
                    return response.status, response.headers.get("Retry-After", ""), _read(response)
        finally:
            end.cancel()
            second_handle.close()

    def _addresses(self, name: str, host: str, port: int) -> tuple[tuple[str, int], ...]:
        """Return the addresses to connect to; raise NoticeServiceError if all are private."""
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = dict.fromkeys(str(info[4][0]) for info in infos)
        allowed = [one for one in addresses if self._allows_private or is_public(one)]
        if not allowed:
            msg = (
                f"the webhook {name!r} is at a private address: set "
                "PERFLEDGER_NOTICE_PRIVATE_HOSTS=true to allow it"
            )
            raise NoticeServiceError(msg)
        return tuple((one, port) for one in allowed)


def is_public(address: str) -> bool:
    """Return whether an IP address, and any IPv4 address within it, is on the public internet."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        inner = _inner_address(ip)
        is_inner_public = inner is None or _is_global(inner)
        return is_inner_public and (ip in _NAT64 or (ip in _GLOBAL_UNICAST and _is_global(ip)))
    return _is_global(ip)


def slack_text(text: str) -> str:
    """Return a text escaped for Slack: it mentions nobody, and only URLs become links."""
    cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\N{HORIZONTAL ELLIPSIS}"
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _split(url: str) -> SplitResult | None:
    """Return the parts of an https URL, None for any other text."""
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme == "https" and parts.hostname and parts.port != 0
    except ValueError:
        return None
    is_plain = url.isascii() and url.isprintable() and "@" not in parts.netloc
    return parts if is_fine and is_plain else None


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_global and not ip.is_multicast


def _inner_address(ip: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address, None without one."""
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _connect(addresses: Sequence[tuple[str, int]], end_s: float) -> socket.socket:
    """Return a connection to the first address that accepts one; raise the last one's OSError."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return _open_connection(address, end_s)
    return _open_connection(addresses[-1], end_s)


def _open_connection(address: tuple[str, int], end_s: float) -> socket.socket:
    """Return a connection; raise OSError if there is none by `end_s` on the monotonic clock."""
    left_s = end_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    connection = socket.create_connection(address, timeout=min(CONNECT_TIMEOUT_S, left_s))
    connection.settimeout(READ_TIMEOUT_S)
    return connection


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):  # already closed
        connection.shutdown(socket.SHUT_RDWR)


def _read(response: HTTPResponse) -> bytes:
    """Return the beginning of an answer, empty if it breaks off: its status is already known."""
    with suppress(OSError, HTTPException):
        return response.read(MAX_ANSWER_BYTES)
    return b""


def _refusal(name: str, status: int, retry_after: str, answer: bytes) -> NoticeServiceError:
    """Return the error of a refusal, with Slack's reason, such as `no_service`."""
    words = " ".join(answer.decode("ascii", "replace").split())
    reason = "".join(letter for letter in words if letter.isprintable())[:MAX_REASON]
    is_transient = status >= _FIRST_SERVER_ERROR or status in _PASSING_STATUSES
    wait_s = min(float(retry_after), MAX_WAIT_S) if retry_after.isdecimal() else None
    return NoticeServiceError(
        f"the webhook {name!r} answered {status}{reason and ': '}{reason}",
        is_transient=is_transient,
        wait_s=wait_s,
    )
