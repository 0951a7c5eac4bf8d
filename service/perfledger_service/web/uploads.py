"""Serves `/api/v1/uploads`, which takes bundles and reports their status."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, StringConstraints

from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_service.errors import NotFoundError
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.rendering.layout.escape import path
from perfledger_service.store.database import read_session
from perfledger_service.store.projects import Project
from perfledger_service.store.uploads import StoredUpload, upload_by_id
from perfledger_service.usecases.uploads.canaries import StoredCanaries
from perfledger_service.usecases.uploads.uploads import is_waiting, receive_bundle, work_on
from perfledger_service.values.report import Conclusion
from perfledger_service.values.upload_views import UploadStatus
from perfledger_service.web.app_state import (
    AppState,
    CurrentAppState,
    CurrentReader,
    CurrentUploader,
)
from perfledger_service.web.body_limit import check_declared_size
from perfledger_service.web.responses.problems import Problem

router = APIRouter(prefix="/api/v1/uploads", tags=["uploads"])
UPLOAD_ID = r"^[0-9a-f]{32}$"
# A device, the name of its model and a count, or a pattern of them. Printable, because GitHub shows
# it; a model may have any letters.
MAX_MACHINE_CLASS = MAX_WORD + 32
MachineClass = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_MACHINE_CLASS, pattern=r"^[^\x00-\x1f\x7f]+$"),
]


class UploadResponse(BaseModel):
    """An upload and its status; `url` is its page."""

    id: str
    repository: str
    pull_request: int | None
    base_sha: str
    head_sha: str
    bundle_sha256: str
    status: UploadStatus
    reason: str
    conclusion: str
    headline: str
    created_at: datetime
    url: str


PROBLEMS: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "the body is not a bundle that this version can read"},
    401: {"model": Problem, "description": "no valid token of a project or of a run"},
    403: {"model": Problem, "description": "the token is not valid for this"},
    409: {
        "model": Problem,
        "description": "the run's token was already used for another bundle, or too many devices",
    },
    413: {"model": Problem, "description": "more bytes than the limit"},
    429: {"model": Problem, "description": "more uploads within an hour than the limit"},
    502: {"model": Problem, "description": "GitHub's keys cannot be read: try again"},
}
# For every request that needs a token.
CALLER_PROBLEMS: dict[int | str, dict[str, object]] = {
    status: PROBLEMS[status] for status in (401, 403, 502)
}
BUNDLE_BODY = {
    "requestBody": {
        "required": True,
        "description": "the bundle's JSON (docs/reference/bundle.md), plain or gzipped",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/gzip": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


async def body_of(request: Request, caller: CurrentUploader) -> bytes:  # noqa: ARG001 - before the body
    """Return the request's body, which is read only after the token is checked."""
    check_declared_size(request.headers.get("content-length"))
    return await request.body()


@router.post("", status_code=202, responses=PROBLEMS, openapi_extra=BUNDLE_BODY)
def upload_bundle(
    state: CurrentAppState, caller: CurrentUploader, body: Annotated[bytes, Depends(body_of)]
) -> UploadResponse:
    """Store a result bundle of the token's repository, to be judged and posted.

    Canaries are instead compared with earlier ones of the same device and with those of its
    siblings.

    The same bundle again returns the same upload; a failed upload is retried. The answer comes once
    the bundle is stored durably; poll `GET /api/v1/uploads/{id}` until the status is no longer
    "received".
    """
    return store_bundle(state, body, caller.project, run=caller.run)


@router.get(
    "/{upload_id}",
    responses={
        **CALLER_PROBLEMS,
        404: {"model": Problem, "description": "no such upload in the token's project"},
    },
)
def get_upload(
    state: CurrentAppState,
    caller: CurrentReader,
    upload_id: Annotated[str, Path(pattern=UPLOAD_ID)],
) -> UploadResponse:
    """Return an upload of the token's project with its status."""
    with read_session(state.engine) as session:
        upload = upload_by_id(session, upload_id)
    if upload.project_id != caller.project.id:
        msg = f"no upload {upload_id!r}"
        raise NotFoundError(msg)
    return upload_response(state, upload)


def store_bundle(
    state: AppState,
    body: bytes,
    project: Project,
    *,
    run: ActionsRun | None = None,
    job_id: str | None = None,
) -> UploadResponse:
    """Store a bundle, have it judged unless it contains canaries, and return the answer."""
    stored = receive_bundle(
        state.engine,
        body,
        project=project,
        upload_id=uuid4().hex,
        now=state.now(),
        clock_offset=state.clock_offset(),
        run=run,
        job_id=job_id,
        reports=state.reports,
        quota=state.quota,
    )
    if isinstance(stored, StoredCanaries):
        return _canaries_response(state, stored)
    if is_waiting(stored):
        state.workflow.enqueue(work_on(stored))
    return upload_response(state, stored)


def _canaries_response(state: AppState, stored: StoredCanaries) -> UploadResponse:
    """Return the API's answer for canaries: final at once, with the page of machines."""
    return UploadResponse(
        id=stored.id,
        repository=stored.repository,
        pull_request=None,
        base_sha=stored.sha,
        head_sha=stored.sha,
        bundle_sha256=stored.bundle_sha256,
        status=UploadStatus.JUDGED,
        reason="",
        conclusion=Conclusion.NEUTRAL,
        headline=stored.headline,
        created_at=stored.run.stored_at,
        url=f"{state.public_url}/{path(stored.repository)}/machines",
    )


def upload_response(state: AppState, upload: StoredUpload) -> UploadResponse:
    """Return the API's answer for an upload."""
    url = f"{state.public_url}/runs/{upload.id}"
    return UploadResponse.model_validate(asdict(upload) | {"url": url})
