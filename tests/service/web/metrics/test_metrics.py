"""Tests what Prometheus reads, with its own parser."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from sqlalchemy import MetaData

from perfledger_service.github.request_counts import RequestCounts, RequestOutcome
from perfledger_service.usecases.server.project import add_project
from perfledger_service.web.app import create_app

METRICS_TOKEN = "m" * 32
OPERATING = (Path(__file__).parents[4] / "docs" / "how-to" / "operating.md").read_text("utf-8")
PROJECT_TOKEN = "pl_8888eeee_" + "e" * 43
HOSTILE = 'octo/x"}\n# HELP evil'


def read_metrics(site, **headers):
    answer = site.client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_prometheus_reads_what_the_service_holds(
    any_engine, judged, received, start_site, make_bundle
):
    judged(any_engine, make_bundle(seed=1))
    received(any_engine, make_bundle(seed=2), upload_id="2" * 32)
    with start_site(any_engine) as site:
        metrics = read_metrics(site)

    assert metrics["perfledger_uploads", "judged"] == 1
    assert metrics["perfledger_uploads", "received"] == 1
    assert metrics["perfledger_uploads", "failed"] == 0
    assert metrics["perfledger_uploads_waiting",] == 1
    assert metrics["perfledger_checks", "failure"] == 1
    assert metrics["perfledger_checks", "neutral"] == 0
    assert metrics["perfledger_jobs", "queued"] == 0
    assert metrics["perfledger_job_leases", "held"] == 0
    assert metrics["perfledger_database_bytes",] > 100_000
    assert metrics["perfledger_database_up",] == 1
    assert metrics["perfledger_workflow_running",] == 1
    assert metrics["process_resident_memory_bytes",] > 1e6


def test_every_metric_with_its_labels_is_in_the_operators_guide(site):
    families = [
        family
        for family in text_string_to_metric_families(site.get("/metrics").text)
        # Of every process, and the times at which counting began.
        if not (family.name.startswith("process_") or family.name.endswith("_created"))
    ]
    labels = {label for family in families for one in family.samples for label in one.labels}

    # The parser leaves out the endings.
    assert [
        family.name
        for family in families
        if not re.search(rf"`{family.name}(_total|_info)?`", OPERATING)
    ] == []
    assert {label for label in labels if f"`{label}`" not in OPERATING} == {"le"}  # a histogram's


def test_requests_are_measured_by_the_template_of_their_route(site):
    for path in ("/octo/models", "/octo/other", "/runs/" + "0" * 32, "/no/such/page/x", "/zz"):
        site.get(path)
    site.client.request("BREW", "/healthz")
    metrics = read_metrics(site)

    counts = {
        key[1:]: value
        for key, value in metrics.items()
        if key[0] == "perfledger_request_seconds_count"
    }
    assert counts["/{owner}/{name}", "2xx", "GET"] == 2
    assert counts["/runs/{upload_id}", "4xx", "GET"] == 1
    assert counts["4xx", "GET", "none"] == 2
    assert ("/healthz", "2xx", "GET") in counts
    assert any("other" in key for key in counts)


def test_names_that_strangers_choose_are_in_no_label(site, make_bundle, now):
    add_project(site.engine, "octo/evil", token=PROJECT_TOKEN, now=now)
    site.upload(make_bundle(workloads=(HOSTILE,)))
    for path in ("/%22%7D%0A%23", "/runs/%22%0Aevil", "/octo/evil/workloads/%22%7D%0Aevil"):
        site.get(path)
    site.client.get("/healthz", headers={"Host": "evil.example"})
    text = site.get("/metrics").text

    assert "evil" not in text
    assert "octo" not in text
    labels = {
        name
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        for name in sample.labels
    }
    assert labels <= {"conclusion", "le", "method", "route", "state", "status", "version"}


def test_whoever_reads_needs_the_token_that_is_set(engine, start_site):
    with start_site(engine, metrics_token=SecretStr(METRICS_TOKEN)) as site:
        forwarded = {"X-Forwarded-For": "192.0.2.7"}
        requests = {
            "directly": {},
            "through a proxy": forwarded,
            "by the public name": {"Host": "ledger.example"},
            "with a wrong token": {"Authorization": "Bearer nope"},
            "with the token": forwarded | {"Authorization": f"Bearer {METRICS_TOKEN}"},
        }
        statuses = {
            how: site.client.get("/metrics", headers=headers).status_code
            for how, headers in requests.items()
        }

    assert statuses == {
        "directly": 401,
        "through a proxy": 401,
        "by the public name": 401,
        "with a wrong token": 401,
        "with the token": 200,
    }


@pytest.mark.parametrize("secret", [None, SecretStr("")])
def test_without_a_token_no_other_machine_reads(engine, start_site, secret):
    headers = {"X-Real-IP": "192.0.2.7", "Authorization": "Bearer none"}
    with start_site(engine, metrics_token=secret) as site:
        assert site.client.get("/metrics", headers=headers).status_code == 401


def test_a_token_of_a_project_opens_no_metrics(engine, start_site, now):
    add_project(engine, "octo/models", token=PROJECT_TOKEN, now=now)
    headers = {"Authorization": f"Bearer {PROJECT_TOKEN}", "X-Forwarded-For": "192.0.2.7"}
    with start_site(engine, metrics_token=SecretStr(METRICS_TOKEN)) as site:
        assert site.client.get("/metrics", headers=headers).status_code == 401


def test_no_secret_is_in_the_metrics(engine, start_site):
    with start_site(engine, metrics_token=SecretStr(METRICS_TOKEN)) as site:
        site.get("/api/v1/priors", token="pl_9999ffff_" + "c" * 43)
        text = site.get("/metrics", token=METRICS_TOKEN).text

    assert "perfledger_uploads" in text
    assert METRICS_TOKEN not in text
    assert "pl_" not in text


def test_without_the_database_the_process_is_still_seen(site):
    tables = MetaData()
    tables.reflect(site.engine)
    tables.drop_all(site.engine)
    metrics = read_metrics(site)

    assert metrics["perfledger_database_up",] == 0
    assert metrics["perfledger_workflow_running",] == 1
    assert ("perfledger_uploads_waiting",) not in metrics


def test_what_became_of_requests_to_github_is_told(engine, start_site):
    counts = RequestCounts()
    counts.note_request("POST", RequestOutcome.DONE)
    counts.note_request("POST", RequestOutcome.REFUSED)
    counts.note_rate_limit()
    with start_site(engine, github_requests=counts) as site:
        metrics = read_metrics(site)

    assert metrics["perfledger_github_requests_total", "POST", "done"] == 1
    assert metrics["perfledger_github_requests_total", "POST", "refused"] == 1
    assert metrics["perfledger_github_requests_total", "GET", "failed"] == 0
    assert metrics["perfledger_github_rate_limit_waits_total",] == 1


def test_two_replicas_tell_the_same_of_the_database_and_their_own_of_requests(
    any_engine, received, start_site, make_bundle
):
    received(any_engine, make_bundle())
    with start_site(any_engine) as one, start_site(any_engine) as other:
        for _ in range(3):
            one.get("/")
        first, second = read_metrics(one), read_metrics(other)

    page = ("perfledger_request_seconds_count", "/", "2xx", "GET")
    assert (first[page], second.get(page)) == (3, None)
    assert first["perfledger_uploads", "received"] == second["perfledger_uploads", "received"] == 1


def test_each_application_has_metrics_of_its_own(site):
    again = create_app(site.app.state.service)

    assert again.state.metrics is not site.app.state.metrics
