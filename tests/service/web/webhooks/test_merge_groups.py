"""Tests what `/webhooks/github` takes of a merge queue's deliveries, over real HTTP."""

import hashlib
import hmac
import json

import pytest
from pydantic import SecretStr

from perfledger_service.usecases.server.project import add_project, let_actions_upload
from tests.cases import case

SECRET = "canaryCanaryCanaryWebhookSecret"
QUEUE_REF = f"refs/heads/gh-readonly-queue/main/pr-7-{'a' * 40}"
TOKEN = "pl_0123abcd_" + "s" * 43


@pytest.fixture
def site(engine, start_site, now):
    """The application with a webhook secret, and a project whose repository has a number."""
    add_project(engine, "octo/models", token=TOKEN, now=now)
    let_actions_upload(
        engine, "octo/models", repository_id=1296269, owner_id=583231, branch="main", now=now
    )
    with start_site(engine, webhook_secret=SecretStr(SECRET)) as site:
        yield site


@pytest.fixture
def deliver(site):
    """Deliver a document or bytes, signed."""

    def deliver(document):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-GitHub-Event": "merge_group", "X-Hub-Signature-256": f"sha256={signature}"}
        return site.client.post("/webhooks/github", content=body, headers=headers)

    return deliver


def a_group(action="checks_requested", *, head_ref=QUEUE_REF, **values):
    """Return GitHub's delivery about a merge group of pull request 7."""
    return {
        "action": action,
        "merge_group": {
            "head_sha": "d" * 40,
            "head_ref": head_ref,
            "base_sha": "a" * 40,
            "base_ref": "refs/heads/main",
            "head_commit": {"id": "d" * 40, "message": "Merge pull request #7"},
        },
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "sender": {"login": "github-merge-queue[bot]", "type": "Bot"},
    } | values


def test_the_check_of_a_merge_group_is_posted_when_it_begins_and_when_it_ends(deliver, site):
    for document in (a_group(), a_group(), a_group("destroyed", reason="merged")):
        with case(document=document):
            done = deliver(document)

            assert (done.status_code, done.json()) == (202, {"is_accepted": True, "reason": ""})
    assert {(one.pull_request, one.head_sha) for one in site.jobs.checks} == {(0, "d" * 40)}
    assert site.jobs.works == site.jobs.commands == []


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (a_group(head_ref="refs/heads/main"), "not a branch of a merge queue"),
        (a_group("edited"), "not a merge group to check, nor the end of one"),
        (a_group("destroyed", reason="exploded"), "not a merge group to check, nor the end of one"),
        (a_group("destroyed"), "not a merge group to check, nor the end of one"),
        (a_group("destroyed", reason="dequeued"), "no check of the merge group is posted"),
        (a_group(repository={"id": 1, "full_name": "octo/models"}), "its number differs"),
        (a_group(repository={"id": 1, "full_name": "octo/unknown"}), "octo/unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_merge_group_of_a_project_has_a_reason(deliver, site, document, reason):
    done = deliver(document)

    assert done.status_code == 202
    assert not done.json()["is_accepted"]
    assert reason in done.json()["reason"]
    assert site.jobs.checks == []


@pytest.mark.parametrize("body", [b"{", b"{}", b'{"action": "checks_requested"}'])
def test_signed_garbage_about_a_merge_group_is_answered_with_our_error(deliver, body):
    done = deliver(body)

    assert done.status_code == 400
    assert "not a delivery of merge_group from GitHub" in done.text
