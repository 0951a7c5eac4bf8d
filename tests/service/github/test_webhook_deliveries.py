"""Deliveries of the App's webhooks, over HTTP to the stand-in."""

from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from perfledger_service.errors import GitHubError
from perfledger_service.github import webhook_deliveries
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import AppAuthentication, TokenAuthentication
from perfledger_service.github.client import GitHub


@pytest.fixture(scope="module")
def private_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


@pytest.fixture
def api(stand_in):
    api = GitHubApi(stand_in.url, write_interval_s=0.0, sleep=lambda _: None)
    yield api
    api.close()


@pytest.fixture
def deliveries(api, private_key):
    authentication = AppAuthentication(api, app_id="123", private_key=private_key)
    return GitHub(api, authentication).deliveries


def test_attempts_are_read_page_by_page_newest_first(deliveries, stand_in, monkeypatch):
    monkeypatch.setattr(webhook_deliveries, "PAGE", 2)
    for number in range(5):
        document = {"guid": str(number), "event": "issue_comment", "status_code": 200 + number}
        stand_in.state.add_delivery(document | {"delivered_at": "2026-11-20T12:00:00Z"})
    attempts = deliveries.attempts()
    newest = next(attempts)
    assert len(stand_in.state.requests) == 1  # a page is read when it is needed
    others = list(attempts)

    assert (newest.guid, newest.delivered_at) == ("4", datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert [one.guid for one in others] == ["3", "2", "1", "0"]
    assert len(stand_in.state.requests) == 3


def test_a_page_has_a_hundred_attempts(deliveries, stand_in):
    for number in range(101):
        document = {"guid": str(number), "event": "ping", "status_code": 200}
        stand_in.state.add_delivery(document | {"delivered_at": "2026-11-20T12:00:00Z"})

    guids = [one.guid for one in deliveries.attempts()]

    assert guids == [str(number) for number in reversed(range(101))]
    assert len(stand_in.state.requests) == 2


@pytest.mark.parametrize(
    ("status", "is_received"), [(200, True), (202, True), (401, False), (0, False)]
)
def test_what_was_not_answered_with_a_success_was_not_received(
    deliveries, stand_in, status, is_received
):
    stand_in.state.add_delivery({"guid": "1", "event": "ping", "status_code": status})
    [attempt] = deliveries.attempts()

    assert (attempt.is_received, attempt.is_repeated) == (is_received, False)


def test_an_attempt_is_repeated(deliveries, stand_in):
    first = stand_in.state.add_delivery({"guid": "1", "event": "ping", "status_code": 502})
    deliveries.redeliver(first["id"])
    again, _ = deliveries.attempts()

    assert (again.guid, again.is_received, again.is_repeated) == ("1", True, True)
    with pytest.raises(GitHubError, match="404"):
        deliveries.redeliver(7)


def test_a_listing_that_leads_to_itself_ends(deliveries, stand_in, monkeypatch):
    monkeypatch.setattr(webhook_deliveries, "PAGE", 1)
    for guid in "12":
        stand_in.state.add_delivery({"guid": guid, "event": "ping", "status_code": 200})
    cursor = stand_in.state.deliveries[-1]["id"]
    handler = stand_in.RequestHandlerClass
    link = f'<{stand_in.url}/x?cursor={cursor}>; rel="next"'
    monkeypatch.setattr(handler, "page", lambda _self, items, _path: (items[:1], link))

    assert len(list(deliveries.attempts())) == 2


@pytest.mark.parametrize("text", ["<html>", "{}", '[{"id": "x"}]', "[" * 100_000])
def test_an_answer_that_is_not_githubs_may_pass(deliveries, stand_in, text):
    stand_in.state.faults.append({"count": 1, "status": 200, "text": text})
    with pytest.raises(GitHubError) as caught:
        list(deliveries.attempts())

    assert caught.value.is_transient


def test_without_an_app_there_are_no_deliveries(api):
    assert GitHub(api, TokenAuthentication(api, "ghp_x")).deliveries is None
