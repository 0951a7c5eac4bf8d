"""Every page, made of views and a bundle by hand, and a server under the service's policy."""

import json
import mimetypes
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from perfledger.profile import MemoryPoint
from perfledger.records import Device, Machine, Side
from perfledger_baselines.judging.judge import judgement_of
from perfledger_cost_models.change_price.cost_policy import PolicyEvaluation, PolicyOutcome
from perfledger_cost_models.quote import QueueEffect, SummedPrice
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_service.rendering.check import page as check_page
from perfledger_service.rendering.check.project_lists import (
    pull_requests_page,
    workload_page,
    workloads_page,
)
from perfledger_service.rendering.cost.page import costs_page
from perfledger_service.rendering.history.series_page import series_page
from perfledger_service.rendering.history.series_plot import series_data
from perfledger_service.rendering.server.pages.machines import machines_page
from perfledger_service.settings.service import PriceSettings
from perfledger_service.usecases.cost.what_if import what_if
from perfledger_service.usecases.inputs.price_books import read_price_books
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.change_price import PricedCheck, PriceHistory
from perfledger_service.values.cost_views import CostForm
from perfledger_service.values.fleet_views import MachinesView, MachineView, RunnerView
from perfledger_service.values.upload_views import (
    IndexView,
    MissingClassView,
    PullRequestsView,
    PullRequestView,
    SeriesHistory,
    SeriesSummary,
    UploadStatus,
    UploadView,
    VerdictView,
    WorkloadsView,
    commits_of,
)
from tests.service.browsers import PATIENCE_MS
from tests.service.rendering.check.page.service_pages import service_pages
from tests.service.rendering.example_views import NOON, bundle_of

BROWSER_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def upload_of(report, number: int) -> UploadView:
    """Return what is stored of a report; upload 1 belongs to no pull request."""
    verdicts = tuple(
        VerdictView(
            workload=v.workload,
            metric=v.metric.name,
            unit=v.metric.unit,
            worse=v.metric.worse,
            outcome=v.outcome,
            base=v.estimate.base if v.estimate else None,
            head=v.estimate.head if v.estimate else None,
            change=v.estimate.change if v.estimate else None,
            low=v.estimate.low if v.estimate else None,
            high=v.estimate.high if v.estimate else None,
            is_warning=v.is_warning,
            series_id=1 if v.estimate else None,
        )
        for v in report.verdicts
    )
    return UploadView(
        id=f"{number:032x}",
        repository="acme/models",
        pull_request=None if number == 1 else 40 + number,
        base_sha=report.base.sha,
        head_sha=report.head.sha,
        head_subject=report.head.subject,
        machine_class=report.machine.machine_class,
        status=UploadStatus.POSTED,
        reason="",
        conclusion=str(report.conclusion),
        headline=report.headline,
        created_at=NOON - timedelta(hours=number),
        verdicts=verdicts,
    )


def ruled(report):
    """Return a report whose costs were added up and ruled on, with an idle commitment's queue."""
    total = SummedPrice(
        usd=Decimal(24_000),
        low=Decimal(21_000),
        high=Decimal(27_000),
        is_detectable=True,
        workloads=tuple(price.workload for price in report.change_prices),
    )
    queue = QueueEffect(
        where="onprem-8xH100",
        absorbed_hours=(4448.0, 5982.0, 7659.0),
        busy_share=0.803,
        busy_share_after=(0.81, 0.813, 0.816),
        note="how long jobs wait is not known: declare job_hours",
    )
    first, *others = report.change_prices
    free = replace(
        first,
        usd=Decimal(0),
        low=Decimal(0),
        high=Decimal(0),
        extra_hours=queue.absorbed_hours,
        absorbed_hours=queue.absorbed_hours,
    )
    evaluations = tuple(
        PolicyEvaluation(
            team=f"team {ruling}", outcome=ruling, price=total, limit_usd=limit, unpriced=unpriced
        )
        for ruling, limit, unpriced in (
            (PolicyOutcome.FAILS, Decimal(20_000), ()),
            (PolicyOutcome.NEEDS_APPROVAL, Decimal(25_000), ("benchmarks.new:step",)),
            (PolicyOutcome.PASSES, None, ()),
        )
    )
    prices = (free, *others)
    return replace(
        report,
        bundle_id="9" * 32,
        change_prices=prices,
        total_price=total,
        queues=(queue,),
        policy_evaluations=evaluations,
    )


class PagesByPath(dict[str, str]):
    """Pages by their paths, and beside them the points of their charts."""

    def __init__(self, histories):
        super().__init__()
        self.points = {
            f"/series/{one.series.id}/points.json": json.dumps(series_data(one))
            for one in histories
        }
        self.points["steps"] = '{"traceEvents": [{"pid": 1}, {"pid": 2}]}'


@pytest.fixture(scope="session")
def make_pages(make, reports, series, history, rewrite) -> Callable[..., Mapping[str, str]]:
    """Return a function that renders every page, its texts put through another function."""

    used = (MemoryPoint(seconds=0.0, allocated_bytes=2.0**30, device="cuda:0"),)
    profiles = (
        replace(make.profile(Side.BASE, softmax_s=0.00102), memory=used),
        make.profile(Side.HEAD),
    )

    books = read_price_books(
        PriceSettings.model_validate(
            {"prices": "", "overrides": "", "contract": "", "exchange_rates": ""}
        ),
        today=NOON.date(),
    )

    def make_all(change=lambda text: text):
        named = rewrite((*reports.values(), ruled(reports["regressed"])), change)
        uploads = tuple(
            replace(upload_of(report, number), repository=change("acme/models"))
            for number, report in enumerate(named)
        )
        refused = replace(
            uploads[0],
            id="f" * 32,
            status=UploadStatus.REFUSED,
            reason=change("the pull request is closed"),
            conclusion="",
            headline="",
        )
        waiting = replace(
            refused, id="e" * 32, status=UploadStatus.RECEIVED, reason="", verdicts=()
        )
        # Ids are the service's own.
        points = tuple(
            rewrite(point, change)._replace(upload_id=point.upload_id) for point in series.points
        )
        line = replace(rewrite(series, change), points=points)
        moved_history = replace(history, series=line, commits=commits_of(points))
        summary = SeriesSummary(
            id=1,
            workload=line.workload,
            metric=line.metric,
            unit=line.unit,
            machine_class=line.machine_class,
            points=len(line.points),
            last=line.points[-1].center,
            measured_at=NOON,
        )
        every = (*uploads, refused, waiting)
        workloads = WorkloadsView(
            repository=line.repository, text=change("gpt"), series=(summary,), workloads=9, page=1
        )
        accepted = Acceptance(
            pull_request=41,
            head_sha="a" * 40,
            login=change("lead"),
            workload=line.workload,
            reason=change("needed"),
            accepted_at=NOON,
            until=None,
        )
        histories = (
            moved_history,
            SeriesHistory(series=replace(line, id=2), commits=moved_history.commits[:1]),
            SeriesHistory(series=replace(line, id=3), commits=()),
        )
        pages = PagesByPath(histories)
        pages |= {
            "/": check_page.index_page(IndexView(repositories=(line.repository,), uploads=every)),
            **service_pages(change),
            "/empty": check_page.index_page(IndexView(repositories=(), uploads=())),
            "/acme/models/pull/41": check_page.pull_request_page(
                PullRequestView(
                    repository=change("acme/models"),
                    number=41,
                    uploads=every,
                    missing_classes=tuple(
                        MissingClassView(
                            machine_class=change("tpu:TPU v4:4"), deadline=NOON, is_overdue=late
                        )
                        for late in (False, True)
                    ),
                ),
                (accepted, replace(accepted, workload="")),
            ),
            "/acme/models/machines": machines_page(
                MachinesView(
                    repository=change("acme/models"),
                    machines=tuple(
                        MachineView(
                            machine_class=line.machine_class,
                            uuid=uuid,
                            newest=Machine(
                                device=Device.CUDA, model=change("H100"), driver=change("570.1")
                            ),
                            newest_check="1" * 32,
                            checks=12,
                            undecided=2,
                            held_s=5400.0,
                            noise=0.0123,
                            states=2,
                            first_at=NOON,
                            last_at=NOON,
                        )
                        for uuid in ("", change("GPU-1"))
                    ),
                    checks=24,
                    runners=(
                        RunnerView(
                            name=change("box-1"), machine_class=change("cuda:*"), seen_at=NOON
                        ),
                    ),
                    jobs=(
                        RunnerJob(
                            id="7" * 32,
                            repository=change("acme/models"),
                            kind=RunnerJobKind.CANARY,
                            machine_class=change("cuda:*"),
                            runner=change("box-1"),
                            reason=change("the lease ended"),
                            created_at=NOON,
                            due_at=NOON,
                        ),
                    ),
                )
            ),
            "/acme/models/costs": costs_page(
                change("acme/models"),
                what_if(books, CostForm(), today=NOON.date()),
                PriceHistory(
                    repository=change("acme/models"),
                    checks=tuple(
                        PricedCheck(
                            upload_id=report.bundle_id,
                            head_sha=report.head.sha,
                            subject=report.head.subject,
                            pull_request=41,
                            is_on_branch=False,
                            machine_class=report.machine.machine_class,
                            judged_on=NOON.date(),
                            prices=report.change_prices,
                        )
                        for report in named
                    ),
                    has_older=True,
                ),
            ),
            "/acme/models/costs/wrong": costs_page(
                change("acme/models"),
                what_if(books, CostForm(years=change("4"), at=(change("p5"),)), today=NOON.date()),
                PriceHistory(repository=change("acme/models"), checks=(), has_older=False),
            ),
            "/acme/models/pull/1": check_page.pull_request_page(
                PullRequestView(repository=change("acme/models"), number=1, uploads=())
            ),
            "/acme/models/pulls": pull_requests_page(
                PullRequestsView(
                    repository=line.repository, uploads=every, pull_requests=30, page=1
                ),
                size=20,
            ),
            "/acme/models/workloads": workloads_page(workloads, size=8),
            "/acme/models/workloads/one": workload_page(
                replace(workloads, text=line.workload), (accepted,)
            ),
            **{f"/series/{one.series.id}": series_page(one) for one in histories},
            "/series/1/older": series_page(moved_history, page=2),
        }
        for report, upload in zip(named, uploads, strict=True):
            profiled_bundle = bundle_of(report, rewrite(profiles, change))
            judged = replace(report, tests=judgement_of(profiled_bundle).tests)
            pages[f"/runs/{upload.id}"] = check_page.run_page(judged, upload, profiled_bundle)
        return pages

    return make_all


@pytest.fixture(scope="session")
def pages(make_pages):
    """Return every page by its path."""
    return make_pages()


@pytest.fixture(scope="session")
def served(pages) -> Iterator[str]:
    """Serve every page and the static files under the real policy; yield the server's root."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.removeprefix("/static/")
            if name != self.path:
                content = (check_page.static_folder() / name).read_bytes()
                kind = mimetypes.guess_type(name)[0] or "text/plain"
            elif self.path in pages.points or "/steps?" in self.path:
                text = pages.points.get(self.path, pages.points["steps"])
                content, kind = text.encode(), "application/json"
            else:
                content, kind = pages[self.path].encode(), "text/html; charset=utf-8"
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", check_page.CONTENT_SECURITY_POLICY)
            if self.path.startswith("/runs/"):
                self.send_header("Cross-Origin-Opener-Policy", check_page.RUN_OPENER_POLICY)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class PatientBrowser:
    """A browser whose pages have no limit that a busy machine reaches."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    def new_context(self, **options: Any) -> BrowserContext:
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def new_page(self, **options: Any) -> Page:
        page = self._browser.new_page(**options)
        page.set_default_timeout(PATIENCE_MS)
        return page


@pytest.fixture(scope="module")
def browser(require_system: Callable[..., Path]) -> Iterator[PatientBrowser]:
    chromium = require_system("chromium", package="chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=BROWSER_ARGUMENTS, timeout=PATIENCE_MS
        )
        yield PatientBrowser(browser)
        browser.close()
