"""`/api/v1/uploads`: bundles in, what became of them out."""

from datetime import datetime
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import reading
from perfledger_service.store.uploads import StoredUpload, upload_by_id
from perfledger_service.usecases.uploads import is_waiting, receive_bundle, work_on
from perfledger_service.views import UploadStatus
from perfledger_service.web.hub import AnyHub, AnyProject, Hub
from perfledger_service.web.limits import check_declared_size

router = APIRouter(prefix="/api/v1/uploads", tags=["uploads"])
UPLOAD_ID = r"^[0-9a-f]{32}$"


class UploadAnswer(BaseModel):
    """An upload and what became of it; `url` is its page."""

    model_config = ConfigDict(frozen=True)

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


class Problem(BaseModel):
    """Why a request was not done."""

    error: str


PROBLEMS: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "the body is no bundle that this version reads"},
    401: {"model": Problem, "description": "no valid project token"},
    403: {"model": Problem, "description": "the bundle is another repository's"},
    413: {"model": Problem, "description": "more bytes than are read"},
}
BUNDLE_BODY = {
    "requestBody": {
        "required": True,
        "description": "the bundle's JSON (runners/README.md), plain or gzipped",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/gzip": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


async def body_of(request: Request, project: AnyProject) -> bytes:  # noqa: ARG001 - before the body
    """Return the request's body, which is read only for those with a token."""
    check_declared_size(request.headers.get("content-length"))
    return await request.body()


@router.post("", status_code=202, responses=PROBLEMS, openapi_extra=BUNDLE_BODY)
def upload_bundle(
    hub: AnyHub, project: AnyProject, body: Annotated[bytes, Depends(body_of)]
) -> UploadAnswer:
    """Take in a result bundle of the token's repository, to be judged and said.

    The same bundle again is answered with the same upload; one that failed is worked on again. The
    answer comes once the bundle is
    stored for good; follow `GET /api/v1/uploads/{id}` until the status is no longer "received".
    """
    upload = receive_bundle(hub.engine, body, project=project, upload_id=uuid4().hex, now=hub.now())
    if is_waiting(upload):
        hub.jobs.enqueue(work_on(upload))
    return _answer(hub, upload)


@router.get(
    "/{upload_id}",
    responses={
        401: PROBLEMS[401],
        404: {"model": Problem, "description": "no such upload in the token's project"},
    },
)
def get_upload(
    hub: AnyHub, project: AnyProject, upload_id: Annotated[str, Path(pattern=UPLOAD_ID)]
) -> UploadAnswer:
    """Return an upload of the token's project and what became of it."""
    with reading(hub.engine) as session:
        upload = upload_by_id(session, upload_id)
    if upload.project_id != project.id:
        msg = f"no upload {upload_id!r}"
        raise NotFoundError(msg)
    return _answer(hub, upload)


def _answer(hub: Hub, upload: StoredUpload) -> UploadAnswer:
    return UploadAnswer(
        id=upload.id,
        repository=upload.repository,
        pull_request=upload.pull_request,
        base_sha=upload.base_sha,
        head_sha=upload.head_sha,
        bundle_sha256=upload.bundle_sha256,
        status=upload.status,
        reason=upload.reason,
        conclusion=upload.conclusion,
        headline=upload.headline,
        created_at=upload.created_at,
        url=f"{hub.public_url}/runs/{upload.id}",
    )
