"""State of the stand-in for GitHub: its repositories, the requests so far, and faults to come."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, NotRequired, TypedDict

FIRST_ID = 3_000_000_000  # beyond 32 bits, as GitHub's are
Document = dict[str, Any]  # a foreign JSON object
Reply = tuple[int, object]  # status and JSON body


class Comment(TypedDict):
    id: int
    number: int
    user: dict[str, str]
    body: str
    edits: int


class Repository(TypedDict):
    pulls: dict[str, dict[str, object]]
    comments: dict[str, Comment]
    issues: dict[str, Document]
    check_runs: dict[str, Document]
    permissions: dict[str, str]
    reactions: list[Document]
    files: NotRequired[dict[str, str]]  # texts by commit and path
    branches: NotRequired[dict[str, str]]  # commits by name
    events: NotRequired[dict[str, list[Document]]]  # by the issue's number
    comparisons: NotRequired[dict[str, str]]  # newest common commits, by "base...head"


class Answer(Exception):  # noqa: N818 - not an error: it ends a handler
    """A response other than 200, raised from anywhere in a handler."""

    def __init__(self, status: int, document: dict[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.document = document


def refuse(status: int, message: str) -> NoReturn:
    """End the request with a GitHub-shaped error."""
    raise Answer(status, {"message": message, "documentation_url": "https://docs.github.com/rest"})


class State:
    """The state of GitHub, in memory and, with a path, in a JSON file."""

    def __init__(self, path: Path | None = None) -> None:
        self.lock = threading.Condition()
        self.path = path
        self.repositories: dict[str, Repository] = {}
        self.requests: list[dict[str, str]] = []
        self.faults: list[Document] = []
        # What the App may do.
        self.granted = {"metadata", "contents", "checks", "pull_requests", "issues"}
        self.deliveries: list[Document] = []  # of webhooks, newest first
        self.repeated_status = 200
        self.accounts: dict[str, int] = {}  # numbers by login
        self.browser: Document = {}  # who is signed in there
        self.codes: dict[str, dict[str, str]] = {}
        self.registrations: dict[str, Document] = {}  # manifests by code
        self.user_tokens: dict[str, str] = {}  # logins
        self.late: list[Callable[[], object]] = []
        self.workflows: dict[str, Document] = {}  # by repository and file
        self.runs: dict[str, Document] = {}
        self.archives: dict[str, Document] = {}  # artifacts and logs
        self.now: Callable[[], float] | None = None  # seconds since 1970
        self.next_id = FIRST_ID
        # Called with method and path after a request was handled and before it is answered.
        self.after_handling: Callable[[str, str], None] = lambda _method, _path: None
        if path is not None and path.exists():
            saved = json.loads(path.read_text(encoding="utf-8"))
            self.repositories, self.next_id = saved["repositories"], saved["next_id"]

    def document(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("repositories", "requests", "next_id")}

    def save(self) -> None:
        if self.path is not None:
            self.path.write_text(json.dumps(self.document(), indent=1), encoding="utf-8")

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def account_id(self, login: str) -> int:
        return self.accounts.setdefault(login, FIRST_ID + len(self.accounts))

    def installation(self, name: str) -> Document:
        """Return what the App may do in a repository, and the events that it receives."""
        read = {"metadata", "contents"}
        return {
            "account": {"login": name.partition("/")[0]},
            "permissions": {one: "read" if one in read else "write" for one in self.granted},
            "events": ["issue_comment", "merge_group", "pull_request"],
        }

    def repository(self, name: str, *, create: bool = False) -> Repository:
        if create:
            empty: Repository = {
                "pulls": {},
                "comments": {},
                "issues": {},
                "check_runs": {},
                "permissions": {},
                "reactions": [],
            }
            return self.repositories.setdefault(name, empty)
        return self.repositories.get(name) or refuse(404, "Not Found")

    def open_pulls(self, name: str) -> list[Document]:
        """Return a repository's open pull requests."""
        return [one for one in self.repository(name)["pulls"].values() if one["state"] == "open"]

    def add_comment(self, name: str, number: int, author: str, body: str) -> Comment:
        user = {"login": author, "type": "Bot" if author.endswith("[bot]") else "User"}
        comment = Comment(id=self.new_id(), number=number, user=user, body=body, edits=0)
        return self.repository(name)["comments"].setdefault(str(comment["id"]), comment)

    def add_delivery(self, document: Document) -> Document:
        """Add an attempt to deliver a webhook; if it has no time, its time is now."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        delivery = {"delivered_at": now, "redelivery": False} | document | {"id": self.new_id()}
        self.deliveries.insert(0, delivery)
        return delivery

    def repeat_delivery(self, delivery_id: int) -> None:
        """Repeat an attempt, which succeeds unless `repeated_status` says otherwise."""
        delivery = next((one for one in self.deliveries if one["id"] == delivery_id), None)
        first = delivery or refuse(404, "Not Found")
        again = {"guid": first["guid"], "event": first["event"], "redelivery": True}
        self.add_delivery(again | {"status_code": self.repeated_status})

    def wait_for(self, condition: Callable[["State"], bool], timeout_s: float = 600.0) -> bool:
        """Wait until `condition(state)` holds; return whether it does."""
        with self.lock:
            return self.lock.wait_for(lambda: condition(self), timeout=timeout_s)
