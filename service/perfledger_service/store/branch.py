"""The default branch's commits and what was measured of them, stored and found again.

A commit of it keeps the place at which it was first seen there: the order of arrival, which is that
of the branch unless an old commit is measured late.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
from sqlalchemy import func
from sqlmodel import Session, col, select

from perfledger.metrics import ASKED, METRICS, Kind, Metric, Worse
from perfledger.records import Machine
from perfledger_baselines.environment import environment_of
from perfledger_baselines.history.attribution import Series
from perfledger_service.store.overview import COUNTED, MAX_SERIES
from perfledger_service.store.tables import (
    EnvRow,
    ObservationRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
)

# A change is weighed against a hundred observations on either side of it.
MOST_COMMITS = 200
# In any unit. Sums of what is beyond would leave the range of floats: it is left out.
LARGEST = 1e290
# What gets verdicts: more work in a step is no harm by itself.
_JUDGED = frozenset(Kind) - {Kind.WORK}


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSeries:
    """A series on the default branch: one value for each commit that was measured, in order.

    What several uploads say of one commit is their mean, by processes. `environments` are the
    states that the machine was kept in, and `devices` the one that was used, "" if it has no id:
    one of them where a commit was measured in several.
    """

    id: int
    series: Series
    places: tuple[int, ...]
    values: tuple[float, ...]
    environments: tuple[str, ...]
    devices: tuple[str, ...]


def add_to_branch(session: Session, project_id: int, shas: Sequence[str]) -> None:
    """Give commits the next places of the default branch, but for those that have one.

    A commit that nothing was measured of gets none. The caller holds the project's lock.
    """
    rows = session.exec(
        select(RevisionRow).where(
            col(RevisionRow.project_id) == project_id, col(RevisionRow.sha).in_(shas)
        )
    )
    by_sha = {row.sha: row for row in rows}
    newest = select(func.max(RevisionRow.place)).where(col(RevisionRow.project_id) == project_id)
    last = session.exec(newest).one()
    following = 0 if last is None else last + 1
    for sha in shas:
        row = by_sha.get(sha)
        if row is not None and row.place is None:
            row.place = following
            session.add(row)
            following += 1
    session.flush()


def commits_of_branch(session: Session, project_id: int) -> tuple[str, ...]:
    """Return the default branch's commits by their places."""
    found = session.exec(
        select(RevisionRow.sha)
        .where(col(RevisionRow.project_id) == project_id, col(RevisionRow.place).is_not(None))
        .order_by(col(RevisionRow.place))
    )
    return tuple(found)


def branch_series(
    session: Session, project_id: int, *, upload_id: str | None = None
) -> tuple[BranchSeries, ...]:
    """Return a project's series over the newest commits, or those that an upload adds to."""
    places = select(RevisionRow.pos, RevisionRow.place).where(
        col(RevisionRow.project_id) == project_id, col(RevisionRow.place).is_not(None)
    )
    newest = places.order_by(col(RevisionRow.place).desc()).limit(MOST_COMMITS)
    place_of = {pos: place for pos, place in session.exec(newest) if place is not None}
    wanted = select(SeriesRow).where(col(SeriesRow.project_id) == project_id)
    if upload_id is not None:
        of_upload = select(ObservationRow.series_id).where(
            col(ObservationRow.upload_id) == upload_id
        )
        wanted = wanted.where(col(SeriesRow.id).in_(of_upload))
    rows = session.exec(wanted.order_by(col(SeriesRow.id)).limit(MAX_SERIES))
    watched = {row.id: row for row in rows if row.id is not None and _metric(row).kind in _JUDGED}
    return tuple(_found(session, watched, place_of))


def _found(
    session: Session, watched: Mapping[int, SeriesRow], place_of: Mapping[int, int]
) -> Iterator[BranchSeries]:
    """Read all series' commits: one statement, however many there are."""
    processes = col(ObservationRow.processes)
    rows = session.exec(
        select(
            ObservationRow.series_id,
            ObservationRow.pos,
            func.sum(col(ObservationRow.center) * processes) / func.sum(processes),
            func.max(UploadRow.env_hash),
        )
        .join(UploadRow)
        .where(
            col(ObservationRow.series_id).in_(watched),
            col(ObservationRow.pos) >= min(place_of, default=0),
            col(ObservationRow.center).between(-LARGEST, LARGEST),
            col(UploadRow.status).in_(COUNTED),
        )
        .group_by(col(ObservationRow.series_id), col(ObservationRow.pos))
        .order_by(col(ObservationRow.series_id))
    )
    of_branch = [row for row in rows if row[1] in place_of]
    machines = _machines(session, {env for _, _, _, env in of_branch})
    for series_id, group in groupby(of_branch, key=lambda row: row[0]):
        row = watched[series_id]
        told = sorted((place_of[pos], center, env) for _, pos, center, env in group)
        yield BranchSeries(
            id=series_id,
            series=Series(row.workload, _metric(row), row.device_class),
            places=tuple(place for place, _, _ in told),
            values=tuple(center for _, center, _ in told),
            environments=tuple(environment_of(machines[env]) for _, _, env in told),
            devices=tuple(_device(machines[env], row.device_class) for _, _, env in told),
        )


def _machines(session: Session, hashes: Collection[str]) -> dict[str, Machine]:
    """Return machines by their fingerprints' hashes."""
    found = session.exec(select(EnvRow.hash, EnvRow.machine).where(col(EnvRow.hash).in_(hashes)))
    return {key: msgspec.json.decode(machine, type=Machine) for key, machine in found}


def _device(machine: Machine, device_class: str) -> str:
    """Return which device a series of this class was measured on; a host's workload used none."""
    return machine.uuid if device_class.startswith(f"{machine.device}:") else ""


def _metric(row: SeriesRow) -> Metric:
    """Return a series' metric; one that this version does not know counts as a speed."""
    known = (METRICS | ASKED).get(row.metric)
    kind = Kind.SPEED if known is None else known.kind
    return Metric(name=row.metric, unit=row.unit, worse=Worse(row.worse), kind=kind)
