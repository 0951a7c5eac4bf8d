"""The App's installations, read from the stand-in for GitHub."""

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import AppAuthentication
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
def installations(stand_in, private_key):
    api = GitHubApi(stand_in.url, write_interval_s=0.0, sleep=lambda _: None)
    yield GitHub(api, AppAuthentication(api, app_id="123", private_key=private_key)).installations
    api.close()


def test_an_installation_has_its_permissions_and_events(installations, stand_in):
    stand_in.state.repository("octo/models", create=True)
    stand_in.state.granted = {"metadata", "checks"}

    one = installations.installation("octo/models")

    assert one.id == 41
    assert one.account == "octo"
    assert one.permissions == {"metadata": "read", "checks": "write"}
    assert one.events == ("issue_comment", "merge_group", "pull_request")
    assert one.suspended_at is None


def test_a_repository_without_the_app_has_none(installations):
    assert installations.installation("octo/none") is None


def test_any_other_refusal_is_an_error(installations, at_github):
    at_github.fail_next(path="/installation", status=500, count=100)

    with pytest.raises(GitHubError, match="500"):
        installations.installation("octo/models")


def test_without_an_app_there_are_no_installations(github):
    assert github.installations is None
