"""Runs the service with the operator's settings."""

import gc
import logging
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine

from perfledger_service.errors import SettingsError
from perfledger_service.github.actions_tokens import ActionsTokens
from perfledger_service.github.client import GitHub, open_github
from perfledger_service.notice_services.mail import MailSender, read_mail_server
from perfledger_service.notice_services.webhook import WebhookSender, read_webhooks
from perfledger_service.settings.network_addresses import is_loopback
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.store.replicas.lock import ReplicaLock
from perfledger_service.store.replicas.write_turns import WriteTurns
from perfledger_service.store.upgrade import open_current
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.comments.commands import carry_out, fail_command
from perfledger_service.usecases.notices.sending import (
    NoticeSenders,
    fail_notice,
    record_sent,
    send_notice,
)
from perfledger_service.usecases.people.role_questions import LimitedPermissions
from perfledger_service.usecases.people.sign_in import SignInOptions
from perfledger_service.usecases.review.schedule import (
    fail_review,
    make_review,
    review_schedule,
)
from perfledger_service.usecases.server.prune import prune
from perfledger_service.usecases.server.retention_periods import retention_policy
from perfledger_service.usecases.uploads.comment_and_check import post_report, repost_reports
from perfledger_service.usecases.uploads.machine_classes import head_of_work, work_at
from perfledger_service.usecases.uploads.merge_groups import later_checks
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.retry import defer_upload
from perfledger_service.usecases.uploads.uploads import fail_upload, judge_upload
from perfledger_service.values.jobs.queued_work import QueuedCheck, QueuedUpload
from perfledger_service.web.app import create_app
from perfledger_service.web.app_state import AppState, utc_now
from perfledger_service.web.logs import configure_logging
from perfledger_service.web.sign_in.configuration import proxy_networks, sign_in_options
from perfledger_service.workflow_database import workflow_database_url
from perfledger_service.workflows import UploadWorkflow, WorkflowSteps

# The number of new objects after which the youngest are searched for garbage, and the number of
# such rounds after which older ones are. With the defaults, all objects of a large bundle are
# searched dozens of times, which takes a third of the time needed to judge it.
GC_OBJECTS, GC_ROUNDS = 50_000, 3  # at most about 45 MB of garbage


def serve(settings: ServiceSettings, *, host: str, port: int) -> None:
    """Serve until the process is interrupted, and print the address; port 0 takes a free one.

    Raises SettingsError for a database that is unreachable or not up to date, for invalid
    credentials, for an address that cannot be listened on, and for one that others can reach unless
    people sign in or anybody may read.
    """
    configure_logging(sys.stderr)
    if not (settings.public_read or is_loopback(host) or sign_in_options(settings)):
        msg = (
            f"others can reach {host} and nobody signs in: set up signing in "
            "(docs/how-to/sign-in.md), or PERFLEDGER_PUBLIC_READ=true to let anybody read"
        )
        raise SettingsError(msg)
    with build_app(settings) as app, _listening(host, port) as listener:
        server = uvicorn.Server(server_config(app))
        bound_host, bound_port = listener.getsockname()[:2]
        print(f"perfledger listens on http://{bound_host}:{bound_port}", flush=True)  # noqa: T201 - for the operator
        collect_less_often()
        # uvicorn raises the interruption again after everything is closed: for a service this is
        # the normal end.
        with suppress(KeyboardInterrupt, SystemExit):
            server.run(sockets=[listener])
    if not app.state.is_finished:
        # A step that waits for GitHub would delay the exit by minutes: it resumes at the next
        # start.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def collect_less_often() -> None:
    """Exclude the objects of the start from garbage collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_OBJECTS, GC_ROUNDS, GC_ROUNDS)


def server_config(app: FastAPI) -> uvicorn.Config:
    """Return how the application is served; the client's address is that of the connection alone.

    uvicorn would trust any X-Forwarded-For from this machine.
    """
    return uvicorn.Config(app, log_config=None, access_log=False, proxy_headers=False)


@contextmanager
def build_app(settings: ServiceSettings) -> Generator[FastAPI]:
    """Open the application with all its parts, and close them at the end.

    Without GitHub credentials, uploads are judged and shown, but not posted.
    """
    sign_in = sign_in_options(settings)
    with open_current(settings.database_url) as engine:
        github = open_github(
            api_url=settings.github_api_url,
            token=settings.github_token,
            app_id=settings.github_app_id,
            private_key=settings.github_private_key,
            turns=WriteTurns(engine) if engine.dialect.name == "postgresql" else None,
        )
        try:
            yield create_app(_app_state(settings, engine, github, sign_in))
        finally:
            if github is not None:
                github.close()
            if sign_in is not None and sign_in.github is not None:
                sign_in.github.close()


def _app_state(
    settings: ServiceSettings, engine: Engine, github: GitHub | None, sign_in: SignInOptions | None
) -> AppState:
    public_url = settings.public_url.rstrip("/")
    reports = UploadReports(build_report, takes_commands=bool(github and settings.webhook_secret))

    def judge(upload_id: str) -> bool:
        return judge_upload(engine, upload_id, reports=reports, now=utc_now(), commits=github)

    def speak(upload_id: str) -> tuple[QueuedCheck, ...]:
        return post_report(
            engine,
            upload_id,
            pull_requests=github,
            reports=reports,
            public_url=public_url,
            now=utc_now(),
        )

    def post_head(head: CheckedHead) -> tuple[QueuedCheck, ...]:
        return repost_reports(
            engine,
            head,
            pull_requests=github,
            reports=reports,
            public_url=public_url,
            now=utc_now(),
        )

    def fail(upload_id: str, reason: str) -> QueuedCheck | None:
        head = fail_upload(engine, upload_id, reason)
        return None if head is None else work_at(head, utc_now())

    def defer(upload_id: str, reason: str, wait_s: float | None) -> QueuedUpload | None:
        return defer_upload(engine, upload_id, reason, wait_s, now=utc_now())

    def post_check(check: QueuedCheck) -> tuple[QueuedCheck, ...]:
        return post_head(head_of_work(engine, check))

    retention, reviews = retention_policy(settings), review_schedule(settings)
    replica = ReplicaLock(engine) if engine.dialect.name == "postgresql" else None
    steps = WorkflowSteps(
        judge=judge,
        post=speak,
        fail=fail,
        defer=defer,
        deadlines=lambda upload_id: later_checks(engine, upload_id, now=utc_now()),
        post_check=post_check,
        carry_out=partial(
            carry_out, engine, pull_requests=github, reports=reports, public_url=public_url
        ),
        fail_command=partial(fail_command, engine),
        send_notice=partial(
            send_notice,
            engine,
            senders=_notice_senders(settings, github),
            public_url=public_url,
        ),
        record_sent=partial(record_sent, engine),
        fail_notice=partial(fail_notice, engine),
        prune=partial(prune, engine, retention, clock=utc_now, pull_requests=github),
    )
    if reviews is not None:
        steps = replace(
            steps,
            review=partial(
                make_review, engine, reviews, database_url=settings.database_url, clock=utc_now
            ),
            fail_review=partial(fail_review, engine, reviews, clock=utc_now),
        )
    jobs = UploadWorkflow(
        workflow_database_url(settings.database_url),
        steps,
        executor_id=replica.executor_id if replica else None,
    )
    return AppState(
        engine=engine,
        workflow=jobs,
        reports=reports,
        public_url=public_url,
        webhook_secret=settings.webhook_secret,
        previous_webhook_secret=settings.previous_webhook_secret,
        actions=ActionsTokens(issuer=settings.actions_issuer, audience=public_url),
        pull_requests=github,
        deliveries=github.deliveries if github and settings.webhook_secret else None,
        installations=github.installations if github else None,
        replica=replica,
        metrics_token=settings.metrics_token,
        github_requests=github.requests if github else None,
        clock_offset=(lambda: github.clock_offset) if github else timedelta,
        proxy_addresses=proxy_networks(settings),
        sign_in=sign_in,
        permissions=LimitedPermissions(github) if github else None,
        has_price_notices=settings.notice_stale_prices,
        retention=retention,
        quota=settings.upload_quota(),
        reviews=reviews,
    )


def _notice_senders(settings: ServiceSettings, github: GitHub | None) -> NoticeSenders:
    """Return the senders of notices; raise SettingsError for invalid settings."""
    return NoticeSenders(
        webhooks=WebhookSender(
            read_webhooks(settings.notice_webhooks),
            allows_private=settings.notice_private_hosts,
        ),
        mail=MailSender(read_mail_server(settings.smtp_url, settings.smtp_sender)),
        issues=github.issues if github else None,
    )


@contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Explicitly TCP: asyncio sets TCP_NODELAY only on sockets created with this protocol.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen()  # from now on requests wait until the application is up
        except OSError as error:
            msg = f"cannot listen on {host}:{port}: {error.strerror}"
            raise SettingsError(msg) from None
        yield listener
