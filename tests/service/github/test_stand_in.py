"""The stand-in for GitHub refuses what GitHub refuses, and can be run by itself."""

import json
import re
import subprocess
import sys

import httpx
import pytest

SIGNED_IN = {"Authorization": "token t"}
COMMENTS = "/repos/octo/models/issues/7/comments"
CHECKS = "/repos/octo/models/check-runs"
DISPATCHES = "/repos/octo/models/actions/workflows/job.yml/dispatches"


@pytest.fixture
def client(stand_in, at_github):
    at_github.open_pull()
    with httpx.Client(base_url=stand_in.url, headers=SIGNED_IN, timeout=600) as client:
        yield client


@pytest.mark.parametrize("headers", [{}, {"Authorization": "token wrong"}])
def test_nobody_is_refused(stand_in, headers):
    answer = httpx.get(f"{stand_in.url}/user", headers=headers, timeout=600)

    assert answer.status_code == 401
    assert answer.json()["message"] == "Requires authentication"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/repos/octo/nothing/pulls/7", None, 404),
        ("GET", "/repos/octo/models/pulls/8", None, 404),
        ("GET", "/nothing", None, 404),
        ("POST", COMMENTS, {}, 422),
        ("POST", COMMENTS, {"body": ""}, 422),
        ("POST", COMMENTS, {"body": "x" * 65_537}, 422),
        ("POST", "/repos/octo/models/issues/8/comments", {"body": "x"}, 404),
        ("POST", CHECKS, {"name": "n", "head_sha": "a"}, 422),
        ("POST", CHECKS, {"output": {"title": "t", "summary": "s"}}, 422),
        ("GET", "/app", None, 401),
    ],
)
def test_what_github_refuses_is_refused(client, method, path, body, status):
    answer = client.request(method, path, json=body)

    assert answer.status_code == status
    assert "message" in answer.json()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"conclusion": "fine"}, "'fine' is not a conclusion"),
        ({"output": {"title": "t", "summary": "x" * 65_536}}, "a summary of <= 65535"),
        ({"output": {"title": "t", "summary": "", "annotations": [{}] * 51}}, "No more than 50"),
    ],
)
def test_a_check_beyond_githubs_limits_is_refused(client, values, message):
    check = {
        "name": "n",
        "head_sha": "a",
        "status": "completed",
        "conclusion": "success",
        "output": {"title": "t", "summary": "s"},
    }
    answer = client.post(CHECKS, json=check | values)

    assert answer.status_code == 422
    assert message in answer.json()["message"]


def test_others_comments_cannot_be_changed(client, at_github):
    theirs = at_github.add_comment("mallory", "text")
    answer = client.patch(f"/repos/octo/models/issues/comments/{theirs['id']}", json={"body": "x"})

    assert answer.status_code == 403


def test_what_is_no_json_is_refused(client):
    assert client.post(COMMENTS, content=b"{").status_code == 400


def test_pages_are_linked(client):
    for _ in range(3):
        client.post(COMMENTS, json={"body": "x"})
    first = client.get(COMMENTS, params={"per_page": 2})
    second = client.get(first.links["next"]["url"])

    assert (len(first.json()), len(second.json())) == (2, 1)
    assert "next" not in second.links


def test_the_state_is_kept_in_a_file(stand_in_module, tmp_path):
    path = tmp_path / "state.json"
    with stand_in_module.running(path) as server:
        fields = {"repository": "octo/models", "number": 7, "head_sha": "b" * 40}
        httpx.post(f"{server.url}/_stand_in/pulls", json=fields, timeout=600)
        document = httpx.post(
            server.url + COMMENTS, json={"body": "x"}, headers=SIGNED_IN, timeout=600
        ).json()
    with stand_in_module.running(path) as server:
        again = httpx.post(
            server.url + COMMENTS, json={"body": "y"}, headers=SIGNED_IN, timeout=600
        ).json()
        state = httpx.get(f"{server.url}/_stand_in/state", timeout=600).json()

    assert again["id"] == document["id"] + 1
    assert len(state["repositories"]["octo/models"]["comments"]) == 2
    assert json.loads(path.read_text(encoding="utf-8"))["next_id"] == again["id"]


@pytest.mark.slow
def test_it_runs_by_itself_and_prints_its_address(stand_in_module):
    process = subprocess.Popen(
        [sys.executable, stand_in_module.__file__, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        url = output.readline().strip()
        answer = httpx.get(f"{url}/user", headers=SIGNED_IN, timeout=600)
        process.terminate()
    process.wait(timeout=600)

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    assert answer.json()["login"] == "perfledger[bot]"


@pytest.fixture
def dispatched(client):
    """Add a workflow and dispatch it; return the client and the run's id."""
    workflow = {"workflow": "job.yml", "ref": "main", "inputs": ["name"], "title": "name"}
    client.post("/_stand_in/workflows", json={"repository": "octo/models"} | workflow)
    answer = client.post(DISPATCHES, json={"ref": "main", "inputs": {"name": "a"}})
    assert (answer.status_code, answer.content) == (204, b"")
    (run,) = client.get("/repos/octo/models/actions/workflows/job.yml/runs").json()["workflow_runs"]
    assert (run["display_title"], run["status"]) == ("a", "queued")
    return run["id"]


def test_a_run_changes_and_keeps_what_it_is_told_to(client, dispatched):
    run = f"/repos/octo/models/actions/runs/{dispatched}"
    jobs = [{"id": 9, "conclusion": "failure"}]
    client.post("/_stand_in/runs", json={"id": dispatched, "status": "in_progress", "jobs": jobs})
    secret = {"id": dispatched, "data": "eA=="}
    client.post("/_stand_in/kept", json=secret | {"name": "job"})
    client.post("/_stand_in/kept", json=secret | {"job": 9})
    (artifact,) = client.get(f"{run}/artifacts", params={"name": "job"}).json()["artifacts"]
    actions = "/repos/octo/models/actions"
    leads = [
        client.get(f"{actions}/{path}").headers["Location"]
        for path in (f"artifacts/{artifact['id']}/zip", "jobs/9/logs")
    ]

    assert client.get(run).json()["status"] == "in_progress"
    assert client.get(f"{run}/jobs").json()["jobs"] == jobs
    assert [httpx.get(lead, timeout=600).content for lead in leads] == [b"x", b"x"]
    assert httpx.get(leads[0], headers=SIGNED_IN, timeout=600).status_code == 400


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"ref": "topic"}, 422),
        ({"ref": "main", "inputs": {"other": "a"}}, 422),
        ({"ref": "main", "inputs": {"name": "a" * 65_536}}, 422),
        ({"ref": "main", "return_run_details": True}, 422),  # as servers of before 2026
    ],
)
@pytest.mark.usefixtures("dispatched")
def test_a_dispatch_that_github_would_refuse_is_refused(client, body, status):
    assert client.post(DISPATCHES, json=body).status_code == status


def test_a_run_is_cancelled_once(client, dispatched):
    path = f"/repos/octo/models/actions/runs/{dispatched}/cancel"

    assert [client.post(path).status_code for _ in range(2)] == [202, 409]
