"""Refuses requests that were sent to another name than the service's.

A page on the internet may rebind its own name to the service's address (DNS rebinding): then the
browser of somebody inside sends it what the service answers. Its requests carry its name.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from perfledger_service.web.error_responses import error_response

MISDIRECTED = 421


class AllowedHosts:
    """ASGI middleware that serves the host of the public URL, localhost, and addresses.

    An address in place of a name (a load balancer's probe) cannot be rebound.
    """

    def __init__(self, app: ASGIApp, *, public_url: str) -> None:
        self._app = app
        self._names = {"localhost", urlsplit(public_url).hostname}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 421 (Misdirected Request)."""
        if scope["type"] != "http" or self._is_allowed(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
            return
        reason = "this is not the service's address: use that of PERFLEDGER_PUBLIC_URL"
        response = error_response(Request(scope), MISDIRECTED, reason)
        await response(scope, receive, send)

    def _is_allowed(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ip_address(name))
        except ValueError:
            return False
