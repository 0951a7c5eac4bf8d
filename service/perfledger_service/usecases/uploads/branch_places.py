"""Gives the commits that bundles claim their places on the default branch.

A claim is accepted if GitHub confirms it or, if the project trusts its runners, the runner's git. A
commit without a place is unattested: its measurements are shown and judged in their own pairs, and
enter no baseline.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.records import Revision
from perfledger_service.errors import GitHubError
from perfledger_service.github.branch_commits import BranchCommits
from perfledger_service.store.branch_commits import branch_places, put_line, put_places
from perfledger_service.store.database import read_session
from perfledger_service.store.default_branch import unplaced_commits
from perfledger_service.store.heads.merge_groups import unmerged_heads
from perfledger_service.store.projects import project_by_id
from perfledger_service.store.uploads import StoredUpload
from perfledger_service.usecases.inputs.history_sources import is_of_branch
from perfledger_service.usecases.uploads.branch_line import BranchLine, read_branch_lines
from perfledger_service.values.upload_views import UploadSender

# Earlier claims that each check retries; `perfledger server reorder` retries all. An import retries
# none: each of its thousands of bundles would ask GitHub for all commits that are on no branch.
_MAX_RETRIED = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlaces:
    """New information on the branch: lines from GitHub, or places from a trusted runner.

    `claimed` are the commits that the bundle claims, and may claim, to be on it.
    """

    claimed: tuple[Revision, ...] = ()
    lines: tuple[BranchLine, ...] = ()
    known_until: str = ""  # the newest commit known before
    places: Mapping[str, int] | None = None


def claimed_revisions(bundle: Bundle) -> tuple[Revision, ...]:
    """Return the commits that a bundle claims are on the default branch, older first."""
    return (bundle.base, bundle.head) if is_of_branch(bundle) else (bundle.base,)


def find_places(
    engine: Engine, upload: StoredUpload, bundle: Bundle, *, commits: BranchCommits | None
) -> BranchPlaces:
    """Return the places of the commits that a bundle claims, as far as a trusted source has them.

    If GitHub cannot be asked, a run that it identified as the branch's counts like a trusted
    runner. A run of anything else claims nothing. A merge group's head is on the branch only if
    GitHub says so: that it was merged, that the branch has it, or that a run of the branch was of
    it. An unanswered question leaves other claims unattested, until a later upload asks again.
    """
    every = claimed_revisions(bundle)
    with read_session(engine) as session:
        queued = unmerged_heads(session, upload.project_id, [one.sha for one in every])
        project = project_by_id(session, upload.project_id)
        known_commits = tuple(branch_places(session, upload.project_id))
        most_retried = 0 if bundle.is_imported else _MAX_RETRIED
        retried = unplaced_commits(session, upload.project_id)[:most_retried]
    claimed = tuple(one for one in every if one.sha not in queued)
    unasked = BranchPlaces(claimed=claimed)
    if upload.sender is UploadSender.OTHER_RUN:
        return BranchPlaces()
    if upload.sender is UploadSender.BRANCH_RUN:
        unasked = BranchPlaces(claimed=every, places=claimed_places(every))
    if project.trust_runners:
        return replace(unasked, places=claimed_places(unasked.claimed))
    if commits is None:
        return unasked
    claims = dict.fromkeys((*(one.sha for one in every), *retried))
    try:
        lines = read_branch_lines(
            commits, project.repository, known_commits=known_commits, claimed_commits=claims
        )
    except GitHubError as error:
        _log.warning("the branch of %s is not read: %s", project.repository, error)
        return unasked
    placed = {*known_commits, *(sha for line in lines for sha in line.commits)}
    return BranchPlaces(
        claimed=tuple(one for one in every if one.sha not in queued or one.sha in placed),
        lines=lines,
        known_until=known_commits[-1] if known_commits else "",
    )


def claimed_places(revisions: tuple[Revision, ...]) -> dict[str, int]:
    """Return the places of commits by the runner's git; a shallow clone has none."""
    return {one.sha: one.depth for one in revisions if one.depth is not None}


def store_places(session: Session, project_id: int, branch: BranchPlaces) -> None:
    """Store the new information on the branch; the caller holds the project's lock."""
    for line in branch.lines:
        known_until = branch.known_until if line.is_newest else None
        put_line(session, project_id, line.commits, known_until=known_until)
    if branch.places:
        put_places(session, project_id, branch.places)
