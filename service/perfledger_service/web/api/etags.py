"""Gives answers strong ETags, so that clients do not receive the same content twice (RFC 9110)."""

from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

# A client may keep an answer, but must ask each time whether it is still current.
_CACHE_CONTROL: Final = "private, no-cache"
_OK: Final = 200


class EtagRoute(APIRoute):
    """A route whose answers have the hash of their body as an ETag."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that answers 304 to a client that sends the body's ETag."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            response = await handler(request)
            if response.status_code != _OK:
                return response
            etag = f'"{sha256(response.body).hexdigest()[:32]}"'
            headers = {"ETag": etag, "Cache-Control": _CACHE_CONTROL, "Vary": "Authorization"}
            if "link" in response.headers:
                headers["Link"] = response.headers["link"]
            if _has(request.headers.getlist("if-none-match"), etag):
                return Response(status_code=304, headers=headers)
            response.headers.update(headers)
            return response

        return answer


def _has(values: list[str], etag: str) -> bool:
    """Return whether If-None-Match contains an ETag, by the weak comparison."""
    named = [one.strip().removeprefix("W/") for value in values for one in value.split(",")]
    return etag in named or "*" in named
