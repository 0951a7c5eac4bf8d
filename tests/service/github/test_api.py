import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import MAX_REASON, GitHubApi
from perfledger_service.github.documents import USER, decode_answer
from perfledger_service.github.session import token_auth

AUTH = token_auth("t")
COMMENTS = "repos/octo/models/issues/7/comments"


class AnyAnswer(ThreadingHTTPServer):
    """Answers every request alike, and remembers which connections they came on."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.content, self.headers = 200, b"{}", {}
        self.connections = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AnyAnswer

    def do_GET(self):
        self.server.connections.append(self.client_address)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = AnyAnswer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def api(server):
    """The API at a server that answers every request alike."""
    api = GitHubApi(server.url, sleep=lambda _: None)
    yield api
    api.close()


def test_the_root_is_used_exactly_as_given(stand_in):
    api = GitHubApi(f"{stand_in.url}/api/v3")

    with pytest.raises(GitHubError, match="GitHub answered 404 to GET /user: Not Found"):
        api.request("GET", "user", auth=AUTH)
    api.close()

    assert [request["path"] for request in stand_in.state.requests] == ["/api/v3/user"]


def test_each_thread_has_connections_of_its_own_and_keeps_them(api, server):
    def ask_twice():
        for _ in range(2):
            api.request("GET", "user", auth=AUTH)

    threads = [threading.Thread(target=ask_twice) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(server.connections) == 8
    assert len(set(server.connections)) == 4


def test_writes_come_one_after_another_a_second_apart_and_reading_does_not_wait(
    stand_in, at_github
):
    slept: list[float] = []
    clock = iter([100.0, 100.2, 100.5, 101.7])
    api = GitHubApi(stand_in.url, sleep=slept.append, monotonic=lambda: next(clock))
    at_github.open_pull()
    api.request("POST", COMMENTS, auth=AUTH, json={"body": "one"})
    api.request("GET", COMMENTS, auth=AUTH)
    api.request("POST", COMMENTS, auth=AUTH, json={"body": "two"})
    api.close()

    assert slept == [pytest.approx(0.7)]


def test_a_write_that_was_refused_counts_as_one(stand_in, at_github):
    slept: list[float] = []
    clock = iter([100.0, 100.2, 100.5, 101.7])
    api = GitHubApi(stand_in.url, sleep=slept.append, monotonic=lambda: next(clock))
    at_github.open_pull()

    with pytest.raises(GitHubError, match="422"):
        api.request("POST", COMMENTS, auth=AUTH, json={})
    api.request("POST", COMMENTS, auth=AUTH, json={"body": "text"})
    api.close()

    assert slept == [pytest.approx(0.7)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(
            b'{"message": "Bad\\u001b[31m\\ncredentials"}', "Bad [31m credentials", id="one"
        ),
        pytest.param(b"<html>", "Unauthorized", id="no JSON"),
        pytest.param(b"", "Unauthorized", id="nothing"),
        pytest.param(b'{"message": "\xff"}', "Unauthorized", id="not UTF-8"),
        pytest.param(b'{"x": ' + b"[" * 100_000, "Unauthorized", id="too deep"),
        pytest.param(b'{"message": "' + b"x" * 1000 + b'"}', "x" * MAX_REASON, id="too long"),
    ],
)
def test_a_refusal_has_its_reason_on_one_line(api, server, content, reason):
    server.status, server.content = 401, content

    with pytest.raises(GitHubError) as caught:
        api.request("GET", "user", auth=AUTH)

    assert str(caught.value) == f"GitHub answered 401 to GET /user: {reason}"
    assert caught.value.github_status == 401


@pytest.mark.parametrize(
    ("refusal", "message", "is_transient"),
    [
        ((403, {}), "Resource not accessible", False),
        ((403, {}), "You have exceeded a secondary rate limit", True),
        ((403, {"x-ratelimit-remaining": "0"}), "no", True),
        ((403, {"x-ratelimit-remaining": "12"}), "no", False),
        ((429, {"Retry-After": "3600"}), "no", True),
        ((401, {}), "Bad credentials", True),
        ((404, {}), "Not Found", True),
        ((410, {"Retry-After": "3600"}), "no", False),
        ((422, {}), "Validation Failed", False),
        ((502, {}), "no", True),
        ((501, {}), "no", False),
        ((302, {"Location": "http://127.0.0.1:9/"}), "no", False),
        ((301, {"Location": "http://127.0.0.1:9/"}), "Moved Permanently", True),
        ((308, {"Location": "http://127.0.0.1:9/"}), "no", True),
    ],
)
def test_limits_and_servers_errors_may_pass_and_other_refusals_stay(
    api, server, refusal, message, is_transient
):
    server.status, server.headers = refusal
    server.content = f'{{"message": "{message}"}}'.encode()

    with pytest.raises(GitHubError) as caught:
        api.request("GET", "user", auth=AUTH)

    assert caught.value.is_transient == is_transient


@pytest.mark.parametrize("status", [200, 302, 403, 404, 502])
def test_a_page_of_a_proxy_in_place_of_githubs_answer_may_pass(api, server, status):
    server.status, server.content = status, b"<html>Sign in to the proxy</html>"

    with pytest.raises(GitHubError) as caught:
        decode_answer(api.request("GET", "user", auth=AUTH), USER)

    assert caught.value.is_transient


def test_after_a_limit_the_installation_is_not_asked_and_others_are(api, server):
    server.status, server.headers = 403, {"x-ratelimit-remaining": "0", "Retry-After": "900"}
    with pytest.raises(GitHubError) as first:
        api.request("GET", "user", auth=AUTH, installation="41")
    server.status, server.headers = 200, {}
    count = len(server.connections)

    with pytest.raises(GitHubError, match="rate limit is used up for 900 s") as second:
        api.request("GET", "user", auth=AUTH, installation="41")
    api.request("GET", "user", auth=AUTH, installation="42")

    assert (first.value.wait_s, second.value.is_transient) == (900.0, True)
    assert second.value.wait_s == pytest.approx(900.0, abs=60)
    assert len(server.connections) == count + 1
