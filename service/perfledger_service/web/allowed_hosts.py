"""Refuses requests for a host name that is not the service's.

A page on the internet may rebind its own name to the service's address (DNS rebinding); the browser
of somebody inside the network would then hand it the service's answers. Such requests carry the
page's own name.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from perfledger_service.web.responses.errors import error_response

MISDIRECTED = 421


class AllowedHosts:
    """ASGI middleware that serves the host of the public URL, localhost, and IP addresses.

    A request to an IP address (a load balancer's probe) has no name that could be rebound.
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
