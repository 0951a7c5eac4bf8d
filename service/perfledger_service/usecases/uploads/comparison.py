"""Compares the commits measured by two uploads of a project."""

from collections.abc import Sequence
from itertools import product

from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.page_queries import with_verdicts
from perfledger_service.store.pages.compared_checks import (
    paired_uploads,
    upload_named,
    uploads_of_commit,
)
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.compare import compare_bundles
from perfledger_service.usecases.trace.compared_steps import compared_steps, head_profiles
from perfledger_service.usecases.uploads.reports import UploadReports, bundle_of
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.comparison_view import ComparedUpload, UploadComparison
from perfledger_service.values.upload_views import UploadView


def compare_uploads(session: Session, repository: str, *, base: str, head: str) -> UploadComparison:
    """Compare two checks of a project, each named by its id or by the start of its head commit.

    For commits with several checks, the newest two on one machine class are compared; without a
    common class, the newest of each. Raises NotFoundError for an unknown name, and UsageError if
    both are the same check or cannot be compared.
    """
    project = project_named(session, repository)
    sides = [
        _checks_named(session, project.id, base),
        _checks_named(session, project.id, head),
    ]
    before, after = _newest_on_one_class(*sides)
    if before.id == after.id:
        msg = f"{base} and {head} are the same check: choose another commit or check for one side"
        raise UsageError(msg)
    old, new = (bundle_of(session, upload_by_id(session, one.id)) for one in (before, after))
    view = compare_bundles(old, new, names=(before.head_sha, after.head_sha))
    paired = paired_uploads(session, project.id, base_sha=before.head_sha, head_sha=after.head_sha)
    return UploadComparison(
        repository=project.repository,
        base=_side(session, project.id, before, old),
        head=_side(session, project.id, after, new),
        view=view,
        steps=compared_steps(old, new, view.verdicts),
        paired=tuple(with_verdicts(session, one) for one in paired),
    )


def compared_profiles(
    session: Session,
    repository: str,
    workload: str,
    *,
    base: str,
    head: str,
    reports: UploadReports,
) -> dict[Side, Profile]:
    """Return the profiles of a workload in two checks, by side of the comparison.

    `reports` keeps the bundles for the next part of the steps. Raises NotFoundError for an unknown
    check, and if neither has a profile.
    """
    project = project_named(session, repository)
    profiles: dict[Side, Profile] = {}
    for side, name in ((Side.BASE, base), (Side.HEAD, head)):
        upload = upload_by_id(session, upload_named(session, project.id, name).id)
        mine = head_profiles(reports.bundle(session, upload), side)
        if workload in mine:
            profiles[side] = mine[workload]
    if not profiles:
        msg = f"neither check has a profile of {workload[:200]!r}"
        raise NotFoundError(msg)
    return profiles


def _checks_named(session: Session, project_id: int, name: str) -> Sequence[UploadView]:
    """Return the check with an id, or those of a commit, newest first."""
    upload = upload_named(session, project_id, name)
    if upload.id == name:
        return (upload,)
    return uploads_of_commit(session, project_id, upload.head_sha)


def _newest_on_one_class(
    before: Sequence[UploadView], after: Sequence[UploadView]
) -> tuple[UploadView, UploadView]:
    """Return the newest checks on a common machine class, else the newest of each."""
    common = (
        (one, other)
        for other, one in product(after, before)
        if one.machine_class == other.machine_class and one.id != other.id
    )
    return next(common, (before[0], after[0]))


def _side(session: Session, project_id: int, upload: UploadView, bundle: Bundle) -> ComparedUpload:
    newest: dict[str, str] = {}
    for one in uploads_of_commit(session, project_id, upload.head_sha):
        newest.setdefault(one.machine_class, one.id)
    newest.pop(upload.machine_class, None)
    return ComparedUpload(
        upload_id=upload.id,
        sha=upload.head_sha,
        subject=upload.head_subject,
        machine_class=upload.machine_class,
        pull_request=upload.pull_request,
        measured_at=upload.created_at,
        machine=bundle.machine,
        options=CheckOptions.of_bundle(bundle),
        other_checks=tuple(newest.items()),
    )
