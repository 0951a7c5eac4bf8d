"""Holds what a search by name finds."""

from dataclasses import dataclass
from enum import StrEnum


class SearchKind(StrEnum):
    """A kind of thing that has a name and a page, in the order of a page of results."""

    PROJECT = "project"
    PULL_REQUEST = "pull request"
    COMMIT = "commit"
    WORKLOAD = "workload"
    MACHINE_CLASS = "machine class"
    RUNNER = "runner"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One thing that was found; `upload_id` is the newest check of a commit, else ""."""

    kind: SearchKind
    repository: str
    name: str
    detail: str = ""  # a commit's subject
    upload_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """What a text finds, by kind and name; `cut` are the kinds of which there is more."""

    text: str
    hits: tuple[SearchHit, ...] = ()
    cut: frozenset[SearchKind] = frozenset()
