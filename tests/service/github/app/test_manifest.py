"""Tests the registration of an App by a manifest, against the stand-in."""

import json
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from perfledger_service.errors import GitHubError, RefusedError
from perfledger_service.github.app.manifest import (
    EVENTS,
    app_manifest,
    exchange_code,
    is_code,
    registration_url,
)
from perfledger_service.github.authentication import PERMISSIONS
from perfledger_service.usecases.uploads.missed_deliveries import SUBSCRIBED_EVENTS

LEDGER = "https://ledger.example"
BACK = "http://127.0.0.1:1/callback"


@pytest.fixture
def manifest():
    return app_manifest(name="perfledger", public_url=LEDGER, redirect_url=BACK)


def test_the_app_may_do_what_the_service_asks_for_and_hears_of_what_it_reads(manifest):
    assert manifest["default_permissions"] == PERMISSIONS | {"merge_queues": "read"}
    assert set(EVENTS) == SUBSCRIBED_EVENTS
    assert manifest["hook_attributes"] == {"url": f"{LEDGER}/webhooks/github", "active": True}
    assert manifest["callback_urls"] == [f"{LEDGER}/sign-in/callback"]
    assert manifest["public"] is False


@pytest.mark.parametrize(
    ("api", "organization", "page"),
    [
        ("https://api.github.com", "", "https://github.com/settings/apps/new"),
        (
            "https://api.github.com",
            "octo",
            "https://github.com/organizations/octo/settings/apps/new",
        ),
        ("https://ghe.example/api/v3", "", "https://ghe.example/settings/apps/new"),
        (
            "https://ghe.example",
            "a/b?",
            "https://ghe.example/organizations/a%2Fb%3F/settings/apps/new",
        ),
    ],
)
def test_the_page_is_that_of_the_owner_on_each_github(api, organization, page):
    url = registration_url(api, organization=organization, state="s t&")

    assert url == f"{page}?state=s+t%26"


@pytest.fixture
def code(stand_in, manifest):
    url = registration_url(stand_in.url, organization="octo", state="state")
    answer = httpx.post(url, data={"manifest": json.dumps(manifest)})
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.headers["location"].startswith(BACK)
    assert query["state"] == ["state"]
    return query["code"][0]


def test_a_code_is_exchanged_for_the_app_and_its_secrets_once(stand_in, code):
    app, secrets = exchange_code(stand_in.url, code)

    assert is_code(code)
    assert (app.id, app.name, app.client_id) == (2, "perfledger", "Iv1.standin")
    assert app.installation_url == "https://github.example/apps/perfledger/installations/new"
    assert secrets.private_key.get_secret_value().startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert "stand-in" not in repr(secrets)
    with pytest.raises(RefusedError, match="works once and for an hour"):
        exchange_code(stand_in.url, code)


def test_an_answer_of_another_server_is_not_an_app(stand_in, code):
    stand_in.state.faults.append(
        {"count": 1, "path": "/conversions", "status": 201, "text": "<html>"}
    )

    with pytest.raises(GitHubError):
        exchange_code(stand_in.url, code)


@pytest.mark.parametrize("text", ["", "a b", "../x", "é", "x" * 201, "a\n"])
def test_what_github_does_not_send_as_a_code_is_none(text):
    assert not is_code(text)
