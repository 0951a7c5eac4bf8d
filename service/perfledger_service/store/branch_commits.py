"""Stores the default branch's first-parent line: each commit with its place."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, func, insert
from sqlmodel import Session, col, select

from perfledger_service.store.tables import BranchCommitRow

# Place of the newest commit of a line whose beginning is unknown: larger than any line is long, so
# that the places of older commits are not negative.
_FIRST_PLACE = 10_000_000


def branch_places(session: Session, project_id: int) -> dict[str, int]:
    """Return the places of the branch's known commits, oldest first."""
    rows = session.exec(
        select(BranchCommitRow.sha, BranchCommitRow.place)
        .where(col(BranchCommitRow.project_id) == project_id)
        .order_by(col(BranchCommitRow.place))
    )
    return dict(rows.all())


def is_on_branch(session: Session, project_id: int, sha: str) -> bool:
    """Return whether a commit is known to be on the branch's line."""
    is_commit = (col(BranchCommitRow.project_id) == project_id, col(BranchCommitRow.sha) == sha)
    return session.exec(select(BranchCommitRow.place).where(*is_commit)).first() is not None


def branch_lengths(session: Session) -> tuple[tuple[int, int, int], ...]:
    """Return (project, number of known commits, place of the newest) of each project with any."""
    rows = session.exec(
        select(BranchCommitRow.project_id, func.count(), func.max(BranchCommitRow.place))
        .group_by(col(BranchCommitRow.project_id))
        .order_by(col(BranchCommitRow.project_id))
    )
    return tuple((project, count, newest) for project, count, newest in rows)


def put_line(
    session: Session, project_id: int, line: Sequence[str], *, known_until: str | None = None
) -> None:
    """Store neighbouring commits of the branch, oldest first.

    The newest known one among them gives the others their places. If none is known, the stored
    commits belong to another line and are dropped. A line up to the branch's tip has `known_until`,
    the newest commit that was known when it was read ("" for none): commits that the branch no
    longer has are dropped. The caller holds the project's lock.
    """
    places = branch_places(session, project_id)
    indices = [index for index, sha in enumerate(line) if sha in places]
    if not indices:
        clear_branch(session, project_id)
        places = {}
    start = places[line[indices[-1]]] - indices[-1] if indices else _FIRST_PLACE - len(line) + 1
    newest = start + len(line) - 1
    if known_until in places:
        dropped = [place for place in places.values() if newest < place <= places[known_until]]
        _drop(session, project_id, dropped)
    put_places(session, project_id, {sha: start + index for index, sha in enumerate(line)})


def put_places(session: Session, project_id: int, places: Mapping[str, int]) -> None:
    """Store commits with their places, replacing those that were stored or had these places."""
    stored = branch_places(session, project_id)
    by_place = {place: sha for sha, place in places.items() if stored.get(sha) != place}
    changed = {sha: place for place, sha in by_place.items()}
    new_places = by_place.keys()
    _drop(
        session,
        project_id,
        [place for sha, place in stored.items() if sha in changed or place in new_places],
    )
    if changed:
        new_rows = [
            {"project_id": project_id, "place": place, "sha": sha} for sha, place in changed.items()
        ]
        session.exec(insert(BranchCommitRow), params=new_rows)


def clear_branch(session: Session, project_id: int) -> None:
    """Remove all of the branch's commits."""
    session.exec(delete(BranchCommitRow).where(col(BranchCommitRow.project_id) == project_id))


def _drop(session: Session, project_id: int, places: Sequence[int]) -> None:
    if places:
        session.exec(
            delete(BranchCommitRow).where(
                col(BranchCommitRow.project_id) == project_id,
                col(BranchCommitRow.place).in_(places),
            )
        )
