"""Measures how long requests take, labelled by their route's template, never by their path."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# For requests that no route answered; the sender chooses the path.
NO_ROUTE = "none"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD = "other"
# From a health check to an upload of 32 MiB over a slow line.
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BUG = 500


class RequestTimes:
    """ASGI middleware that measures each request until its answer is sent."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._app = app
        self._clock = clock
        self._seconds = Histogram(
            "perfledger_request_seconds",
            "Time from a request to the end of its answer",
            labelnames=("method", "route", "status"),
            buckets=BUCKETS_S,
            registry=registry,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and measure it; one that ends without an answer has status 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = BUG
        begin = self._clock()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
            labels = (method, route_of(scope), f"{status // 100}xx")
            self._seconds.labels(*labels).observe(self._clock() - begin)


def route_of(scope: Scope) -> str:
    """Return the template of the route that a request took: `/runs/{upload_id}`."""
    template = getattr(scope.get("route"), "path", None)
    return template if isinstance(template, str) and template else NO_ROUTE
