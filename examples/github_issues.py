"""The stand-in's issues and comments, which can be opened, listed, changed and deleted."""

import time
from typing import Protocol

from github_state import Comment, Document, Reply, State, refuse

MAX_TITLE, MAX_BODY = 256, 65_536
REACTIONS = frozenset(("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"))


class IssueRequest(Protocol):
    """The parts of a request that are read."""

    query: dict[str, list[str]]
    document: Document


def list_issues(state: State, request: IssueRequest, name: str) -> Reply:
    """Return issues and pull requests, which GitHub counts as issues, newest first."""
    repository = state.repository(name)
    since = request.query.get("since", [""])[0]
    issue_state = request.query.get("state", ["open"])[0]
    issues = [one for one in repository["issues"].values() if one["updated_at"] >= since]
    listed = [one for one in issues if issue_state in {"all", one["state"]}]
    return 200, sorted(listed, key=lambda one: one["number"], reverse=True)


def create_issue(state: State, request: IssueRequest, name: str, login: str) -> Reply:
    document, issues = request.document, state.repository(name)["issues"]
    title, body = document.get("title"), document.get("body", "")
    if not isinstance(title, str) or not title or len(title) > MAX_TITLE:
        refuse(422, "Validation Failed: title is missing or too long")
    if len(body) > MAX_BODY:
        refuse(422, f"Validation Failed: body is too long (maximum is {MAX_BODY} characters)")
    number = max((int(one) for one in issues), default=100) + 1
    issue = {
        "number": number,
        "id": state.new_id(),
        "title": title,
        "body": body,
        "state": "open",
        "labels": [{"name": one} for one in document.get("labels", [])],
        "user": {"login": login, "type": "Bot"},
        "updated_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return 201, issues.setdefault(str(number), issue)


def update_issue(state: State, request: IssueRequest, name: str, number: str) -> Reply:
    issue = state.repository(name)["issues"].get(number) or refuse(404, "Not Found")
    if request.document.get("state", "open") not in {"open", "closed"}:
        refuse(422, "Validation Failed: state is open or closed")
    issue.update(request.document)
    return 200, issue


def require_issue(state: State, name: str, number: str) -> None:
    """Refuse a comment unless it is on an issue or a pull request."""
    repository = state.repository(name)
    if number not in repository["issues"] and number not in repository["pulls"]:
        refuse(404, "Not Found")


def list_events(state: State, _request: IssueRequest, name: str, number: str) -> Reply:
    require_issue(state, name, number)
    return 200, state.repository(name).get("events", {}).get(number, [])


def set_event(state: State, request: IssueRequest) -> Reply:
    document = request.document
    events = state.repository(document["repository"], create=True).setdefault("events", {})
    event = {name: document[name] for name in ("event", "created_at")}
    events.setdefault(str(document["number"]), []).append(event)
    return 201, event


def list_comments(state: State, _request: IssueRequest, name: str, number: str) -> Reply:
    require_issue(state, name, number)
    comments = state.repository(name)["comments"].values()
    return 200, [one for one in comments if one["number"] == int(number)]


def get_comment(
    state: State, _request: IssueRequest, name: str, comment: str
) -> tuple[int, Comment]:
    return 200, state.repository(name)["comments"].get(comment) or refuse(404, "Not Found")


def delete_comment(state: State, request: IssueRequest, name: str, comment: str) -> Reply:
    get_comment(state, request, name, comment)
    del state.repository(name)["comments"][comment]
    return 204, None


def add_reaction(state: State, request: IssueRequest, name: str, comment: str) -> Reply:
    get_comment(state, request, name, comment)
    reaction = {"comment": int(comment), "content": request.document.get("content", "")}
    if reaction["content"] not in REACTIONS:
        refuse(422, "Validation Failed: content is not a reaction")
    reactions = state.repository(name)["reactions"]
    is_new = reaction not in reactions
    reactions.extend([reaction] * is_new)
    return 201 if is_new else 200, {"id": 1, "content": reaction["content"]}
