"""Stores and reads what each check shows about its gate."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, select as columns
from sqlmodel import Session, col, select

from perfledger.metrics import MetricKind
from perfledger_baselines.judging.shadow_checks import ShadowCheck
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.gate_health import (
    NOISE_CHECKS,
    DetectableChange,
    GateCheck,
)
from perfledger_service.store.page_queries import COUNTED_STATUSES, IS_BELIEVED
from perfledger_service.store.tables import (
    BranchCommitRow,
    EnvironmentRow,
    GateCheckRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.store.uploads import StoredUpload

RED_CONCLUSION = "failure"  # GitHub's conclusion for a check that blocks
# Newest checks per gate: older ones are about other code and other machines.
MAX_CHECKS = 100
# Newest uploads of a project among which its gates are: one that measured none of these is unused.
MAX_UPLOADS = 1000
# A check whose workloads were all skipped or failed is neither decided nor undecided.
HAS_VERDICTS = exists().where(col(VerdictRow.upload_id) == col(UploadRow.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateUpload:
    """A judged upload, with what its gate needs."""

    id: str
    machine_class: str
    bundle_sha256: str
    conclusion: str
    is_same_code: bool  # its base and its head are the same commit


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGate:
    """The checks on one machine class, the newest first, and the bundle of the newest."""

    machine_class: str
    checks: tuple[GateCheck, ...]
    newest_bundle: str  # its SHA-256


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCheck:
    """The newest check of a commit of the default branch on one machine class."""

    upload_id: str
    conclusion: str
    measured_at: datetime


def add_gate_check(
    session: Session, upload: StoredUpload, *, held_s: float | None, shadow: ShadowCheck | None
) -> None:
    """Store what an upload's check shows beside its verdicts; once, when it is judged."""
    undecided, checks = _count_undecided(session, upload)
    session.add(
        GateCheckRow(
            upload_id=upload.id,
            held_s=held_s,
            is_shadow_false_alarm=shadow.is_false_alarm if shadow else None,
            undecided_before=undecided,
            checks_before=checks,
        )
    )
    session.flush()


def undecided_checks(session: Session, upload: StoredUpload) -> tuple[int, int]:
    """Return (undecided, all) of a gate's newest checks that were received before an upload.

    The counts are as of its judging, since retention removes verdicts.
    """
    row = session.get(GateCheckRow, upload.id)
    if row is None or row.undecided_before is None or row.checks_before is None:
        return _count_undecided(session, upload)
    return row.undecided_before, row.checks_before


def _count_undecided(session: Session, upload: StoredUpload) -> tuple[int, int]:
    newest = session.exec(
        select(UploadRow.id)
        .join(EnvironmentRow)
        .where(
            col(UploadRow.project_id) == upload.project_id,
            col(UploadRow.status).in_(COUNTED_STATUSES),
            col(UploadRow.created_at) < upload.created_at,
            col(EnvironmentRow.machine_class) == upload.machine_class,
            HAS_VERDICTS,
        )
        .order_by(col(UploadRow.created_at).desc(), col(UploadRow.id))
        .limit(NOISE_CHECKS)
    ).all()
    return len(uploads_with(session, newest, Outcome.UNDECIDED)), len(newest)


def gate_uploads(session: Session, project_id: int) -> tuple[GateUpload, ...]:
    """Return the newest uploads of each of a project's gates, the last received first.

    What is stored of one does not change while it is among them.
    """
    rows = session.connection().execute(
        columns(
            col(UploadRow.id),
            col(EnvironmentRow.machine_class),
            col(UploadRow.bundle_sha256),
            col(UploadRow.conclusion),
            col(UploadRow.base_sha) == col(UploadRow.head_sha),
        )
        .join(EnvironmentRow)
        .where(
            col(UploadRow.project_id) == project_id,
            col(UploadRow.status).in_(COUNTED_STATUSES),
            HAS_VERDICTS,
        )
        .order_by(col(UploadRow.created_at).desc(), col(UploadRow.id))
        .limit(MAX_UPLOADS)
    )
    counts: Counter[str] = Counter()
    uploads: list[GateUpload] = []
    for upload_id, machine_class, sha256, conclusion, is_same_code in rows:
        counts[machine_class] += 1
        if counts[machine_class] <= MAX_CHECKS:
            uploads.append(
                GateUpload(
                    id=upload_id,
                    machine_class=machine_class,
                    bundle_sha256=sha256,
                    conclusion=conclusion,
                    is_same_code=bool(is_same_code),
                )
            )
    return tuple(uploads)


def stored_gates(session: Session, uploads: Sequence[GateUpload]) -> tuple[StoredGate, ...]:
    """Return the gates of uploads, by machine class, with their checks.

    A check that failed because a workload could not be measured is not a false alarm.
    """
    upload_ids = [upload.id for upload in uploads]
    regressed = uploads_with(session, upload_ids, Outcome.REGRESSED)
    undecided = _undecided_metrics(session, upload_ids)
    detectable = _detectable_changes(session, upload_ids)
    stored = select(GateCheckRow).where(col(GateCheckRow.upload_id).in_(upload_ids))
    records = {row.upload_id: row for row in session.exec(stored)}
    gates: dict[str, list[GateCheck]] = {}
    bundles: dict[str, str] = {}
    for upload in uploads:
        record = records.get(upload.id)
        is_red = upload.conclusion == RED_CONCLUSION and upload.id in regressed
        bundles.setdefault(upload.machine_class, upload.bundle_sha256)
        gates.setdefault(upload.machine_class, []).append(
            GateCheck(
                undecided_metrics=tuple(undecided.get(upload.id, ())),
                is_false_alarm=is_red if upload.is_same_code else None,
                is_shadow_false_alarm=record.is_shadow_false_alarm if record else None,
                held_s=record.held_s if record else None,
                detectable=tuple(detectable.get(upload.id, ())),
            )
        )
    return tuple(
        StoredGate(
            machine_class=machine_class, checks=tuple(checks), newest_bundle=bundles[machine_class]
        )
        for machine_class, checks in sorted(gates.items())
    )


def newest_branch_checks(session: Session, project_id: int) -> tuple[BranchCheck, ...]:
    """Return the newest check on each machine class of the newest commit with a judged one.

    The commit is known to be on the default branch. A check of a commit against itself does not
    count, since it finds nothing.
    """
    is_of_branch = (
        col(UploadRow.project_id) == project_id,
        col(UploadRow.pull_request).is_(None),
        col(UploadRow.status).in_(COUNTED_STATUSES),
        col(UploadRow.base_sha) != col(UploadRow.head_sha),
        IS_BELIEVED,
    )
    newest_commit = session.exec(
        select(BranchCommitRow.sha)
        .join(UploadRow, col(UploadRow.head_sha) == BranchCommitRow.sha)
        .where(col(BranchCommitRow.project_id) == project_id, *is_of_branch)
        .order_by(col(BranchCommitRow.place).desc())
        .limit(1)
    ).one_or_none()
    rows = session.exec(
        select(UploadRow, EnvironmentRow.machine_class)
        .join(EnvironmentRow)
        .where(*is_of_branch, col(UploadRow.head_sha) == newest_commit)
        .order_by(col(UploadRow.created_at), col(UploadRow.id))
    )
    newest = {machine_class: upload for upload, machine_class in rows}
    return tuple(
        BranchCheck(
            upload_id=upload.id, conclusion=upload.conclusion, measured_at=upload.measured_at
        )
        for upload in newest.values()
    )


def uploads_with(session: Session, upload_ids: Sequence[str], outcome: Outcome) -> set[str]:
    """Return the uploads with a verdict of this outcome that decides their check."""
    return set(
        session.exec(
            select(VerdictRow.upload_id).distinct().where(*_is_decisive(upload_ids, outcome))
        )
    )


def _undecided_metrics(session: Session, upload_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the metrics whose verdicts leave an upload undecided."""
    rows = session.exec(
        select(VerdictRow.upload_id, VerdictRow.metric)
        .distinct()
        .where(*_is_decisive(upload_ids, Outcome.UNDECIDED))
        .order_by(col(VerdictRow.metric))
    )
    metrics: defaultdict[str, list[str]] = defaultdict(list)
    for upload_id, metric in rows:
        metrics[upload_id].append(metric)
    return metrics


def _is_decisive(upload_ids: Sequence[str], outcome: Outcome) -> tuple[ColumnElement[bool], ...]:
    return (
        col(VerdictRow.upload_id).in_(upload_ids),
        col(VerdictRow.outcome) == outcome,
        col(VerdictRow.is_warning).is_(False),
    )


def _detectable_changes(
    session: Session, upload_ids: Sequence[str]
) -> dict[str, list[DetectableChange]]:
    """Return what each upload's pairs show about a change, except that of a single kernel."""
    rows = session.connection().execute(
        columns(
            col(VerdictRow.upload_id),
            col(VerdictRow.workload),
            col(VerdictRow.metric),
            col(VerdictRow.smallest_detectable),
            func.coalesce(col(VerdictRow.pairs), 0),
        ).where(
            col(VerdictRow.upload_id).in_(upload_ids),
            col(VerdictRow.kind) != MetricKind.KERNEL,
            col(VerdictRow.smallest_detectable).is_not(None),
        )
    )
    changes: defaultdict[str, list[DetectableChange]] = defaultdict(list)
    for upload_id, workload, metric, change, pairs in rows:
        if change:
            changes[upload_id].append(
                DetectableChange(workload=workload, metric=metric, change=change, pairs=pairs)
            )
    return changes
