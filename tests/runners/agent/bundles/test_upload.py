"""The far end is a real HTTP server on this machine's loopback, scripted answer by answer."""

import gzip
import hashlib
import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import URLError

import pytest

from perfledger_runners.bundles.upload import (
    MAX_ATTEMPTS,
    UploadError,
    UploadReceipt,
    check_url,
    upload,
)

TOKEN = "pl_canary_0123456789"
RECEIPT = {"id": "42", "status": "received", "url": "http://service/pulls/7"}
BUNDLE = b'{"format": "perfledger-bundle"}'


class Handler(BaseHTTPRequestHandler):
    """Reads one request, gives one answer: (status, headers, body), or None to hang up."""

    server: "Service"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            self.close_connection = True
            return
        status, headers, text = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode(errors="surrogateescape"))

    do_GET = do_POST  # noqa: N815 - http.server's name

    def log_message(self, *arguments):
        pass


class Service(HTTPServer):
    """Gives the scripted answers in turn, the last one for ever, and remembers what it was sent."""

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Nobody:
    """An opener that reaches no one."""

    def open(self, *_, **__):
        reason = "connection refused"
        raise URLError(reason)


@pytest.fixture
def service():
    """Return a function that starts a service with these answers."""
    running = []

    def start(*answers):
        server = Service(*answers)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def spooled(tmp_path):
    path = tmp_path / "bundle.json"
    path.write_bytes(BUNDLE)
    return path


@pytest.fixture
def naps():
    """The seconds that were slept."""
    return []


def fine(**headers):
    return (200, headers, json.dumps(RECEIPT))


def test_the_service_gets_the_bundle_packed_and_named_by_its_hash(service, spooled, naps):
    server = service(fine())

    receipt = upload(spooled, server.url + "/", TOKEN, sleep=naps.append)

    assert receipt == UploadReceipt(id="42", status="received", url="http://service/pulls/7")
    ((path, headers, body),) = server.requests
    assert path == "/api/v1/uploads"
    assert gzip.decompress(body) == BUNDLE
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["Content-Type"] == "application/json"
    assert headers["Content-Encoding"] == "gzip"
    assert body[4:8] == bytes(4)  # no time: the same bundle is the same bytes
    assert headers["Idempotency-Key"] == hashlib.sha256(BUNDLE).hexdigest()
    assert naps == []


def test_a_packed_bundle_is_sent_under_the_same_name(service, spooled, naps):
    server = service(fine())
    spooled.write_bytes(gzip.compress(BUNDLE))

    upload(spooled, server.url, TOKEN, sleep=naps.append)

    ((_, headers, body),) = server.requests
    assert gzip.decompress(body) == BUNDLE
    assert headers["Idempotency-Key"] == hashlib.sha256(BUNDLE).hexdigest()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_refusal_is_waited_out(service, spooled, naps, status):
    server = service((status, {}, "busy"), (status, {}, "busy"), fine())

    assert upload(spooled, server.url, TOKEN, sleep=naps.append).id == "42"
    assert naps == [1.0, 2.0]
    assert len({str(request) for request in server.requests}) == 1


def test_a_lost_answer_is_asked_for_again(service, spooled, naps):
    server = service(None, fine())

    assert upload(spooled, server.url, TOKEN, sleep=naps.append).id == "42"
    assert len(server.requests) == 2


def test_the_service_says_how_long_to_wait(service, spooled, naps):
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    server = service(
        (503, {"Retry-After": "7"}, ""),
        (503, {"Retry-After": "99999"}, ""),
        (503, {"Retry-After": past}, ""),
        (503, {"Retry-After": "soon"}, ""),
        fine(),
    )

    upload(spooled, server.url, TOKEN, sleep=naps.append)

    assert naps == [7.0, 120.0, 0.0, 8.0]


def test_in_the_end_it_gives_up_and_keeps_the_bundle(service, spooled, naps):
    server = service((503, {}, "down for repair"))

    with pytest.raises(
        UploadError, match=f"in {MAX_ATTEMPTS} attempts: 503.*down for repair"
    ) as caught:
        upload(spooled, server.url, TOKEN, sleep=naps.append)

    assert f"{spooled} is kept" in str(caught.value)
    assert naps == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    assert spooled.exists()


def test_nobody_there_is_said_after_all_attempts(spooled, naps):
    with pytest.raises(UploadError, match=r"no answer .*connection refused"):
        upload(spooled, "https://service.example", TOKEN, sleep=naps.append, opener=Nobody())
    assert len(naps) == MAX_ATTEMPTS - 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_a_refusal_is_final_and_shown(service, spooled, naps, status):
    server = service((status, {}, '{"detail": "not \x1byours"}'))

    with pytest.raises(UploadError, match=f"refused the bundle: {status} .*not \ufffdyours"):
        upload(spooled, server.url, TOKEN, sleep=naps.append)
    assert len(server.requests) == 1
    assert naps == []


def test_the_token_is_in_no_message_even_if_the_service_repeats_it(service, spooled, naps):
    server = service((403, {}, f"Bearer {TOKEN} is no good here"))

    with pytest.raises(UploadError) as caught:
        upload(spooled, server.url, TOKEN, sleep=naps.append)

    assert TOKEN not in str(caught.value)
    assert "Bearer *** is no good here" in str(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ünicode"])
def test_what_is_no_token_is_refused_unsaid(spooled, token):
    with pytest.raises(
        UploadError, match="token is empty or contains invalid characters"
    ) as caught:
        upload(spooled, "https://service.example", token)

    assert token == "" or token not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed_with_a_token(service, spooled, naps, status):
    thief = service(fine())
    server = service((status, {"Location": f"{thief.url}/api/v1/uploads"}, ""))

    with pytest.raises(UploadError, match=f"it redirects to '{thief.url}"):
        upload(spooled, server.url, TOKEN, sleep=naps.append)
    assert thief.requests == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="nothing"),
        pytest.param("<html>", id="no JSON"),
        pytest.param("[]", id="another type"),
        pytest.param('{"id": 42, "status": "s", "url": "u"}', id="a number for a text"),
        pytest.param('{"id": "\udcff", "status": "s", "url": "u"}', id="not UTF-8"),
        pytest.param('{"x": ' + "[" * 100_000, id="too deep"),
    ],
)
def test_an_answer_that_is_no_receipt_is_an_error(service, spooled, naps, body):
    server = service((200, {}, body))

    with pytest.raises(UploadError, match="not a receipt"):
        upload(spooled, server.url, TOKEN, sleep=naps.append)


@pytest.mark.parametrize(
    "url",
    [
        "https://service.example",
        "https://service.example:8443/perf",
        "http://localhost:8000",
        "http://127.0.0.1",
        "http://127.8.8.8",
        "http://[::1]:80",
    ],
)
def test_a_token_may_go_by_tls_or_stay_on_this_machine(url):
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://service.example",
        "http://10.0.0.1",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "https://user:password@service.example",
        "ftp://service.example",
        "file:///etc/passwd",
        "service.example",
        "",
        "https://[::1",
        "https://service.example:port",
        "https://service.example:99999",
        "https://service.example:0",
        "https://\N{ACCOUNT OF}.example",
    ],
)
def test_anywhere_else_it_may_not(url):
    with pytest.raises(UploadError, match="upload URL"):
        check_url(url)


def test_of_a_problem_document_the_sentence_is_shown(service, spooled, naps):
    document = '{"type": "urn:perfledger:problem:refused", "detail": "this token may only read"}'
    server = service((403, {}, document))

    with pytest.raises(UploadError, match="this token may only read") as caught:
        upload(spooled, server.url, TOKEN, sleep=naps.append)

    assert "urn:" not in str(caught.value)
