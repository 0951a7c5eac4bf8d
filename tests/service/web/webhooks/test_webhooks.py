"""Tests `/webhooks/github` over real HTTP: which deliveries are taken, and what they approve."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import SecretStr

from perfledger_service.web.webhooks import MAX_DELIVERY_BYTES
from tests.cases import case
from tests.service.web.webhooks.conftest import ROUTE, SECRET, signature

YES = "/perfledger approve bbbbbbb 99,999,999: worth it"


def a_delivery(**values):
    """Return GitHub's delivery of a new comment of alice on bob's pull request 7."""
    return {
        "action": "created",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "issue": {"number": 7, "user": {"login": "bob"}, "pull_request": {"url": "x"}},
        "comment": {"id": 1, "body": YES, "user": {"login": "alice"}},
        "sender": {"login": "alice", "type": "User"},
    } | values


@pytest.mark.usefixtures("upload_for_approval")
def test_a_command_is_stored_and_enqueued_and_not_carried_out(deliver, site):
    done = deliver(a_delivery())

    assert (done.status_code, done.json()) == (202, {"is_accepted": True, "reason": ""})
    assert [command.partition for command in site.jobs.commands] == ["1#7"]
    assert site.jobs.works == []


@pytest.mark.usefixtures("upload_for_approval")
def test_the_same_delivery_again_is_taken_once(deliver, site):
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: deliver(a_delivery()), range(10)))

    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
    assert sum(answer.json()["is_accepted"] for answer in answers) == 1
    assert len(site.jobs.commands) == 1


@pytest.mark.usefixtures("upload_for_approval")
def test_only_a_persons_new_comment_on_an_open_pull_request_counts(deliver, site):
    cases: list[tuple[dict[str, Any], str]] = [
        ({"action": "edited"}, "not a new comment by a person"),
        ({"action": "deleted"}, "not a new comment by a person"),
        ({"sender": {"login": "mallory", "type": "User"}}, "not a new comment by a person"),
        ({"sender": {"login": "alice", "type": "Bot"}}, "not a new comment by a person"),
        ({"comment": {"id": 1, "body": YES, "user": None}}, "not a new comment by a person"),
        ({"issue": {"number": 7, "user": {"login": "bob"}}}, "not on a pull request"),
        (
            {"issue": {"number": 7, "state": "closed", "pull_request": {}}},
            "the pull request is closed",
        ),
    ]
    for other, reason in cases:
        with case(other=other, reason=reason):
            done = deliver(a_delivery(**other))

            assert (done.status_code, done.json()) == (
                202,
                {"is_accepted": False, "reason": reason},
            )
            assert site.jobs.works == site.jobs.commands == []


@pytest.mark.usefixtures("upload_for_approval")
@pytest.mark.parametrize(
    "other",
    [
        {"repository": {"id": 3, "full_name": "octo/unknown"}},
        {"repository": {"id": 1, "full_name": "octo/models"}},  # made anew after a rename
        {"issue": {"number": 2**40, "user": {"login": "bob"}, "pull_request": {}}},
        {"comment": {"id": 2**63, "body": YES, "user": {"login": "alice"}}},
        {"comment": {"id": 1, "body": None, "user": {"login": "alice"}}},
    ],
)
def test_a_comment_on_what_is_not_known_or_that_approves_nothing_has_a_reason(deliver, site, other):
    done = deliver(a_delivery(**other))

    assert done.status_code == 202
    assert not done.json()["is_accepted"]
    assert done.json()["reason"]
    assert site.jobs.works == site.jobs.commands == []


def test_other_events_are_taken_and_left(deliver):
    done = deliver({"zen": "ok"}, event="ping")

    reason = "not a comment, a pull request, a merge group or a check"
    assert (done.status_code, done.json()["reason"]) == (202, reason)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b"{}", b"\xff\xfe", b'{"action":' * 5000, b"[" * 100_000],
)
def test_signed_garbage_is_answered_with_our_error(deliver, body):
    done = deliver(body)

    assert done.status_code == 400
    assert "not a delivery of issue_comment" in done.text


@pytest.mark.parametrize(
    "header",
    [
        None,
        signature(b"{}", "guess"),
        signature(b"{ }"),
        signature(b"{}").upper(),
        signature(b"{}").removeprefix("sha256="),
        "sha256=",
        b"sha256=\xe4",
    ],
)
def test_what_is_not_signed_with_the_secret_is_refused(site, header):
    headers = {} if header is None else {"X-Hub-Signature-256": header}
    done = site.client.post(ROUTE, content=b"{}", headers=headers)

    assert done.status_code == 401
    assert "not signed with PERFLEDGER_WEBHOOK_SECRET" in done.text


def start(site, *headers):
    """Send the head of a delivery and none of its body; return the open connection."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=600)
    connection.putrequest("POST", ROUTE)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    return connection


def test_what_is_not_signed_at_all_is_not_even_read(site):
    connection = start(site, ("Content-Length", "1000"))

    assert connection.getresponse().status == 401
    connection.close()


def test_a_delivery_that_says_it_is_too_large_is_not_read(site):
    length = ("Content-Length", str(MAX_DELIVERY_BYTES + 1))
    connection = start(site, length, ("X-Hub-Signature-256", signature(b"")))

    assert connection.getresponse().status == 413
    connection.close()


def test_a_delivery_that_does_not_say_how_large_it_is_ends_at_the_limit(site):
    def pieces():
        yield from [b" " * 2**20] * (MAX_DELIVERY_BYTES // 2**20)
        yield b" "

    headers = {"X-Hub-Signature-256": signature(b"")}
    done = site.client.post(ROUTE, content=pieces(), headers=headers)

    assert done.status_code == 413
    assert "GitHub sends less" in done.text


@pytest.mark.parametrize("secret", [None, SecretStr("")])
def test_without_a_secret_there_are_no_webhooks(engine, start_site, secret):
    headers = {"X-Hub-Signature-256": signature(b"{}", "")}

    with start_site(engine, webhook_secret=secret) as site:
        done = site.client.post(ROUTE, content=b"{}", headers=headers)
        documented = site.get("/api/openapi.json").json()["paths"][ROUTE]["post"]["responses"]

    assert done.status_code == 404
    assert "404" in documented
    assert "PERFLEDGER_WEBHOOK_SECRET" in done.text


@pytest.fixture
def rotating_site(engine, start_site):
    with start_site(
        engine, webhook_secret=SecretStr(SECRET), previous_webhook_secret=SecretStr("old" * 9)
    ) as site:
        yield site


@pytest.mark.parametrize(
    ("secret", "status"), [(SECRET, 202), ("old" * 9, 202), ("third" * 9, 401), ("", 401)]
)
def test_while_the_secret_is_replaced_both_sign_and_no_third(rotating_site, secret, status):
    body = json.dumps(a_delivery()).encode()
    headers = {"X-GitHub-Event": "ping", "X-Hub-Signature-256": signature(body, secret)}

    assert rotating_site.client.post(ROUTE, content=body, headers=headers).status_code == status


def test_an_empty_previous_secret_signs_nothing(engine, start_site):
    with start_site(
        engine, webhook_secret=SecretStr(SECRET), previous_webhook_secret=SecretStr("")
    ) as site:
        headers = {"X-GitHub-Event": "ping", "X-Hub-Signature-256": signature(b"{}", "")}

        assert site.client.post(ROUTE, content=b"{}", headers=headers).status_code == 401
