"""Tests that each route has one rule on who may use it, and that the rule is enforced."""

import re

import pytest
from fastapi import APIRouter, Depends

from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.web.app import create_app
from perfledger_service.web.sign_in.access import Access, access_by_route, anyone
from perfledger_service.web.sign_in.readers import page_reader

READ_TOKEN = "pl_4444dddd_" + "r" * 43
UPLOAD_TOKEN = "pl_5555eeee_" + "u" * 43
MAINTAIN_TOKEN = "pl_6666ffff_" + "m" * 43
UNKNOWN_TOKEN = "pl_7777aaaa_" + "x" * 43
# What is refused beside a request without a token and one with an unknown token.
TOO_LITTLE = {
    Access.READ_TOKEN: (),
    Access.UPLOAD_TOKEN: (READ_TOKEN, MAINTAIN_TOKEN),
    Access.RUNNER_TOKEN: (READ_TOKEN, MAINTAIN_TOKEN),
    Access.MAINTAIN_TOKEN: (READ_TOKEN, UPLOAD_TOKEN),
}
# Changing a rule is a decision, which is written here as well.
RULES = {
    ("GET", "/"): Access.PAGE_READER,
    ("GET", "/capacity"): Access.PAGE_READER,
    ("GET", "/search"): Access.PAGE_READER,
    ("GET", "/runs/{upload_id}"): Access.PAGE_READER,
    ("GET", "/runs/{upload_id}/bundle.json"): Access.PAGE_READER,
    ("GET", "/series/{series_id}"): Access.PAGE_READER,
    ("GET", "/series/{series_id}/points.json"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/badge.svg"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/compare"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/costs"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/costs/changes"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/machines"): Access.PAGE_READER,
    ("POST", "/{owner}/{name}/machines/{decision}"): Access.PAGE_MAINTAINER,
    ("GET", "/runs/{upload_id}/steps"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/compare/steps"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/accepted"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/pull/{number}"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/pulls"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/workloads"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/workloads/{workload:path}"): Access.PAGE_READER,
    ("GET", "/{owner}/{name}/events/{event_id}"): Access.PAGE_READER,
    ("POST", "/{owner}/{name}/events/{event_id}/state"): Access.PAGE_MAINTAINER,
    ("POST", "/{owner}/{name}/events/{event_id}/jobs"): Access.PAGE_MAINTAINER,
    ("GET", "/{owner}/{name}/audit"): Access.PAGE_ADMIN,
    ("GET", "/{owner}/{name}/reviews"): Access.OWN_PRICES,
    ("GET", "/{owner}/{name}/reviews/{review_id}"): Access.OWN_PRICES,
    ("GET", "/{owner}/{name}/reviews/{review_id}/{form}"): Access.OWN_PRICES,
    ("GET", "/admin"): Access.SERVICE_ADMIN,
    ("GET", "/admin/audit"): Access.SERVICE_ADMIN,
    ("GET", "/admin/github"): Access.SERVICE_ADMIN,
    ("GET", "/admin/prices"): Access.SERVICE_ADMIN,
    ("GET", "/admin/tokens"): Access.SERVICE_ADMIN,
    ("GET", "/admin/waiting"): Access.SERVICE_ADMIN,
    ("POST", "/admin/tokens/{prefix}/revoke"): Access.ADMIN_FORM,
    ("POST", "/admin/waiting/{waiting_id}/retry"): Access.ADMIN_FORM,
    ("GET", "/account"): Access.PAGE_READER,
    ("POST", "/account/tokens"): Access.OWN_FORM,
    ("POST", "/account/tokens/{prefix}/revoke"): Access.OWN_FORM,
    ("POST", "/sign-out"): Access.OWN_FORM,
    ("GET", "/sign-in"): Access.ANYONE,
    ("GET", "/sign-in/callback"): Access.ANYONE,
    ("GET", "/signed-out"): Access.ANYONE,
    ("GET", "/healthz"): Access.ANYONE,
    ("GET", "/healthz/webhooks"): Access.ANYONE,
    ("GET", "/readyz"): Access.ANYONE,
    ("GET", "/metrics"): Access.METRICS_TOKEN,
    ("POST", "/webhooks/github"): Access.WEBHOOK_SIGNATURE,
    ("GET", "/api/v1/ab-requests"): Access.READ_TOKEN,
    ("GET", "/api/v1/events"): Access.READ_TOKEN,
    ("GET", "/api/v1/events/{event_id}"): Access.READ_TOKEN,
    ("GET", "/api/v1/jobs"): Access.READ_TOKEN,
    ("GET", "/api/v1/priors"): Access.READ_TOKEN,
    ("GET", "/api/v1/devices"): Access.READ_TOKEN,
    ("GET", "/api/v1/runs"): Access.READ_TOKEN,
    ("GET", "/api/v1/runs/{run_id}"): Access.READ_TOKEN,
    ("GET", "/api/v1/series"): Access.READ_TOKEN,
    ("GET", "/api/v1/series/{series_id}/points"): Access.READ_TOKEN,
    ("GET", "/api/v1/uploads/{upload_id}"): Access.READ_TOKEN,
    ("GET", "/api/v1/verdicts"): Access.READ_TOKEN,
    ("PUT", "/api/v1/events/{event_id}/state"): Access.MAINTAIN_TOKEN,
    ("POST", "/api/v1/checks"): Access.UPLOAD_TOKEN,
    ("POST", "/api/v1/checks/progress"): Access.UPLOAD_TOKEN,
    ("POST", "/api/v1/uploads"): Access.UPLOAD_TOKEN,
    ("POST", "/api/v1/jobs/take"): Access.RUNNER_TOKEN,
    ("POST", "/api/v1/jobs/{job_id}/cancel"): Access.RUNNER_TOKEN,
    ("POST", "/api/v1/jobs/{job_id}/fail"): Access.RUNNER_TOKEN,
    ("POST", "/api/v1/jobs/{job_id}/finish"): Access.RUNNER_TOKEN,
    ("POST", "/api/v1/jobs/{job_id}/heartbeat"): Access.RUNNER_TOKEN,
    ("POST", "/api/v1/jobs/{job_id}/result"): Access.RUNNER_TOKEN,
    ("POST", "/api/v1/jobs/{job_id}/return"): Access.RUNNER_TOKEN,
}


@pytest.fixture
def tokens(site, now):
    scopes = {
        READ_TOKEN: TokenScope.READ,
        UPLOAD_TOKEN: TokenScope.UPLOAD,
        MAINTAIN_TOKEN: TokenScope.MAINTAIN,
    }
    for token, scope in scopes.items():
        add_project(site.engine, "octo/models", token=token, scope=scope, now=now)


def concrete(path):
    return re.sub(r"{[^}]+}", "1", path.replace("{upload_id}", "0" * 32))


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("tokens")
def test_every_route_that_needs_a_token_refuses_each_request_with_less(site):
    refused = []
    for (method, path), access in access_by_route(site.app).items():
        if access not in TOO_LITTLE:
            continue
        answers = [site.client.request(method, concrete(path), content=b"{}")]
        for token in (UNKNOWN_TOKEN, *TOO_LITTLE[access]):
            headers = {"Authorization": f"Bearer {token}"}
            answers.append(site.client.request(method, concrete(path), headers=headers))
        statuses = [answer.status_code for answer in answers]
        assert statuses == [401, 401, *[403] * len(TOO_LITTLE[access])], (method, path)
        refused.append(path)

    assert len(refused) >= 15


def test_the_rules_are_as_decided(site):
    assert access_by_route(site.app) == RULES


@pytest.mark.parametrize("rules", [(), (anyone, page_reader)])
def test_a_route_without_exactly_one_rule_is_not_served(site, rules):
    router = APIRouter(dependencies=[Depends(rule) for rule in rules])
    router.add_api_route("/forgotten", lambda: "")
    app = create_app(site.app.state.service)
    app.include_router(router)

    with pytest.raises(TypeError, match=f"/forgotten has {len(rules)} access rules"):
        access_by_route(app)
