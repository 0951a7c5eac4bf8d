"""Serves the two loopback pages of an App's registration: to GitHub, and back with a code.

The service does not run yet when its App is registered, so this is a separate server.
"""

import hmac
import queue
import secrets
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import parse_qs, urlsplit

from perfledger_service.errors import UsageError
from perfledger_service.github.app.manifest import is_code

CALLBACK_PATH = "/callback"
REQUEST_TIMEOUT_S = 10.0
POLL_S = 0.2


class AppCallback(ThreadingHTTPServer):
    """Server on loopback that waits for the browser that GitHub sends back."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.state = secrets.token_urlsafe(24)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.codes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.form_page = ""  # set before it serves
        self.end_page = ""

    @property
    def redirect_url(self) -> str:
        """Return the address to which GitHub sends the browser back."""
        return f"{self.url}{CALLBACK_PATH}"

    def wait_for_code(self) -> str:
        """Return the code of the first browser that comes back with this server's state."""
        while True:
            try:
                return self.codes.get(timeout=POLL_S)
            except queue.Empty:
                continue  # lets signals through


class _Handler(BaseHTTPRequestHandler):
    """Connection of a browser."""

    timeout = REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """Answer with the form, or accept a code."""
        url = urlsplit(self.path)
        # Any other name is an outside page's, made to point here (DNS rebinding).
        if self.headers.get("Host", "") not in self._own_hosts():
            self._answer(403, "this address is for 127.0.0.1 only")
        elif url.path == "/":
            self._answer(200, self.callback.form_page)
        elif url.path == CALLBACK_PATH:
            self._take_code(url.query)
        else:
            self._answer(404, "there is no such page")

    @property
    def callback(self) -> AppCallback:
        """Return the server."""
        return cast("AppCallback", self.server)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the library's name
        """Log nothing: a request's address contains the code."""

    def _own_hosts(self) -> tuple[str, str]:
        port = self.callback.server_port
        return f"127.0.0.1:{port}", f"localhost:{port}"

    def _take_code(self, query: str) -> None:
        fields = parse_qs(query)
        code, state = (fields.get(name, [""])[0] for name in ("code", "state"))
        if not hmac.compare_digest(state.encode(), self.callback.state.encode()):
            self._answer(403, "this registration was not started here: run the command again")
        elif not is_code(code):
            self._answer(400, "GitHub sent no code: run the command again")
        else:
            self._answer(200, self.callback.end_page)
            self.callback.codes.put(code)

    def _answer(self, status: int, text: str) -> None:
        is_page = text.startswith("<")
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"text/{'html' if is_page else 'plain'}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def app_callback(
    port: int, *, form_page: Callable[[AppCallback], str], end_page: str
) -> Generator[AppCallback]:
    """Serve the pages until the block ends; raise UsageError for a port that is taken."""
    try:
        server = AppCallback(port)
    except OSError as error:
        msg = f"cannot listen on 127.0.0.1:{port}: {error.strerror}; choose another --port"
        raise UsageError(msg) from None
    server.form_page = form_page(server)
    server.end_page = end_page
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": POLL_S})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
