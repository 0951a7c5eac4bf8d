"""Removes series of imported histories, such as those with a wrong direction."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Engine

from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.store.database import write_session
from perfledger_service.store.events.events import mark_search_due
from perfledger_service.store.imported_history import (
    imported_series,
    remove_series as remove_stored_series,
)
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import lock_project, project_named
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.storage.series_removal import SeriesRemoval

MAX_SERIES = 500  # in one command
MAX_NUMBER = 2**31 - 1  # a larger one fits into no column


def remove_series(
    engine: Engine,
    repository: str,
    series_ids: Sequence[int],
    *,
    actor: Actor,
    is_dry_run: bool,
    now: datetime,
) -> SeriesRemoval:
    """Remove a project's imported series with their points, or only list which would go.

    Raises NotFoundError for no such project, and UsageError for a series that the project does not
    have or that checks measured; then nothing is removed.
    """
    if len(series_ids) > MAX_SERIES:
        msg = f"{len(series_ids)} series are more than {MAX_SERIES}: remove some at a time"
        raise UsageError(msg)
    with write_session(engine) as session:
        project = project_named(session, repository)
        lock_project(session, project.id)
        possible = [one for one in series_ids if 0 < one <= MAX_NUMBER]
        removed = imported_series(session, project.id, possible)
        unknown_ids = sorted(set(series_ids) - {one.id for one in removed})
        if unknown_ids:
            msg = (
                f"{', '.join(map(str, unknown_ids))}: no imported series of {project.repository}; "
                "the number is in the address of a series' page, and what checks measured stays"
            )
            raise UsageError(msg)
        if not is_dry_run:
            remove_stored_series(session, [one.id for one in removed])
            mark_search_due(session, project.id)
            points = quantity(sum(one.points for one in removed), "point")
            numbers = ", ".join(str(one.id) for one in removed)
            add_audit_entry(
                session,
                AuditAction.REMOVE_DATA,
                actor,
                project_id=project.id,
                detail=f"{points} of the imported series {numbers}",
                now=now,
            )
            session.commit()
    return SeriesRemoval(repository=project.repository, series=removed, is_dry_run=is_dry_run)
