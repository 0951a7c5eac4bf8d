import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from pydantic import SecretStr

from perfledger_service.errors import GitHubError, SettingsError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import AppAuthentication
from perfledger_service.github.client import GitHub, open_github

REPOSITORY = "octo/models"


@pytest.fixture(scope="module")
def key():
    private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private_key.public_key(), pem.decode()


class Clock:
    def __init__(self):
        self.now = datetime.now(UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def app(stand_in, key, clock):
    api = GitHubApi(stand_in.url, write_interval_s=0.0)
    yield GitHub(api, AppAuthentication(api, app_id="123", private_key=key[1], now=clock))
    api.close()


def test_an_app_comments_by_its_name(app):
    assert app.me() == "perfledger[bot]"


def test_a_token_serves_for_many_requests(app, at_github):
    at_github.open_pull()
    for _ in range(3):
        app.create_comment(REPOSITORY, 7, "text")

    assert at_github.requests == [
        "GET installation",
        "POST /app/installations/41/access_tokens",
        *["POST issues/7/comments"] * 3,
    ]


@pytest.mark.parametrize(("age", "tokens"), [(54, 1), (56, 2)])
def test_a_token_is_renewed_five_minutes_before_its_hour_is_over(
    app, at_github, clock, age, tokens
):
    at_github.open_pull()
    app.create_comment(REPOSITORY, 7, "text")
    clock.now += timedelta(minutes=age)
    app.create_comment(REPOSITORY, 7, "text")

    assert at_github.requests.count("POST /app/installations/41/access_tokens") == tokens


@pytest.mark.parametrize("hours", [-2, 2])
def test_our_wrong_clock_is_corrected_by_githubs(stand_in, at_github, key, hours):
    stand_in.state.now = time.time  # a JWT counts only around its time
    at_github.open_pull()

    def wrong_clock():
        return datetime.now(UTC) + timedelta(hours=hours)

    api = GitHubApi(stand_in.url, write_interval_s=0.0, now=wrong_clock)
    app = AppAuthentication(api, app_id="123", private_key=key[1], now=wrong_clock)
    for _ in range(2):
        GitHub(api, app).create_comment(REPOSITORY, 7, "text")
    api.close()

    assert at_github.requests.count("POST /app/installations/41/access_tokens") == 1
    assert len(at_github.comments) == 2
    assert abs(api.clock_offset + timedelta(hours=hours)) < timedelta(minutes=10)


def test_a_jwt_that_github_refuses_though_clocks_agree_is_an_error(app, at_github):
    at_github.open_pull()
    at_github.fail_next(path="/installation", status=401)
    with pytest.raises(GitHubError) as caught:
        app.create_comment(REPOSITORY, 7, "text")

    assert caught.value.github_status == 401


def test_a_repository_without_the_app_is_said_so(app):
    with pytest.raises(GitHubError, match="not installed on octo/models: install it") as caught:
        app.pull_request(REPOSITORY, 7)
    assert caught.value.is_transient  # until somebody installs it


def test_an_app_that_may_not_read_contents_comments_without(app, at_github, stand_in):
    at_github.open_pull()
    stand_in.state.granted.remove("contents")
    app.create_comment(REPOSITORY, 7, "text")

    assert [one["body"] for one in at_github.comments] == ["text"]


def test_an_app_that_may_not_comment_is_said_so(app, at_github, stand_in):
    at_github.open_pull()
    stand_in.state.granted.remove("pull_requests")

    with pytest.raises(GitHubError, match="422"):
        app.create_comment(REPOSITORY, 7, "text")


def test_a_token_that_github_refuses_is_dropped(app, at_github):
    at_github.open_pull()
    app.create_comment(REPOSITORY, 7, "text")
    at_github.fail_next(status=401)
    with pytest.raises(GitHubError) as caught:
        app.create_comment(REPOSITORY, 7, "text")
    app.create_comment(REPOSITORY, 7, "text")

    assert caught.value.is_transient
    assert at_github.requests.count("POST /app/installations/41/access_tokens") == 2


def test_two_repositories_share_the_limits_of_one_installation(app, at_github, stand_in):
    at_github.open_pull()
    at_github.tell("pulls", {"repository": "octo/other", "number": 1, "head_sha": "c" * 40})
    at_github.fail_next(path="/pulls/", status=429, headers={"Retry-After": "60"})
    with pytest.raises(GitHubError):
        app.pull_request(REPOSITORY, 7)

    with pytest.raises(GitHubError, match="rate limit is used up"):
        app.pull_request("octo/other", 1)
    assert "/repos/octo/other/pulls/1" not in {one["path"] for one in stand_in.state.requests}


def test_other_trouble_with_the_app_is_said_as_it_is(app, at_github):
    at_github.fail_next(status=401, path="/installation")

    with pytest.raises(GitHubError, match="401 to GET /repos/octo/models/installation"):
        app.pull_request(REPOSITORY, 7)


@pytest.mark.parametrize("pem", ["", "no key", "-----BEGIN RSA PRIVATE KEY-----\nxx"])
def test_a_key_that_is_none_is_said_at_the_start_without_showing_it(pem):
    with pytest.raises(SettingsError, match="not an RSA private key in PEM") as caught:
        open_github(api_url="http://h", token=None, app_id="123", private_key=SecretStr(pem or " "))
    assert "xx" not in str(caught.value)


def test_a_key_that_is_none_is_said_at_the_start():
    with pytest.raises(SettingsError, match="not an RSA private key in PEM"):
        open_github(api_url="http://h", token=None, app_id="123", private_key=SecretStr("no key"))


def test_an_app_goes_before_a_token(stand_in, key, at_github):
    client = open_github(
        api_url=stand_in.url,
        token=SecretStr("t"),
        app_id="123",
        private_key=SecretStr(key[1]),
        write_interval_s=0.0,
    )
    assert client is not None
    client.me()
    client.close()

    assert at_github.requests == ["GET /app"]


@pytest.mark.parametrize("missing", [{"issues"}, {"contents"}, {"issues", "contents"}])
def test_an_app_that_may_not_do_all_does_what_it_may(app, at_github, stand_in, missing):
    at_github.open_pull()
    stand_in.state.granted -= missing
    app.create_comment(REPOSITORY, 7, "text")

    assert [one["body"] for one in at_github.comments] == ["text"]
