"""Answers errors with a status and one sentence, never with a traceback."""

import re
from collections.abc import Mapping

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from perfledger_service.errors import INTERNAL, PerfledgerError
from perfledger_service.rendering.server.pages.error import error_page
from perfledger_service.store.database import is_outage
from perfledger_service.usecases.server.project import RESERVED_OWNERS
from perfledger_service.web.responses.headers import HEADERS
from perfledger_service.web.responses.problems import PROBLEM_MEDIA_TYPE, problem_of

# A database restarts in about ten seconds; `perfledger upload` tries seven times.
OUTAGE_RETRY_S = 10
OUTAGE = (
    "the database does not answer, or its disk is full: try again in a few seconds. A repeated "
    "upload is stored once. The service's log shows the cause"
)
NO_PAGE = "there is nothing at this address"
# Of invalid queries: a request may contain thousands.
MAX_REASON = 500
# Pages below a project, whose name is an owner and a repository.
_PROJECT_PATH = re.compile(r"/(([\w.-]+)/[\w.-]+)/.")

_log = structlog.stdlib.get_logger(__name__)


def add_error_responses(app: FastAPI) -> None:
    """Answer our errors with their status, and all others with 500 and without details."""
    app.add_exception_handler(PerfledgerError, _ours)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ClientDisconnect, _answer_disconnected)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_exception_handler(Exception, _bug)


def error_response(
    request: Request,
    status: int,
    reason: str,
    *,
    problem: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem document from the API, a page to browsers and plain text to all others.

    `problem` is our error's name, used in its type.
    """
    all_headers = {**HEADERS, **(headers or {})}  # the answer to a bug passes no middleware
    if status == 401:  # noqa: PLR2004 - HTTP requires the authentication scheme
        all_headers["WWW-Authenticate"] = "Bearer"
    if status == 413:  # noqa: PLR2004 - the rest of the body is not read
        all_headers["Connection"] = "close"
    path = request.url.path
    if path.startswith("/api/"):
        document = problem_of(status, reason, name=problem, path=path)
        return JSONResponse(document.model_dump(), status, all_headers, PROBLEM_MEDIA_TYPE)
    if _is_browser(request):
        page = error_page(
            status,
            reason,
            repository=_repository_of(path),
            is_sign_in=path.startswith("/sign-in"),
        )
        return HTMLResponse(page, status, all_headers)
    return PlainTextResponse(f"{status}: {reason}\n", status, all_headers)


def _is_browser(request: Request) -> bool:
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def _repository_of(path: str) -> str:
    """Return the project of a page's path, "" for a path that belongs to no project."""
    match = _PROJECT_PATH.match(path)
    return match[1] if match and match[2] not in RESERVED_OWNERS else ""


def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, PerfledgerError)  # noqa: S101 - what it is registered for
    if error.status >= 500:  # noqa: PLR2004 - ours or GitHub's fault, so it is worth a line
        _log.error("request failed", path=request.url.path, reason=str(error))
    return error_response(request, error.status, str(error), problem=error.problem)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    is_unknown = error.status_code == 404  # noqa: PLR2004 - the router repeats the status in words
    reason = NO_PAGE if is_unknown else error.detail
    return error_response(request, error.status_code, reason, headers=error.headers)


def _invalid(request: Request, error: Exception) -> Response:
    """Answer an invalid path like an unknown one, and list whatever else is invalid."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    problems = [
        ".".join(map(str, problem["loc"][1:])) + f": {problem['msg']}"
        for problem in error.errors()
        if problem["loc"][0] != "path"
    ]
    if not problems:
        return error_response(request, 404, NO_PAGE)
    reason = f"the request is invalid: {'; '.join(problems)}"
    return error_response(request, 422, reason[:MAX_REASON])


def _answer_disconnected(request: Request, error: Exception) -> Response:  # noqa: ARG001 - the handlers' signature
    """Answer a client that disconnected, so that the disconnect is not logged as a bug."""
    return error_response(request, 400, "the request ended before its body did")


def _database(request: Request, error: Exception) -> Response:
    """Ask for a retry during an outage; re-raise a bug, which `_bug` answers."""
    if not is_outage(error):
        raise error
    cause = getattr(error, "orig", None) or error  # without the statement and its values
    _log.error(
        "the database does not answer",
        path=request.url.path,
        kind=type(cause).__name__,
        reason=" ".join(str(cause).split())[:MAX_REASON],
    )
    return error_response(request, 503, OUTAGE, headers={"Retry-After": str(OUTAGE_RETRY_S)})


def _bug(request: Request, error: Exception) -> Response:
    _log.error("a bug", path=request.url.path, exc_info=error)
    return error_response(request, 500, INTERNAL)
