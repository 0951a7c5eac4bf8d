"""Decides who may read the metrics: holders of their token, or programs on this machine.

Metrics cover all projects, so no project's token grants access to them.
"""

import hmac
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from perfledger_service.errors import RefusedError
from perfledger_service.settings.network_addresses import is_loopback
from perfledger_service.web.app_state import CurrentAppState

# Headers that a proxy on this machine adds to the requests of others.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_bearer = HTTPBearer(
    auto_error=False, scheme_name="Metrics", description="the service's PERFLEDGER_METRICS_TOKEN"
)


def metrics_reader(
    request: Request,
    state: CurrentAppState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> None:
    """Let the holder of the token read; raise RefusedError for others.

    Without a token, programs on this machine may read. A proxy on this machine that adds no headers
    looks like one of them.
    """
    expected = state.metrics_token.get_secret_value().encode() if state.metrics_token else b""
    sent = credentials.credentials.encode() if credentials else b""
    if hmac.compare_digest(sent, expected) if expected else _is_of_this_machine(request):
        return
    msg = "no token for metrics: send the service's PERFLEDGER_METRICS_TOKEN as a bearer token"
    raise RefusedError(msg, status=401)


def _is_of_this_machine(request: Request) -> bool:
    """Return whether a request came directly from this machine to one of its own addresses.

    A proxy on this machine forwards the requests of others, with the host name that they requested.
    """
    if any(name in request.headers for name in _FORWARDED):
        return False
    peer = request.client.host if request.client else ""
    return is_loopback(peer) and is_loopback(request.url.hostname or "")
