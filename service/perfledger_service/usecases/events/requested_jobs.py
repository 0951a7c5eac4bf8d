"""Queues the jobs that people request for an event: a re-run of its commits, or a bisection."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.metrics import METRICS
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
)
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import UsageError
from perfledger_service.store.database import write_session
from perfledger_service.store.events.events import event_by_id, save_event
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, open_runner_jobs
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project, lock_project
from perfledger_service.usecases.jobs.queue_place import is_served, same_job
from perfledger_service.usecases.jobs.runner_queue import classes_with_runners, queue_job
from perfledger_service.usecases.jobs.schedule import job_key
from perfledger_service.values.branch_views import is_imported_class
from perfledger_service.values.people.person import Actor, AuditAction

_WORDS = {RunnerJobKind.RERUN: "measured again", RunnerJobKind.BISECTION: "bisected"}


def queue_event_jobs(
    engine: Engine,
    project: Project,
    event_id: int,
    kind: RunnerJobKind,
    *,
    actor: Actor,
    now: datetime,
) -> tuple[str, ...]:
    """Queue re-runs of an event's commits, one for each machine class, or one bisection of them.

    Returns the machine classes whose job is new; a class whose job is already queued or running
    gets no second one. Raises NotFoundError for no such event, UsageError if its commits or a
    runner are missing, and TooManyRequestsError.
    """
    with write_session(engine) as session:
        lock_project(session, project.id)
        event = event_by_id(session, project.id, event_id).event
        jobs = _served_jobs(session, project, _jobs(event, kind, actor=actor, now=now), now=now)
        open_jobs = open_runner_jobs(session, project.id)
        new_jobs = [job for job in jobs if same_job(job, open_jobs) is None]
        for job in new_jobs:
            queue_job(session, project.id, job, now=now)
        classes = tuple(job.machine_class for job in new_jobs)
        if classes:
            note = f"to be {_WORDS[kind]} on {', '.join(classes)}"
            save_event(session, project.id, EventUpdate(event, note), now=now, author=actor.name)
            add_audit_entry(
                session,
                AuditAction.QUEUE_JOBS,
                actor,
                project_id=project.id,
                detail=f"event {event_id} {note}",
                now=now,
            )
        session.commit()
    return classes


def _served_jobs(
    session: Session, project: Project, jobs: tuple[NewRunnerJob, ...], *, now: datetime
) -> tuple[NewRunnerJob, ...]:
    """Return the jobs that a runner can take; raise UsageError for none."""
    served = classes_with_runners(session, project.id, now=now)
    served_jobs = tuple(job for job in jobs if is_served(job.machine_class, served))
    if not served_jobs:
        classes = ", ".join(job.machine_class for job in jobs)
        msg = (
            f"no runner of {classes} has asked for jobs within a day: start `perfledger runner` on "
            f"such a machine, or measure there by hand: {_command(jobs[0])}"
        )
        raise UsageError(msg)
    return served_jobs


def _command(job: NewRunnerJob) -> str:
    if job.kind is RunnerJobKind.BISECTION:
        return f"perfledger history bisect WORKLOAD {job.base_sha} {job.head_sha}"
    return f"perfledger check --base {job.base_sha} --head {job.head_sha}"


def _jobs(
    event: TrackedEvent, kind: RunnerJobKind, *, actor: Actor, now: datetime
) -> tuple[NewRunnerJob, ...]:
    """Return an event's jobs; raise UsageError if its commits are unknown."""
    last = event.occurrences[-1] if event.occurrences else None
    measured_series = [one for one in event.series if not is_imported_class(one.machine_class)]
    if not measured_series:
        msg = "the event is of imported results: no runner measured them"
        raise UsageError(msg)
    if last is None or not last.after_sha:
        pull_request = event.pull_request
        msg = f"the event is of pull request #{pull_request}: comment /perfledger rerun there"
        raise UsageError(msg)
    if kind is RunnerJobKind.BISECTION:
        largest = _searchable(measured_series)
        chosen = {largest.machine_class: [largest]}
    else:
        chosen = _by_class(measured_series)
    return tuple(_new_jobs(event, kind, last, chosen, actor=actor, now=now))


def _new_jobs(
    event: TrackedEvent,
    kind: RunnerJobKind,
    last: EventOccurrence,
    chosen: dict[str, list[ChangedSeries]],
    *,
    actor: Actor,
    now: datetime,
) -> Iterator[NewRunnerJob]:
    for machine_class, series in chosen.items():
        yield NewRunnerJob(
            key=job_key(kind, "event", event.id, machine_class, now.isoformat()),
            kind=kind,
            machine_class=machine_class,
            base_sha=last.after_sha,
            head_sha=last.last_sha,
            workloads=tuple(dict.fromkeys(one.workload for one in series)),
            metric=series[0].metric if kind is RunnerJobKind.BISECTION else "",
            requested_by=f"{actor.name}, about event {event.id}",
        )


def _searchable(series: list[ChangedSeries]) -> ChangedSeries:
    """Return the series that changed most among those by which a bisection can search."""
    searchable = [
        one
        for one in series
        if (metric := METRICS.get(one.metric)) is not None
        and not (metric.is_explanatory or metric.is_optional)
    ]
    if not searchable:
        msg = f"a bisection does not search by {series[0].metric}: measure the event again instead"
        raise UsageError(msg)
    return max(searchable, key=lambda one: abs(one.change))


def _by_class(series: list[ChangedSeries]) -> dict[str, list[ChangedSeries]]:
    """Return series by their machine class, in the order given."""
    classes: dict[str, list[ChangedSeries]] = {}
    for one in series:
        classes.setdefault(one.machine_class, []).append(one)
    return classes
