"""Two processes of the service on one PostgreSQL get the same thing at the same moment."""

import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from threading import Barrier

import httpx
import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.jobs.runner_queue import queue_job
from perfledger_service.usecases.server.project import add_project
from tests.service.servers.service_process import service_process

TOKEN = "pl_0123abcd_" + "s" * 43
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
JSON_HEADERS = {**HEADERS, "Content-Type": "application/json"}
SECRET = "canaryCanaryCanaryWebhookSecret"
CPU = "cpu:Test CPU:1"
CLIENTS = 8  # half of them at each process
HELP = {
    "action": "created",
    "repository": {"id": 1296269, "full_name": "octo/models"},
    "issue": {"number": 7, "user": {"login": "bob"}, "pull_request": {"url": "x"}},
    "comment": {"id": 1, "body": "/perfledger help", "user": {"login": "alice"}},
    "sender": {"login": "alice", "type": "User"},
}

pytestmark = pytest.mark.slow(ci_only=True)


@pytest.fixture
def engine(migrated_postgres_url, now):
    engine = open_engine(migrated_postgres_url)
    add_project(engine, "octo/models", token=TOKEN, now=now)
    yield engine
    engine.dispose()


@pytest.fixture
def send_at_once(engine, at_github, tmp_path):
    """Post something to a route of both processes, from all clients at once; return the answers."""
    at_github.open_pull()
    url = engine.url.render_as_string(hide_password=False)
    log, github_url = tmp_path / "service.log", at_github.server.url
    with (
        service_process(url, github_url, log=log, webhook_secret=SECRET) as (_, one),
        service_process(url, github_url, log=log, webhook_secret=SECRET) as (_, two),
        ThreadPoolExecutor(CLIENTS) as pool,
    ):

        def send_at_once(route, contents, headers):
            barrier = Barrier(CLIENTS)

            def send(target, content):
                with httpx.Client(timeout=600) as client:
                    client.get(f"{target}/healthz").raise_for_status()
                    barrier.wait(600)
                    return client.post(f"{target}{route}", content=content, headers=headers)

            return list(pool.map(send, cycle((one, two)), contents))

        yield send_at_once


def test_a_delivery_that_both_get_is_answered_once(send_at_once, at_github, make_bundle):
    bundles = [make_bundle().to_json()] * CLIENTS
    uploads = send_at_once("/api/v1/uploads", bundles, HEADERS)
    assert len({one.raise_for_status().json()["id"] for one in uploads}) == 1
    state = at_github.server.state
    assert state.wait_for(lambda now: now.repositories["octo/models"]["check_runs"])
    body = json.dumps(HELP).encode()
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": f"sha256={signed}"}

    answers = send_at_once("/webhooks/github", [body] * CLIENTS, headers)

    assert sorted(one.status_code for one in answers) == [200] * (CLIENTS - 1) + [202]
    assert state.wait_for(lambda now: len(now.repositories["octo/models"]["comments"]) == 2)
    assert at_github.requests.count("POST issues/7/comments") == 2  # the report and the answer
    assert at_github.requests.count("POST check-runs") == 1


def test_a_job_that_all_runners_ask_for_is_lent_once_and_has_one_result(
    send_at_once, engine, make_bundle, now
):
    with write_session(engine) as session:
        project = project_named(session, "octo/models")
        job = NewRunnerJob(
            key="ab:1",
            kind=RunnerJobKind.AB,
            machine_class=CPU,
            base_sha="a" * 40,
            head_sha="b" * 40,
        )
        job_id = queue_job(session, project.id, job, now=now).id
        session.commit()
    requests = [
        json.dumps({"runner": f"box {one}", "machine_classes": [CPU], "lease": f"{one:032x}"})
        for one in range(1, CLIENTS + 1)
    ]
    answers = send_at_once("/api/v1/jobs/take", requests, JSON_HEADERS)
    assert [one.json()["job"]["id"] for one in answers if one.json()["job"]] == [job_id]

    bundles = [make_bundle(seed=one, pull_request=None).to_json() for one in range(CLIENTS)]
    results = send_at_once(f"/api/v1/jobs/{job_id}/result", bundles, HEADERS)
    assert sorted(one.status_code for one in results) == [202] + [409] * (CLIENTS - 1)
