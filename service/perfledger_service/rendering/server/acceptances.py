"""Renders the accepted regressions of a project."""

from collections.abc import Sequence

from perfledger.records import short_sha
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME
from perfledger_service.rendering.layout.paging import page_of
from perfledger_service.values.acceptance import Acceptance

PER_PAGE = 25
_MAX_REASON = 300
_COLUMNS: tuple[Column[Acceptance], ...] = (
    name(
        "workload",
        "workload",
        lambda row: row.workload or None,
        show=lambda row: row.workload or "(ignored)",
        limit=MAX_LONG_NAME,
    ),
    figure("pull_request", "pull request", lambda row: row.pull_request, str),
    name("login", "by", lambda row: row.login),
    figure("accepted_at", "on", lambda row: row.accepted_at, lambda at: at.date().isoformat()),
    figure("until", "until", lambda row: row.until),
    fact("head_sha", lambda row: row.head_sha),
    name(
        "merged_sha",
        "merged as",
        lambda row: row.merged_sha,
        show=lambda row: short_sha(row.merged_sha),
    ),
    name("reason", "why", lambda row: row.reason, limit=_MAX_REASON),
)


def accepted_page(
    repository: str, acceptances: Sequence[Acceptance], *, text: str = "", page: int = 1
) -> str:
    """Return a page of a project's acceptances, newest first; `text` filters by workload."""
    return render(
        "html/accepted.html.j2",
        repository=repository,
        text=text,
        accepted=page_of(_matching(acceptances, text), page, size=PER_PAGE),
    )


def accepted_document(
    repository: str, acceptances: Sequence[Acceptance], *, text: str = ""
) -> Document:
    """Return a project's acceptances as data, newest first; `text` filters by workload.

    One of a whole commit, whose results are ignored, has no workload.
    """
    return Document(
        name="perfledger-accepted",
        facts={"repository": repository},
        blocks=(table(_COLUMNS, _matching(acceptances, text), key="accepted"),),
    )


def _matching(acceptances: Sequence[Acceptance], text: str) -> list[Acceptance]:
    return [one for one in acceptances if text.lower() in one.workload.lower()]
