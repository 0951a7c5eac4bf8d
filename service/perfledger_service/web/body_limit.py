"""Limits the size of request bodies, and lets refused senders read their answer."""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfledger_service.errors import TooLargeError

# A bundle with 200 metrics x 20 samples has 0.1 MB; what it unpacks to is `read_bundle`'s limit.
MAX_REQUEST_BYTES = 32 * 2**20
# Read and thrown away before the end of the answer to a request that was not read to its end. A
# connection closed with unread bytes is reset, and most clients read no answer before they have
# sent all.
MAX_DRAINED_BYTES = 64 * 2**20
MAX_DRAIN_SECONDS = 10.0


class BodySizeLimit:
    """ASGI middleware that raises TooLargeError once a body exceeds the limit.

    It counts the body while it streams. Before it ends an answer, which is sent at once, it reads
    what is left of the body, within bounds, unless the sender waits for a permission to send
    (Expect: 100-continue).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_bytes: int = MAX_REQUEST_BYTES,
        max_drained_bytes: int = MAX_DRAINED_BYTES,
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_drained_bytes = max_drained_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a counter on its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        is_sending = "content-length" in headers or "transfer-encoding" in headers
        is_waiting = "expect" in headers
        received = 0

        async def receive_counted() -> Message:
            nonlocal received, is_sending, is_waiting
            is_waiting = False
            message = await receive()
            is_sending = message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                msg = f"the request has more than {self._max_bytes} bytes: send less, or gzip it"
                raise TooLargeError(msg)
            return message

        async def send_before_the_end(message: Message) -> None:
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last and is_sending and not is_waiting:
                await send({**message, "more_body": True})
                await _drain(receive, max_bytes=self._max_drained_bytes)
                message = {"type": "http.response.body"}
            await send(message)

        await self._app(scope, receive_counted, send_before_the_end)


async def _drain(receive: Receive, *, max_bytes: int) -> None:
    """Throw the rest of a body away, at most so many bytes and for MAX_DRAIN_SECONDS."""
    drained = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_DRAIN_SECONDS):
            while drained < max_bytes:
                message = await receive()
                drained += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def check_declared_size(value: str | None, *, max_bytes: int = MAX_REQUEST_BYTES) -> None:
    """Raise TooLargeError if Content-Length exceeds the limit, before anything is read."""
    if value is not None and value.isdecimal() and int(value) > max_bytes:
        msg = (
            f"the request has {value[:20]} bytes and the limit is {max_bytes}: "
            "send less, or gzip it"
        )
        raise TooLargeError(msg)
