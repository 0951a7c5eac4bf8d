"""Re-reads the order of a project's default branch, and places every measured commit on it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_baselines.history.commits.confirmation_state import ConfirmationState
from perfledger_service.errors import RemovedError, UsageError
from perfledger_service.github.branch_commits import BranchCommits
from perfledger_service.store.branch_commits import (
    branch_places,
    clear_branch,
    put_line,
    put_places,
)
from perfledger_service.store.confirmation_state import save_confirmation_state
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import (
    claimed_commits,
    commits_of_branch,
    unplaced_commits,
)
from perfledger_service.store.events.events import mark_search_due
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project, lock_project, project_named, set_trust
from perfledger_service.store.uploads import uploads_of_project
from perfledger_service.usecases.server.project import NO_TRUST, TRUST
from perfledger_service.usecases.uploads.branch_line import read_branch_lines
from perfledger_service.usecases.uploads.branch_places import (
    BranchPlaces,
    claimed_places,
    claimed_revisions,
)
from perfledger_service.usecases.uploads.reports import bundle_of
from perfledger_service.values.branch_views import BranchOrder
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.upload_views import UploadSender


def reorder(
    engine: Engine,
    repository: str,
    *,
    commits: BranchCommits | None,
    line: Sequence[str] = (),
    trust_runners: bool | None = None,
    actor: Actor | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> BranchOrder:
    """Place again all commits that a project's bundles claim, and search again for suspects.

    The order is that of `line`, a clone's commits from the oldest on; else that of the runners'
    git, if the project trusts them; else GitHub's. `trust_runners` changes that trust, and records
    `actor`. Raises UsageError if there is no such source, NotFoundError and GitHubError.
    """
    with read_session(engine) as session:
        project = project_named(session, repository)
        is_trust_new = trust_runners not in {None, project.trust_runners}
        if trust_runners is not None:
            project = replace(project, trust_runners=trust_runners)
        source, branch = _read_order(session, project, commits=commits, line=line)
    with write_session(engine) as session:
        lock_project(session, project.id)
        earlier = commits_of_branch(session, project.id)
        set_trust(session, project, trust_runners=project.trust_runners)
        if is_trust_new and actor is not None:
            add_audit_entry(
                session,
                AuditAction.CHANGE_PROJECT,
                actor,
                project_id=project.id,
                detail=TRUST if project.trust_runners else NO_TRUST,
                now=now(),
            )
        clear_branch(session, project.id)
        put_places(session, project.id, branch.places or {})
        for each in branch.lines:
            put_line(session, project.id, each.commits)
        ordered = commits_of_branch(session, project.id)
        if ordered != earlier:
            save_confirmation_state(session, project.id, ConfirmationState())
        mark_search_due(session, project.id)
        unattested = unplaced_commits(session, project.id)
        session.commit()
    return BranchOrder(
        repository=project.repository,
        source=source,
        commits=ordered,
        moved_commits=_count_moved(earlier, ordered),
        unattested=unattested,
    )


def _read_order(
    session: Session, project: Project, *, commits: BranchCommits | None, line: Sequence[str]
) -> tuple[str, BranchPlaces]:
    """Return the source of the order, and the places."""
    if line:
        return "the clone", BranchPlaces(places={sha: index for index, sha in enumerate(line)})
    if project.trust_runners:
        return "the runners", BranchPlaces(places=_places_by_runners(session, project))
    if commits is not None:
        claims = claimed_commits(session, project.id)
        lines = read_branch_lines(
            commits, project.repository, known_commits=(), claimed_commits=claims
        )
        return "GitHub", BranchPlaces(lines=lines)
    msg = (
        f"the order of {project.repository}'s commits is unknown: set GitHub's credentials, name a "
        "clone with --clone, or trust the runners with --trust runners"
    )
    raise UsageError(msg)


def _places_by_runners(session: Session, project: Project) -> dict[str, int]:
    """Return the places that bundles claim; places from bundles that retention removed are kept.

    Raises UsageError if those were counted differently, so that the two cannot be put in one order.
    """
    stored = branch_places(session, project.id)
    claimed: dict[str, int] = {}
    stays: dict[str, int] = {}
    for upload in uploads_of_project(session, project.id):
        if upload.sender is UploadSender.OTHER_RUN:
            continue
        try:
            claimed |= claimed_places(claimed_revisions(bundle_of(session, upload)))
        except RemovedError:
            commits = (upload.base_sha, upload.head_sha)
            stays |= {sha: stored[sha] for sha in commits if sha in stored}
    if stays and any(stored.get(sha, place) != place for sha, place in claimed.items()):
        msg = (
            f"the order that runners reported for {project.repository} was removed with old "
            "bundles: name a clone with --clone"
        )
        raise UsageError(msg)
    return stays | claimed


def _count_moved(earlier: Sequence[str], ordered: Sequence[str]) -> int:
    """Return how many commits now follow a different commit than before."""
    before = dict(zip(earlier, ("", *earlier), strict=False))
    after = dict(zip(ordered, ("", *ordered), strict=False))
    return sum(before.get(sha) != parent for sha, parent in after.items())
