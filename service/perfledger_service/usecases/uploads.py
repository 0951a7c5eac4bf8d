"""An uploaded bundle in, a stored and judged one out."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date, datetime
from hashlib import sha256
from typing import Protocol

import numpy as np
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.metrics import Kind, Metric
from perfledger.records import Machine, Run, Side
from perfledger_baselines.differences import pair_differences
from perfledger_baselines.location import located
from perfledger_baselines.prior import Priors
from perfledger_baselines.typical import typical_range
from perfledger_cost_models.policy import Approval
from perfledger_runners.bundles import GZIP_MAGIC, read_bundle, unpack
from perfledger_service.errors import NotFoundError, RefusedError, UsageError
from perfledger_service.jobs import Work
from perfledger_service.report import Conclusion, Report
from perfledger_service.store.approvals import approvals_of
from perfledger_service.store.database import reading, writing
from perfledger_service.store.observations import Observation, add_observations
from perfledger_service.store.projects import Project, lock_project
from perfledger_service.store.spreads import add_differences
from perfledger_service.store.uploads import (
    PackedBundle,
    StoredUpload,
    add_judgement,
    add_upload,
    begin_again,
    bundle_content,
    set_status,
    unfinished_uploads,
    upload_by_id,
    upload_of_bundle,
    verdicts_of,
)
from perfledger_service.usecases.priors import priors_of_bundle
from perfledger_service.usecases.translating import translated
from perfledger_service.usecases.watching import watch
from perfledger_service.views import UploadStatus

# GitHub numbers pull requests in 32 bits, and so do our tables.
MAX_PULL_REQUEST = 2**31 - 1


class Reporter(Protocol):
    """Judges, explains and prices a bundle; `reporting.report_on` is one."""

    def __call__(
        self,
        bundle: Bundle,
        *,
        today: date,
        is_local: bool,
        priors: Priors,
        approvals: Sequence[Approval] = (),
    ) -> Report:
        """Return all that is to be said about a bundle, given its spreads and its approvals."""
        ...


def receive_bundle(
    engine: Engine, data: bytes, *, project: Project, upload_id: str, now: datetime
) -> StoredUpload:
    """Store an uploaded bundle, gzipped or plain, for its project, once.

    The same bundle again is the same upload: its row is returned and nothing is stored, but one
    that failed begins its next attempt. Raises UsageError for what is no bundle, RefusedError for a
    bundle of another repository.
    """
    content = data if data.startswith(GZIP_MAGIC) else gzip.compress(data, mtime=0)
    bundle, plain = _read(content)
    _check(bundle, project)
    packed = PackedBundle(
        sha256=sha256(plain).hexdigest(), unpacked_bytes=len(plain), content=content
    )
    with writing(engine) as session:
        lock_project(session, project.id)
        known = upload_of_bundle(session, project.id, packed.sha256)
        if known is None:
            add_upload(
                session,
                bundle,
                upload_id=upload_id,
                project_id=project.id,
                packed=packed,
                env=_fingerprint(bundle.machine),
                now=now,
            )
        elif known.status is UploadStatus.FAILED:
            begin_again(session, known)
        session.commit()
    with reading(engine) as session:
        return upload_by_id(session, known.id if known else upload_id)


def judge_upload(engine: Engine, upload_id: str, *, reporter: Reporter, now: datetime) -> bool:
    """Judge a received upload by its pairs and by the spreads that earlier ones had.

    Verdicts, observations, differences of pairs and what they make suspect are stored in one
    transaction. Returns whether there is a pull request to say it on. An upload that was judged
    stays as it is.
    """
    with reading(engine) as session:
        upload = upload_by_id(session, upload_id)
        if upload.status is not UploadStatus.RECEIVED:
            return _is_to_be_said(upload)
        bundle = bundle_of(session, upload)
        priors = priors_of_bundle(session, upload.project_id, bundle)
        approvals = approvals_of(session, upload, today=now.date())
    with translated():
        report = reporter(
            bundle, today=now.date(), is_local=False, priors=priors, approvals=approvals
        )
        differences = pair_differences(bundle)
    observations = observations_in(bundle)
    with writing(engine) as session:
        lock_project(session, upload.project_id)
        if upload_by_id(session, upload_id).status is UploadStatus.RECEIVED:
            add_judgement(
                session,
                upload_id,
                report.verdicts,
                conclusion=report.conclusion,
                title=report.title,
                headline=report.headline,
                now=now,
            )
            add_observations(
                session,
                observations,
                project_id=upload.project_id,
                upload_id=upload_id,
            )
            add_differences(
                session,
                differences,
                project_id=upload.project_id,
                upload_id=upload_id,
            )
            watch(
                session,
                bundle,
                report.verdicts,
                project_id=upload.project_id,
                upload_id=upload_id,
                now=now,
            )
        session.commit()
    return upload.pull_request is not None


def fail_upload(engine: Engine, upload_id: str, reason: str) -> None:
    """Record that the service could not do its work on an upload, and why."""
    with writing(engine) as session:
        set_status(session, upload_id, UploadStatus.FAILED, reason=reason)
        session.commit()


def unfinished_work(engine: Engine) -> tuple[Work, ...]:
    """Return what was received, or judged and not said, oldest first."""
    with reading(engine) as session:
        return tuple(work_on(upload) for upload in unfinished_uploads(session))


def work_on(upload: StoredUpload) -> Work:
    """Return the work that an upload makes: one after another for each pull request."""
    where = f"#{upload.pull_request}" if upload.pull_request else f"@{upload.head_sha}"
    partition = f"{upload.repository}{where}"
    return Work(upload_id=upload.id, partition=partition, attempt=upload.attempt)


def is_waiting(upload: StoredUpload) -> bool:
    """Whether work on the upload is to be enqueued now that it was submitted."""
    is_again = upload.attempt > 1 and _is_to_be_said(upload)
    return upload.status is UploadStatus.RECEIVED or is_again


def bundle_of(session: Session, upload: StoredUpload) -> Bundle:
    """Return an upload's bundle."""
    return _read(bundle_content(session, upload.bundle_sha256))[0]


def report_of(
    session: Session, upload: StoredUpload, *, reporter: Reporter, today: date | None = None
) -> tuple[Report, Bundle]:
    """Return the report on a judged upload, with the verdicts that were stored with it.

    What surrounds them (causes, prices as of the day of the verdict) is worked out again, from the
    spreads that they leaned on: what was learnt since changes nothing. Approvals count as they
    stand `today`, without it on the day of the verdict: they alone change how the check ends, and
    never a failure.
    """
    if upload.judged_at is None:
        what = f"{upload.status}: {upload.reason}" if upload.reason else upload.status
        msg = f"upload {upload.id} is not judged ({what}): look again in a moment"
        raise NotFoundError(msg)
    bundle = bundle_of(session, upload)
    verdicts = verdicts_of(session, upload.id)
    priors = {
        (verdict.workload, verdict.metric.name): verdict.prior
        for verdict in verdicts
        if verdict.prior is not None
    }
    judged_on = upload.judged_at.date()
    approvals = approvals_of(session, upload, today=today or judged_on)
    report = reporter(bundle, today=judged_on, is_local=False, priors=priors, approvals=approvals)
    as_said = replace(report, repository=upload.repository, verdicts=verdicts)
    if not approvals or upload.conclusion == Conclusion.FAILURE:
        as_said = replace(
            as_said,
            conclusion=Conclusion(upload.conclusion),
            title=upload.title,
            headline=upload.headline,
        )
    return as_said, bundle


def measured_at(session: Session, upload_id: str) -> datetime:
    """Return when an upload's bundle was made; it may have been uploaded much later."""
    return moment(bundle_of(session, upload_by_id(session, upload_id)))


def moment(bundle: Bundle) -> datetime:
    """Return when a bundle was made, in UTC; reading it has checked that it says so."""
    return datetime.fromisoformat(bundle.created_at)


def observations_in(bundle: Bundle) -> tuple[Observation, ...]:
    """Return what a bundle says of each workload's metrics, side by side.

    Of a commit that was checked against itself the first side is kept: it is one commit.
    """
    runs: dict[tuple[str, Side], list[Run]] = {}
    is_same = bundle.base.sha == bundle.head.sha
    # A new commit's place is after its base's, whichever side was measured first.
    for run in sorted(bundle.runs, key=lambda run: run.side is Side.HEAD):
        if not (is_same and run.side is Side.HEAD):
            runs.setdefault((run.workload, run.side), []).append(run)
    sha = {Side.BASE: bundle.base.sha, Side.HEAD: bundle.head.sha}
    machines = bundle.machines()
    return tuple(
        _observation(metric, measured, sha=sha[side], machine=machines[workload, side])
        for (workload, side), all_runs in runs.items()
        for metric in bundle.metrics
        if (measured := _telling(metric, all_runs))
    )


def _telling(metric: Metric, runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs that tell a metric; of a tail none if not all do, for they are the faster."""
    found = zip(runs, located(runs, metric), strict=True)
    telling = tuple(run for run, value in found if value is not None)
    return () if metric.kind is Kind.TAIL and len(telling) < len(runs) else telling


def _observation(metric: Metric, runs: Sequence[Run], *, sha: str, machine: Machine) -> Observation:
    values = [value for value in located(runs, metric) if value is not None]
    batch = [
        run.samples.get(metric.name, (value,)) for run, value in zip(runs, values, strict=True)
    ]
    interval = typical_range(runs, metric=metric)
    if interval is None:  # too few processes, or zeros: the center alone, without a spread
        center = float(np.median(values))
        interval = center, center, center
    low, center, high = interval
    return Observation(
        workload=runs[0].workload,
        metric=metric,
        device_class=machine.device_class,
        side=runs[0].side,
        sha=sha,
        processes=len(runs),
        center=center,
        low=low,
        high=high,
        samples=tuple(sample for samples in batch for sample in samples),
    )


def _is_to_be_said(upload: StoredUpload) -> bool:
    return upload.status is UploadStatus.JUDGED and upload.pull_request is not None


def _read(content: bytes) -> tuple[Bundle, bytes]:
    """Return the bundle in gzipped JSON, and the JSON."""
    with translated():
        return read_bundle(content), unpack(content)


def _check(bundle: Bundle, project: Project) -> None:
    """Raise unless the bundle may stand in the project, as what it claims to be."""
    if bundle.repository.lower() != project.repository.lower():
        msg = (
            f"the token is {project.repository}'s, the bundle is {bundle.repository or 'nobody'}'s"
        )
        raise RefusedError(msg)
    if bundle.base.sha == bundle.head.sha and bundle.pull_request is not None:
        msg = (
            f"base and head are the same commit, {bundle.head.sha}: nothing was compared that "
            f"could be said on #{bundle.pull_request}"
        )
        raise UsageError(msg)
    if (bundle.pull_request or 1) > MAX_PULL_REQUEST:
        msg = f"pull_request: there is no #{bundle.pull_request}"
        raise UsageError(msg)


def _fingerprint(machine: Machine) -> tuple[str, str]:
    """Return the hash and the JSON of a machine."""
    document = json.dumps(asdict(machine), sort_keys=True)
    return sha256(document.encode()).hexdigest(), document
