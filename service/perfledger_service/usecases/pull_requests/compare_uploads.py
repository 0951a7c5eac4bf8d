"""Compares the commits that two uploads of a project measured."""

from sqlmodel import Session

from perfledger_service.errors import UsageError
from perfledger_service.store.page_queries import upload_named
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.compare import compare_bundles
from perfledger_service.usecases.pull_requests.upload_reports import bundle_of
from perfledger_service.values.comparison_view import ComparedUpload, UploadComparison
from perfledger_service.values.upload_views import UploadView


def compare_uploads(session: Session, repository: str, *, base: str, head: str) -> UploadComparison:
    """Compare two checks of a project, each named by its id or by the start of its head commit.

    A commit with several checks is that of the newest. Raises NotFoundError for an unknown name,
    and UsageError where both are one check or cannot be compared.
    """
    project = project_named(session, repository)
    before, after = (upload_named(session, project.id, name) for name in (base, head))
    if before.id == after.id:
        msg = f"{base} and {head} are the same check: choose another commit or check for one side"
        raise UsageError(msg)
    bundles = [bundle_of(session, upload_by_id(session, one.id)) for one in (before, after)]
    return UploadComparison(
        repository=project.repository,
        base=_side(before),
        head=_side(after),
        view=compare_bundles(*bundles, names=(before.head_sha, after.head_sha)),
    )


def _side(upload: UploadView) -> ComparedUpload:
    return ComparedUpload(
        upload_id=upload.id,
        sha=upload.head_sha,
        subject=upload.head_subject,
        device_class=upload.device_class,
        pull_request=upload.pull_request,
        measured_at=upload.created_at,
    )
