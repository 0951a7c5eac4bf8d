"""Assembles the web application."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_service.github.pull_requests import PullRequests
from perfledger_service.github.webhook_deliveries import WebhookDeliveries
from perfledger_service.rendering.check.page import static_folder
from perfledger_service.store.replicas.lock import ReplicaLock
from perfledger_service.usecases.comments.commands import (
    unfinished_command_work,
)
from perfledger_service.usecases.comments.job_commands import follow_commands
from perfledger_service.usecases.events.search import search_events
from perfledger_service.usecases.jobs.schedule import queue_due_jobs
from perfledger_service.usecases.notices.queue import queue_notices
from perfledger_service.usecases.notices.stale_prices import queue_price_notices
from perfledger_service.usecases.review.schedule import ReviewSchedule, due_review
from perfledger_service.usecases.uploads.followed_heads import POLL_INTERVAL, check_heads
from perfledger_service.usecases.uploads.machine_classes import silent_work, unfinished_deadlines
from perfledger_service.usecases.uploads.missed_deliveries import redeliver_missed
from perfledger_service.usecases.uploads.retry import due_work
from perfledger_service.usecases.uploads.uploads import unfinished_work
from perfledger_service.values.jobs.queued_work import QueuedRetention
from perfledger_service.values.storage.retention import RetentionClass
from perfledger_service.web import (
    ab_requests,
    announcements,
    events,
    health,
    jobs,
    pages,
    priors,
    uploads,
    webhooks,
)
from perfledger_service.web.allowed_hosts import AllowedHosts
from perfledger_service.web.api import devices, reads
from perfledger_service.web.api.description import complete_description
from perfledger_service.web.app_state import AppState
from perfledger_service.web.body_limit import BodySizeLimit
from perfledger_service.web.metrics import metrics
from perfledger_service.web.metrics.registry import metrics_registry
from perfledger_service.web.metrics.request_times import RequestTimes
from perfledger_service.web.project_pages import (
    audit,
    costs,
    events as event_pages,
    gate_badge,
    machines,
    reviews,
    steps,
)
from perfledger_service.web.repeated_task import RepeatedTask
from perfledger_service.web.responses.errors import add_error_responses
from perfledger_service.web.responses.headers import SecurityHeaders
from perfledger_service.web.responses.query_parameters import refuse_unknown_parameters
from perfledger_service.web.service_pages import admin, admin_audit, search
from perfledger_service.web.sign_in import account, routes
from perfledger_service.web.sign_in.access import access_by_route

# A release may change a file without renaming it: browsers keep the old one for up to an hour.
STATIC_SECONDS = SECONDS_PER_HOUR
# Between searches for work that is due, and for replicas that died.
SWEEP_S = 30.0
TAKE_OVER_S = 1.0  # how long the work of a dead replica waits
RETENTION_S = 600.0  # runs every ten minutes, but prunes at most once a day
PRICES_S = 600.0  # between searches for prices that are out of date
REVIEW_S = 600.0  # between searches for a quarter that has ended
# In matching order: the pages' `/{owner}/{name}` matches most paths, so it comes last.
ROUTED: Final = (
    *(uploads, priors, ab_requests, announcements, events, reads, devices, jobs),
    *(webhooks, health, metrics),
    *(routes, account, search, admin, admin_audit, audit, gate_badge, costs),
    *(reviews, machines, steps, pages, event_pages),
)


class CachedFiles(StaticFiles):
    """Static files that browsers cache for STATIC_SECONDS and then revalidate by ETag."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file with its cache lifetime."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = f"public, max-age={STATIC_SECONDS}"
        return response


def create_app(state: AppState) -> FastAPI:
    """Return the application, which runs the upload workflow while it serves.

    After shutdown, `app.state.is_finished` says whether all running work ended.
    """

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncGenerator[None]:
        tasks = await run_in_threadpool(_start, state)
        try:
            yield
        finally:
            app.state.is_finished = await run_in_threadpool(_stop, state, tasks)

    app = FastAPI(
        title="perfledger",
        version=version("perfledger"),
        lifespan=running,
        docs_url=None,  # its scripts would come from another host
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.service = state
    app.state.is_finished = True
    app.state.metrics = metrics_registry(state)
    app.mount("/static", CachedFiles(directory=static_folder()), name="static")
    app.routes.extend(service_routes())
    access_by_route(app)  # a route without an access rule is a bug and is not served
    app.add_middleware(BodySizeLimit)
    app.add_middleware(AllowedHosts, public_url=state.public_url)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestTimes, registry=app.state.metrics)
    add_error_responses(app)
    complete_description(app)
    return app


@cache
def service_routes() -> tuple[BaseRoute, ...]:
    """Return the routes, which depend on no state; FastAPI reads their signatures once."""
    router = APIRouter(dependencies=[Depends(refuse_unknown_parameters)])
    for module in ROUTED:
        router.include_router(module.router)
    return tuple(router.routes)


def _start(state: AppState) -> tuple[RepeatedTask, ...]:
    if state.replica is not None:
        state.replica.hold()  # before any work, which others could take for that of a dead replica
    state.workflow.launch()
    state.workflow.sweep(
        unfinished_work(state.engine),
        unfinished_deadlines(state.engine, now=state.now()),
        unfinished_command_work(state.engine, now=state.now()),
    )
    if state.reviews is not None:  # work that became due while the service was down
        _enqueue_review(state, state.reviews)
    tasks = _tasks(state)
    for task in tasks:
        task.start()
    return tasks


def _tasks(state: AppState) -> tuple[RepeatedTask, ...]:
    """Return the repeated tasks that the settings ask for."""
    tasks = [
        RepeatedTask("sweep", partial(_sweep, state), every_s=SWEEP_S),
        RepeatedTask("queue jobs", partial(_queue_jobs, state), every_s=SWEEP_S),
        RepeatedTask("events", partial(_search_events, state), every_s=SWEEP_S),
        RepeatedTask("notices", partial(_queue_notices, state), every_s=SWEEP_S),
    ]
    if state.has_price_notices:
        tasks.append(RepeatedTask("prices", partial(_queue_price_notices, state), every_s=PRICES_S))
    if state.reviews is not None:
        review = partial(_enqueue_review, state, state.reviews)
        tasks.append(RepeatedTask("review", review, every_s=REVIEW_S))
    if not state.retention.is_for_ever:
        tasks.append(RepeatedTask("retention", partial(_prune, state), every_s=RETENTION_S))
    if state.pull_requests is not None:
        check = partial(_check_heads, state, state.pull_requests)
        tasks.append(RepeatedTask("heads", check, every_s=POLL_INTERVAL.total_seconds()))
    if state.deliveries is not None:
        poll = partial(_redeliver, state, state.deliveries)
        tasks.append(RepeatedTask("missed webhooks", poll, every_s=SWEEP_S))
    if state.replica is not None:
        tasks.append(
            RepeatedTask(
                "take over", partial(_take_over, state, state.replica), every_s=TAKE_OVER_S
            )
        )
    return tuple(tasks)


def _stop(state: AppState, tasks: tuple[RepeatedTask, ...]) -> bool:
    """Stop everything; return whether all running work ended."""
    for task in tasks:
        task.stop()
    is_finished = state.workflow.close()
    if state.replica is not None:
        state.replica.release()
    return is_finished


def _queue_jobs(state: AppState) -> None:
    queue_due_jobs(state.engine, now=state.now())


def _sweep(state: AppState) -> None:
    now = state.now()
    follow_commands(state.engine, public_url=state.public_url, now=now)
    state.workflow.sweep(
        due_work(state.engine, now=now),
        silent_work(state.engine, now=now),
        unfinished_command_work(state.engine, now=now),
    )


def _prune(state: AppState) -> None:
    midnight = state.now().replace(hour=0, minute=0, second=0, microsecond=0)
    state.workflow.enqueue_retention(QueuedRetention(due_at=midnight))
    before = state.retention.cutoff(RetentionClass.WORKFLOWS, midnight)
    if before is not None:
        state.workflow.forget_ended(before)


def _check_heads(state: AppState, pull_requests: PullRequests) -> None:
    check_heads(state.engine, pull_requests, now=state.now())


def _redeliver(state: AppState, deliveries: WebhookDeliveries) -> None:
    redeliver_missed(state.engine, deliveries, now=state.now())


def _search_events(state: AppState) -> None:
    search_events(state.engine, now=state.now())


def _queue_notices(state: AppState) -> None:
    for notice in queue_notices(state.engine, now=state.now()):
        state.workflow.enqueue_notice(notice)


def _queue_price_notices(state: AppState) -> None:
    queue_price_notices(state.engine, now=state.now())


def _enqueue_review(state: AppState, schedule: ReviewSchedule) -> None:
    review = due_review(state.engine, schedule, now=state.now())
    if review is not None:
        state.workflow.enqueue_review(review)


def _take_over(state: AppState, replica: ReplicaLock) -> None:
    replica.hold()
    state.workflow.take_over(replica.of_dead)
