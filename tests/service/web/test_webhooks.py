"""Tests `/webhooks/github` over real HTTP: which deliveries are taken, and what they approve."""

import hashlib
import hmac
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import SecretStr

from perfledger.bundle import CostPolicy, FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_service.store.comments.commands import unfinished_commands
from perfledger_service.store.database import read_session
from perfledger_service.usecases.server.project import let_actions_upload
from perfledger_service.web.webhooks import MAX_DELIVERY_BYTES
from tests.cases import case

SECRET = "canaryCanaryCanaryWebhookSecret"
ROUTE = "/webhooks/github"
YES = "/perfledger approve bbbbbbb 99,999,999: worth it"
H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
FLEET = FleetUse(
    workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0, source="x"
)
POLICY = CostPolicy(team="nlp", ask_above_usd_per_year=0.01, approvers=("Alice",))


def signature(body, secret=SECRET):
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def a_delivery(**values):
    """Return GitHub's delivery of a new comment of alice on bob's pull request 7."""
    return {
        "action": "created",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "issue": {"number": 7, "user": {"login": "bob"}, "pull_request": {"url": "x"}},
        "comment": {"id": 1, "body": YES, "user": {"login": "alice"}},
        "sender": {"login": "alice", "type": "User"},
    } | values


@pytest.fixture
def site(engine, start_site):
    """The application with a webhook secret."""
    with start_site(engine, webhook_secret=SecretStr(SECRET)) as site:
        site.get("/healthz")  # it has started, and swept up what was left over
        yield site


@pytest.fixture
def deliver(site):
    """Deliver a document or bytes, signed."""

    def deliver(document, *, event="issue_comment", secret=SECRET):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        headers = {"X-GitHub-Event": event, "X-Hub-Signature-256": signature(body, secret)}
        return site.client.post(ROUTE, content=body, headers=headers)

    return deliver


@pytest.fixture
def upload_for_approval(site, judged, make_bundle):
    """A judged pull request whose cost asks for approval, and no work to do."""
    pricing = PricingConfig(fleet=(FLEET,), policies=(POLICY,))
    upload = judged(site.engine, make_bundle(ratio=1.0, machine=H100, pricing=pricing))
    let_actions_upload(
        site.engine,
        "octo/models",
        repository_id=1296269,
        owner_id=583231,
        branch="main",
        now=upload.created_at,
    )
    site.jobs.works.clear()
    return upload


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

    assert done.status_code == 404
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


def a_merge(**values):
    pull_request = {"number": 7, "merged": True, "merge_commit_sha": "d" * 40}
    return {
        "action": "closed",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "pull_request": pull_request | values,
    }


@pytest.mark.usefixtures("upload_for_approval")
def test_a_closing_is_received_and_nothing_else_of_a_pull_request(deliver):
    for delivery, is_accepted in [
        (a_merge(), True),
        (a_merge(merged=False), True),
        (a_merge(merge_commit_sha=None), False),
        (a_merge(merge_commit_sha="HEAD"), False),
        (a_merge(number=2**40), False),
        (a_merge() | {"action": "opened"}, False),
        (a_merge() | {"repository": {"id": 3, "full_name": "octo/unknown"}}, False),
        (a_merge() | {"repository": {"id": 1, "full_name": "octo/models"}}, False),
    ]:
        with case(delivery=delivery, is_accepted=is_accepted):
            done = deliver(delivery, event="pull_request")

            assert (done.status_code, done.json()["is_accepted"]) == (202, is_accepted)
            assert bool(done.json()["reason"]) != is_accepted


def a_push(**values):
    return a_merge() | {"action": "synchronize", "before": "b" * 40, "after": "c" * 40} | values


@pytest.mark.usefixtures("upload_for_approval")
@pytest.mark.parametrize(
    ("delivery", "is_accepted"),
    [
        (a_push(), True),
        (a_push(before=""), False),
        (a_push(after="HEAD"), False),
        (a_push(pull_request={"number": 2**40}), False),
        (a_push(repository={"id": 1, "full_name": "octo/models"}), False),
    ],
)
def test_a_push_to_a_pull_request_is_received(deliver, delivery, is_accepted):
    done = deliver(delivery, event="pull_request")

    assert (done.status_code, done.json()["is_accepted"]) == (202, is_accepted)
    assert bool(done.json()["reason"]) != is_accepted


@pytest.mark.usefixtures("upload_for_approval")
@pytest.mark.parametrize(
    ("values", "posted"),
    [
        ({"action": "closed"}, [8]),
        ({"action": "synchronize", "before": "b" * 40, "after": "c" * 40}, [8]),
        ({"action": "reopened"}, [7]),
        ({"action": "opened"}, []),
    ],
)
def test_a_check_that_pull_requests_share_is_posted_once_one_leaves_or_returns(
    deliver, site, values, posted, *, judged, make_bundle
):
    judged(site.engine, make_bundle(seed=8, pull_request=8), upload_id="8" * 32)
    deliver(a_merge(head={"sha": "b" * 40}) | values, event="pull_request")

    assert [one.pull_request for one in site.jobs.checks] == posted


def a_label(**values):
    return {
        "action": "labeled",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "pull_request": {"number": 7, "head": {"sha": "b" * 40}, "user": {"login": "bob"}},
        "label": {"name": "perfledger-allow"},
        "sender": {"login": "alice", "type": "User"},
    } | values


@pytest.mark.usefixtures("upload_for_approval")
@pytest.mark.parametrize(
    ("delivery", "is_accepted"),
    [
        (a_label(), True),
        (a_label(action="unlabeled"), True),
        (a_label(label={"name": "bug"}), False),
        (a_label(sender={"login": "robot", "type": "Bot"}), False),
        (a_label(sender=None), False),
        (a_label(pull_request={"number": 7}), False),
        (a_label(pull_request={"number": 7, "head": {"sha": "x\n/perfledger"}}), True),
        (a_label(repository={"id": 1, "full_name": "octo/models"}), False),
    ],
)
def test_a_label_is_a_command_of_who_put_it(deliver, site, delivery, is_accepted):
    done = deliver(delivery, event="pull_request")

    assert (done.status_code, done.json()["is_accepted"]) == (202, is_accepted)
    assert len(site.jobs.commands) == is_accepted
    again = deliver(delivery, event="pull_request")
    assert not again.json()["is_accepted"]
    assert len(site.jobs.commands) == is_accepted


@pytest.mark.usefixtures("asked")
def test_an_old_label_is_no_new_command_under_another_delivery_id(site):
    body = json.dumps(a_label()).encode()
    headers = {"X-GitHub-Event": "pull_request", "X-Hub-Signature-256": signature(body)}
    for guid in ("guid-1", "guid-2"):
        site.client.post(ROUTE, content=body, headers=headers | {"X-GitHub-Delivery": guid})

    assert len(site.jobs.commands) == 1


@pytest.mark.usefixtures("asked")
def test_each_label_is_a_command_even_if_deliveries_have_no_id(deliver, site):
    for action in ("labeled", "unlabeled"):
        assert deliver(a_label(action=action), event="pull_request").json()["is_accepted"]

    assert len(site.jobs.commands) == 2


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("action", "words"), [("labeled", f"allow {'b' * 40}"), ("unlabeled", "disallow")]
)
def test_the_label_allows_its_commit_and_without_it_nothing_more(deliver, engine, action, words):
    deliver(a_label(action=action), event="pull_request")

    with read_session(engine) as session:
        (command,) = unfinished_commands(session)
    assert command.line.removeprefix("/perfledger ") == words


def a_rerun(**values):
    return {
        "action": "rerequested",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "check_run": {"head_sha": "b" * 40, "name": "perfledger"},
        "sender": {"login": "alice", "type": "User"},
    } | values


A_SUITE = {"check_run": None, "check_suite": {"head_sha": "b" * 40}}


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("event", "values", "commands"),
    [
        ("check_run", {}, 1),
        ("check_suite", A_SUITE, 1),
        ("check_run", {"sender": {"login": "robot[bot]", "type": "Bot"}}, 0),
    ],
)
def test_githubs_button_has_the_check_posted_and_measured_again_once(
    deliver, site, event, values, commands
):
    for _ in range(2):
        done = deliver(a_rerun(**values), event=event)
        assert (done.status_code, done.json()) == (202, {"is_accepted": True, "reason": ""})

    assert {(one.pull_request, one.head_sha) for one in site.jobs.checks} == {(7, "b" * 40)}
    assert len(site.jobs.commands) == commands
    with read_session(site.engine) as session:
        lines = [one.line for one in unfinished_commands(session)]
    assert lines == [f"/perfledger rerun {'b' * 40}"] * commands


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"action": "completed"}, "not a check to run again"),
        ({"check_run": None}, "not a check to run again"),
        ({"check_run": {"head_sha": "HEAD"}}, "no such commit"),
        ({"check_run": {"head_sha": "c" * 40}}, "no check of this commit is posted"),
        ({"repository": {"id": 1, "full_name": "octo/models"}}, "its number differs"),
    ],
)
def test_other_deliveries_of_checks_change_nothing(deliver, site, values, reason):
    done = deliver(a_rerun(**values), event="check_run")

    assert (done.status_code, done.json()["is_accepted"]) == (202, False)
    assert reason in done.json()["reason"]
    assert site.jobs.checks == site.jobs.commands == []


def test_a_merge_that_is_none_is_answered_with_our_error(deliver):
    assert deliver({"action": "closed"}, event="pull_request").status_code == 400
