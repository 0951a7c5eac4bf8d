"""Tells who may read the metrics: holders of a token for them, or programs on this machine.

They are about all projects, so that no project's token opens them.
"""

import hmac
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from perfledger_service.errors import RefusedError
from perfledger_service.settings.network_addresses import is_loopback
from perfledger_service.web.app_state import CurrentAppState

# What a proxy on this machine adds to the requests of others.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_bearer = HTTPBearer(
    auto_error=False, scheme_name="Metrics", description="the service's PERFLEDGER_METRICS_TOKEN"
)


def metrics_reader(
    request: Request,
    state: CurrentAppState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> None:
    """Let the holder of the token read; raise RefusedError else.

    Without a token, programs on this machine read. A plain proxy on it looks like one of them.
    """
    expected = state.metrics_token.get_secret_value().encode() if state.metrics_token else b""
    sent = credentials.credentials.encode() if credentials else b""
    if hmac.compare_digest(sent, expected) if expected else _is_of_this_machine(request):
        return
    msg = "no token for metrics: send the service's PERFLEDGER_METRICS_TOKEN as a bearer token"
    raise RefusedError(msg, status=401)


def _is_of_this_machine(request: Request) -> bool:
    """Return whether a request came from this machine to an address of its own, and directly.

    A proxy on this machine passes on others' requests, with the name that they asked for.
    """
    if any(name in request.headers for name in _FORWARDED):
        return False
    peer = request.client.host if request.client else ""
    return is_loopback(peer) and is_loopback(request.url.hostname or "")
