"""Distinguishes imports of other tools' histories from checks, and removes imported series."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, and_, delete
from sqlmodel import Session, col, func, select

from perfledger.metrics import FAMILY_PREFIX
from perfledger_service.store.tables import (
    EnvironmentRow,
    ObservationRow,
    PairSpreadRow,
    SeriesRow,
    UploadRow,
)
from perfledger_service.values.branch_views import IMPORTED_CLASS
from perfledger_service.values.storage.series_removal import RemovableSeries

# The hashes of the environments of imports.
IMPORTED_ENVIRONMENTS = select(EnvironmentRow.hash).where(
    col(EnvironmentRow.machine_class).startswith(IMPORTED_CLASS)
)
# Whether an upload is an import: neither a check of the project nor from a machine of its fleet.
IS_IMPORTED: ColumnElement[bool] = col(UploadRow.environment_hash).in_(IMPORTED_ENVIRONMENTS)
IS_IMPORTED_SERIES: ColumnElement[bool] = col(SeriesRow.machine_class).startswith(IMPORTED_CLASS)
# Whether a series is a kernel family of a workload, not a metric that is judged.
IS_FAMILY_SERIES: ColumnElement[bool] = and_(
    col(SeriesRow.metric).startswith(FAMILY_PREFIX), ~IS_IMPORTED_SERIES
)
_REMOVABLE_SERIES_DECODER = msgspec.json.Decoder(RemovableSeries)


def imported_series(
    session: Session, project_id: int, series_ids: Sequence[int]
) -> tuple[RemovableSeries, ...]:
    """Return which of a project's series are imported, with their points."""
    points = func.count(col(ObservationRow.series_id))
    rows = session.exec(
        select(SeriesRow, points)
        .outerjoin(ObservationRow)
        .where(
            col(SeriesRow.project_id) == project_id,
            col(SeriesRow.id).in_(series_ids),
            IS_IMPORTED_SERIES,
        )
        .group_by(col(SeriesRow.id))
        .order_by(col(SeriesRow.id))
    )
    return tuple(
        row.to_value(_REMOVABLE_SERIES_DECODER, machine_class=row.machine_class, points=count)
        for row, count in rows
    )


def remove_series(session: Session, series_ids: Sequence[int]) -> None:
    """Remove series with their points; the store's newest series stays, without points.

    SQLite would reuse its number, and an old address would show another series. The caller holds
    the lock of the series' project.
    """
    session.exec(delete(ObservationRow).where(col(ObservationRow.series_id).in_(series_ids)))
    newest = select(func.max(SeriesRow.id)).scalar_subquery()
    session.exec(
        delete(SeriesRow).where(
            col(SeriesRow.id).in_(series_ids),
            col(SeriesRow.id) < newest,
            col(SeriesRow.id).not_in(select(PairSpreadRow.series_id)),
        )
    )
