"""Opens sessions that see the rows of some projects only, whatever they query.

Every SELECT of a session gets the condition for each table that it reads, so that no query, however
new, shows a project by oversight. Rows of tables without a project (observations, verdicts, notes)
are reached through a row that has one. It does not hold for statements on `session.connection()`.
"""

from collections.abc import Generator, Set as AbstractSet
from contextlib import contextmanager

from sqlalchemy import ColumnElement, Engine, event
from sqlalchemy.orm import ORMExecuteState, with_loader_criteria
from sqlmodel import Session, col

from perfledger_service.store.database import read_session
from perfledger_service.store.tables import ProjectRow, StoreRow


@contextmanager
def scoped_session(engine: Engine, project_ids: AbstractSet[int] | None) -> Generator[Session]:
    """Open a session that only reads, and only rows of some projects; None is of all."""
    with read_session(engine) as session:
        if project_ids is not None:
            _narrow(session, project_ids)
        yield session


def _narrow(session: Session, project_ids: AbstractSet[int]) -> None:
    criteria = tuple(
        with_loader_criteria(row, _is_of(row, project_ids), include_aliases=True)
        for row in _rows_of_projects()
    )

    def add_criteria(state: ORMExecuteState) -> None:
        if state.is_select:
            state.statement = state.statement.options(*criteria)

    event.listen(session, "do_orm_execute", add_criteria)


def _rows_of_projects() -> tuple[type[StoreRow], ...]:
    return tuple(
        row
        for row in StoreRow.__subclasses__()
        if row is ProjectRow or "project_id" in row.model_fields
    )


def _is_of(row: type[StoreRow], project_ids: AbstractSet[int]) -> ColumnElement[bool]:
    column = "id" if row is ProjectRow else "project_id"
    return col(getattr(row, column)).in_(sorted(project_ids))
