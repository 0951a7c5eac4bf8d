"""What uploads measured, as observations of series: the ingest path and the way back."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import func, insert
from sqlmodel import Session, col, select

from perfledger.metrics import Kind, Metric
from perfledger.records import Side
from perfledger_service.store.tables import ObservationRow, RevisionRow, SeriesRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One side's measurement of one workload's metric; `low` and `high` bound the center."""

    workload: str
    metric: Metric
    side: Side
    sha: str
    processes: int
    center: float
    low: float
    high: float
    samples: tuple[float, ...]  # of all processes, one after another


def add_observations(
    session: Session,
    observations: Sequence[Observation],
    *,
    project_id: int,
    upload_id: str,
    device_class: str,
) -> None:
    """Store what one upload measured: one statement for all of it.

    The caller holds the project's lock, so that the places of new commits are not given twice.
    """
    places = _places(session, project_id, tuple(dict.fromkeys(one.sha for one in observations)))
    series = _series(session, observations, project_id=project_id, device_class=device_class)
    rows = [
        {
            "series_id": series[one.workload, one.metric.name][0],
            "pos": places[one.sha],
            "upload_id": upload_id,
            "side": one.side,
            "processes": one.processes,
            "center": one.center,
            "low": one.low,
            "high": one.high,
            "samples": pack(one.samples, series[one.workload, one.metric.name][1]),
        }
        for one in observations
    ]
    if rows:
        session.exec(insert(ObservationRow), params=rows)


def pack(samples: Sequence[float], sample_type: str) -> bytes:
    """Return numbers as little-endian floats of 4 (f4) or 8 (f8) bytes."""
    return struct.pack(f"<{len(samples)}{_letter(sample_type)}", *samples)


def sample_type_of(metric: Metric) -> str:
    """Return f4 for readings, whose noise is far above its 6e-8, and f8 for counts and bytes."""
    match metric.kind:
        case Kind.SPEED | Kind.UTILIZATION:
            return "f4"
        case Kind.MEMORY | Kind.WORK:
            return "f8"


def series_key(workload: str, metric: str, device_class: str) -> str:
    """Return what a series is found by, in its project."""
    return sha256(json.dumps([workload, metric, device_class]).encode()).hexdigest()


def _letter(sample_type: str) -> str:
    return {"f4": "f", "f8": "d"}[sample_type]


def _places(session: Session, project_id: int, shas: Sequence[str]) -> dict[str, int]:
    """Return each commit's place, giving the next ones to those that were not seen before."""
    known = session.exec(
        select(RevisionRow.sha, RevisionRow.pos).where(
            col(RevisionRow.project_id) == project_id, col(RevisionRow.sha).in_(shas)
        )
    )
    places = dict(known.all())
    last = select(func.coalesce(func.max(RevisionRow.pos), -1))
    following = session.exec(last.where(col(RevisionRow.project_id) == project_id)).one() + 1
    for sha in shas:
        if sha not in places:
            places[sha] = following
            session.add(RevisionRow(project_id=project_id, pos=following, sha=sha))
            following += 1
    session.flush()
    return places


def _series(
    session: Session, observations: Sequence[Observation], *, project_id: int, device_class: str
) -> dict[tuple[str, str], tuple[int, str]]:
    """Return id and sample type of each observation's series, making those that are missing."""
    metrics = {(one.workload, one.metric.name): one.metric for one in observations}
    keys = {pair: series_key(*pair, device_class) for pair in metrics}
    found = session.exec(
        select(SeriesRow).where(
            col(SeriesRow.project_id) == project_id, col(SeriesRow.key).in_(keys.values())
        )
    )
    rows = {(row.workload, row.metric): row for row in found}
    for (workload, name), metric in metrics.items():
        if (workload, name) not in rows:
            row = SeriesRow(
                project_id=project_id,
                key=keys[workload, name],
                workload=workload,
                metric=name,
                unit=metric.unit,
                worse=metric.worse,
                device_class=device_class,
                sample_type=sample_type_of(metric),
            )
            session.add(row)
            rows[workload, name] = row
    session.flush()
    return {pair: (row.id, row.sample_type) for pair, row in rows.items() if row.id is not None}
