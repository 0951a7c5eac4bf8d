"""By how much the pairs of uploads differed, stored with them and found again for later ones."""

import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import ColumnElement, func, insert, true
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from perfledger_baselines.differences import FEWEST_PAIRS, PairDifferences
from perfledger_baselines.prior import MOST_VALUES
from perfledger_service.store.observations import pack, series_key
from perfledger_service.store.tables import SeriesRow, SpreadRow

# Differences of logs are small numbers: 32 bits keep them to 1e-7 of themselves.
SAMPLE_TYPE = "f4"
# Newest uploads of a series that are read. However few pairs each has, these are enough.
MOST_UPLOADS = MOST_VALUES // FEWEST_PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDifferences:
    """The pairs' differences of logs of one series, by upload, the newest first.

    Entries are numbered in the order in which uploads were judged; `newest` is the highest here.
    """

    workload: str
    metric: str
    device_class: str
    newest: int
    uploads: tuple[tuple[float, ...], ...]


def add_differences(
    session: Session,
    differences: Sequence[PairDifferences],
    *,
    project_id: int,
    upload_id: str,
) -> None:
    """Store how an upload's pairs differed: one statement for all of it.

    Its observations are stored before, and with them its series; a tail that some run outside the
    pairs could not tell has neither. The caller holds the project's lock, so that entries are
    numbered in the order in which they can be seen.
    """
    keys = [_key(one) for one in differences]
    known = session.exec(
        select(SeriesRow.key, SeriesRow.id).where(
            col(SeriesRow.project_id) == project_id, col(SeriesRow.key).in_(keys)
        )
    )
    series = dict(known.all())
    rows = [
        {
            "series_id": series[key],
            "upload_id": upload_id,
            "differences": pack(one.values, SAMPLE_TYPE),
        }
        for key, one in zip(keys, differences, strict=True)
        if key in series
    ]
    if rows:
        session.exec(insert(SpreadRow), params=rows)


def differences_of_series(
    session: Session, project_id: int, keys: Collection[str], *, until: int | None = None
) -> tuple[SeriesDifferences, ...]:
    """Return what is stored of the series with these keys, up to entry `until` if it is given."""
    return tuple(_found(session, project_id, col(SeriesRow.key).in_(keys), until))


def differences_on_devices(
    session: Session, project_id: int, device_classes: Collection[str]
) -> tuple[SeriesDifferences, ...]:
    """Return what is stored of all series on these classes of devices, on any if none is named."""
    is_there = col(SeriesRow.device_class).in_(device_classes) if device_classes else true()
    return tuple(_found(session, project_id, is_there, None))


def _found(
    session: Session, project_id: int, condition: ColumnElement[bool], until: int | None
) -> Iterator[SeriesDifferences]:
    """Read the newest entries of the series: one statement, however many there are."""
    other = aliased(SpreadRow)
    newest = select(col(other.id)).where(col(other.series_id) == col(SeriesRow.id))
    entries = (
        select(SeriesRow, SpreadRow.id, SpreadRow.differences)
        .join(SpreadRow)
        .where(col(SeriesRow.project_id) == project_id, condition)
        .order_by(col(SeriesRow.id), col(SpreadRow.id).desc())
    )
    if until is not None:
        newest = newest.where(col(other.id) <= until)
        entries = entries.where(col(SpreadRow.id) <= until)
    # The number of the oldest entry that is still read, or nothing where there are few.
    oldest = newest.order_by(col(other.id).desc()).offset(MOST_UPLOADS - 1).limit(1)
    first = func.coalesce(oldest.correlate(SeriesRow).scalar_subquery(), 0)
    rows = session.exec(entries.where(col(SpreadRow.id) >= first))
    for _, group in groupby(rows, key=lambda row: row[0].id):
        stored = tuple(group)
        series = stored[0][0]
        yield SeriesDifferences(
            workload=series.workload,
            metric=series.metric,
            device_class=series.device_class,
            newest=max(number or 0 for _, number, _ in stored),
            uploads=tuple(_unpack(packed) for _, _, packed in stored),
        )


def _key(one: PairDifferences) -> str:
    return series_key(one.workload, one.metric, one.device_class)


def _unpack(packed: bytes) -> tuple[float, ...]:
    return tuple(number for (number,) in struct.iter_unpack("<f", packed))
