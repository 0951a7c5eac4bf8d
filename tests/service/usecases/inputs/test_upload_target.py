"""Tests the choice of the service that bundles go to."""

import pytest
from pydantic import SecretStr

from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.settings.service import ActionsSettings, UploadSettings
from perfledger_service.usecases.inputs.upload_target import upload_target

TOKEN = "pl_0123abcd_" + "s" * 43
URL = "https://ledger.example"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("URL", "TOKEN"):
        monkeypatch.delenv(f"PERFLEDGER_UPLOAD_{name}", raising=False)


def settings(**values):
    return UploadSettings(**({"upload_token": TOKEN} | values))


def test_the_service_is_that_of_the_option_else_of_the_setting():
    named = settings(upload_url="https://setting.example")

    assert upload_target(URL, named, ActionsSettings()).url == URL
    assert upload_target(None, named, ActionsSettings()).url == "https://setting.example"
    assert upload_target(None, named, ActionsSettings()).token == TOKEN


def test_without_a_service_there_is_no_target_and_no_token_is_needed():
    assert upload_target(None, settings(upload_token=None), ActionsSettings()) is None
    assert upload_target("", settings(upload_token=None), ActionsSettings()) is None


def test_a_token_does_not_show_itself():
    assert TOKEN not in repr(upload_target(URL, settings(), ActionsSettings()))


@pytest.mark.parametrize("url", ["http://ledger.example", "https://[::1", "https://a:b@c.example"])
def test_an_address_that_no_token_may_go_to_is_refused_even_without_one(url):
    with pytest.raises(UsageError, match="the upload URL"):
        upload_target(url, settings(upload_token=None), ActionsSettings())


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (None, "PERFLEDGER_UPLOAD_TOKEN is not set: perfledger server project add prints"),
        ("", "PERFLEDGER_UPLOAD_TOKEN is not set"),
        (f"{TOKEN}\n", "PERFLEDGER_UPLOAD_TOKEN has characters that no token has"),
        ("pl_\N{LATIN SMALL LETTER E WITH ACUTE}", "has characters that no token has"),
    ],
)
def test_a_missing_or_unusable_token_is_an_error_before_the_upload(token, message):
    with pytest.raises(SettingsError, match=message) as refused:
        upload_target(URL, settings(upload_token=token), ActionsSettings())

    assert not token or token not in str(refused.value)


def test_a_job_of_github_actions_needs_no_projects_token():
    actions = ActionsSettings(id_token_request_url=URL, id_token_request_token=SecretStr("canary"))

    target = upload_target(URL, settings(upload_token=None), actions)

    assert target is not None
    assert target.identity is not None
    assert target.identity.url == URL
    assert "canary" not in repr(target)


def test_the_projects_token_goes_before_a_jobs():
    actions = ActionsSettings(id_token_request_url=URL, id_token_request_token=SecretStr("canary"))

    target = upload_target(URL, settings(), actions)

    assert target is not None
    assert target.credential() == TOKEN
