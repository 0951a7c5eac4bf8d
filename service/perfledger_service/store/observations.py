"""Stores uploads' measurements as observations of series, and selects them as points."""

import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, func, select as columns
from sqlalchemy.sql.selectable import Select
from sqlmodel import Session, col, select

from perfledger.metrics import Metric, MetricKind
from perfledger.records import Side
from perfledger_service.store.database import insert_rows
from perfledger_service.store.tables import (
    BranchCommitRow,
    ObservationRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
)
from perfledger_service.values.upload_views import UploadSender

# SQLite takes 32,766 parameters in a statement, PostgreSQL 65,535.
KEYS_AT_A_TIME = 10_000
# Columns, because reading objects of four tables takes three times as long.
_POINT_COLUMNS: tuple[Any, ...] = (
    *map(col, (ObservationRow.position, ObservationRow.upload_id, ObservationRow.side)),
    *map(col, (ObservationRow.processes, ObservationRow.center)),
    *map(col, (ObservationRow.low, ObservationRow.high)),
    *map(col, (UploadRow.pull_request, UploadRow.measured_at, UploadRow.sender)),
    *map(col, (RevisionRow.sha, RevisionRow.is_claimed, RevisionRow.committed_at)),
    col(BranchCommitRow.place),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Measurement of one metric of one workload on one side; `low` and `high` bound the center."""

    workload: str
    metric: Metric
    machine_class: str  # of the part of the machine that the workload ran on
    side: Side
    sha: str
    processes: int
    center: float
    low: float
    high: float
    samples: tuple[float, ...]  # of all processes, one after another


def add_observations(
    session: Session, observations: Sequence[Observation], *, project_id: int, upload_id: str
) -> None:
    """Store all that one upload measured.

    The caller holds the project's lock, so that no two commits get the same position.
    """
    positions = _positions(
        session, project_id, tuple(dict.fromkeys(one.sha for one in observations))
    )
    named = {_name(one): one for one in observations}
    keys = {name: series_key(*name) for name in named}
    stored = _series(session, {keys[name]: one for name, one in named.items()}, project_id)
    series = {name: stored[key] for name, key in keys.items()}
    rows = [
        {
            "series_id": series_id,
            "position": positions[one.sha],
            "upload_id": upload_id,
            "side": one.side,
            "processes": one.processes,
            "center": one.center,
            "low": one.low,
            "high": one.high,
            "samples": pack(one.samples, sample_type),
        }
        for one in observations
        for series_id, sample_type in (series[_name(one)],)
    ]
    insert_rows(session, ObservationRow, rows)


def has_room(
    session: Session, project_id: int, names: Collection[tuple[str, str, str]], *, most: int
) -> bool:
    """Return whether a project has at most so many series, those of these names included.

    A name is a workload, a metric and a machine class.
    """
    is_of_project = col(SeriesRow.project_id) == project_id
    count = session.exec(select(func.count()).where(is_of_project)).one()
    if count + len(names) <= most:
        return True
    keys = [series_key(*one) for one in names]
    for start in range(0, len(keys), KEYS_AT_A_TIME):
        is_known = col(SeriesRow.key).in_(keys[start : start + KEYS_AT_A_TIME])
        count -= session.exec(select(func.count()).where(is_of_project, is_known)).one()
    return count + len(keys) <= most


def new_observations(
    session: Session, observations: Sequence[Observation], project_id: int
) -> tuple[Observation, ...]:
    """Return the observations of an import that no earlier one stored: another commit or value.

    A history's files grow, so a later import of a commit contains the earlier values, too. Imports
    by runs of anything but the branch are ignored here.
    """
    keys = [series_key(one.workload, one.metric.name, one.machine_class) for one in observations]
    rows = (
        session.connection()
        .execute(
            columns(col(SeriesRow.key), col(RevisionRow.sha), col(ObservationRow.center))
            .select_from(ObservationRow)
            .join(SeriesRow)
            .join(UploadRow)
            .join(
                RevisionRow,
                (col(RevisionRow.position) == col(ObservationRow.position))
                & (col(RevisionRow.project_id) == project_id),
            )
            .where(
                col(SeriesRow.project_id) == project_id,
                col(SeriesRow.key).in_(keys),
                col(RevisionRow.sha).in_({one.sha for one in observations}),
                col(UploadRow.sender) != UploadSender.OTHER_RUN,
            )
        )
        .all()
    )
    stored = {(key, sha, center) for key, sha, center in rows}
    return tuple(
        one
        for key, one in zip(keys, observations, strict=True)
        if (key, one.sha, one.center) not in stored
    )


def select_points(
    is_of_series: ColumnElement[bool], project_id: int, *conditions: ColumnElement[bool]
) -> Select[*tuple[Any, ...]]:
    """Select observations of a project with their upload, commit and place on the branch."""
    return (
        columns(*_POINT_COLUMNS)
        .select_from(ObservationRow)
        .join(UploadRow)
        .join(
            RevisionRow,
            (col(RevisionRow.position) == col(ObservationRow.position))
            & (col(RevisionRow.project_id) == project_id),
        )
        .outerjoin(
            BranchCommitRow,
            (col(BranchCommitRow.sha) == col(RevisionRow.sha))
            & (col(BranchCommitRow.project_id) == project_id)
            & col(RevisionRow.is_claimed),
        )
        .where(is_of_series, *conditions)
    )


def is_attested(sender: str, place: int | None, *, is_claimed: bool) -> bool:
    """Return whether a selected point's commit has more than a bundle's claim."""
    return (place is not None or not is_claimed) and sender != UploadSender.OTHER_RUN


def pack(samples: Sequence[float], sample_type: str) -> bytes:
    """Return numbers as little-endian floats of 4 (f4) or 8 (f8) bytes."""
    return struct.pack(f"<{len(samples)}{_letter(sample_type)}", *samples)


def unpack(packed: bytes, sample_type: str) -> tuple[float, ...]:
    """Return the numbers that `pack` stored."""
    return tuple(number for (number,) in struct.iter_unpack(f"<{_letter(sample_type)}", packed))


def sample_type_of(metric: Metric) -> str:
    """Return f4 for readings, whose noise is far above f4's 6e-8, and f8 for counts and bytes."""
    match metric.kind:
        case (
            MetricKind.SPEED
            | MetricKind.CPU_TIME
            | MetricKind.TAIL
            | MetricKind.UTILIZATION
            | MetricKind.ENERGY
            | MetricKind.START
            | MetricKind.KERNEL
        ):
            return "f4"
        case MetricKind.MEMORY | MetricKind.GROWTH | MetricKind.WORK:
            return "f8"


def series_key(workload: str, metric: str, machine_class: str) -> str:
    """Return the key of a series in its project."""
    return sha256(json.dumps([workload, metric, machine_class]).encode()).hexdigest()


def _name(observation: Observation) -> tuple[str, str, str]:
    return observation.workload, observation.metric.name, observation.machine_class


def _letter(sample_type: str) -> str:
    return {"f4": "f", "f8": "d"}[sample_type]


def _positions(session: Session, project_id: int, shas: Sequence[str]) -> dict[str, int]:
    """Return each commit's position; new commits get the next positions."""
    rows = session.exec(
        select(RevisionRow.sha, RevisionRow.position).where(
            col(RevisionRow.project_id) == project_id, col(RevisionRow.sha).in_(shas)
        )
    )
    positions = dict(rows.all())
    last = select(func.coalesce(func.max(RevisionRow.position), -1))
    following = session.exec(last.where(col(RevisionRow.project_id) == project_id)).one() + 1
    for sha in shas:
        if sha not in positions:
            positions[sha] = following
            session.add(RevisionRow(project_id=project_id, position=following, sha=sha))
            following += 1
    session.flush()
    return positions


def _series(
    session: Session, observations_by_key: Mapping[str, Observation], project_id: int
) -> dict[str, tuple[int, str]]:
    """Return id and sample type of the observations' series by key; add missing series."""
    keys = tuple(observations_by_key)
    series: dict[str, tuple[int | None, str]] = {}
    for start in range(0, len(keys), KEYS_AT_A_TIME):
        stored = session.exec(
            select(SeriesRow.key, SeriesRow.id, SeriesRow.sample_type).where(
                col(SeriesRow.project_id) == project_id,
                col(SeriesRow.key).in_(keys[start : start + KEYS_AT_A_TIME]),
            )
        )
        series |= {key: (series_id, sample_type) for key, series_id, sample_type in stored}
    rows: list[SeriesRow] = []
    for key, one in observations_by_key.items():
        if key not in series:
            row = SeriesRow(
                project_id=project_id,
                key=key,
                workload=one.workload,
                metric=one.metric.name,
                unit=one.metric.unit,
                worse=one.metric.worse,
                machine_class=one.machine_class,
                sample_type=sample_type_of(one.metric),
            )
            session.add(row)
            rows.append(row)
    session.flush()
    series |= {row.key: (row.id, row.sample_type) for row in rows}
    return {
        key: (series_id, kind) for key, (series_id, kind) in series.items() if series_id is not None
    }
