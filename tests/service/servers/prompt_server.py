"""Serves an application over real HTTP, and ends at once."""

import asyncio
import socket
import threading
from contextlib import contextmanager

import uvicorn

from perfledger_service.web.server import server_config


class PromptServer(uvicorn.Server):
    """Server that ends when it is told to, not at its next look a tenth of a second later."""

    loop = None

    async def main_loop(self):
        self.is_over, self.loop = asyncio.Event(), asyncio.get_running_loop()
        if not await self.on_tick(0):  # sets the headers that every response has
            await self.is_over.wait()

    def end(self):
        self.should_exit = True
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.is_over.set)


@contextmanager
def serving(app):
    """Serve an application on a free loopback port; yields its URL."""
    server = PromptServer(server_config(app))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # before the server: whoever connects too early waits, and does not fail
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.end()
            thread.join()
