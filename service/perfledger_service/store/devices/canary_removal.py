"""Selects and removes old canary runs that no device is compared with any more."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    SQLColumnExpression,
    and_,
    case,
    delete,
    func,
    select as columns,
)
from sqlmodel import Session, col, select

from perfledger_service.store.devices.canary_runs import (
    IS_ACCEPTED,
    MAX_EARLIER,
    MAX_PAST,
    RUNS_OF_SIBLING,
)
from perfledger_service.store.devices.tables import (
    CanaryRateRow,
    CanaryRunRow,
    QuarantineRow,
)


def removable_canary_runs(session: Session, *, before: datetime) -> tuple[int, ...]:
    """Return the runs that arrived before a time and are not needed, the oldest first.

    Needed are a device's first accepted runs in each state of its machine, also since its release,
    its newest runs, and each run that began a quarantine.
    """
    device, newest_first = col(CanaryRunRow.device_id), col(CanaryRunRow.id).desc()
    released_at = (
        select(func.max(QuarantineRow.released_at))
        .where(col(QuarantineRow.device_id) == device)
        .scalar_subquery()
    )
    is_since_release = and_(
        col(CanaryRunRow.measured_at) > released_at, col(CanaryRunRow.stored_at) > released_at
    )
    is_accepted = case((IS_ACCEPTED, 1), else_=0)
    state = (device, col(CanaryRunRow.epoch), is_accepted, case((is_since_release, 1), else_=0))

    ranked = columns(
        col(CanaryRunRow.id),
        col(CanaryRunRow.stored_at),
        is_accepted.label("is_accepted"),
        _rank(*state, order=col(CanaryRunRow.id)).label("first"),
        _rank(device, order=newest_first).label("newest"),
        _rank(device, is_accepted, order=newest_first).label("newest_accepted"),
        _rank(device, col(CanaryRunRow.is_disturbed), order=newest_first).label("newest_alike"),
    ).subquery()
    began_quarantine = select(QuarantineRow.canary_run_id).where(
        col(QuarantineRow.canary_run_id).is_not(None)
    )
    query = (
        select(ranked.c.id)
        .where(
            ranked.c.stored_at < before,
            ranked.c.newest > MAX_PAST,
            ranked.c.newest_alike > 1,
            (ranked.c.is_accepted == 0)
            | ((ranked.c.first > MAX_EARLIER) & (ranked.c.newest_accepted > RUNS_OF_SIBLING)),
            ranked.c.id.not_in(began_quarantine),
        )
        .order_by(ranked.c.id)
    )
    return tuple(session.exec(query))


def remove_canary_runs(session: Session, ids: Collection[int | str]) -> None:
    """Remove canary runs with their rates."""
    session.exec(delete(CanaryRateRow).where(col(CanaryRateRow.run_id).in_(ids)))
    session.exec(delete(CanaryRunRow).where(col(CanaryRunRow.id).in_(ids)))


def _rank(*group: SQLColumnExpression[Any], order: SQLColumnExpression[Any]) -> ColumnElement[int]:
    """Return the rank of a run in its group, from 1 on."""
    return func.row_number().over(partition_by=group, order_by=order)
