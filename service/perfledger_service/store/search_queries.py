"""Finds projects, pull requests, commits, workloads and machines by name, one query for each kind.

A session decides which projects are searched. Numbers and commits are found by an index; names are
compared in the tables of projects, series and runners, which do not grow with measurements.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, and_, inspect, true
from sqlmodel import Session, col, func, select

from perfledger_service.store.imported_history import IMPORTED_ENVIRONMENTS
from perfledger_service.store.jobs.tables import RunnerRow
from perfledger_service.store.tables import MAX_PULL_REQUEST, ProjectRow, SeriesRow, UploadRow
from perfledger_service.values.service_views.search import SearchHit, SearchKind

MAX_HITS = 10  # of a kind
_MAX_READ = MAX_HITS + 1  # one more shows that there are more
MAX_WORDS = 8  # of a text; a name has to hold each
_SHA_START = re.compile(r"[0-9a-f]{4,64}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_AFTER_HEX = "g"


def search_hits(session: Session, text: str, kind: SearchKind) -> tuple[SearchHit, ...]:
    """Return at most MAX_HITS + 1 things of a kind that a text names; none for an empty text."""
    words = text.split()[:MAX_WORDS]
    return tuple(islice(_SEARCHES[kind](session, words), _MAX_READ)) if words else ()


def _projects(session: Session, words: Sequence[str]) -> Iterator[SearchHit]:
    rows = session.exec(
        select(ProjectRow.repository)
        .where(_holds(ProjectRow.repository, words))
        .order_by(col(ProjectRow.repository_key))
        .limit(_MAX_READ)
    )
    for repository in rows:
        yield SearchHit(kind=SearchKind.PROJECT, repository=repository, name=repository)


def _pull_requests(session: Session, words: Sequence[str]) -> Iterator[SearchHit]:
    name, _, digits = words[-1].rpartition("#")
    if _NUMBER.fullmatch(digits) is None or int(digits) > MAX_PULL_REQUEST:
        return
    number, of_project = int(digits), [*words[:-1], name]
    rows = session.exec(
        select(ProjectRow.repository)
        .join(UploadRow)
        .where(col(UploadRow.pull_request) == number, _holds(ProjectRow.repository, of_project))
        .distinct()
        .order_by(col(ProjectRow.repository))
        .limit(_MAX_READ)
    )
    for repository in rows:
        yield SearchHit(kind=SearchKind.PULL_REQUEST, repository=repository, name=f"#{number}")


def _commits(session: Session, words: Sequence[str]) -> Iterator[SearchHit]:
    start = words[-1].lower()
    if _SHA_START.fullmatch(start) is None:
        return
    # Of the table, to which a session adds no projects: with them, SQLite would read all uploads of
    # these. The project's row decides what is shown.
    upload = inspect(UploadRow).local_table.c
    is_imported = upload["environment_hash"].in_(IMPORTED_ENVIRONMENTS)  # a check goes before it
    newest_first = (is_imported, upload["measured_at"].desc(), upload["id"])
    of_commit = (upload["project_id"], upload["head_sha"])
    place = func.row_number().over(partition_by=of_commit, order_by=newest_first)
    checks = (
        select(*of_commit, upload["head_subject"], upload["id"])
        .add_columns(upload["measured_at"], place.label("place"))
        .where(upload["head_sha"] >= start, upload["head_sha"] < start + _AFTER_HEX)
        .cte()
        .prefix_with("materialized")
    )
    rows = session.exec(
        select(ProjectRow.repository, checks.c.head_sha, checks.c.head_subject, checks.c.id)
        .join(checks, checks.c.project_id == col(ProjectRow.id))
        .where(checks.c.place == 1, _holds(ProjectRow.repository, words[:-1]))
        .order_by(checks.c.measured_at.desc(), checks.c.id)
        .limit(_MAX_READ)
    )
    for repository, head_sha, subject, upload_id in rows:
        yield SearchHit(
            kind=SearchKind.COMMIT,
            repository=repository,
            name=head_sha,
            detail=subject,
            upload_id=upload_id,
        )


def _workloads(session: Session, words: Sequence[str]) -> Iterator[SearchHit]:
    yield from _hits_by_name(session, SearchKind.WORKLOAD, SeriesRow, SeriesRow.workload, words)


def _machine_classes(session: Session, words: Sequence[str]) -> Iterator[SearchHit]:
    yield from _hits_by_name(
        session, SearchKind.MACHINE_CLASS, SeriesRow, SeriesRow.machine_class, words
    )


def _runners(session: Session, words: Sequence[str]) -> Iterator[SearchHit]:
    yield from _hits_by_name(session, SearchKind.RUNNER, RunnerRow, RunnerRow.name, words)


def _hits_by_name(
    session: Session,
    kind: SearchKind,
    row: type[SeriesRow | RunnerRow],
    column: str,
    words: Sequence[str],
) -> Iterator[SearchHit]:
    rows = session.exec(
        select(ProjectRow.repository, column)
        .join(row)
        .where(_holds(column, words))
        .distinct()
        .order_by(col(column), col(ProjectRow.repository))
        .limit(_MAX_READ)
    )
    for repository, name in rows:
        yield SearchHit(kind=kind, repository=repository, name=name)


def _holds(column: str, words: Sequence[str]) -> ColumnElement[bool]:
    """Return that a name holds each word, in any case (SQLite: of ASCII letters)."""
    names: Any = col(column)
    return and_(true(), *(names.icontains(word, autoescape=True) for word in words))


_SEARCHES: dict[SearchKind, Callable[[Session, Sequence[str]], Iterator[SearchHit]]] = {
    SearchKind.PROJECT: _projects,
    SearchKind.PULL_REQUEST: _pull_requests,
    SearchKind.COMMIT: _commits,
    SearchKind.WORKLOAD: _workloads,
    SearchKind.MACHINE_CLASS: _machine_classes,
    SearchKind.RUNNER: _runners,
}
