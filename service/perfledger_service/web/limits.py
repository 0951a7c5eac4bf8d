"""Requests of any size in, requests of at most so many bytes out, counted while they stream."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfledger_service.errors import TooLargeError

# A bundle with 200 metrics x 20 samples has 0.1 MB; what it unpacks to is `read_bundle`'s limit.
MAX_REQUEST_BYTES = 32 * 2**20


class RequestLimit:
    """ASGI middleware that raises TooLargeError in whoever reads on past the limit."""

    def __init__(self, app: ASGIApp, *, max_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a counter on its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_bytes:
                msg = f"the request has more than {self._max_bytes} bytes: send less, or gzip"
                raise TooLargeError(msg)
            return message

        await self._app(scope, counted, send)


def check_declared_size(value: str | None, *, max_bytes: int = MAX_REQUEST_BYTES) -> None:
    """Raise TooLargeError if a Content-Length already says too much: nothing needs to be read."""
    if value is not None and value.isdecimal() and int(value) > max_bytes:
        msg = f"a request of {value[:20]} bytes: at most {max_bytes} are read; send less, or gzip"
        raise TooLargeError(msg)
