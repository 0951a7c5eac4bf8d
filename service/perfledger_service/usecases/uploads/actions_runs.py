"""Decides what a run of GitHub Actions may upload, and which of its claims are trusted."""

import re
from dataclasses import replace

from sqlalchemy import Engine

from perfledger.bundle import Bundle
from perfledger_service.errors import GitHubError, RefusedError
from perfledger_service.github.account_permissions import AccountPermissions
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.store.database import read_session
from perfledger_service.store.former_names import is_former_name
from perfledger_service.store.projects import Project, project_of_actions
from perfledger_service.usecases.server.project import give_name
from perfledger_service.values.upload_views import UploadSender

# Runs of the branch itself. A manual run has the branch's code, but inputs from the person who
# starts it.
BRANCH_EVENTS = frozenset({"push", "schedule"})
OTHER_EVENTS = frozenset({"workflow_dispatch", "merge_group"})
PULL_REQUEST_EVENT = "pull_request"
_PULL_REQUEST_REF = re.compile(r"refs/pull/([1-9][0-9]{0,9})/merge")


def project_of_run(
    engine: Engine, run: ActionsRun, permissions: AccountPermissions | None = None
) -> Project:
    """Return the project of a run, renamed to the repository's current name.

    A run that began before its repository was renamed has the former name. The project gets that
    back only if GitHub says that the repository has it again; without `permissions` nobody is
    asked.

    Raises RefusedError if the repository may not upload, and ConflictError if another project has
    its name.
    """
    with read_session(engine) as session:
        project = project_of_actions(
            session, repository_id=run.repository_id, owner_id=run.repository_owner_id
        )
        is_former = project is not None and is_former_name(session, project.id, run.repository)
    if project is None:
        msg = (
            f"runs of repository {run.repository_id} of owner {run.repository_owner_id} may not "
            "upload: perfledger server project actions lets them"
        )
        raise RefusedError(msg)
    if project.repository.lower() == run.repository.lower():
        return project
    if is_former and not _has_name(run, permissions):
        return project
    give_name(engine, project, run.repository)
    return replace(project, repository=run.repository)


def _has_name(run: ActionsRun, permissions: AccountPermissions | None) -> bool:
    """Return whether GitHub says that a run's repository has the name that the run gives it."""
    if permissions is None:
        return False
    try:
        return permissions.repository_id(run.repository) == run.repository_id
    except GitHubError:  # such as the redirect from a former name; the next run asks again
        return False


def check_subject(run: ActionsRun, pull_request: int | None) -> None:
    """Raise RefusedError unless a run may report on a pull request, or on none.

    Events that could run a stranger's code as the branch's (`pull_request_target`) may not report
    anything.
    """
    if run.event_name not in BRANCH_EVENTS | OTHER_EVENTS | {PULL_REQUEST_EVENT}:
        events = ", ".join(sorted({PULL_REQUEST_EVENT, *BRANCH_EVENTS, *OTHER_EVENTS}))
        msg = f"runs by {run.event_name[:80]!r} may not upload, only those by {events}"
        raise RefusedError(msg)
    match = _PULL_REQUEST_REF.fullmatch(run.ref)
    is_of_change = run.event_name == PULL_REQUEST_EVENT
    number = int(match[1]) if match and is_of_change else None
    if number != pull_request or is_of_change != (number is not None):
        subject = "no pull request" if pull_request is None else f"pull request #{pull_request}"
        msg = f"the run is by {run.event_name} of {run.ref[:80]!r}, but this is of {subject}"
        raise RefusedError(msg)


def sender_of(run: ActionsRun, project: Project, bundle: Bundle) -> UploadSender:
    """Return the authority behind a run's bundle; raise RefusedError for another pull request's.

    Also refuses an import of other commits than its own, which would be stored and never trusted.
    """
    check_subject(run, bundle.pull_request)
    is_attested = (
        run.event_name in BRANCH_EVENTS
        and bool(project.actions_branch)
        and run.ref == f"refs/heads/{project.actions_branch}"
        and run.sha == bundle.head.sha
    )
    if is_attested:
        return UploadSender.BRANCH_RUN
    is_trusted = project.trust_runners and run.event_name != PULL_REQUEST_EVENT
    if bundle.is_imported and not is_trusted:
        msg = (
            "a GitHub Actions run cannot vouch for other commits: import with a token of the "
            "project"
        )
        raise RefusedError(msg)
    return UploadSender.RUNNER if is_trusted else UploadSender.OTHER_RUN
