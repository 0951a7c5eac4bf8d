"""Tests what `/webhooks/github` takes of pull requests: ends, pushes, bases, labels and re-runs."""

import json
from datetime import timedelta

import pytest

from perfledger_service.store.comments.commands import unfinished_commands
from perfledger_service.store.database import read_session
from perfledger_service.store.heads.pull_request_bases import base_of
from perfledger_service.store.uploads import CheckedHead
from tests.cases import case
from tests.service.web.webhooks.conftest import ROUTE, signature

pytestmark = pytest.mark.usefixtures("upload_for_approval")


def a_merge(**values):
    pull_request = {"number": 7, "merged": True, "merge_commit_sha": "d" * 40}
    return {
        "action": "closed",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "pull_request": pull_request | values,
    }


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


@pytest.mark.parametrize(
    ("pull_request", "is_accepted"),
    [
        ({"number": 7, "head": {"sha": "b" * 40}, "base": {"ref": "main"}}, True),
        ({"number": 7, "head": {"sha": "b" * 40}}, False),
        ({"number": 2**40, "head": {"sha": "b" * 40}, "base": {"ref": "main"}}, False),
    ],
)
def test_the_base_of_an_opened_pull_request_is_recorded(deliver, site, pull_request, is_accepted):
    opening = a_merge() | {"action": "opened", "pull_request": pull_request}
    done = deliver(opening, event="pull_request")

    assert (done.status_code, done.json()["is_accepted"]) == (202, is_accepted)
    assert bool(done.json()["reason"]) != is_accepted
    head = CheckedHead(project_id=1, repository="octo/models", pull_request=7, head_sha="b" * 40)
    with read_session(site.engine) as session:
        assert base_of(session, head).base_ref == ("main" if is_accepted else "")


def an_edit(**values):
    return {
        "action": "edited",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "pull_request": {"number": 7, "head": {"sha": "b" * 40}, "base": {"ref": "release"}},
        "changes": {"base": {"ref": {"from": "main"}, "sha": {"from": "a" * 40}}},
    } | values


def test_another_base_has_the_check_posted_now_and_at_its_deadline(deliver, site, now):
    done = deliver(an_edit(), event="pull_request")

    assert (done.status_code, done.json()) == (202, {"is_accepted": True, "reason": ""})
    assert [(one.pull_request, one.head_sha) for one in site.jobs.checks] == [(7, "b" * 40)] * 2
    assert [one.due_at - now for one in site.jobs.checks] == [timedelta(0), timedelta(hours=6)]


@pytest.mark.parametrize(
    "values",
    [
        {"changes": {"title": {"from": "x"}}},
        {"changes": None},
        {"pull_request": {"number": 7, "head": {"sha": "c"}, "base": {"ref": "release"}}},
        {"repository": {"id": 1, "full_name": "octo/models"}},
    ],
)
def test_other_edits_change_nothing(deliver, site, values):
    done = deliver(an_edit(**values), event="pull_request")

    assert (done.status_code, done.json()["is_accepted"]) == (202, False)
    assert done.json()["reason"]
    assert site.jobs.checks == []


def test_another_base_before_any_check_is_recorded_and_nothing_is_posted(deliver, site):
    head = {"number": 7, "head": {"sha": "c" * 40}, "base": {"ref": "release"}}
    done = deliver(an_edit(pull_request=head), event="pull_request")

    assert (done.status_code, done.json()) == (202, {"is_accepted": True, "reason": ""})
    assert site.jobs.checks == []


def a_label(**values):
    return {
        "action": "labeled",
        "repository": {"id": 1296269, "full_name": "octo/models"},
        "pull_request": {"number": 7, "head": {"sha": "b" * 40}, "user": {"login": "bob"}},
        "label": {"name": "perfledger-allow"},
        "sender": {"login": "alice", "type": "User"},
    } | values


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


def test_an_old_label_is_no_new_command_under_another_delivery_id(site):
    body = json.dumps(a_label()).encode()
    headers = {"X-GitHub-Event": "pull_request", "X-Hub-Signature-256": signature(body)}
    for guid in ("guid-1", "guid-2"):
        site.client.post(ROUTE, content=body, headers=headers | {"X-GitHub-Delivery": guid})

    assert len(site.jobs.commands) == 1


def test_each_label_is_a_command_even_if_deliveries_have_no_id(deliver, site):
    for action in ("labeled", "unlabeled"):
        assert deliver(a_label(action=action), event="pull_request").json()["is_accepted"]

    assert len(site.jobs.commands) == 2


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
