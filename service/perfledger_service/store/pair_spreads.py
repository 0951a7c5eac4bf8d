"""Stores how much the pairs of each upload differ, for later uploads' priors."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import ColumnElement, func, true
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from perfledger_baselines.judging.pair_spreads import MIN_PAIRS, PairDifferences
from perfledger_baselines.significance.spread_prior import MAX_VALUES
from perfledger_service.store.database import insert_rows
from perfledger_service.store.observations import pack, series_key, unpack
from perfledger_service.store.tables import PairSpreadRow, SeriesRow

# Differences of logs are small numbers: 32 bits keep a relative precision of 1e-7.
SAMPLE_TYPE = "f4"
# Newest uploads of a series to read: enough however few pairs each has.
MAX_UPLOADS = MAX_VALUES // MIN_PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDifferences:
    """The log differences of one series' pairs, by upload, newest first.

    Entries are numbered in the order in which uploads were judged; `newest` is the highest number.
    """

    workload: str
    metric: str
    machine_class: str
    newest: int
    uploads: tuple[tuple[float, ...], ...]


def add_differences(
    session: Session, differences: Sequence[PairDifferences], *, project_id: int, upload_id: str
) -> None:
    """Store the differences of an upload's pairs, in one statement.

    The upload's observations, and with them its series, are stored earlier; a tail that some run
    outside the pairs lacks has neither. The caller holds the project's lock, so that entries are
    numbered in the order in which they become visible.
    """
    keys = [_key(one) for one in differences]
    stored = session.exec(
        select(SeriesRow.key, SeriesRow.id).where(
            col(SeriesRow.project_id) == project_id, col(SeriesRow.key).in_(keys)
        )
    )
    series = dict(stored.all())
    new_rows = [
        {
            "series_id": series[key],
            "upload_id": upload_id,
            "differences": pack(one.values, SAMPLE_TYPE),
        }
        for key, one in zip(keys, differences, strict=True)
        if key in series
    ]
    insert_rows(session, PairSpreadRow, new_rows)


def differences_of_series(
    session: Session, project_id: int, keys: Collection[str], *, until: int | None = None
) -> tuple[SeriesDifferences, ...]:
    """Return the differences of the series with these keys, up to entry `until` if given."""
    return tuple(_read_differences(session, project_id, col(SeriesRow.key).in_(keys), until))


def differences_on_devices(
    session: Session, project_id: int, machine_classes: Collection[str]
) -> tuple[SeriesDifferences, ...]:
    """Return the differences of all series on these machine classes, or on all if none is given."""
    is_there = col(SeriesRow.machine_class).in_(machine_classes) if machine_classes else true()
    return tuple(_read_differences(session, project_id, is_there, None))


def _read_differences(
    session: Session, project_id: int, condition: ColumnElement[bool], until: int | None
) -> Iterator[SeriesDifferences]:
    """Read the newest entries of the series in one statement."""
    newer = aliased(PairSpreadRow)
    newest = select(col(newer.id)).where(col(newer.series_id) == col(SeriesRow.id))
    entries = (
        select(SeriesRow, PairSpreadRow.id, PairSpreadRow.differences)
        .join(PairSpreadRow)
        .where(col(SeriesRow.project_id) == project_id, condition)
        .order_by(col(SeriesRow.id), col(PairSpreadRow.id).desc())
    )
    if until is not None:
        newest = newest.where(col(newer.id) <= until)
        entries = entries.where(col(PairSpreadRow.id) <= until)
    # The number of the oldest entry to read; nothing if there are few.
    oldest = newest.order_by(col(newer.id).desc()).offset(MAX_UPLOADS - 1).limit(1)
    first = func.coalesce(oldest.correlate(SeriesRow).scalar_subquery(), 0)
    rows = session.exec(entries.where(col(PairSpreadRow.id) >= first))
    for _, group in groupby(rows, key=lambda row: row[0].id):
        stored = tuple(group)
        series = stored[0][0]
        yield SeriesDifferences(
            workload=series.workload,
            metric=series.metric,
            machine_class=series.machine_class,
            newest=max(number or 0 for _, number, _ in stored),
            uploads=tuple(unpack(packed, SAMPLE_TYPE) for _, _, packed in stored),
        )


def _key(differences: PairDifferences) -> str:
    return series_key(differences.workload, differences.metric, differences.machine_class)
