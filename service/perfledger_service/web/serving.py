"""The operator's settings in, the service with all its parts running out."""

import logging
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine

from perfledger_service.errors import SettingsError
from perfledger_service.github.client import GitHub, open_github
from perfledger_service.jobs import Jobs, Steps, jobs_url
from perfledger_service.settings import ServiceSettings
from perfledger_service.store.migrating import open_current
from perfledger_service.usecases.reporting import report_on
from perfledger_service.usecases.saying import say
from perfledger_service.usecases.uploads import fail_upload, judge_upload
from perfledger_service.web.app import create_app
from perfledger_service.web.hub import Hub, utc_now
from perfledger_service.web.logs import configure_logging


def serve(settings: ServiceSettings, *, host: str, port: int) -> None:
    """Serve until the process is interrupted; port 0 takes a free one, and the address is printed.

    Raises SettingsError for a database that is not reachable or not up to date, for credentials
    that are none, and for an address that cannot be listened on.
    """
    configure_logging(sys.stderr)
    with building(settings) as app, _listening(host, port) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        bound_host, bound_port = listener.getsockname()[:2]
        print(f"perfledger listens on http://{bound_host}:{bound_port}", flush=True)  # noqa: T201 - said to whoever started it
        # uvicorn raises an interruption again once all is closed: that is how a service ends.
        with suppress(KeyboardInterrupt, SystemExit):
            server.run(sockets=[listener])
    if not app.state.is_finished:
        # A job that waits for GitHub would hold the process for minutes: it goes on next time.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


@contextmanager
def building(settings: ServiceSettings) -> Generator[FastAPI]:
    """Open the application with all its parts as the settings say, and close them.

    Without credentials for GitHub uploads are judged and shown, and said nowhere.
    """
    github = open_github(
        api_url=settings.github_api_url,
        token=settings.github_token,
        app_id=settings.github_app_id,
        private_key=settings.github_private_key,
    )
    with open_current(settings.database_url) as engine:
        try:
            yield create_app(_hub(settings, engine, github))
        finally:
            if github is not None:
                github.close()


def _hub(settings: ServiceSettings, engine: Engine, github: GitHub | None) -> Hub:
    public_url = settings.public_url.rstrip("/")

    def judge(upload_id: str) -> bool:
        return judge_upload(engine, upload_id, reporter=report_on, now=utc_now())

    def speak(upload_id: str) -> None:
        say(
            engine,
            upload_id,
            pull_requests=github,
            reporter=report_on,
            public_url=public_url,
            now=utc_now(),
        )

    def fail(upload_id: str, reason: str) -> None:
        fail_upload(engine, upload_id, reason)

    jobs = Jobs(jobs_url(settings.database_url), Steps(judge=judge, say=speak, fail=fail))
    return Hub(
        engine=engine,
        jobs=jobs,
        reporter=report_on,
        public_url=public_url,
        webhook_secret=settings.webhook_secret,
    )


@contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: asyncio sends small answers at once (TCP_NODELAY) only on sockets that say so.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen()  # from now on a request waits, and is answered once all is up
        except OSError as error:
            msg = f"cannot listen on {host}:{port}: {error.strerror}"
            raise SettingsError(msg) from None
        yield listener
