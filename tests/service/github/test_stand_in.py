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
        told = {"repository": "octo/models", "number": 7, "head_sha": "b" * 40}
        httpx.post(f"{server.url}/_stand_in/pulls", json=told, timeout=600)
        made = httpx.post(
            server.url + COMMENTS, json={"body": "x"}, headers=SIGNED_IN, timeout=600
        ).json()
    with stand_in_module.running(path) as server:
        again = httpx.post(
            server.url + COMMENTS, json={"body": "y"}, headers=SIGNED_IN, timeout=600
        ).json()
        state = httpx.get(f"{server.url}/_stand_in/state", timeout=600).json()

    assert again["id"] == made["id"] + 1
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
