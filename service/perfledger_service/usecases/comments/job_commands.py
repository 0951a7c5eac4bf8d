"""Queues the re-runs and bisections that comments ask for, and reports their state."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.metrics import METRICS, STEP_TIME
from perfledger.records import short_sha
from perfledger_baselines.judging.verdict import Verdict
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import TooManyRequestsError
from perfledger_service.github.pull_requests import PullRequest, PullRequests
from perfledger_service.rendering.check import command_answers
from perfledger_service.store.comments.command_jobs import (
    CommandJob,
    add_command_jobs,
)
from perfledger_service.store.comments.commands import (
    CommandStatus,
    StoredCommand,
    command_by_id,
    commands_with,
    set_command,
)
from perfledger_service.store.comments.fork_permissions import (
    allow_head,
    is_allowed,
    last_push,
    revoke_permissions,
)
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.expected_classes import expected_classes, missing_classes
from perfledger_service.store.heads.uploads import uploads_of_head
from perfledger_service.store.jobs.runner_jobs import (
    NewRunnerJob,
    StoredRunnerJob,
    open_runner_jobs,
)
from perfledger_service.store.projects import lock_project
from perfledger_service.store.uploads import (
    CheckedHead,
    newest_judged,
    verdicts_of,
)
from perfledger_service.usecases.comments.command_progress import progress_answer
from perfledger_service.usecases.comments.grammar import (
    AllowCommand,
    BisectCommand,
    RerunCommand,
)
from perfledger_service.usecases.jobs.pull_requests import cancel_jobs_of
from perfledger_service.usecases.jobs.queue_place import is_served, same_job
from perfledger_service.usecases.jobs.runner_queue import classes_with_runners, queue_job
from perfledger_service.usecases.jobs.schedule import job_key
from perfledger_service.usecases.uploads.machine_classes import judged_of_head
from perfledger_service.usecases.uploads.pushes import changed_base

# The person who sets a label may not have seen a push just before it.
LABEL_DELAY = timedelta(minutes=1)
JobCommand = RerunCommand | BisectCommand | AllowCommand


@dataclass(frozen=True, slots=True)
class RequestedJobs:
    """The jobs that a command asks for, one per machine class, or why it gets none."""

    jobs: tuple[NewRunnerJob, ...] = ()
    refusal: str = ""  # the answer
    fork: CheckedHead | None = None  # the fork's commit that they run
    is_permission: bool = False  # whether the command allows it


def requested_jobs(
    engine: Engine,
    command: StoredCommand,
    order: JobCommand,
    *,
    pull_requests: PullRequests,
    now: datetime,
) -> RequestedJobs:
    """Return the jobs that a command asks for, for the pull request's current state on GitHub.

    Raises GitHubError.
    """
    current = pull_requests.pull_request(command.repository, command.pull_request)
    problem = _problem_of(command, current)
    if problem or current is None:
        return _refused_jobs(problem)
    head = CheckedHead(
        project_id=command.project_id,
        repository=command.repository,
        pull_request=command.pull_request,
        head_sha=current.head_sha,
    )
    if isinstance(order, AllowCommand):
        problem = _objection_to_permission(order, current)
    elif isinstance(order, RerunCommand) and order.sha not in {"", current.head_sha}:
        problem = (
            f"{short_sha(order.sha)} is not the newest commit of this pull request, which is "
            f"{short_sha(current.head_sha)}: comment /perfledger rerun to measure that one"
        )
    elif current.is_fork and isinstance(order, BisectCommand):
        problem = "a bisection runs many commits of a fork, and one at a time is allowed"
    if problem:
        return _refused_jobs(problem)
    base_sha = changed_base(engine, head, current, pull_requests, now=now)
    with read_session(engine) as session:
        if isinstance(order, BisectCommand):
            return _bisection(session, command, order, head)
        jobs = _reruns(session, command, head, new_base=base_sha, is_fork=current.is_fork, now=now)
    is_permission = isinstance(order, AllowCommand)
    return RequestedJobs(jobs, fork=head if current.is_fork else None, is_permission=is_permission)


def queue_requested(
    command: StoredCommand,
    requested: RequestedJobs,
    session: Session,
    *,
    public_url: str,
    now: datetime,
) -> str:
    """Queue the jobs that a command asks for, and return the answer.

    A job that is already queued or running is not queued again. The caller holds the project's lock
    and commits.
    """
    problem = requested.refusal or _fork_problem(session, command, requested)
    if problem:
        return problem
    served = classes_with_runners(session, command.project_id, now=now)
    open_jobs = open_runner_jobs(session, command.project_id)
    jobs = [_queue(session, command, one, open_jobs, served, now=now) for one in requested.jobs]
    if not any(job.job_id for job in jobs):
        problem = next((job.problem for job in jobs if job.problem), "")
        why = (
            command_answers.refusal_answer(problem)
            if problem
            else command_answers.no_runner_answer([job.machine_class for job in jobs])
        )
        allowed = requested.fork if requested.is_permission else None
        return command_answers.allowed_answer(allowed.head_sha, why) if allowed else why
    add_command_jobs(session, command.id, jobs)
    return progress_answer(session, command, public_url=public_url, now=now)[0]


def disallow(command: StoredCommand, session: Session, *, now: datetime) -> str:
    """Stop runners from running a fork's pull request; return why that changes nothing.

    The caller holds the project's lock and commits.
    """
    project_id, number = command.project_id, command.pull_request
    if not revoke_permissions(session, project_id, number, revoked_at=command.received_at):
        return command_answers.refusal_answer("nothing of this pull request was allowed")
    reason = f"{command.login} no longer allows it"
    cancel_jobs_of(session, project_id, number, of_fork=True, reason=reason, now=now)
    return ""


def follow_commands(engine: Engine, *, public_url: str, now: datetime) -> None:
    """Give each command whose jobs changed state a new edition of its answer."""
    with read_session(engine) as session:
        waiting = commands_with(session, CommandStatus.WAITING)
        answers = {
            command.id: progress_answer(session, command, public_url=public_url, now=now)
            for command in waiting
        }
    for command in waiting:
        answer, is_open = answers[command.id]
        if answer == command.answer and is_open:
            continue
        with write_session(engine) as session:
            lock_project(session, command.project_id)
            if command_by_id(session, command.id) == command:  # no other replica was first
                if answer == command.answer:
                    set_command(session, command.id, CommandStatus.DONE)
                else:
                    set_command(
                        session,
                        command.id,
                        CommandStatus.DECIDED,
                        answer=answer,
                        edition=command.edition + 1,
                    )
            session.commit()


def _problem_of(command: StoredCommand, current: PullRequest | None) -> str:
    """Return why no job is queued for a pull request, "" if one may be."""
    if current is None:
        return f"{command.repository} has no pull request #{command.pull_request}"
    if not current.is_open:
        return f"pull request #{command.pull_request} is closed: open it again first"
    return ""


def _objection_to_permission(order: AllowCommand, current: PullRequest) -> str:
    """Return why a commit is not allowed, "" if it may be."""
    if not current.is_fork:
        return "this pull request is not from a fork: its code needs no permission"
    if order.sha != current.head_sha:
        return (
            f"the newest commit is {current.head_sha}, not {order.sha}: read that one, and allow it"
        )
    return ""


def _fork_problem(session: Session, command: StoredCommand, requested: RequestedJobs) -> str:
    """Record what a command allows; return why a fork's commit does not run, "" if it may.

    A push or a revocation that arrived after the command was written takes precedence.
    """
    if requested.fork is None:
        return ""
    if requested.is_permission:
        received_at = command.received_at
        is_label = command.comment_id < 0
        pushed_at = last_push(session, requested.fork) if is_label else None
        if pushed_at is not None and received_at - pushed_at < LABEL_DELAY:
            return command_answers.refusal_answer(
                "the label came within a minute of a push, and names no commit: read "
                f"{requested.fork.head_sha}, and set the label again"
            )
        if allow_head(session, requested.fork, login=command.login, allowed_at=received_at):
            return ""
        return command_answers.refusal_answer("it has since been revoked, or replaced by a push")
    if is_allowed(session, requested.fork):
        return ""
    return command_answers.fork_answer(requested.fork.head_sha)


def _reruns(
    session: Session,
    command: StoredCommand,
    head: CheckedHead,
    *,
    new_base: str,
    is_fork: bool,
    now: datetime,
) -> tuple[NewRunnerJob, ...]:
    """Return a job for each machine class of a head, against the base that it was compared with.

    If the pull request's base changed since, it is the new one.

    The classes are those that reported or are expected; if there are none yet, those of the pull
    request's last result or of the registered runners.
    """
    bases: dict[str, str] = {}
    for upload in uploads_of_head(session, head):
        bases.setdefault(upload.machine_class, upload.base_sha)
    missing = missing_classes(expected_classes(session, head), bases)
    classes = [*bases, *(one.machine_class for one in missing)]
    if not classes:
        newest = newest_judged(session, head.project_id, head.pull_request)
        earlier = newest.head if newest else None
        classes = [one.machine_class for one in judged_of_head(session, earlier)] if earlier else []
    classes = classes or [*classes_with_runners(session, head.project_id, now=now)] or ["*"]
    place = "in a comment" if command.comment_id > 0 else "by a label or button of GitHub's"
    some_base = next(iter(bases.values()), "")
    return tuple(
        NewRunnerJob(
            key=job_key(RunnerJobKind.RERUN, command.comment_id, machine_class),
            kind=RunnerJobKind.RERUN,
            machine_class=machine_class,
            base_sha=new_base or bases.get(machine_class, some_base),
            head_sha=head.head_sha,
            pull_request=head.pull_request,
            allows_fork=is_fork,
            requested_by=f"{command.login}, {place}",
        )
        for machine_class in dict.fromkeys(classes)
    )


def _bisection(
    session: Session, command: StoredCommand, order: BisectCommand, head: CheckedHead
) -> RequestedJobs:
    """Return the job that searches a pull request's commits for the one that changed a workload."""
    newest = newest_judged(session, head.project_id, head.pull_request)
    if newest is None:
        return _refused_jobs("this pull request has no result yet: a bisection needs one")
    if newest.head_sha != head.head_sha:
        return _refused_jobs(
            f"the newest result is of {short_sha(newest.head_sha)}, and the pull request is at "
            f"{short_sha(head.head_sha)} by now: ask again after the check of that commit"
        )
    uploads = judged_of_head(session, head)
    verdicts = [(one, verdict) for one in uploads for verdict in verdicts_of(session, one.id)]
    regressed = [pair for pair in verdicts if pair[1].is_regression]
    names = tuple(dict.fromkeys(verdict.workload for _, verdict in regressed))
    if not order.workload and len(names) != 1:
        return RequestedJobs(refusal=command_answers.which_workload_answer(names))
    workload = order.workload or names[0]
    chosen = [pair for pair in (*regressed, *verdicts) if pair[1].workload == workload]
    if not chosen:
        all_names = tuple(dict.fromkeys(verdict.workload for _, verdict in verdicts))
        return RequestedJobs(refusal=command_answers.unmeasured_answer(workload, all_names))
    upload, verdict = chosen[0]
    of_upload = [other for one, other in chosen if one is upload]
    return RequestedJobs(
        (
            NewRunnerJob(
                key=job_key(RunnerJobKind.BISECTION, command.comment_id, upload.machine_class),
                kind=RunnerJobKind.BISECTION,
                machine_class=upload.machine_class,
                base_sha=upload.base_sha,
                head_sha=upload.head_sha,
                pull_request=head.pull_request,
                workloads=(verdict.workload,),
                metric=_searched_metric(of_upload),
                requested_by=f"{command.login}, in a comment",
            ),
        )
    )


def _refused_jobs(reason: str) -> RequestedJobs:
    return RequestedJobs(refusal=command_answers.refusal_answer(reason))


def _searched_metric(verdicts: Sequence[Verdict]) -> str:
    """Return the metric to bisect: the step time, or what regressed if step time did not."""
    regressed = {one.metric.name for one in verdicts if one.is_regression}
    searchable = [
        one.name
        for one in METRICS.values()
        if one.name in regressed and not (one.is_explanatory or one.is_optional)
    ]
    is_other = searchable and STEP_TIME.name not in searchable
    return searchable[0] if is_other else STEP_TIME.name


def _queue(
    session: Session,
    command: StoredCommand,
    job: NewRunnerJob,
    open_jobs: Sequence[StoredRunnerJob],
    served: Sequence[str],
    *,
    now: datetime,
) -> CommandJob:
    """Queue a job, or find one that measures the same; return why there is none."""
    if not is_served(job.machine_class, served):
        return CommandJob(machine_class=job.machine_class)
    try:
        stored = same_job(job, open_jobs) or queue_job(session, command.project_id, job, now=now)
    except TooManyRequestsError as error:
        return CommandJob(machine_class=job.machine_class, problem=str(error))
    return CommandJob(machine_class=job.machine_class, job_id=stored.id)
