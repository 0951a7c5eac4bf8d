"""Stores which runners ask for jobs, and for which machine classes."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, select

from perfledger_service.store.jobs.tables import RunnerRow
from perfledger_service.store.tables import add_if_new
from perfledger_service.values.fleet_views import RunnerView

MAX_RUNNERS = 200  # of a project, on its page


def record_runner(
    session: Session, project_id: int, name: str, machine_classes: Sequence[str], *, now: datetime
) -> None:
    """Record that a runner asks for jobs of these machine classes."""
    for machine_class in machine_classes:
        values = {"project_id": project_id, "name": name, "machine_class": machine_class}
        add_if_new(session, RunnerRow, values | {"seen_at": now})
    session.exec(
        update(RunnerRow)
        .where(
            col(RunnerRow.project_id) == project_id,
            col(RunnerRow.name) == name,
            col(RunnerRow.machine_class).in_(machine_classes),
        )
        .values(seen_at=now)
    )


def served_classes(session: Session, project_id: int, *, since: datetime) -> tuple[str, ...]:
    """Return the machine classes for which a runner has asked for jobs since a time."""
    classes = select(RunnerRow.machine_class).where(
        col(RunnerRow.project_id) == project_id, col(RunnerRow.seen_at) >= since
    )
    return tuple(session.exec(classes.distinct().order_by(RunnerRow.machine_class)))


def project_runners(session: Session, project_id: int) -> tuple[RunnerView, ...]:
    """Return the runners that asked for jobs of a project, last seen first."""
    return _runners(session, col(RunnerRow.project_id) == project_id)


def runners_since(session: Session, project_id: int, *, since: datetime) -> tuple[RunnerView, ...]:
    """Return the runners that asked for jobs of a project since a time, last seen first."""
    return _runners(
        session, (col(RunnerRow.project_id) == project_id) & (col(RunnerRow.seen_at) >= since)
    )


def _runners(session: Session, chosen: ColumnElement[bool]) -> tuple[RunnerView, ...]:
    rows = session.exec(
        select(RunnerRow)
        .where(chosen)
        .order_by(col(RunnerRow.seen_at).desc(), col(RunnerRow.name), col(RunnerRow.machine_class))
        .limit(MAX_RUNNERS)
    )
    return tuple(
        RunnerView(name=row.name, machine_class=row.machine_class, seen_at=row.seen_at)
        for row in rows
    )
