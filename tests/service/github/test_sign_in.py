"""Tests the web flow of an App against the stand-in."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr

from perfledger_service.errors import GitHubError, RefusedError
from perfledger_service.github.sign_in import GitHubSignIn, SignedInAccount, web_root

# The challenge of RFC 7636's example, and its verifier.
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
SECRET = "stand-in client secret"


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://api.octo.ghe.com", "https://octo.ghe.com"),
        ("https://ghe.example/api/v3", "https://ghe.example"),
        ("https://ghe.example/api/v3/", "https://ghe.example"),
        ("https://ghe.example:8443/proxy/api/v3", "https://ghe.example:8443/proxy"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_pages_are_where_githubs_kinds_have_them(api, web):
    assert web_root(api) == web


@pytest.fixture
def open_sign_in(stand_in):
    opened = []

    def open_sign_in(**values):
        defaults: dict[str, Any] = {
            "client_id": "Iv1.standin",
            "client_secret": SecretStr(SECRET),
            "public_url": "https://ledger.example",
        }
        opened.append(GitHubSignIn(stand_in.url, **defaults | values))
        return opened[-1]

    yield open_sign_in
    for one in opened:
        one.close()


@pytest.fixture
def code(open_sign_in, stand_in):
    stand_in.state.browser = {"login": "alice"}
    url = open_sign_in().authorize_url(state="s t&", challenge=CHALLENGE)
    answer = httpx.get(url)
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert query["state"] == ["s t&"]
    return query["code"][0]


def test_a_code_is_of_an_account(open_sign_in, code, stand_in):
    account = open_sign_in().account(code, verifier=VERIFIER)

    assert account == SignedInAccount(stand_in.state.account_id("alice"), "alice")


@pytest.mark.parametrize(
    ("values", "verifier", "reason"),
    [
        ({}, "another", "bad_verification_code"),
        ({"client_secret": SecretStr("wrong")}, VERIFIER, "incorrect_client_credentials"),
        ({"public_url": "https://other.example"}, VERIFIER, "bad_verification_code"),
    ],
)
def test_what_github_does_not_accept_is_refused(open_sign_in, code, values, verifier, reason):
    with pytest.raises(RefusedError, match=reason):
        open_sign_in(**values).account(code, verifier=verifier)


def test_a_code_works_once(open_sign_in, code):
    sign_in = open_sign_in()
    sign_in.account(code, verifier=VERIFIER)

    with pytest.raises(RefusedError, match="bad_verification_code"):
        sign_in.account(code, verifier=VERIFIER)


@pytest.mark.parametrize(
    "fault",
    [
        {"path": "/access_token", "status": 500},
        {"path": "/access_token", "status": 200, "text": "<html>a proxy's page</html>"},
        {"path": "/access_token", "drop": "after"},
        {"path": "/user", "status": 401, "count": 9},
        {"path": "/user", "status": 200, "text": '{"login": "alice"}'},
        {"path": "/user", "status": 200, "text": '{"login": "alice", "id": "7"}'},
    ],
)
def test_where_github_fails_no_account_and_no_secret_is_told(open_sign_in, code, at_github, fault):
    at_github.fail_next(**fault)

    with pytest.raises(GitHubError) as raised:
        open_sign_in().account(code, verifier=VERIFIER)
    assert not any(secret in str(raised.value) for secret in (SECRET, code, VERIFIER))


def test_a_reason_of_any_length_is_cut(open_sign_in, code, at_github):
    at_github.fail_next(path="/access_token", status=200, text='{"error": "%s"}' % ("x" * 5000))

    with pytest.raises(RefusedError) as raised:
        open_sign_in().account(code, verifier=VERIFIER)
    assert len(str(raised.value)) < 200
