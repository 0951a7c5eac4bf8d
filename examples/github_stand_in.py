"""Stands in for GitHub's API over real HTTP, for the demo and the tests, without an account.

`python examples/github_stand_in.py --port 0` prints its URL. It has pull requests, comments,
issues, check runs and workflows, answers and refuses like GitHub, and is controlled under
/_stand_in/ (workflows: `github_workflows.py`):

POST /_stand_in/pulls     {"repository": "o/r", "number": 7, "head_sha": "…", "state": "open"}
POST /_stand_in/branches  {"repository": "o/r", "name": "gh-readonly-queue/…", "sha": "…"}
POST /_stand_in/files     {"repository": "o/r", "sha": "…", "path": "gpt.py", "text": "…"}
POST /_stand_in/comparisons  {"repository": "o/r", "base": "main", "head": "…", "merge_base": "…"}
POST /_stand_in/permissions  {"repository": "o/r", "login": "mallory", "permission": "read"}
POST /_stand_in/browser   {"login": "alice"}: who signs in (`github_oauth.py`)
POST /_stand_in/comments  {"repository": "o/r", "number": 7, "author": "mallory", "body": "…"}
POST /_stand_in/events    {"repository": "o/r", "number": 7, "event": "closed", "created_at": "…"}
POST /_stand_in/deliveries  {"guid": "…", "event": "issue_comment", "status_code": 502}
POST /_stand_in/faults    {"count": 2, "method": "POST", "path": "/comments", "status": 502,
                           "headers": {"Retry-After": "1"}, "text": "<html>"} or {"drop": …}
                          drop: hang up "before" or "after" handling, or "late": handle it below
POST /_stand_in/late      handle what was dropped "late"
GET  /_stand_in/state     everything, and the requests so far
"""

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from urllib.parse import parse_qs, urlsplit

from github_apps import APP_ROUTES, SLUG, check_jwt
from github_code import CODE_ROUTES
from github_issues import (
    add_reaction,
    create_issue,
    delete_comment,
    get_comment,
    list_comments,
    list_events,
    list_issues,
    require_issue,
    set_event,
    update_issue,
)
from github_oauth import authorize, exchange, get_user, set_browser
from github_state import Answer, Document, Reply, State, refuse
from github_workflows import WORKFLOW_ROUTES

LOGIN = f"{SLUG}[bot]"
MAX_BODY_BYTES = 4_000_000
MAX_TEXT, MAX_COMMENT = 65_535, 65_536
MAX_ANNOTATIONS = 50
# For these, a browser or the request's body says who sends the request.
OPEN_PATHS = ("/login/", "/storage/", "/settings/", "/organizations/", "/app-manifests/")
CONCLUSIONS = frozenset(
    ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out")
)


def list_deliveries(state: State, request: "Handler") -> Reply:
    check_jwt(state, request)
    cursor = int(request.query.get("cursor", [str(state.next_id)])[0])
    return 200, [one for one in state.deliveries if one["id"] <= cursor]


def repeat_delivery(state: State, request: "Handler", delivery: str) -> Reply:
    check_jwt(state, request)
    state.repeat_delivery(int(delivery))
    return 202, {}


def get_pull(state: State, _request: "Handler", name: str, number: str) -> Reply:
    return 200, state.repository(name)["pulls"].get(number) or refuse(404, "Not Found")


def create_comment(state: State, request: "Handler", name: str, number: str) -> Reply:
    require_issue(state, name, number)
    return 201, state.add_comment(name, int(number), LOGIN, valid_comment_body(request))


def update_comment(state: State, request: "Handler", name: str, comment: str) -> Reply:
    stored_comment = get_comment(state, request, name, comment)[1]
    if stored_comment["user"] != {"login": LOGIN, "type": "Bot"}:
        refuse(403, "Resource not accessible by integration")
    stored_comment["body"] = valid_comment_body(request)
    stored_comment["edits"] += 1
    return 200, stored_comment


def get_permission(state: State, _request: "Handler", name: str, login: str) -> Reply:
    permission = state.repository(name)["permissions"].get(login) or refuse(404, "Not Found")
    user = {"login": login, "id": state.account_id(login)}
    return 200, {"permission": permission, "role_name": permission, "user": user}


def create_check(state: State, request: "Handler", name: str) -> Reply:
    repository = state.repository(name)
    document = valid_check(request)
    if not document.get("name") or not document.get("head_sha"):
        refuse(422, "Invalid request. name or head_sha wasn't supplied.")
    check_run = {"id": state.new_id(), "app": {"slug": SLUG}, "edits": 0, **document}
    return 201, repository["check_runs"].setdefault(str(check_run["id"]), check_run)


def update_check(state: State, request: "Handler", name: str, check: str) -> Reply:
    check_run = state.repository(name)["check_runs"].get(check) or refuse(404, "Not Found")
    document = valid_check(request)
    before = check_run.get("output", {}).get("annotations", [])
    check_run.update({"conclusion": None} | document)
    check_run["output"]["annotations"] = before + document["output"].get("annotations", [])
    check_run["edits"] += 1
    return 200, check_run


def list_annotations(state: State, _request: "Handler", name: str, check: str) -> Reply:
    check_run = state.repository(name)["check_runs"].get(check) or refuse(404, "Not Found")
    return 200, check_run.get("output", {}).get("annotations", [])


def list_checks(state: State, request: "Handler", name: str, sha: str) -> Reply:
    check_name = request.query.get("check_name", [None])[0]
    check_runs = state.repository(name)["check_runs"].values()
    runs = [
        run for run in check_runs if run["head_sha"] == sha and check_name in (None, run["name"])
    ]
    return 200, {"total_count": len(runs), "check_runs": runs}


def set_pull(state: State, request: "Handler") -> Reply:
    document = request.document
    pulls = state.repository(document["repository"], create=True)["pulls"]
    fork = document.get("head_repository", document["repository"])
    origin = None if fork is None else {"full_name": fork}
    ref = document.get("head_ref", "topic")
    pulls[str(document["number"])] = pull = {
        "number": document["number"],
        "state": document.get("state", "open"),
        "title": document.get("title", ""),
        "head": {"sha": document["head_sha"], "ref": ref, "repo": origin},
        "base": {
            "ref": document.get("base_ref", "main"),
            "repo": {"full_name": document["repository"]},
        },
    }
    return 201, pull


def set_permission(state: State, request: "Handler") -> Reply:
    document = request.document
    repository = state.repository(document["repository"], create=True)
    repository["permissions"][document["login"]] = document["permission"]
    return 201, document


def post_comment(state: State, request: "Handler") -> Reply:
    document = request.document
    state.repository(document["repository"], create=True)
    return 201, state.add_comment(
        document["repository"], document["number"], document["author"], document["body"]
    )


def add_fault(state: State, request: "Handler") -> Reply:
    state.faults.append({"count": 1, **request.document})
    return 201, state.faults[-1]


def handle_late(state: State, _request: "Handler") -> Reply:
    late, state.late = state.late, []
    return 201, [handle() for handle in late]


# A handler takes the state, the request and its pattern's groups.
REPOSITORY = r"/repos/([\w.-]+/[\w.-]+)"
ROUTES: tuple[tuple[str, str, Callable[..., Reply]], ...] = (
    ("GET", r"/user", lambda state, request: get_user(state, request, LOGIN)),
    ("GET", r"/login/oauth/authorize", authorize),
    ("POST", r"/login/oauth/access_token", exchange),
    ("GET", r"/app/hook/deliveries", list_deliveries),
    ("POST", r"/app/hook/deliveries/(\d+)/attempts", repeat_delivery),
    ("GET", REPOSITORY, lambda state, _, name: (200, {"id": 1} | state.repository(name))),
    ("GET", REPOSITORY + r"/pulls", lambda state, _, name: (200, state.open_pulls(name))),
    ("GET", REPOSITORY + r"/pulls/(\d+)", get_pull),
    ("GET", REPOSITORY + r"/issues", list_issues),
    ("POST", REPOSITORY + r"/issues", lambda state, r, name: create_issue(state, r, name, LOGIN)),
    ("PATCH", REPOSITORY + r"/issues/(\d+)", update_issue),
    ("GET", REPOSITORY + r"/issues/(\d+)/comments", list_comments),
    ("GET", REPOSITORY + r"/issues/(\d+)/events", list_events),
    ("POST", REPOSITORY + r"/issues/(\d+)/comments", create_comment),
    ("GET", REPOSITORY + r"/issues/comments/(\d+)", get_comment),
    ("PATCH", REPOSITORY + r"/issues/comments/(\d+)", update_comment),
    ("DELETE", REPOSITORY + r"/issues/comments/(\d+)", delete_comment),
    ("POST", REPOSITORY + r"/issues/comments/(\d+)/reactions", add_reaction),
    ("GET", REPOSITORY + r"/collaborators/([\w-]+)/permission", get_permission),
    ("POST", REPOSITORY + r"/check-runs", create_check),
    ("PATCH", REPOSITORY + r"/check-runs/(\d+)", update_check),
    ("GET", REPOSITORY + r"/check-runs/(\d+)/annotations", list_annotations),
    ("GET", REPOSITORY + r"/commits/([0-9a-f]+)/check-runs", list_checks),
    ("POST", r"/_stand_in/events", set_event),
    ("POST", r"/_stand_in/pulls", set_pull),
    ("POST", r"/_stand_in/permissions", set_permission),
    ("POST", r"/_stand_in/browser", set_browser),
    ("POST", r"/_stand_in/comments", post_comment),
    ("POST", r"/_stand_in/deliveries", lambda state, r: (201, state.add_delivery(r.document))),
    ("POST", r"/_stand_in/faults", add_fault),
    ("POST", r"/_stand_in/late", handle_late),
    ("GET", r"/_stand_in/state", lambda state, _request: (200, state.document())),
    *APP_ROUTES,
    *CODE_ROUTES,
    *WORKFLOW_ROUTES,
)


def valid_comment_body(request: "Handler") -> str:
    body = request.document.get("body")
    if not isinstance(body, str) or not body:
        refuse(422, "Validation Failed: body is missing")
    if len(body) > MAX_COMMENT:
        refuse(422, f"Validation Failed: body is too long (maximum is {MAX_COMMENT} characters)")
    return body


def valid_check(request: "Handler") -> Document:
    document = request.document
    output = document.get("output", {})
    if document.get("status") == "completed" and document.get("conclusion") not in CONCLUSIONS:
        refuse(422, f"Invalid request. {document.get('conclusion')!r} is not a conclusion.")
    if not output.get("title") or len(output.get("summary") or "") > MAX_TEXT:
        refuse(422, f"Invalid request. output needs a title and a summary of <= {MAX_TEXT}.")
    if len(output.get("annotations", [])) > MAX_ANNOTATIONS:
        refuse(422, f"Invalid request. No more than {MAX_ANNOTATIONS} items are allowed.")
    return document


def body_of(document: object) -> bytes:
    if isinstance(document, bytes):
        return document
    return b"" if document is None else json.dumps(document).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection from the server's state."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "StandIn"

    def handle_request(self) -> None:
        data = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_BODY_BYTES))
        url = urlsplit(self.path)
        self.query = parse_qs(url.query)
        self.credential = self.headers.get("Authorization", "").partition(" ")[2]
        self.reply_headers: dict[str, str] = {}
        state = self.server.state
        with state.lock:
            fault = self.next_fault(state, url.path)
            headers: dict[str, str] = fault.get("headers", {})
            dropped = fault.get("drop", "")
            try:
                if fault and not dropped:
                    refuse(fault["status"], "made to fail")
                if dropped == "late":
                    state.late.append(partial(self.route, state, url.path, data))
                is_handled = dropped not in {"before", "late"}
                status, document = self.route(state, url.path, data) if is_handled else (0, None)
                if isinstance(document, list):
                    document, headers["Link"] = self.page(document, url.path)
            except Answer as other:
                status, document = other.status, other.document
            body = fault["text"].encode() if "text" in fault else body_of(document)
            state.save()
            state.lock.notify_all()
        state.after_handling(self.command, url.path)
        if dropped:
            self.close_connection = True
        else:
            self.answer(status, body, self.reply_headers | headers)

    def next_fault(self, state: State, path: str) -> Document:
        for fault in state.faults:
            fits = fault.get("method", self.command) == self.command
            if fits and fault.get("path", "") in path and not path.startswith("/_stand_in/"):
                fault["count"] -= 1
                state.faults = [one for one in state.faults if one["count"] > 0]
                return fault
        return {}

    def route(self, state: State, path: str, data: bytes) -> Reply:
        if not path.startswith("/_stand_in/"):
            version = self.headers.get("X-GitHub-Api-Version", "")
            state.requests.append({"method": self.command, "path": path, "api_version": version})
            if not path.startswith(OPEN_PATHS) and (
                not self.credential or self.credential == "wrong"
            ):
                refuse(401, "Requires authentication")
        try:
            self.document: Document = self.read_document(data)
        except ValueError:
            refuse(400, "Problems parsing JSON")
        for method, pattern, handler in ROUTES:
            if method == self.command and (match := re.fullmatch(pattern, path)):
                return handler(state, self, *match.groups())
        return refuse(404, "Not Found")

    def read_document(self, data: bytes) -> Document:
        """Return a JSON body, whatever its content type, or the fields of a browser's form."""
        if data.startswith(b"manifest="):
            return {name: values[0] for name, values in parse_qs(data.decode()).items()}
        return json.loads(data) if data else {}

    def page(self, items: Sequence[Document], path: str) -> tuple[Sequence[Document], str]:
        """Return the requested page of a list, and GitHub's Link header for it."""
        size = min(int(self.query.get("per_page", ["30"])[0]), 100)
        if path.endswith("/deliveries"):
            rest = [str(one["id"]) for one in items[size:]]
            more = f"<http://{self.headers['Host']}{path}?per_page={size}&cursor="
            return items[:size], f'{more}{rest[0]}>; rel="next"' if rest else ""
        number = int(self.query.get("page", ["1"])[0])
        more = f"<http://{self.headers['Host']}{path}?per_page={size}&page={number + 1}>"
        link = f'{more}; rel="next"' if number * size < len(items) else ""
        return items[(number - 1) * size : number * size], link

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.send_header("X-GitHub-Request-Id", f"{id(self):x}")
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = handle_request  # noqa: N815 - the library's names

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class StandIn(ThreadingHTTPServer):
    """The server with its state; `url` is the value for PERFLEDGER_GITHUB_API_URL."""

    daemon_threads = True

    def __init__(self, port: int = 0, path: Path | None = None) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.state = State(path)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Ignore clients that disconnected, because tests kill them."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def running(path: Path | None = None) -> Iterator[StandIn]:
    """Serve on a free loopback port until the block ends."""
    server = StandIn(path=path)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description="Stand in for GitHub's API on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--state", type=Path, help="a JSON file to keep the state in")
    arguments = parser.parse_args()
    with StandIn(arguments.port, arguments.state) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
