"""Limits the size of request bodies, and lets refused senders read the answer."""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfledger_service.errors import TooLargeError

# A bundle with 200 metrics x 20 samples has 0.1 MB; `read_bundle` limits its unpacked size.
MAX_REQUEST_BYTES = 32 * 2**20
# Number of bytes that are read and discarded before the answer ends, if the request was not read to
# its end. A connection that is closed with unread bytes is reset, and most clients do not read an
# answer before they have sent everything.
MAX_DRAINED_BYTES = 64 * 2**20
MAX_DRAIN_SECONDS = 10.0  # for the rest of a refused body, so that the sender reads the refusal


class BodySizeLimit:
    """ASGI middleware that raises TooLargeError once a body exceeds the limit.

    It counts the body as it streams. It sends the answer at once, but before ending it reads the
    rest of the body, up to a limit, unless the sender waits for permission to send (Expect:
    100-continue).
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
        """Pass the request on, counting the bytes of its body."""
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
    """Discard the rest of a body: at most `max_bytes`, for at most MAX_DRAIN_SECONDS."""
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
