"""Limits the size of request bodies, counted while they stream."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfledger_service.errors import TooLargeError

# A bundle with 200 metrics x 20 samples has 0.1 MB; what it unpacks to is `read_bundle`'s limit.
MAX_REQUEST_BYTES = 32 * 2**20


class BodySizeLimit:
    """ASGI middleware that raises TooLargeError once a body exceeds the limit."""

    def __init__(self, app: ASGIApp, *, max_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a counter on its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received = 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                msg = f"the request has more than {self._max_bytes} bytes: send less, or gzip it"
                raise TooLargeError(msg)
            return message

        await self._app(scope, receive_counted, send)


def check_declared_size(value: str | None, *, max_bytes: int = MAX_REQUEST_BYTES) -> None:
    """Raise TooLargeError if Content-Length exceeds the limit, before anything is read."""
    if value is not None and value.isdecimal() and int(value) > max_bytes:
        msg = (
            f"the request has {value[:20]} bytes and the limit is {max_bytes}: "
            "send less, or gzip it"
        )
        raise TooLargeError(msg)
