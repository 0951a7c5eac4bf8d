"""Tests the application as a whole: what it serves, its start and its end."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.routing import iter_route_contexts

from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.review.schedule import ReviewSchedule
from perfledger_service.usecases.server.project import RESERVED_OWNERS
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.web.app import create_app
from perfledger_service.web.app_state import AppState
from perfledger_service.workflows import UploadWorkflow


class Workflow(UploadWorkflow):
    """Remembers its calls in order; its running work ends or does not."""

    def __init__(self, *, is_finished=True):
        self.calls: list[str] = []
        self._is_finished = is_finished

    def launch(self):
        self.calls.append("launch")

    def sweep(self, unfinished, deadlines=(), commands=()):
        self.calls.append(
            f"sweep {sum(len(tuple(one)) for one in (unfinished, deadlines, commands))}"
        )

    def enqueue_review(self, review):
        self.calls.append(f"review {review.quarter}")

    def close(self):
        self.calls.append("close")
        return self._is_finished


@pytest.fixture
def served(engine):
    """Start and stop an application around a workflow; return it, and raise what `during` does."""

    def served(workflow, during=lambda: None, **values):
        reports = UploadReports(build_report)
        state = AppState(engine=engine, workflow=workflow, reports=reports, public_url="https://a")
        app = create_app(replace(state, **values))

        async def run():
            async with app.router.lifespan_context(app):
                during()

        asyncio.run(run())
        return app

    return served


def test_no_project_has_the_name_of_a_page_of_the_service(served):
    app = served(Workflow())
    parts = [
        context.path.strip("/").split("/")
        for context in iter_route_contexts(app.routes)
        if context.path is not None
    ]
    owners = {first for first, *rest in parts if rest and not first.startswith("{")}

    assert owners | {"static"} == RESERVED_OWNERS  # static files are mounted


def test_the_description_of_the_api_says_what_it_takes_and_answers(site):
    document = site.get("/api/openapi.json").json()

    assert set(document["paths"]) == {
        "/api/v1/devices",
        "/api/v1/priors",
        "/api/v1/ab-requests",
        "/api/v1/checks",
        "/api/v1/checks/progress",
        "/api/v1/events",
        "/api/v1/events/{event_id}",
        "/api/v1/events/{event_id}/state",
        "/api/v1/jobs",
        "/api/v1/jobs/take",
        "/api/v1/runs",
        "/api/v1/runs/{run_id}",
        "/api/v1/series",
        "/api/v1/series/{series_id}/points",
        "/api/v1/verdicts",
        *(
            f"/api/v1/jobs/{{job_id}}/{word}"
            for word in ("heartbeat", "result", "finish", "fail", "return", "cancel")
        ),
        "/api/v1/uploads",
        "/api/v1/uploads/{upload_id}",
        "/healthz",
        "/healthz/webhooks",
        "/metrics",
        "/readyz",
        "/webhooks/github",
    }
    post = document["paths"]["/api/v1/uploads"]["post"]
    assert set(post["requestBody"]["content"]) == {"application/json", "application/gzip"}
    assert set(post["responses"]) >= {"202", "400", "401", "403", "413"}
    assert post["security"] == [{"HTTPBearer": []}]


def test_static_files_may_be_kept_for_an_hour(site):
    answer = site.get("/static/icon.svg")
    again = site.client.get("/static/icon.svg", headers={"If-None-Match": answer.headers["etag"]})

    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert again.status_code == 304


def test_a_bug_is_said_without_its_content(site, tmp_path):
    site.engine.dispose()
    for file in tmp_path.glob("perfledger.db*"):
        file.unlink()
    answer = site.get("/")

    assert answer.status_code == 500
    assert answer.text == "500: an internal error: see the service's log\n"
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")


def test_what_was_left_over_is_swept_at_the_start(engine, received, make_bundle, start_site):
    upload = received(engine, make_bundle())
    with start_site(engine) as site:
        site.get("/healthz")

        assert [work.upload_id for work in site.jobs.works] == [upload.id]


@pytest.mark.parametrize("is_finished", [True, False])
def test_the_workflow_runs_while_the_application_serves(served, is_finished):
    workflow = Workflow(is_finished=is_finished)
    calls = []

    app = served(workflow, lambda: calls.extend(workflow.calls))

    assert calls == ["launch", "sweep 0"]
    assert workflow.calls == ["launch", "sweep 0", "close"]
    assert app.state.is_finished is is_finished


def test_the_workflow_is_closed_after_a_crash_too(served):
    workflow = Workflow()

    with pytest.raises(ZeroDivisionError):
        served(workflow, lambda: 1 // 0)

    assert workflow.calls[-1] == "close"


def test_no_page_loads_scripts_of_a_foreign_host_to_describe_the_api(site):
    assert {site.get(path).status_code for path in ("/docs", "/redoc", "/openapi.json")} == {404}


def test_the_description_of_the_api_has_every_status_of_each_request(site):
    paths = site.get("/api/openapi.json").json()["paths"]

    assert {
        f"{method} {path}": " ".join(sorted(request["responses"]))
        for path, methods in paths.items()
        for method, request in methods.items()
    } == {
        "get /api/v1/ab-requests": "200 401 403 421 422 500 502 503",
        "get /api/v1/devices": "200 401 403 421 422 500 502 503",
        "get /api/v1/events": "200 304 401 403 421 422 500 502 503",
        "get /api/v1/events/{event_id}": "200 304 401 403 404 410 421 422 500 502 503",
        "get /api/v1/jobs": "200 401 403 421 422 500 502 503",
        "get /api/v1/priors": "200 401 403 421 422 500 502 503",
        "get /api/v1/runs": "200 304 401 403 421 422 500 502 503",
        "get /api/v1/runs/{run_id}": "200 304 401 403 404 421 422 500 502 503",
        "get /api/v1/series": "200 304 401 403 421 422 500 502 503",
        "get /api/v1/series/{series_id}/points": "200 304 401 403 404 421 422 500 502 503",
        "get /api/v1/uploads/{upload_id}": "200 401 403 404 421 422 500 502 503",
        "get /api/v1/verdicts": "200 304 401 403 421 422 500 502 503",
        "get /healthz": "200",
        "get /healthz/webhooks": "200",
        "get /metrics": "200 401",
        "get /readyz": "200 503",
        "post /api/v1/checks": "202 400 401 403 413 421 422 429 500 502 503",
        "post /api/v1/checks/progress": "202 400 401 403 404 413 421 422 500 502 503",
        "post /api/v1/jobs/take": "200 400 401 403 413 421 422 500 502 503",
        "post /api/v1/jobs/{job_id}/cancel": "200 400 401 403 404 409 413 421 422 500 502 503",
        "post /api/v1/jobs/{job_id}/fail": "200 400 401 403 404 409 413 421 422 500 502 503",
        "post /api/v1/jobs/{job_id}/finish": "200 400 401 403 404 409 413 421 422 500 502 503",
        "post /api/v1/jobs/{job_id}/heartbeat": "200 400 401 403 404 409 413 421 422 500 502 503",
        "post /api/v1/jobs/{job_id}/result": "202 400 401 403 404 409 413 421 422 429 500 502 503",
        "post /api/v1/jobs/{job_id}/return": "200 400 401 403 404 409 413 421 422 500 502 503",
        "post /api/v1/uploads": "202 400 401 403 409 413 421 422 429 500 502 503",
        "post /webhooks/github": "200 202 400 401 404 413",
        "put /api/v1/events/{event_id}/state": "200 400 401 403 404 410 413 421 422 500 502 503",
    }


@pytest.mark.slow(ci_only=True)
def test_nothing_changes_without_a_token_or_a_signature(site):
    """Everybody may read where `public_read` says so: every other method refuses strangers."""
    changing = {"POST", "PUT", "PATCH", "DELETE"}
    requests = [
        (method, re.sub(r"\{.*?\}", "1", path))
        for path, methods in site.get("/api/openapi.json").json()["paths"].items()
        for method in changing & {word.upper() for word in methods}
    ] + [(method, "/octo/models") for method in changing]
    answers = [site.client.request(method, path, json={}) for method, path in requests]

    assert len(requests) > len(changing)
    assert {answer.status_code for answer in answers} <= {401, 404, 405}  # no webhooks here
    assert site.jobs.works == site.jobs.checks == site.jobs.commands == []


def test_a_review_that_became_due_while_the_service_was_away_is_begun_at_its_start(served, now):
    workflow = Workflow()
    schedule = ReviewSchedule(
        repository="octo/models", plan=Path("plan.toml"), bill="", team_tag=""
    )

    served(workflow, reviews=schedule, now=lambda: now.replace(month=11))

    assert workflow.calls == ["launch", "sweep 0", "review 2026Q3", "close"]
