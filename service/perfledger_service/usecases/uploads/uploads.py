"""Stores and judges uploaded bundles."""

import gzip
import json
from dataclasses import asdict
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.records import Machine
from perfledger_baselines.judging.kernel_verdicts import family_verdicts
from perfledger_baselines.judging.pair_spreads import pair_differences
from perfledger_profiles.parsing.gzip_input import GZIP_MAGIC
from perfledger_runners.bundles.files import decode_bundle, unpack
from perfledger_service.errors import RefusedError, TooManyRequestsError, UsageError
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.github.branch_commits import BranchCommits
from perfledger_service.settings.quotas import UploadQuota
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import date_commits
from perfledger_service.store.devices.quarantines import mark_quarantined, quarantines_of_upload
from perfledger_service.store.expected_classes import add_expected_classes
from perfledger_service.store.former_names import is_former_name
from perfledger_service.store.gate_checks import add_gate_check
from perfledger_service.store.heads.reported_progress import remove_progress
from perfledger_service.store.heads.uploads import head_of
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.observations import add_observations, has_room, new_observations
from perfledger_service.store.pair_spreads import add_differences
from perfledger_service.store.projects import Project, lock_project, use_actions_token
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import (
    CheckedHead,
    PackedBundle,
    StoredUpload,
    add_judgement,
    add_upload,
    count_uploads,
    restart_upload,
    set_sender,
    set_status,
    unfinished_uploads,
    upload_by_id,
    upload_of_bundle,
)
from perfledger_service.usecases.events.pull_requests import track_upload
from perfledger_service.usecases.fleet.device import devices_used
from perfledger_service.usecases.history.bundle_observations import observations_in, series_names
from perfledger_service.usecases.history.gate_health import shadow_of
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.jobs.quarantine_waits import ask_again
from perfledger_service.usecases.jobs.runner_queue import answer_job
from perfledger_service.usecases.uploads.actions_runs import sender_of
from perfledger_service.usecases.uploads.branch_places import find_places
from perfledger_service.usecases.uploads.canaries import (
    StoredCanaries,
    receive_canaries,
)
from perfledger_service.usecases.uploads.confirmation import confirm_suspects
from perfledger_service.usecases.uploads.merge_groups import store_group_of_run
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.jobs.queued_work import QueuedUpload, partition_of
from perfledger_service.values.upload_views import UploadSender, UploadStatus

QUOTA_PERIOD = timedelta(hours=1)
# If the same bundle comes again, its next attempt begins: a pull request may be open again.
AGAIN = frozenset({UploadStatus.FAILED, UploadStatus.REFUSED})
# Level for bundles that arrive uncompressed: zlib's default, 0.3 % larger than gzip's default, in
# half the time.
GZIP_LEVEL = 6


def receive_bundle(
    engine: Engine,
    data: bytes,
    *,
    project: Project,
    upload_id: str,
    now: datetime,
    clock_offset: timedelta = timedelta(0),
    run: ActionsRun | None = None,
    job_id: str | None = None,
    reports: UploadReports | None = None,
    quota: UploadQuota = UploadQuota(),  # noqa: B008 - it cannot be changed
) -> StoredUpload | StoredCanaries:
    """Store an uploaded bundle, gzipped or plain, for its project, once.

    A device's canaries are not an upload: there is nothing left to judge or post.

    The same bundle again returns the same upload; one that failed or was refused begins its next
    attempt. `run` is the GitHub Actions run that sent it, None for a token's holder. `job_id` is
    the runner job whose result it is; it is stored together with the job's end, or not at all.
    `reports` receive a bundle that they will judge. The right time is `now` plus `clock_offset`.

    Raises UsageError for an invalid bundle and for one that does not match its job, RefusedError
    for one of another repository or pull request, ConflictError for a second bundle with one token
    of a run or for one job, and TooManyRequestsError for too many bundles.
    """
    content = data if data.startswith(GZIP_MAGIC) else gzip.compress(data, GZIP_LEVEL, mtime=0)
    bundle, document = _read(content)
    _check(engine, bundle, project)
    sender = UploadSender.RUNNER if run is None else sender_of(run, project, bundle)
    if bundle.canaries:
        return receive_canaries(
            engine,
            bundle,
            project=project,
            bundle_sha256=sha256(document).hexdigest(),
            sender=sender,
            run=run,
            job_id=job_id,
            now=now,
        )
    packed = PackedBundle(
        sha256=sha256(document).hexdigest(), unpacked_bytes=len(document), content=content
    )
    with write_session(engine) as session:
        lock_project(session, project.id)
        if run is not None:
            use_actions_token(
                session, run.jti, bundle_sha256=packed.sha256, expires_at=run.expires_at, now=now
            )
            store_group_of_run(session, project.id, run, bundle.head.sha, now=now)
        earlier = upload_of_bundle(session, project.id, packed.sha256)
        if earlier is None:
            _check_quota(session, project, bundle, quota=quota, now=now)
            _add_new(
                session,
                bundle,
                packed,
                upload_id=upload_id,
                project_id=project.id,
                sender=sender,
                clock_offset=clock_offset,
                now=now,
            )
        elif earlier.status in AGAIN:
            restart_upload(session, earlier)
        stored_id = earlier.id if earlier else upload_id
        if job_id is not None:
            job = answer_job(session, project, job_id, bundle, upload_id=stored_id, now=now)
            ask_again(session, job)
            is_bisection = job.pull_request is not None and bundle.pull_request is None
            if is_bisection or job.allows_fork:
                # Measurements of a pull request's commits or a fork's code say nothing about the
                # branch.
                set_sender(session, stored_id, UploadSender.OTHER_RUN)
        session.commit()
    if reports is not None and (earlier is None or earlier.status in AGAIN):
        reports.expect(bundle, sha256=packed.sha256, unpacked_bytes=packed.unpacked_bytes)
    with read_session(engine) as session:
        return upload_by_id(session, stored_id)


def judge_upload(
    engine: Engine,
    upload_id: str,
    *,
    reports: UploadReports,
    now: datetime,
    commits: BranchCommits | None = None,
) -> bool:
    """Judge a received upload by its pairs and the spreads of earlier uploads.

    `commits` answers which commits are on the default branch, None if nobody can be asked.

    Verdicts, observations, pair differences and suspects are stored in one transaction; for an
    upload on a device in quarantine, only the verdicts and the places of its commits are. Returns
    whether there is a pull request to post the report on. A judged upload is left as it is.
    """
    with read_session(engine) as session:
        upload = upload_by_id(session, upload_id)
        if upload.status is not UploadStatus.RECEIVED:
            return _needs_posting(upload)
        report, bundle = reports.judge(session, upload, today=now.date())
        is_in_history = not quarantines_of_upload(session, upload_id)
    places = find_places(engine, upload, bundle, commits=commits)
    tests = report.tests if is_in_history else ()
    differences = pair_differences(tests, bundle.machines())
    shadow = shadow_of(report)
    observations = observations_in(bundle) if is_in_history else ()
    with write_session(engine) as session:
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
            if bundle.is_imported:
                observations = new_observations(session, observations, upload.project_id)
            add_observations(
                session, observations, project_id=upload.project_id, upload_id=upload_id
            )
            _expect_classes(session, upload, bundle)
            add_gate_check(session, upload, held_s=bundle.held_s, shadow=shadow)
            if upload.sender is not UploadSender.OTHER_RUN:  # code under test could choose them
                dates = _commit_dates(bundle)
                date_commits(session, upload.project_id, dates, is_imported=bundle.is_imported)
                add_differences(
                    session, differences, project_id=upload.project_id, upload_id=upload_id
                )
            confirm_suspects(
                session,
                bundle,
                (*report.verdicts, *family_verdicts(report.kernels)),
                places=places,
                project_id=upload.project_id,
                upload_id=upload_id,
                is_evidence=is_in_history,
                now=now,
            )
            track_upload(session, upload, bundle, report.verdicts, now=now)
        session.commit()
    return upload.pull_request is not None


def _expect_classes(session: Session, upload: StoredUpload, bundle: Bundle) -> None:
    """Store the classes that have to report with a bundle; its own does not measure any more."""
    head = head_of(session, upload)
    if head is not None:
        deadline = upload.created_at + timedelta(seconds=bundle.plan.class_deadline_s)
        add_expected_classes(session, head, bundle.plan.machine_classes, deadline=deadline)
        remove_progress(session, head, upload.machine_class)


def fail_upload(engine: Engine, upload_id: str, reason: str) -> CheckedHead | None:
    """Record that processing an upload failed, and why; one that is refused stays so.

    Returns the head to post, on which an upload that could not be judged is not measured.
    """
    with write_session(engine) as session:
        if upload_by_id(session, upload_id).status is not UploadStatus.REFUSED:
            set_status(session, upload_id, UploadStatus.FAILED, reason=reason)
        session.commit()
    with read_session(engine) as session:
        upload = upload_by_id(session, upload_id)
        return head_of(session, upload) if upload.judged_at is None else None


def unfinished_work(engine: Engine) -> tuple[QueuedUpload, ...]:
    """Return uploads that are not judged or not posted yet, oldest first."""
    with read_session(engine) as session:
        return tuple(work_on(upload) for upload in unfinished_uploads(session))


def work_on(upload: StoredUpload) -> QueuedUpload:
    """Return the queue entry of an upload; uploads of one pull request run one at a time."""
    return QueuedUpload(
        upload_id=upload.id,
        partition=partition_of(upload.project_id, upload.pull_request or upload.head_sha),
        attempt=upload.attempt,
        due_at=upload.retry_at,
    )


def is_waiting(upload: StoredUpload) -> bool:
    """Return whether an upload needs to be enqueued."""
    is_again = upload.attempt > 1 and _needs_posting(upload)
    return upload.status is UploadStatus.RECEIVED or is_again


def _add_new(
    session: Session,
    bundle: Bundle,
    packed: PackedBundle,
    *,
    upload_id: str,
    project_id: int,
    sender: UploadSender,
    clock_offset: timedelta,
    now: datetime,
) -> None:
    """Add the upload of a new bundle, with the quarantines in which it was measured.

    It was measured now at the latest: a machine's clock may be ahead, and its result must not count
    as newer than later ones. Our clock may be behind: without its offset, the order of arrival
    would decide which result is newer.
    """
    measured_at = min(datetime.fromisoformat(bundle.created_at), now + clock_offset)
    add_upload(
        session,
        bundle,
        upload_id=upload_id,
        project_id=project_id,
        packed=packed,
        environment=_fingerprint(bundle.machine),
        sender=sender,
        measured_at=measured_at,
        now=now,
    )
    by_our_clock = measured_at - clock_offset
    mark_quarantined(session, upload_id, project_id, devices_used(bundle), measured_at=by_our_clock)


def _commit_dates(bundle: Bundle) -> dict[str, datetime]:
    """Return when a bundle's commits were committed; commits that git cannot date are omitted."""
    return {
        one.sha: datetime.fromisoformat(one.committed_at)
        for one in (bundle.base, bundle.head)
        if one.committed_at
    }


def _needs_posting(upload: StoredUpload) -> bool:
    return upload.status is UploadStatus.JUDGED and upload.pull_request is not None


def _read(content: bytes) -> tuple[Bundle, bytes]:
    """Return the bundle as gzipped JSON, and as JSON."""
    with translate_errors():
        document = unpack(content)
        return decode_bundle(document), document


def _check(engine: Engine, bundle: Bundle, project: Project) -> None:
    """Raise RefusedError or UsageError unless the project may store the bundle."""
    if not _is_of_project(engine, bundle.repository, project):
        msg = (
            f"the token is for {project.repository}, but the bundle is of "
            f"{bundle.repository or 'no repository'}: use that repository's token, or if it was "
            "renamed, perfledger server project rename"
        )
        raise RefusedError(msg)
    if bundle.base.sha == bundle.head.sha and bundle.pull_request is not None:
        msg = (
            f"base and head are the same commit, {bundle.head.sha}: upload it without pull request "
            f"#{bundle.pull_request}"
        )
        raise UsageError(msg)
    if (bundle.pull_request or 1) > MAX_PULL_REQUEST:
        msg = f"pull request #{bundle.pull_request} cannot exist: correct the number"
        raise UsageError(msg)


def _is_of_project(engine: Engine, repository: str, project: Project) -> bool:
    """Return whether a project has a name, or had it when a check began and was renamed since."""
    if repository.lower() == project.repository.lower():
        return True
    with read_session(engine) as session:
        return is_former_name(session, project.id, repository)


def _check_quota(
    session: Session, project: Project, bundle: Bundle, *, quota: UploadQuota, now: datetime
) -> None:
    """Raise TooManyRequestsError if a project has sent as many bundles, or series, as it may."""
    is_import = bundle.is_imported
    most, is_alike = (quota.imports, IS_IMPORTED) if is_import else (quota.uploads, ~IS_IMPORTED)
    if count_uploads(session, project.id, is_alike, since=now - QUOTA_PERIOD) >= most:
        msg = f"{project.repository} uploaded {most} bundles within an hour: wait"
        raise TooManyRequestsError(msg)
    if not has_room(session, project.id, series_names(bundle), most=quota.series):
        msg = (
            f"{project.repository} would have more than {quota.series} series (workload, metric "
            "and machine class): use the same names for every commit, or remove imported series "
            "with `perfledger server series remove`"
        )
        raise TooManyRequestsError(msg)


def _fingerprint(machine: Machine) -> tuple[str, str]:
    """Return the hash and the JSON of a machine."""
    document = json.dumps(asdict(machine), sort_keys=True)
    return sha256(document.encode()).hexdigest(), document
