"""Sends notices to webhooks that take Slack's JSON: https alone, no private address, no redirect.

A host's name is resolved once, and the connection is made to the address that was checked: a name
that changes its address meanwhile leads nowhere else.
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

from perfledger_service.errors import NoticeServiceError, SettingsError
from perfledger_service.values.notices.notice import NoticeMessage

WEBHOOKS_SETTING = "PERFLEDGER_NOTICE_WEBHOOKS"
WEBHOOK_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 5.0, 10.0
# For all of a request but looking its host up: neither a server that answers byte by byte nor many
# addresses that do not answer hold a worker longer.
MAX_SECONDS = 20.0
MAX_ANSWER_BYTES = 4096
MAX_REASON = 200
MAX_WAIT_S = 3600.0
# A message whose answer was lost may have been taken: it is not sent again at once.
LOST_ANSWER_WAIT_S = 60.0
# Slack cuts longer texts.
MAX_TEXT = 39_000
HTTPS_PORT = 443
_OK = range(200, 300)
_PASSING_STATUSES = frozenset({408, 425, 429})
_FIRST_SERVER_ERROR = 500
# All that is assigned to the internet; Python takes old forms outside of it for global, too.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def read_webhooks(setting: SecretStr | None) -> Mapping[str, SecretStr]:
    """Return the webhooks of a setting, `NAME=URL` separated by spaces, by their names.

    Raises SettingsError, which never quotes the setting: a webhook's URL is a secret.
    """
    words = setting.get_secret_value().split() if setting else []
    webhooks: dict[str, SecretStr] = {}
    for place, word in enumerate(words, 1):
        name, _, url = word.partition("=")
        if WEBHOOK_NAME.fullmatch(name) is None or _split(url) is None:
            msg = f"{WEBHOOKS_SETTING}: entry {place} is not NAME=https://…"
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
        """Send a message to the webhook with a name; raise NoticeServiceError if it is not taken.

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
        # Shutting the connection down ends a read that is under way.
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
        """Return the addresses to connect to; raise NoticeServiceError where all are private."""
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
    """Return whether an IP address is one of the internet, also that which it stands for."""
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
    """Return a text as Slack reads it: nobody is mentioned and nothing is a link but a URL."""
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
    """Return the IPv4 address to which an IPv6 address leads, None for its own."""
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _connect(addresses: Sequence[tuple[str, int]], end_s: float) -> socket.socket:
    """Return a connection to the first address that takes one; raise the last one's OSError."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return _connected(address, end_s)
    return _connected(addresses[-1], end_s)


def _connected(address: tuple[str, int], end_s: float) -> socket.socket:
    """Return a connection; raise OSError without one until a time of the monotonic clock."""
    left_s = end_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    connection = socket.create_connection(address, timeout=min(CONNECT_TIMEOUT_S, left_s))
    connection.settimeout(READ_TIMEOUT_S)
    return connection


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):  # it ended by itself
        connection.shutdown(socket.SHUT_RDWR)


def _read(response: HTTPResponse) -> bytes:
    """Return the beginning of an answer, nothing where it breaks off: its status is known."""
    with suppress(OSError, HTTPException):
        return response.read(MAX_ANSWER_BYTES)
    return b""


def _refusal(name: str, status: int, retry_after: str, answer: bytes) -> NoticeServiceError:
    """Return the error of a refusal with Slack's own words, such as `no_service`."""
    words = " ".join(answer.decode("ascii", "replace").split())
    reason = "".join(letter for letter in words if letter.isprintable())[:MAX_REASON]
    is_transient = status >= _FIRST_SERVER_ERROR or status in _PASSING_STATUSES
    wait_s = min(float(retry_after), MAX_WAIT_S) if retry_after.isdecimal() else None
    return NoticeServiceError(
        f"the webhook {name!r} answered {status}{reason and ': '}{reason}",
        is_transient=is_transient,
        wait_s=wait_s,
    )
