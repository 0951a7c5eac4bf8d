"""The stand-in's branches and files: what GitHub's API returns about a repository's code."""

from base64 import b64encode
from collections.abc import Callable
from typing import Protocol
from urllib.parse import unquote

from github_state import Document, Reply, State, refuse


class CodeRequest(Protocol):
    """The parts of a request that are read."""

    document: Document
    query: dict[str, list[str]]


def get_content(state: State, request: CodeRequest, name: str, path: str) -> Reply:
    files = state.repository(name).get("files", {})
    key = f"{request.query['ref'][0]}:{unquote(path)}"
    content = b64encode((files.get(key) or refuse(404, "Not Found")).encode()).decode()
    return 200, {"type": "file", "encoding": "base64", "content": content, "path": path}


def set_file(state: State, request: CodeRequest) -> Reply:
    document = request.document
    files = state.repository(document["repository"], create=True).setdefault("files", {})
    files[f"{document['sha']}:{document['path']}"] = document["text"]
    return 201, document


def set_comparison(state: State, request: CodeRequest) -> Reply:
    document = request.document
    repository = state.repository(document["repository"], create=True)
    key = f"{document['base']}...{document['head']}"
    repository.setdefault("comparisons", {})[key] = document["merge_base"]
    return 201, document


def compare(state: State, _request: CodeRequest, name: str, key: str) -> Reply:
    sha = state.repository(name).get("comparisons", {}).get(unquote(key))
    return 200, {
        "status": "diverged",
        "merge_base_commit": {"sha": sha or refuse(404, "Not Found")},
    }


def set_branch(state: State, request: CodeRequest) -> Reply:
    document = request.document
    branches = state.repository(document["repository"], create=True).setdefault("branches", {})
    branches[document["name"]] = document["sha"]
    return 201, document


def list_branches(state: State, _request: CodeRequest, name: str, sha: str) -> Reply:
    branches_by_name = state.repository(name).get("branches", {})
    branches = [
        {"name": one, "commit": {"sha": sha}} for one, at in branches_by_name.items() if at == sha
    ]
    return 200, [one | {"protected": False} for one in branches]


REPOSITORY = r"/repos/([\w.-]+/[\w.-]+)"
CODE_ROUTES: tuple[tuple[str, str, Callable[..., Reply]], ...] = (
    ("GET", REPOSITORY + r"/commits/([0-9a-f]+)/branches-where-head", list_branches),
    ("GET", REPOSITORY + r"/contents/(.+)", get_content),
    ("GET", REPOSITORY + r"/compare/(.+)", compare),
    ("POST", r"/_stand_in/branches", set_branch),
    ("POST", r"/_stand_in/comparisons", set_comparison),
    ("POST", r"/_stand_in/files", set_file),
)
