"""Renders the pages of administration, and their data."""

from collections.abc import Sequence

from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact,
    facts,
    record_facts,
    table,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.paging import Page, page_of
from perfledger_service.rendering.server.job import jobs_document
from perfledger_service.values.people.person import AuditAction
from perfledger_service.values.service_views.admin import (
    AuditFilter,
    AuditView,
    GitHubView,
    InstallationView,
    ProjectSummary,
    TokenSummary,
    WaitingUpload,
    WaitingView,
)
from perfledger_service.values.upload_views import UploadStatus

TOKENS_PER_PAGE = 50
_WAITS_FOR = {
    UploadStatus.RECEIVED: "waits to be judged",
    UploadStatus.JUDGED: "waits to be posted",
}


def projects_page(projects: Page[ProjectSummary]) -> str:
    """Return the page of the projects that a person administers."""
    return render("html/admin_projects.html.j2", page=projects, moment=number_format.moment)


def admin_projects_document(projects: Sequence[ProjectSummary]) -> Document:
    """Return the projects with their counts."""
    return Document(
        name="perfledger-admin-projects", blocks=(table(_PROJECTS, projects, key="projects"),)
    )


def tokens_page(tokens: Sequence[TokenSummary], *, number: int, form_token: str) -> str:
    """Return one page of tokens; live ones have a form that revokes them."""
    return render(
        "html/admin_tokens.html.j2",
        page=page_of(tokens, number, size=TOKENS_PER_PAGE),
        form_token=form_token,
        moment=number_format.moment,
        day=number_format.day,
    )


def admin_tokens_document(tokens: Sequence[TokenSummary]) -> Document:
    """Return tokens without their secrets."""
    return Document(name="perfledger-admin-tokens", blocks=(table(_TOKENS, tokens, key="tokens"),))


def waiting_page(view: WaitingView, *, form_token: str) -> str:
    """Return the page of waiting uploads and jobs, with a form to retry an upload."""
    return render(
        "html/admin_waiting.html.j2",
        view=view,
        uploads=[(one, why_upload_waits(one)) for one in view.uploads],
        jobs=[(one, why_job_waits(one)) for one in view.jobs],
        form_token=form_token,
        moment=number_format.moment,
    )


def waiting_document(view: WaitingView) -> Document:
    """Return waiting uploads and jobs, and why they wait."""
    (jobs,) = jobs_document("", view.jobs).keyed_tables
    return Document(
        name="perfledger-admin-waiting",
        facts={"all_uploads": view.all_uploads, "all_jobs": view.all_jobs},
        blocks=(table(_WAITING, view.uploads, key="uploads"), jobs),
    )


def github_page(view: GitHubView, projects: Page[str]) -> str:
    """Return the page of the GitHub App's state."""
    return render(
        "html/admin_github.html.j2",
        view=view,
        page=projects,
        moment=number_format.moment,
        duration=number_format.duration,
    )


def github_document(view: GitHubView, projects: Page[str]) -> Document:
    """Return the GitHub App's state, and what each installation on the page lacks."""
    return Document(
        name="perfledger-admin-github",
        facts={
            "page": projects.number,
            "pages": projects.pages,
            "has_app": view.has_app,
            "has_webhook": view.has_webhook,
            "poll": view.poll,
            "requests": dict(view.requests),
            "rate_limits": view.rate_limits,
        },
        blocks=(table(_INSTALLATIONS, view.installations, key="installations"),),
    )


def audit_log_page(view: AuditView, chosen: AuditFilter, *, query: str) -> str:
    """Return a page of the audit log; `query` is the filter, as in the page's address."""
    return render(
        "html/admin_audit.html.j2",
        view=view,
        chosen=chosen,
        actions=tuple(AuditAction),
        query=query,
        moment=number_format.moment,
    )


def why_upload_waits(upload: WaitingUpload) -> str:
    """Return why an upload is not posted yet."""
    return upload.reason or _WAITS_FOR.get(upload.status, "no reason was stored")


def why_job_waits(job: RunnerJob) -> str:
    """Return why a job is not done yet."""
    if job.runner:
        return f"{job.runner} works on it"
    earlier = f"; before: {job.reason}" if job.reason else ""
    return f"waits for a runner of {job.machine_class}{earlier}"


_PROJECTS: tuple[Column[ProjectSummary], ...] = record_facts(ProjectSummary, lambda one: one)
_TOKENS: tuple[Column[TokenSummary], ...] = record_facts(TokenSummary, lambda one: one)
_WAITING: tuple[Column[WaitingUpload], ...] = (
    *record_facts(WaitingUpload, lambda one: one, without=("reason",)),
    fact("reason", why_upload_waits),
)
_INSTALLATIONS: tuple[Column[InstallationView], ...] = (
    *facts("repository", "is_complete", "problem", "missing_permissions", "missing_events"),
    *facts("id", "account", "suspended_at", of="installation"),
    fact(
        "rate_limit",
        lambda one: None if one.installation is None else one.installation.rate_limit,
        parts=("limit", "remaining", "resets_at", "wait_s"),
    ),
)
