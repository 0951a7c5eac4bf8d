"""Answers admins' questions about their projects, and carries out their decisions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import GitHubError, NotFoundError
from perfledger_service.github.app.installations import AppInstallations
from perfledger_service.github.authentication import PERMISSIONS
from perfledger_service.github.request_counts import RequestCounts
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runner_jobs import oldest_open_jobs
from perfledger_service.store.maintenance.admin_queries import waiting_uploads
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import revoke_token, token_of_prefix
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.store.webhook_polls import webhook_poll
from perfledger_service.usecases.uploads.missed_deliveries import SUBSCRIBED_EVENTS
from perfledger_service.usecases.uploads.retry import retry_uploads
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.service_views.admin import (
    DeliveryPoll,
    GitHubView,
    InstallationView,
    WaitingView,
)

MAX_WAITING = 200  # uploads and jobs on the page
_LEVELS = ("", "read", "write", "admin")
_NOT_INSTALLED = "the App is not installed here: install it, or its comments cannot be posted"
_NOT_ASKED = "not asked, because GitHub did not answer about the project before"


def waiting_work(session: Session, *, has_github: bool) -> WaitingView:
    """Return the waiting uploads and jobs in the projects of a session."""
    uploads, all_uploads = waiting_uploads(session, has_github=has_github, most=MAX_WAITING)
    jobs, all_jobs = oldest_open_jobs(session, most=MAX_WAITING)
    return WaitingView(uploads=uploads, all_uploads=all_uploads, jobs=jobs, all_jobs=all_jobs)


def github_view(
    session: Session,
    repositories: Sequence[str],
    *,
    installations: AppInstallations | None,
    requests: RequestCounts | None,
    has_webhook: bool,
) -> GitHubView:
    """Return the state of GitHub, including the installation on each repository."""
    poll = webhook_poll(session)
    outcomes: Counter[str] = Counter()
    for (_, outcome), number in ({} if requests is None else requests.numbers()).items():
        outcomes[outcome] += number
    views = () if installations is None else _installations(installations, repositories)
    return GitHubView(
        has_access=requests is not None,
        has_app=installations is not None,
        has_webhook=has_webhook,
        installations=tuple(views),
        poll=None if poll is None else DeliveryPoll(**asdict(poll)),
        requests=dict(outcomes),
        rate_limits=0 if requests is None else requests.rate_limits,
    )


def revoke_project_token(
    engine: Engine, session: Session, prefix: str, *, actor: Actor, now: datetime
) -> None:
    """Revoke a project's or a person's token within the projects of a session.

    Raises NotFoundError for any other.
    """
    stored = token_of_prefix(session, prefix)
    if stored is None:
        msg = f"no token {prefix[:20]!r} in the projects that you administer"
        raise NotFoundError(msg)
    with write_session(engine) as writing:
        if revoke_token(writing, prefix, now=now):
            add_audit_entry(
                writing,
                AuditAction.REVOKE_TOKEN,
                actor,
                project_id=stored.project.id,
                detail=prefix,
                now=now,
            )
        writing.commit()


def retry_upload(
    engine: Engine, session: Session, upload_id: str, *, actor: Actor, now: datetime
) -> None:
    """Let the service attempt an upload of the projects of a session again.

    Raises NotFoundError for any other, and UsageError for one that neither failed nor waits.
    """
    upload = upload_by_id(session, upload_id)
    retry_uploads(engine, (upload.id,), actor=actor, now=now)


def _installations(
    installations: AppInstallations, repositories: Sequence[str]
) -> Iterator[InstallationView]:
    """Yield the installation on each repository; stop asking after one without an answer."""
    is_silent = False
    for repository in repositories:
        if is_silent:
            yield InstallationView(repository=repository, problem=_NOT_ASKED)
            continue
        try:
            installation = installations.installation(repository)
        except GitHubError as error:
            is_silent = error.github_status is None
            yield InstallationView(repository=repository, problem=str(error))
            continue
        if installation is None:
            yield InstallationView(repository=repository, problem=_NOT_INSTALLED)
            continue
        yield InstallationView(
            repository=repository,
            installation=installation,
            missing_permissions=tuple(
                f"{name}: {level}"
                for name, level in PERMISSIONS.items()
                if _level(installation.permissions.get(name, "")) < _level(level)
            ),
            missing_events=tuple(sorted(SUBSCRIBED_EVENTS - set(installation.events))),
        )


def _level(permission: str) -> int:
    return _LEVELS.index(permission) if permission in _LEVELS else 0
