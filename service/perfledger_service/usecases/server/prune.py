"""Removes data after its retention period, in small transactions, or reports what would go.

Data that judging, reviews, pages and open pull requests read is never removed, however old.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import GitHubError
from perfledger_service.github.open_pull_requests import OpenPullRequests
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import history_changes
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project, lock_project, projects
from perfledger_service.store.retention.database_size import check_vacuum, database_size, vacuum
from perfledger_service.store.retention.needed_uploads import (
    uploads_of_all_projects,
    uploads_of_one_project,
)
from perfledger_service.store.retention.record_removal import (
    RecordKey,
    removable_records,
    remove_records,
)
from perfledger_service.store.retention.stored_amounts import amount_of, stored_amount
from perfledger_service.store.retention.upload_removal import (
    PART_OF_CLASS,
    final_uploads,
    removable_uploads,
    remove_part,
    remove_spreads,
    removers_of,
    superseded_spreads,
)
from perfledger_service.usecases.cost.upload_prices import MAX_CHECKS
from perfledger_service.usecases.server.retention_periods import check_projects, own_periods
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.storage.retention import (
    STORE_CLASSES,
    RetentionClass,
    RetentionPolicy,
    RetentionReport,
    RetentionRow,
    StoredAmount,
)

# Per transaction: SQLite's only writer is held for some hundredths of a second.
UPLOADS_AT_A_TIME = 10
RECORDS_AT_A_TIME = 500
# Between transactions: others that wait for SQLite's write lock poll it every tenth of a second.
PAUSE_S = 0.1
MAX_SPREADS = 20_000  # in one pass over a project
MAX_PASSES = 100
# The actor of the service's daily removal; no account has a name with a space.
SERVICE = Actor(name="the service")
_RECORD_CLASSES: tuple[RetentionClass, ...] = (
    RetentionClass.EVENTS,
    RetentionClass.JOBS,
    RetentionClass.AUDIT,
    RetentionClass.CANARIES,
)

Key = TypeVar("Key", int, str, RecordKey)

_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProjectPlan:
    """Uploads of a project from which to remove parts; `changes` counts its history's changes."""

    project: Project
    policy: RetentionPolicy
    changes: int
    uploads: Mapping[RetentionClass, tuple[str, ...]]
    spreads: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPlan:
    """All data that is past its retention period and no longer needed."""

    projects: tuple[_ProjectPlan, ...]
    records: Mapping[RetentionClass, tuple[RecordKey, ...]]

    def ids(self, kind: RetentionClass) -> tuple[RecordKey, ...]:
        """Return the uploads or records from which a class is removed, each once."""
        of_uploads = (
            one
            for plan in self.projects
            for remover in removers_of(kind)
            for one in plan.uploads.get(remover, ())
        )
        return (*dict.fromkeys(of_uploads), *self.records.get(kind, ()))


def plan_removal(
    engine: Engine,
    policy: RetentionPolicy,
    *,
    now: datetime,
    pull_requests: OpenPullRequests | None = None,
) -> RetentionPlan:
    """Select what is past its period; `pull_requests` answers which pull requests are open.

    Without it, all that are not known to be merged count as open. Raises SettingsError if a project
    with its own periods does not exist.
    """
    cutoffs = _cutoffs(policy, now)
    has_uploads = any(one.days.keys() & PART_OF_CLASS.keys() for one in policy.policies)
    with read_session(engine) as session:
        all_projects = projects(session)
        check_projects(policy, (one.repository for one in all_projects))
        all_projects = all_projects if has_uploads else ()
        needed = uploads_of_all_projects(session) if all_projects else frozenset[str]()
        records = {
            kind: removable_records(session, kind, before=cutoffs[kind])
            for kind in _RECORD_CLASSES
            if kind in cutoffs
        }
    plans: list[_ProjectPlan] = []
    for project in all_projects:
        open_numbers = _open_numbers(pull_requests, project)
        with read_session(engine) as session:
            plans.append(
                _plan_project(
                    session,
                    project,
                    policy.of(project.repository),
                    needed=needed,
                    open_numbers=open_numbers,
                    now=now,
                )
            )
    return RetentionPlan(projects=tuple(plans), records=records)


def run_retention(
    engine: Engine,
    policy: RetentionPolicy,
    *,
    actor: Actor,
    pull_requests: OpenPullRequests | None = None,
    is_dry_run: bool = False,
    is_to_vacuum: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    pause: Callable[[float], None] = time.sleep,
) -> RetentionReport:
    """Remove all that is past its period, or only measure it, and return the amount.

    `is_to_vacuum` writes SQLite's file again afterwards, without its free pages. Raises UsageError
    for PostgreSQL then, and ConflictError while another process writes.
    """
    if is_to_vacuum:
        check_vacuum(engine)
    now = clock()
    stored = _stored_amounts(engine, dict.fromkeys(STORE_CLASSES))
    if is_dry_run:
        plan = plan_removal(engine, policy, now=now, pull_requests=pull_requests)
        with read_session(engine) as session:
            removed = {kind: amount_of(session, kind, plan.ids(kind)) for kind in STORE_CLASSES}
    else:
        cutoffs = _last_cutoffs(policy, now)
        before = _stored_amounts(engine, cutoffs)
        for _ in range(MAX_PASSES):
            if not prune(
                engine,
                policy,
                actor=actor,
                clock=clock,
                pull_requests=pull_requests,
                pause=pause,
            ):
                break
        after = _stored_amounts(engine, cutoffs)
        removed = {kind: before[kind].without(after[kind]) for kind in cutoffs}
        if is_to_vacuum:
            vacuum(engine)
    rows = tuple(
        RetentionRow(
            kind=kind,
            kept_days=policy.days.get(kind),
            stored=stored[kind],
            removed=removed.get(kind, StoredAmount()),
        )
        for kind in STORE_CLASSES
    )
    return RetentionReport(
        is_dry_run=is_dry_run,
        rows=rows,
        own_periods=own_periods(policy.projects),
        size=database_size(engine),
    )


def prune(
    engine: Engine,
    policy: RetentionPolicy,
    *,
    actor: Actor = SERVICE,
    clock: Callable[[], datetime],
    pull_requests: OpenPullRequests | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Remove what is past its period, in one pass; return whether another pass is needed.

    A project whose history changed meanwhile is left to the next pass. The audit log records what
    begins to be removed: one entry per project, and one per class of records.
    """
    plan = plan_removal(engine, policy, now=clock(), pull_requests=pull_requests)
    is_finished = True
    for one in plan.projects:
        is_finished &= _prune_project(engine, one, actor=actor, clock=clock, pause=pause)
    for kind, ids in plan.records.items():
        _remove_records(engine, kind, ids, policy, actor=actor, clock=clock, pause=pause)
    return not is_finished


def _open_numbers(
    pull_requests: OpenPullRequests | None, project: Project
) -> frozenset[int] | None:
    """Return the open pull requests; None if GitHub does not answer, so that all are kept."""
    if pull_requests is None:
        return None
    try:
        return pull_requests.open_pull_requests(project.repository)
    except GitHubError as error:
        _log.warning(
            "open pull requests are not known", project=project.repository, reason=str(error)
        )
        return None


def _plan_project(
    session: Session,
    project: Project,
    policy: RetentionPolicy,
    *,
    needed: frozenset[str],
    open_numbers: frozenset[int] | None,
    now: datetime,
) -> _ProjectPlan:
    cutoffs = _cutoffs(policy, now)
    changes = history_changes(session, project.id)  # read first, so that later changes are noticed
    needed |= uploads_of_one_project(
        session, project.id, open_pull_requests=open_numbers, most_changed=MAX_CHECKS + 1
    )
    return _ProjectPlan(
        project=project,
        policy=policy,
        changes=changes,
        uploads={
            kind: removable_uploads(session, project.id, kind, before=cutoffs[kind], needed=needed)
            for kind in PART_OF_CLASS
            if kind in cutoffs
        },
        spreads=superseded_spreads(session, project.id, most=MAX_SPREADS),
    )


def _prune_project(
    engine: Engine,
    plan: _ProjectPlan,
    *,
    actor: Actor,
    clock: Callable[[], datetime],
    pause: Callable[[float], None],
) -> bool:
    """Carry out a project's plan; return False if its history changed, so that it is not done."""
    is_noted = False
    for kind, upload_ids in plan.uploads.items():
        for batch in _batches(upload_ids, UPLOADS_AT_A_TIME):
            with write_session(engine) as session:
                lock_project(session, plan.project.id)
                if history_changes(session, plan.project.id) != plan.changes:
                    return False
                if not is_noted:
                    _note_plan(session, plan, actor=actor, now=clock())
                remove_part(
                    session,
                    PART_OF_CLASS[kind],
                    final_uploads(session, batch),
                    removed_at=clock(),
                    kept_days=plan.policy.days[kind],
                )
                session.commit()
            is_noted = True
            pause(PAUSE_S)
        if upload_ids:
            _log.info(
                "removed by retention",
                data=kind.value,
                project=plan.project.repository,
                uploads=len(upload_ids),
            )
    for spreads in _batches(plan.spreads, RECORDS_AT_A_TIME):
        with write_session(engine) as session:
            remove_spreads(session, spreads)
            session.commit()
        pause(PAUSE_S)
    return len(plan.spreads) < MAX_SPREADS


def _note_plan(session: Session, plan: _ProjectPlan, *, actor: Actor, now: datetime) -> None:
    """Record what begins to be removed of a project, in the transaction that removes the first."""
    parts = (
        f"{kind} of {quantity(len(upload_ids), 'upload')}, kept for {plan.policy.days[kind]} days"
        for kind, upload_ids in plan.uploads.items()
        if upload_ids
    )
    add_audit_entry(
        session,
        AuditAction.REMOVE_DATA,
        actor,
        project_id=plan.project.id,
        detail=f"retention: {'; '.join(parts)}",
        now=now,
    )


def _remove_records(
    engine: Engine,
    kind: RetentionClass,
    ids: Sequence[RecordKey],
    policy: RetentionPolicy,
    *,
    actor: Actor,
    clock: Callable[[], datetime],
    pause: Callable[[float], None],
) -> None:
    for number, batch in enumerate(_batches(ids, RECORDS_AT_A_TIME)):
        with write_session(engine) as session:
            kept_days = policy.days[kind]
            if number == 0:
                records = quantity(len(ids), "record")
                detail = f"retention: {records} of {kind}, kept for {kept_days} days"
                add_audit_entry(session, AuditAction.REMOVE_DATA, actor, detail=detail, now=clock())
            remove_records(session, kind, batch, removed_at=clock(), kept_days=kept_days)
            session.commit()
        pause(PAUSE_S)
    if ids:
        _log.info("removed by retention", data=kind.value, records=len(ids))


def _cutoffs(policy: RetentionPolicy, now: datetime) -> dict[RetentionClass, datetime]:
    """Return the time before which each class with a period is no longer kept."""
    times = ((kind, policy.cutoff(kind, now)) for kind in STORE_CLASSES)
    return {kind: cutoff for kind, cutoff in times if cutoff is not None}


def _last_cutoffs(policy: RetentionPolicy, now: datetime) -> dict[RetentionClass, datetime]:
    """Return the classes from which anything may be removed, and the end of each one's range."""
    policies = [_cutoffs(one, now) for one in policy.policies]
    times = (
        (
            kind,
            [cutoffs[one] for cutoffs in policies for one in removers_of(kind) if one in cutoffs],
        )
        for kind in STORE_CLASSES
    )
    return {kind: max(moments) for kind, moments in times if moments}


def _stored_amounts(
    engine: Engine, ends: Mapping[RetentionClass, datetime | None]
) -> dict[RetentionClass, StoredAmount]:
    """Return how much of the classes is stored, each up to an end, ignoring new arrivals."""
    with read_session(engine) as session:
        return {kind: stored_amount(session, kind, before=end) for kind, end in ends.items()}


def _batches(ids: Sequence[Key], size: int) -> Iterator[Sequence[Key]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
