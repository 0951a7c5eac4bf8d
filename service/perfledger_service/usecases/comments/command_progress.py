"""Reports the state of the runner jobs that a command in a comment asked for."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.rendering.check.job_answers import jobs_answer
from perfledger_service.store.comments.command_jobs import command_jobs
from perfledger_service.store.comments.commands import StoredCommand
from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob, open_runner_jobs, runner_job
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.jobs.budget import WEEK, budget_problem, week_of
from perfledger_service.usecases.jobs.queue_place import is_served, jobs_before
from perfledger_service.usecases.jobs.runner_queue import classes_with_runners
from perfledger_service.values.jobs.progress import JobProgress, JobStage
from perfledger_service.values.upload_views import UploadStatus


def progress_answer(
    session: Session, command: StoredCommand, *, public_url: str, now: datetime
) -> tuple[str, bool]:
    """Return the state of a command's jobs, and whether more is to come."""
    served = classes_with_runners(session, command.project_id, now=now)
    open_jobs = open_runner_jobs(session, command.project_id)
    kind, head_sha, workload, is_fork = RunnerJobKind.RERUN, "", "", False
    stages: list[JobProgress] = []
    for one in command_jobs(session, command.id):
        job = runner_job(session, command.project_id, one.job_id) if one.job_id else None
        if job is None:
            stage = JobProgress(
                machine_class=one.machine_class, stage=JobStage.NOT_QUEUED, reason=one.problem
            )
        else:
            kind, head_sha, workload = job.kind, job.head_sha, "".join(job.workloads[:1])
            is_fork = job.allows_fork
            stage = _progress(session, job, open_jobs, served, public_url=public_url, now=now)
        stages.append(stage)
    is_open = any(one.stage.is_open for one in stages)
    return jobs_answer(kind, head_sha, workload, stages, is_fork=is_fork), is_open


def _progress(
    session: Session,
    job: StoredRunnerJob,
    open_jobs: Sequence[StoredRunnerJob],
    served: Sequence[str],
    *,
    public_url: str,
    now: datetime,
) -> JobProgress:
    machine_class = job.machine_class
    match job.state:
        case RunnerJobState.LEASED:
            return JobProgress(
                machine_class=machine_class, stage=JobStage.RUNNING, runner=job.runner
            )
        case RunnerJobState.FAILED | RunnerJobState.CANCELLED:
            return JobProgress(
                machine_class=machine_class, stage=JobStage.DROPPED, reason=job.reason
            )
        case RunnerJobState.DONE:
            return _final_progress(session, job, public_url=public_url)
        case RunnerJobState.QUEUED:
            return _queued_progress(session, job, open_jobs, served, now=now)


def _queued_progress(
    session: Session,
    job: StoredRunnerJob,
    open_jobs: Sequence[StoredRunnerJob],
    served: Sequence[str],
    *,
    now: datetime,
) -> JobProgress:
    machine_class = job.machine_class
    if not is_served(machine_class, served):
        return JobProgress(machine_class=machine_class, stage=JobStage.WITHOUT_RUNNER)
    if job.due_at > now:
        return JobProgress(machine_class=machine_class, stage=JobStage.RETRYING, reason=job.reason)
    if budget_problem(session, job.project_id, devices=job.devices, open_jobs=open_jobs, now=now):
        next_week = (week_of(now) + WEEK).date()
        stage = JobStage.OVER_BUDGET
        return JobProgress(machine_class=machine_class, stage=stage, budget_until=next_week)
    before = jobs_before(job, open_jobs, served)
    return JobProgress(machine_class=machine_class, stage=JobStage.QUEUED, jobs_before=before)


def _final_progress(session: Session, job: StoredRunnerJob, *, public_url: str) -> JobProgress:
    """Return the result of a job, which has none until its bundle is judged."""
    if job.upload_id is None:
        return JobProgress(machine_class=job.machine_class, stage=JobStage.DONE, reason=job.reason)
    upload = upload_by_id(session, job.upload_id)
    if upload.status in {UploadStatus.FAILED, UploadStatus.REFUSED}:
        return JobProgress(
            machine_class=job.machine_class, stage=JobStage.DROPPED, reason=upload.reason
        )
    if upload.judged_at is None:
        return JobProgress(machine_class=job.machine_class, stage=JobStage.JUDGING)
    return JobProgress(
        machine_class=job.machine_class,
        stage=JobStage.DONE,
        title=upload.title,
        url=f"{public_url}/runs/{upload.id}",
        commit=upload.head_sha if job.kind is RunnerJobKind.BISECTION else "",
    )
