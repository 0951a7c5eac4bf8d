"""Reads the series measured on the default branch's commits, in the order of its history.

A commit counts if a bundle claims it and its place on the branch is known (`branch_commits`). Its
number is its rank among the measured ones.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from sqlalchemy import ColumnElement, func, select as columns, update
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import Select

from perfledger.metrics import (
    FAMILY_PREFIX,
    METRICS,
    OPTIONAL_METRICS,
    Metric,
    MetricKind,
    WorseDirection,
)
from perfledger.records import Machine
from perfledger_baselines.history.commits.attribution import Series
from perfledger_baselines.planning.epochs import epoch_key
from perfledger_service.store.fleet.machines import machines_by_hash
from perfledger_service.store.imported_history import (
    IS_FAMILY_SERIES,
    IS_IMPORTED,
    IS_IMPORTED_SERIES,
)
from perfledger_service.store.observations import select_points
from perfledger_service.store.page_queries import COUNTED_STATUSES, IS_BELIEVED, MAX_SERIES
from perfledger_service.store.tables import (
    BranchCommitRow,
    ObservationRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
)
from perfledger_service.values.branch_views import is_imported_class

# Changes are tested against a hundred observations on each side.
MAX_COMMITS = 200
# Uploads read per query, until there are enough commits of a kind.
COMMITS_AT_A_TIME = 400
# In any unit. Sums of larger values would overflow a float, so they are left out.
MAX_CENTER = 1e290
# Measurements of one commit this close together count as one time of day.
SAME_HOUR = timedelta(hours=1)
# An expression, so that no index applies: with the column's index, SQLite would read all uploads
# and look for the series in each, which takes a hundred times as long.
_IS_COUNTED = (col(UploadRow.status) + "").in_(COUNTED_STATUSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSeries:
    """A series on the default branch: one value per measured commit, in order.

    Several uploads of one commit are averaged, weighted by their processes. `environments` are the
    machine's environments and `devices` the device ids ("" without an id); a commit measured in
    several has one of them. `times` are the measuring times in seconds since the epoch: NaN if
    there are several times of day. They come from the runners' clocks, never from a commit's date,
    which its author chooses.
    """

    id: int
    series: Series
    positions: tuple[int, ...]
    values: tuple[float, ...]
    environments: tuple[str, ...]
    devices: tuple[str, ...]
    times: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _RankedCommit:
    """A measured commit of the branch, its position in the project, and its rank among them."""

    sha: str
    position: int
    rank: int


def claim_commits(session: Session, project_id: int, shas: Sequence[str]) -> None:
    """Record that a bundle claims these measured commits are on the default branch."""
    session.exec(
        update(RevisionRow)
        .where(col(RevisionRow.project_id) == project_id, col(RevisionRow.sha).in_(shas))
        .values(is_claimed=True)
    )


def date_commits(
    session: Session, project_id: int, dates: Mapping[str, datetime], *, is_imported: bool = False
) -> None:
    """Record when measured commits were committed; from an import only if not known yet."""
    conditions = (col(RevisionRow.committed_at).is_(None),) if is_imported else ()
    for sha, committed_at in dates.items():
        session.exec(
            update(RevisionRow)
            .where(
                col(RevisionRow.project_id) == project_id,
                col(RevisionRow.sha) == sha,
                *conditions,
            )
            .values(committed_at=committed_at)
        )


def commits_of_branch(session: Session, project_id: int) -> tuple[str, ...]:
    """Return the default branch's measured commits, oldest first.

    These are claimed by bundles and have a known place on the branch.
    """
    commits = session.exec(_measured_commits(project_id).order_by(col(BranchCommitRow.place)))
    return tuple(sha for sha, _ in commits)


def claimed_commits(session: Session, project_id: int) -> tuple[str, ...]:
    """Return the commits that bundles claim, last seen first."""
    commits = session.exec(
        select(RevisionRow.sha)
        .where(col(RevisionRow.project_id) == project_id, col(RevisionRow.is_claimed))
        .order_by(col(RevisionRow.position).desc())
    )
    return tuple(commits)


def unplaced_commits(session: Session, project_id: int) -> tuple[str, ...]:
    """Return the commits that bundles claim and whose place is unknown, last seen first."""
    placed = select(BranchCommitRow.sha).where(col(BranchCommitRow.project_id) == project_id)
    commits = session.exec(
        select(RevisionRow.sha)
        .where(
            col(RevisionRow.project_id) == project_id,
            col(RevisionRow.is_claimed),
            col(RevisionRow.sha).not_in(placed),
        )
        .order_by(col(RevisionRow.position).desc())
    )
    return tuple(commits)


def branch_series(
    session: Session,
    project_id: int,
    *,
    upload_id: str | None = None,
    series_id: int | None = None,
    is_imported: bool | None = None,
    families_of: str | None = None,
) -> tuple[BranchSeries, ...]:
    """Return a project's series over the newest commits of their kind: of checks, or of imports.

    Options restrict them to those that an upload adds to, to one, to imported or to measured
    series. Kernel families are left out, except those of the workload `families_of`, or if the one
    series is such a family. A family that only pull requests run is not on the branch.
    """
    query = select(SeriesRow).where(col(SeriesRow.project_id) == project_id)
    if upload_id is not None:
        of_upload = select(ObservationRow.series_id).where(
            col(ObservationRow.upload_id) == upload_id
        )
        query = query.where(col(SeriesRow.id).in_(of_upload))
    if families_of is not None:
        query = query.where(
            IS_FAMILY_SERIES, col(SeriesRow.workload) == families_of, _is_on_branch(project_id)
        )
    elif series_id is None:
        query = query.where(~IS_FAMILY_SERIES)
    else:
        query = query.where(col(SeriesRow.id) == series_id)
    if is_imported is not None:
        query = query.where(IS_IMPORTED_SERIES if is_imported else ~IS_IMPORTED_SERIES)
    rows = session.exec(query.order_by(col(SeriesRow.id)).limit(MAX_SERIES))
    judged_rows = {
        row.id: row for row in rows if row.id is not None and not _metric(row).is_explanatory
    }
    series: list[BranchSeries] = []
    for kind in (False, True):
        rows_of_kind = {
            series_id: row
            for series_id, row in judged_rows.items()
            if is_imported_class(row.machine_class) is kind
        }
        if rows_of_kind:
            commits = _newest_of_kind(session, project_id, is_imported=kind, most=MAX_COMMITS)
            branch_position_of = {commit.position: commit.rank for commit in commits}
            series += _read_branch_series(session, rows_of_kind, branch_position_of)
    return tuple(sorted(series, key=lambda one: one.id))


def family_workloads(session: Session, project_id: int) -> tuple[str, ...]:
    """Return the workloads of a project that have kernel families."""
    workloads = session.exec(
        select(SeriesRow.workload)
        .where(col(SeriesRow.project_id) == project_id, IS_FAMILY_SERIES)
        .distinct()
    )
    return tuple(sorted(workloads))


def _is_on_branch(project_id: int) -> ColumnElement[bool]:
    """Return whether a selected series was measured on the branch with a value other than none."""
    points = select_points(
        col(ObservationRow.series_id) == SeriesRow.id,
        project_id,
        col(BranchCommitRow.place).is_not(None),
        col(ObservationRow.center) > 0,
        _IS_COUNTED,
        IS_BELIEVED,
    )
    return points.correlate(SeriesRow).exists()


def searched_commits(session: Session, project_id: int, *, most: int) -> frozenset[str]:
    """Return the default branch's newest commits that checks measured, and that imports have."""
    return frozenset(
        commit.sha
        for is_imported in (False, True)
        for commit in _newest_of_kind(session, project_id, is_imported=is_imported, most=most)
    )


def _newest_of_kind(
    session: Session, project_id: int, *, is_imported: bool, most: int
) -> tuple[_RankedCommit, ...]:
    """Return the newest measured commits of one kind, imports or others, oldest first.

    Their ranks are among all of them. Commits of both kinds are in both windows.
    """
    measured = session.exec(_measured_commits(project_id).order_by(col(BranchCommitRow.place)))
    commits = [_RankedCommit(sha, position, rank) for rank, (sha, position) in enumerate(measured)]
    newest: list[_RankedCommit] = []
    while commits and len(newest) < most:
        some, commits = commits[-COMMITS_AT_A_TIME:], commits[:-COMMITS_AT_A_TIME]
        shas = [commit.sha for commit in some]
        imported_shas = _measured_by(session, project_id, shas, IS_IMPORTED)
        if is_imported:
            newest += [one for one in reversed(some) if one.sha in imported_shas]
        else:
            checked_shas = _measured_by(session, project_id, sorted(imported_shas), ~IS_IMPORTED)
            left_out = imported_shas - checked_shas
            newest += [one for one in reversed(some) if one.sha not in left_out]
    return tuple(reversed(newest[:most]))


def _measured_by(
    session: Session, project_id: int, shas: Sequence[str], is_of_kind: ColumnElement[bool]
) -> set[str]:
    """Return those of some commits that are base or head of an upload of a kind."""
    if not shas:
        return set()
    is_listed = (col(UploadRow.project_id) == project_id, is_of_kind)
    return {
        sha
        for column in (col(UploadRow.head_sha), col(UploadRow.base_sha))
        for sha in session.exec(select(column).where(column.in_(shas), *is_listed).distinct())
    }


def _measured_commits(project_id: int) -> Select[str, int]:
    """Select hash and position of the branch's measured commits."""
    return (
        select(RevisionRow.sha, RevisionRow.position)
        .join(
            BranchCommitRow,
            (col(BranchCommitRow.project_id) == col(RevisionRow.project_id))
            & (col(BranchCommitRow.sha) == col(RevisionRow.sha)),
        )
        .where(col(RevisionRow.project_id) == project_id, col(RevisionRow.is_claimed))
    )


def _read_branch_series(
    session: Session, rows_by_id: Mapping[int, SeriesRow], branch_position_of: Mapping[int, int]
) -> Iterator[BranchSeries]:
    """Read all series' commits in one statement, along the primary key."""
    processes = col(ObservationRow.processes)
    rows = (
        session.connection()
        .execute(
            columns(
                col(ObservationRow.series_id),
                col(ObservationRow.position),
                func.sum(col(ObservationRow.center) * processes) / func.sum(processes),
                func.max(col(UploadRow.environment_hash)),
                func.min(col(UploadRow.measured_at)),
                func.max(col(UploadRow.measured_at)),
            )
            .join(UploadRow)
            .where(
                col(ObservationRow.series_id).in_(rows_by_id),
                col(ObservationRow.position).in_(branch_position_of),
                col(ObservationRow.center).between(-MAX_CENTER, MAX_CENTER),
                _IS_COUNTED,
                IS_BELIEVED,
            )
            .group_by(col(ObservationRow.series_id), col(ObservationRow.position))
            .order_by(col(ObservationRow.series_id))
        )
        .all()
    )
    machines = machines_by_hash(session, {key for _, _, _, key, _, _ in rows})
    epochs = {key: epoch_key(machine) for key, machine in machines.items()}
    for series_id, group in groupby(rows, key=itemgetter(0)):
        row = rows_by_id[series_id]
        points = sorted(
            (branch_position_of[at], center, key, _seconds(first, last))
            for _, at, center, key, first, last in group
        )
        positions, values, keys, times = zip(*points, strict=True)
        devices = {key: _device(machines[key], row.machine_class) for key in set(keys)}
        yield BranchSeries(
            id=series_id,
            series=Series(row.workload, _metric(row), row.machine_class),
            positions=positions,
            values=values,
            environments=tuple(epochs[key] for key in keys),
            devices=tuple(devices[key] for key in keys),
            times=times,
        )


def _seconds(first: datetime, last: datetime) -> float:
    """Return when a commit was measured, NaN if at several times of day."""
    return first.timestamp() if last - first <= SAME_HOUR else math.nan


def _device(machine: Machine, machine_class: str) -> str:
    """Return the device that a series of this class was measured on, "" for a host's workload."""
    return machine.uuid if machine_class.startswith(f"{machine.device}:") else ""


def _metric(row: SeriesRow) -> Metric:
    """Return a series' metric; one unknown to this version counts as a speed."""
    metric = (METRICS | OPTIONAL_METRICS).get(row.metric)
    is_family = row.metric.startswith(FAMILY_PREFIX) and not is_imported_class(row.machine_class)
    unknown = MetricKind.KERNEL if is_family else MetricKind.SPEED
    kind = unknown if metric is None else metric.kind
    return Metric(name=row.metric, unit=row.unit, worse=WorseDirection(row.worse), kind=kind)
