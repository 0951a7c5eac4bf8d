"""Stores uploads, their bundles and their verdicts."""

from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import starmap

import msgspec
from sqlalchemy import ColumnElement, func, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import Select

from perfledger.bundle import Bundle
from perfledger.metrics import Metric
from perfledger_baselines.judging.verdict import EffectEstimate, Verdict
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import insert_rows
from perfledger_service.store.removals.reads import bundle_removed
from perfledger_service.store.tables import (
    BundleRow,
    EnvironmentRow,
    ProjectRow,
    UploadRow,
    VerdictRow,
    add_if_new,
)
from perfledger_service.values.upload_views import UploadSender, UploadStatus

# In place of a pull request's number, which begin at 1.
MERGE_GROUP = 0
_OLDEST_FIRST = (col(UploadRow.created_at), col(UploadRow.id))
_NEWEST_FIRST = (col(UploadRow.measured_at).desc(), *(one.desc() for one in _OLDEST_FIRST))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedHead:
    """A head commit of a pull request of a project, or of a merge group (MERGE_GROUP)."""

    project_id: int
    repository: str
    pull_request: int
    head_sha: str

    @property
    def is_merge_group(self) -> bool:
        """Return whether it is a merge group's, which may have several pull requests."""
        return self.pull_request == MERGE_GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUpload:
    """An upload as its workflow needs it; `bundle_sha256` is the key of its bundle."""

    id: str
    project_id: int
    repository: str
    bundle_sha256: str
    pull_request: int | None
    base_sha: str
    head_sha: str
    status: UploadStatus
    reason: str
    attempt: int  # from 1; one more each time that it is uploaded again after it failed
    conclusion: str
    title: str
    headline: str
    machine_class: str
    created_at: datetime  # when it arrived
    measured_at: datetime  # when its bundle was made
    judged_at: datetime | None
    retry_at: datetime | None  # when a post that failed is attempted again
    failing_since: datetime | None  # the first of these failures
    sender: UploadSender

    @property
    def head(self) -> CheckedHead | None:
        """Return the pull request's head that it reports on, None without a pull request."""
        if self.pull_request is None:
            return None
        return CheckedHead(
            project_id=self.project_id,
            repository=self.repository,
            pull_request=self.pull_request,
            head_sha=self.head_sha,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedBundle:
    """A bundle's gzipped JSON with the SHA-256 and the size of the unpacked JSON."""

    sha256: str
    unpacked_bytes: int
    content: bytes


_UPLOAD = msgspec.json.Decoder(StoredUpload)
_VERDICT = msgspec.json.Decoder(Verdict)
_METRIC = msgspec.json.Decoder(Metric)
_ESTIMATE = msgspec.json.Decoder(EffectEstimate)


def add_upload(
    session: Session,
    bundle: Bundle,
    *,
    upload_id: str,
    project_id: int,
    packed: PackedBundle,
    environment: tuple[str, str],
    sender: UploadSender,
    measured_at: datetime,
    now: datetime,
) -> None:
    """Store a received bundle; `environment` is the hash and the JSON of its fingerprint."""
    machine_class = bundle.machine.machine_class
    machine = {"hash": environment[0], "machine_class": machine_class, "machine": environment[1]}
    add_if_new(session, EnvironmentRow, machine)
    _put_bundle(session, packed)
    session.add(
        UploadRow(
            id=upload_id,
            project_id=project_id,
            bundle_sha256=packed.sha256,
            environment_hash=environment[0],
            pull_request=bundle.pull_request,
            base_sha=bundle.base.sha,
            head_sha=bundle.head.sha,
            head_subject=bundle.head.subject,
            status=UploadStatus.RECEIVED,
            sender=sender,
            created_at=now,
            measured_at=measured_at,
        )
    )
    session.flush()


def upload_of_bundle(session: Session, project_id: int, sha256: str) -> StoredUpload | None:
    """Return the project's upload of a bundle, None if it was never uploaded."""
    return _newest(
        session, col(UploadRow.project_id) == project_id, col(UploadRow.bundle_sha256) == sha256
    )


def upload_by_id(session: Session, upload_id: str) -> StoredUpload:
    """Return an upload; raise NotFoundError for an unknown id."""
    upload = _newest(session, col(UploadRow.id) == upload_id)
    if upload is None:
        msg = f"no upload {upload_id[:80]!r}"
        raise NotFoundError(msg)
    return upload


def newest_judged(session: Session, project_id: int, pull_request: int) -> StoredUpload | None:
    """Return a pull request's newest judged upload, None without one."""
    return _newest(
        session,
        col(UploadRow.project_id) == project_id,
        col(UploadRow.pull_request) == pull_request,
        col(UploadRow.status).in_((UploadStatus.JUDGED, UploadStatus.POSTED)),
    )


def unfinished_uploads(session: Session) -> tuple[StoredUpload, ...]:
    """Return uploads that are not judged yet, or judged and not posted yet, oldest first."""
    is_to_post = col(UploadRow.pull_request).is_not(None)
    is_unfinished = (col(UploadRow.status) == UploadStatus.RECEIVED) | (
        (col(UploadRow.status) == UploadStatus.JUDGED) & is_to_post
    )
    return uploads_where(session, is_unfinished)


def uploads_where(
    session: Session, *conditions: ColumnElement[bool], is_newest_first: bool = False
) -> tuple[StoredUpload, ...]:
    """Return the uploads that meet conditions, oldest first, or last measured first."""
    query = _uploads(*conditions)
    ordered = query.order_by(*(_NEWEST_FIRST if is_newest_first else _OLDEST_FIRST))
    return tuple(starmap(_upload, session.exec(ordered)))


def count_uploads(
    session: Session, project_id: int, *conditions: ColumnElement[bool], since: datetime
) -> int:
    """Return the number of a project's uploads that arrived after `since`."""
    is_recent = (col(UploadRow.project_id) == project_id, col(UploadRow.created_at) > since)
    return session.exec(select(func.count()).where(*is_recent, *conditions)).one()


def uploads_of_project(session: Session, project_id: int) -> tuple[StoredUpload, ...]:
    """Return a project's judged uploads, oldest first."""
    is_judged = (col(UploadRow.project_id) == project_id, col(UploadRow.judged_at).is_not(None))
    return uploads_where(session, *is_judged)


def bundle_content(session: Session, sha256: str) -> bytes:
    """Return a bundle's gzipped JSON; raise RemovedError for one that is no longer kept."""
    content = session.exec(select(BundleRow.content).where(col(BundleRow.sha256) == sha256)).one()
    if not content:
        raise bundle_removed(session, sha256)
    return content


def due_uploads(session: Session, *, now: datetime) -> tuple[StoredUpload, ...]:
    """Return uploads that are not judged yet, or whose post is to be attempted again by now."""
    is_due = (col(UploadRow.status) == UploadStatus.RECEIVED) | (col(UploadRow.retry_at) <= now)
    return uploads_where(session, is_due)


def stuck_uploads(session: Session) -> tuple[StoredUpload, ...]:
    """Return uploads that failed, or whose post waits for another attempt, oldest first."""
    is_stuck = (col(UploadRow.status) == UploadStatus.FAILED) | col(UploadRow.retry_at).is_not(None)
    return uploads_where(session, is_stuck)


def set_sender(session: Session, upload_id: str, sender: UploadSender) -> None:
    """Record whose word an upload is."""
    session.exec(update(UploadRow).where(col(UploadRow.id) == upload_id).values(sender=sender))


def set_status(session: Session, upload_id: str, status: UploadStatus, *, reason: str = "") -> None:
    """Record an upload's status, for which nothing is attempted again."""
    session.exec(
        update(UploadRow)
        .where(col(UploadRow.id) == upload_id)
        .values(status=status, reason=reason, retry_at=None, failing_since=None)
    )


def set_retry(
    session: Session, upload: StoredUpload, *, reason: str, retry_at: datetime, now: datetime
) -> None:
    """Begin an upload's next attempt, which waits until a time, for a reason that people read."""
    session.exec(
        update(UploadRow)
        .where(col(UploadRow.id) == upload.id)
        .values(
            attempt=upload.attempt + 1,
            reason=reason,
            retry_at=retry_at,
            failing_since=upload.failing_since or now,
        )
    )


def set_posted(
    session: Session, upload: StoredUpload, *, conclusion: str, title: str, headline: str
) -> None:
    """Record that an upload was posted, with its conclusion, which an approval may have changed.

    Records nothing if the upload's next attempt has begun.
    """
    session.exec(
        update(UploadRow)
        .where(col(UploadRow.id) == upload.id, col(UploadRow.attempt) == upload.attempt)
        .values(
            status=UploadStatus.POSTED,
            reason="",
            retry_at=None,
            failing_since=None,
            conclusion=conclusion,
            title=title,
            headline=headline,
        )
    )


def restart_upload(
    session: Session, upload: StoredUpload, *, retry_at: datetime | None = None
) -> None:
    """Begin the next attempt of an upload that failed or is to be posted again.

    With a time, another process begins it then.
    """
    status = UploadStatus.RECEIVED if upload.judged_at is None else UploadStatus.JUDGED
    session.exec(
        update(UploadRow)
        .where(col(UploadRow.id) == upload.id)
        .values(
            status=status,
            reason="",
            attempt=upload.attempt + 1,
            retry_at=retry_at,
            failing_since=None,
        )
    )


def add_judgement(
    session: Session,
    upload_id: str,
    verdicts: tuple[Verdict, ...],
    *,
    conclusion: str,
    title: str,
    headline: str,
    now: datetime,
) -> None:
    """Store an upload's verdicts, once, and mark it judged: judging is not attempted again."""
    rows = [_values(upload_id, position, verdict) for position, verdict in enumerate(verdicts)]
    insert_rows(session, VerdictRow, rows)
    session.exec(
        update(UploadRow)
        .where(col(UploadRow.id) == upload_id)
        .values(
            status=UploadStatus.JUDGED,
            conclusion=conclusion,
            title=title,
            headline=headline,
            judged_at=now,
            retry_at=None,
        )
    )


def verdicts_of(session: Session, upload_id: str) -> tuple[Verdict, ...]:
    """Return an upload's verdicts in the report's order."""
    rows = session.exec(
        select(VerdictRow)
        .where(col(VerdictRow.upload_id) == upload_id)
        .order_by(col(VerdictRow.position))
    )
    return tuple(verdict_of(row) for row in rows)


def _put_bundle(session: Session, packed: PackedBundle) -> None:
    """Store a bundle that is new, or whose content was removed for all uploads until now.

    The row stays locked, so that retention sees this upload before it removes the content.
    """
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    row = dialect.insert(BundleRow).values(**asdict(packed))
    session.exec(
        row.on_conflict_do_update(
            index_elements=["sha256"],
            set_={"content": row.excluded.content},
            where=func.length(BundleRow.content) == 0,
        )
    )


def _newest(session: Session, *conditions: ColumnElement[bool]) -> StoredUpload | None:
    order = (col(UploadRow.created_at).desc(), col(UploadRow.id).desc())
    row = session.exec(_uploads(*conditions).order_by(*order).limit(1)).one_or_none()
    return None if row is None else _upload(*row)


def _uploads(*conditions: ColumnElement[bool]) -> Select[UploadRow, str, str]:
    return (
        select(UploadRow, ProjectRow.repository, EnvironmentRow.machine_class)
        .join(ProjectRow)
        .join(EnvironmentRow)
        .where(*conditions)
    )


def _upload(row: UploadRow, repository: str, machine_class: str) -> StoredUpload:
    return row.to_value(_UPLOAD, repository=repository, machine_class=machine_class)


def _values(upload_id: str, position: int, verdict: Verdict) -> dict[str, object]:
    estimate, metric = verdict.estimate, verdict.metric
    return {
        "upload_id": upload_id,
        "position": position,
        "workload": verdict.workload,
        "metric": metric.name,
        **{name: getattr(metric, name) for name in ("unit", "worse", "kind", "scale")},
        "outcome": verdict.outcome,
        "adjusted_p": verdict.adjusted_p,
        "is_warning": verdict.is_warning,
        "reason": verdict.reason,
        "queued_share": verdict.queued_share,
        "profiled_pairs": verdict.profiled_pairs,
        **{name: getattr(estimate, name, None) for name in EffectEstimate.__dataclass_fields__},
        **{
            f"spread_{name}": getattr(verdict.prior, name, None)
            for name in SpreadPrior.__dataclass_fields__
        },
    }


def verdict_of(row: VerdictRow) -> Verdict:
    """Return a stored verdict."""
    return row.to_value(
        _VERDICT,
        metric=row.to_value(_METRIC, name=row.metric),
        estimate=None if row.pairs is None else row.to_value(_ESTIMATE),
        prior=_prior(row),
    )


def _prior(row: VerdictRow) -> SpreadPrior | None:
    if row.spread_source is None:
        return None
    values = {name: getattr(row, f"spread_{name}") for name in ("variance", "degrees", "values")}
    return SpreadPrior(source=PriorSource(row.spread_source), **values)
