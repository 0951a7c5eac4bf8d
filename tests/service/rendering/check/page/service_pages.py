"""The pages about all projects at once, made of values by hand."""

from collections.abc import Callable
from dataclasses import replace

from perfledger.records import Device, Machine, Side
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_service.rendering.check.upload_comparison_page import compare_page
from perfledger_service.rendering.layout.paging import Page
from perfledger_service.rendering.prices.page import prices_page
from perfledger_service.rendering.review.stored import review_page, reviews_page
from perfledger_service.rendering.server.pages.admin import (
    audit_log_page,
    github_page,
    projects_page,
    tokens_page,
    waiting_page,
)
from perfledger_service.rendering.server.pages.search import search_page
from perfledger_service.rendering.trace.timeline.steps_page import StepsAddress, steps_page
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.comparison_view import (
    ComparedSteps,
    ComparedUpload,
    ComparisonView,
    MissingProfile,
    UnprofiledSide,
    UploadComparison,
)
from perfledger_service.values.people.person import AuditAction, AuditEntry
from perfledger_service.values.service_views.admin import (
    AppInstallation,
    AuditFilter,
    AuditView,
    DeliveryPoll,
    GitHubView,
    InstallationView,
    ProjectSummary,
    RateLimit,
    TokenState,
    TokenSummary,
    WaitingUpload,
    WaitingView,
)
from perfledger_service.values.service_views.reviews import StoredReview
from perfledger_service.values.service_views.search import SearchHit, SearchKind, SearchView
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.values.upload_views import UploadStatus
from tests.service.rendering.example_values import GPT, profile
from tests.service.rendering.example_views import NOON

Change = Callable[[str], str]


def comparison_pages(change: Change) -> dict[str, str]:
    """Return the pages of a comparison, and of the steps of a workload."""
    sides = [
        ComparedUpload(
            upload_id=digit * 32,
            sha=digit * 40,
            subject=change("a subject"),
            machine_class=change("cuda:H100:1"),
            pull_request=41,
            measured_at=NOON,
            machine=Machine(device=Device.CUDA, model=change("H100"), driver=change(driver)),
            options=CheckOptions(),
            other_checks=((change("cuda:A100:1"), "3" * 32),),
        )
        for digit, driver in (("a", "570"), ("b", "580"))
    ]
    workload = change(GPT)
    comparison = UploadComparison(
        repository=change("acme/models"),
        base=sides[0],
        head=replace(sides[1], machine_class=change("cuda:H200:1")),
        view=ComparisonView(
            base="a", head="b", alpha=0.05, margin=0.01, floor=0.01, assumed="", verdicts=()
        ),
        steps=ComparedSteps(
            unprofiled=tuple(
                UnprofiledSide(workload=workload, side=Side.HEAD, why=why, note=change("a note"))
                for why in MissingProfile
            )
        ),
    )
    address = StepsAddress(
        repository=change("acme/models"),
        steps=f"/runs/{1:032x}/steps?",
        explained=f"/runs/{1:032x}",
        section="checks",
    )
    both = {side: replace(profile(side), workload=workload) for side in Side}
    return {
        "/acme/models/compare": compare_page(change("acme/models"), None),
        "/acme/models/compare/machines": compare_page(comparison.repository, comparison),
        "/acme/models/compare/same": compare_page(
            comparison.repository, replace(comparison, head=sides[1])
        ),
        "/acme/models/compare/steps": steps_page(both, workload=workload, address=address),
    }


def service_pages(change: Change) -> dict[str, str]:
    """Return the pages by path, with their texts put through a function."""
    return {
        **comparison_pages(change),
        "/search": search_page(
            SearchView(
                text=change("gpt"),
                hits=tuple(
                    SearchHit(
                        kind=kind,
                        repository=change("acme/models"),
                        name="#7" if kind is SearchKind.PULL_REQUEST else change("gpt:step"),
                        detail=change("a subject"),
                        upload_id="1" * 32,
                    )
                    for kind in SearchKind
                ),
                cut=frozenset({SearchKind.WORKLOAD}),
            )
        ),
        "/search/empty": search_page(SearchView(text="")),
        **admin_pages(change),
        **review_pages(change),
    }


def review_pages(change: Change) -> dict[str, str]:
    """Return the pages of reviews."""
    review = StoredReview(
        id=1,
        repository=change("acme/models"),
        quarter="2026Q3",
        made_on=NOON.date(),
        title=change("Accelerators for 2027"),
        sheet=change("packaged-2026-11-20"),
        decision=change("Recommended: 3 years, all upfront"),
        reason=change("It is cheaper in 97 of 100 draws."),
        stored_at=NOON,
        documents={"html": 170_343, "json": 132_064, "xlsx": 60_000},
    )
    return {
        "/acme/models/reviews": reviews_page(review.repository, (review,)),
        "/acme/models/reviews/empty": reviews_page(review.repository, ()),
        "/acme/models/reviews/1": review_page(review, has_web_page=True),
    }


def admin_pages(change: Change) -> dict[str, str]:
    """Return the pages of administration."""
    repository = change("acme/models")
    project = ProjectSummary(
        repository=repository,
        created_at=NOON,
        follows_renames=True,
        trust_runners=True,
        uploads=120,
        failed=1,
        newest_upload_at=NOON,
        series=40,
        tokens=2,
    )
    tokens = tuple(
        TokenSummary(
            prefix="pl_0123abcd",
            repository=repository,
            person=change("alice") if state is TokenState.LIVE else "",
            scope=TokenScope.UPLOAD,
            state=state,
            created_at=NOON,
            expires_at=NOON,
            used_at=NOON,
            revoked_at=None,
        )
        for state in TokenState
    )
    entry = AuditEntry(
        id=2,
        noted_at=NOON,
        actor=change("alice"),
        account="7",
        action=AuditAction.SET_EVENT,
        repository=repository,
        detail=change("event 1 to expected"),
        address=change("192.0.2.7"),
    )
    chosen = AuditFilter(repository=repository, actor=change("alice"), since=NOON)
    return {
        "/admin": projects_page(Page(items=(project,), number=1, pages=2, total=51)),
        "/admin/tokens": tokens_page(tokens, number=1, form_token="0" * 64),
        "/admin/waiting": waiting_page(waiting_view(change), form_token="0" * 64),
        "/admin/github": github_page(
            app_view(change), Page(items=(repository,), number=1, pages=2, total=11)
        ),
        "/admin/prices": prices_page(packaged_sheet(), today=NOON.date(), text="p4d"),
        "/admin/audit": audit_log_page(
            AuditView(entries=(entry,), older=1), chosen, query="actor=alice"
        ),
        "/admin/audit/empty": audit_log_page(
            AuditView(entries=(), older=None), AuditFilter(), query=""
        ),
    }


def waiting_view(change: Change) -> WaitingView:
    """Return an upload that failed, one that is not judged yet, and a job."""
    failed = WaitingUpload(
        id="1" * 32,
        repository=change("acme/models"),
        pull_request=41,
        status=UploadStatus.FAILED,
        reason=change("GitHub answered 403"),
        attempt=3,
        created_at=NOON,
        retry_at=None,
        failing_since=NOON,
    )
    received = WaitingUpload(
        id="2" * 32,
        repository=change("acme/models"),
        pull_request=None,
        status=UploadStatus.RECEIVED,
        reason="",
        attempt=1,
        created_at=NOON,
        retry_at=None,
        failing_since=None,
    )
    job = RunnerJob(
        id="7" * 32,
        repository=change("acme/models"),
        kind=RunnerJobKind.CANARY,
        machine_class=change("cuda:*"),
        reason=change("the lease ended"),
        created_at=NOON,
        due_at=NOON,
    )
    return WaitingView(uploads=(failed, received), all_uploads=201, jobs=(job,), all_jobs=201)


def app_view(change: Change) -> GitHubView:
    """Return an App that lacks a permission, one that is not installed, and missed webhooks."""
    installation = AppInstallation(
        id=41,
        account=change("acme"),
        permissions={},
        events=(),
        suspended_at=None,
        rate_limit=RateLimit(limit=5000, remaining=0, resets_at=NOON, wait_s=90.0),
    )
    return GitHubView(
        has_access=True,
        has_app=True,
        has_webhook=True,
        installations=(
            InstallationView(
                repository=change("acme/models"),
                installation=installation,
                missing_permissions=("checks: write",),
            ),
            InstallationView(repository=change("acme/models"), installation=installation),
            InstallationView(repository=change("acme/other"), problem=change("no answer")),
        ),
        poll=DeliveryPoll(
            read_until=NOON,
            polled_at=NOON,
            due_at=NOON,
            failures=1,
            redelivered=3,
            abandoned=1,
            problem=change("GitHub answered 502"),
        ),
        requests={"done": 812, "no_answer": 2},
        rate_limits=1,
    )
