"""Counts what the service holds, by queries that an index answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text
from sqlmodel import Session, col, func, select

from perfledger_runners.jobs.runner_job import RunnerJobState
from perfledger_service.store.imported_history import IMPORTED_ENVIRONMENTS
from perfledger_service.store.jobs.tables import RunnerJobRow
from perfledger_service.store.tables import UploadRow
from perfledger_service.values.report import Conclusion
from perfledger_service.values.upload_views import UploadStatus

# SQLite answers "after this" from an index, but not "not NULL".
FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_SQLITE_SIZE = "select page_count * page_size from pragma_page_count, pragma_page_size"
_POSTGRES_SIZE = "select pg_database_size(current_database())"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCounts:
    """What a service's database holds, over all projects.

    Uploads and checks exclude imports of other tools' histories, which are counted separately.
    `waiting` are uploads, including imports, that are not judged yet or whose post will be
    attempted again.
    """

    uploads: dict[UploadStatus, int]
    checks: dict[Conclusion, int]
    imports: dict[UploadStatus, int]
    waiting: int
    oldest_waiting_s: float  # since the oldest of these arrived; 0 without one
    jobs: dict[RunnerJobState, int]
    held_leases: int
    expired_leases: int  # their runners sent no heartbeat: the next runner gets the job
    database_bytes: int


def service_counts(session: Session, *, now: datetime) -> ServiceCounts:
    """Return the counts of the database, 0 for each state that nothing is in."""
    uploads = dict.fromkeys(UploadStatus, 0)
    checks = dict.fromkeys(Conclusion, 0)
    imports = dict.fromkeys(UploadStatus, 0)
    for is_import, status, conclusion, number in _uploads(session):
        (imports if is_import else uploads)[status] += number
        if conclusion and not is_import:
            checks[Conclusion(conclusion)] += number
    waiting, oldest_waiting_s = _waiting(session, now)
    held_leases, expired_leases = _leases(session, now)
    return ServiceCounts(
        uploads=uploads,
        checks=checks,
        imports=imports,
        waiting=waiting,
        oldest_waiting_s=oldest_waiting_s,
        jobs=_jobs(session),
        held_leases=held_leases,
        expired_leases=expired_leases,
        database_bytes=_database_bytes(session),
    )


def _uploads(session: Session) -> Iterator[tuple[bool, UploadStatus, str, int]]:
    """Yield how many uploads are imports or not, by status and by conclusion."""
    columns = (UploadRow.environment_hash, UploadRow.status, UploadRow.conclusion)
    imported_hashes = set(session.exec(IMPORTED_ENVIRONMENTS))
    for environment_hash, status, conclusion, number in session.exec(
        select(*columns, func.count()).group_by(*map(col, columns))
    ):
        yield environment_hash in imported_hashes, UploadStatus(status), conclusion, number


def _waiting(session: Session, now: datetime) -> tuple[int, float]:
    """Return how many uploads wait, and the seconds since the oldest of them arrived."""
    is_received = col(UploadRow.status) == UploadStatus.RECEIVED
    is_waiting = is_received | (col(UploadRow.retry_at) > FIRST_MOMENT)
    oldest_arrival = func.min(col(UploadRow.created_at))
    number, oldest = session.exec(select(func.count(), oldest_arrival).where(is_waiting)).one()
    return number, max(0.0, (now - oldest).total_seconds()) if number else 0.0


def _jobs(session: Session) -> dict[RunnerJobState, int]:
    numbers = session.exec(
        select(RunnerJobRow.state, func.count()).group_by(col(RunnerJobRow.state))
    )
    stored = {RunnerJobState(state): number for state, number in numbers}
    return dict.fromkeys(RunnerJobState, 0) | stored


def _leases(session: Session, now: datetime) -> tuple[int, int]:
    """Return how many leases runners hold, and how many expired without a heartbeat."""
    is_leased = col(RunnerJobRow.state) == RunnerJobState.LEASED
    all_leases = session.exec(select(func.count()).where(is_leased)).one()
    is_held = col(RunnerJobRow.lease_expires_at) > now
    held_leases = session.exec(select(func.count()).where(is_leased, is_held)).one()
    return held_leases, all_leases - held_leases


def _database_bytes(session: Session) -> int:
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    size = text(_SQLITE_SIZE if is_sqlite else _POSTGRES_SIZE)
    return int(session.connection().execute(size).scalar_one())
