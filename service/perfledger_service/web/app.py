"""A hub in, the web application out."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from perfledger_service.pages.html import static_folder
from perfledger_service.usecases.uploads import unfinished_work
from perfledger_service.web import health, pages, priors, suspects, uploads, webhooks
from perfledger_service.web.answers import add_error_answers
from perfledger_service.web.headers import SecurityHeaders
from perfledger_service.web.hub import Hub
from perfledger_service.web.limits import RequestLimit

# A release may change a file under its name: an hour is how long a browser may keep the old one.
STATIC_SECONDS = 3600


class CachedFiles(StaticFiles):
    """Static files that browsers keep for a while, and ask for by ETag after that."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file with how long it may be kept."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = f"public, max-age={STATIC_SECONDS}"
        return response


def create_app(hub: Hub) -> FastAPI:
    """Return the application; while it runs, so do the hub's jobs.

    `app.state.is_finished` tells afterwards whether all work that was under way came to its end.
    """

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncGenerator[None]:
        await run_in_threadpool(_start, hub)
        try:
            yield
        finally:
            app.state.is_finished = await run_in_threadpool(hub.jobs.close)

    app = FastAPI(
        title="perfledger",
        version=version("perfledger"),
        lifespan=running,
        docs_url=None,  # its scripts would come from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.hub = hub
    app.state.is_finished = True
    app.include_router(uploads.router)
    app.include_router(priors.router)
    app.include_router(suspects.router)
    app.include_router(webhooks.router)
    app.include_router(health.router)
    app.mount("/static", CachedFiles(directory=static_folder()), name="static")
    app.include_router(pages.router)
    app.add_middleware(RequestLimit)
    app.add_middleware(SecurityHeaders)
    add_error_answers(app)
    return app


def _start(hub: Hub) -> None:
    hub.jobs.launch()
    hub.jobs.sweep(unfinished_work(hub.engine))
