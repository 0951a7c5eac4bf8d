import stat
import subprocess

import pytest
from pydantic import SecretStr

from perfledger_service.errors import RefusedError, SettingsError, UsageError
from perfledger_service.github.app.manifest import AppSecrets
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.usecases.server.app import app_name, register_app, settings_text
from perfledger_service.values.service_views.registered_app import RegisteredApp

PEM = "-----BEGIN RSA PRIVATE KEY-----\nstand-in\n-----END RSA PRIVATE KEY-----"


def settings(**values):
    return ServiceSettings(**{"public_url": "https://ledger.example", **values})


def read_by_shell(path, name):
    script = f'. "$1"; printf "%s" "$PERFLEDGER_{name}"'
    words = ["sh", "-c", script, "sh", str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def code(stand_in):
    manifest = {"name": "perfledger", "default_permissions": {}, "default_events": []}
    stand_in.state.registrations["abc"] = manifest
    return "abc"


def test_the_settings_of_a_new_app_are_in_a_file_that_a_shell_reads(stand_in, code, tmp_path):
    path = tmp_path / "it's.env"

    app = register_app(settings(github_api_url=stand_in.url), path, wait_for_code=lambda: code)

    assert app.name == "perfledger"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_by_shell(path, "GITHUB_APP_ID") == "2"
    assert read_by_shell(path, "GITHUB_PRIVATE_KEY") == PEM
    assert read_by_shell(path, "WEBHOOK_SECRET") == "stand-in webhook secret"
    assert read_by_shell(path, "PUBLIC_URL") == "https://ledger.example"


def test_a_secret_with_characters_of_the_shell_arrives_as_it_is(tmp_path):
    wild = SecretStr('a"b$HOME`id`\\n\\')
    app = RegisteredApp(id=2, name="n", url="u", client_id="c")
    secrets = AppSecrets(client_secret=wild, webhook_secret=None, private_key=SecretStr(PEM))
    path = tmp_path / "app.env"
    path.write_text(settings_text(settings(), app, secrets))

    assert read_by_shell(path, "GITHUB_CLIENT_SECRET") == wild.get_secret_value()
    assert "WEBHOOK" not in path.read_text()


def test_a_refused_code_leaves_no_file(stand_in, tmp_path):
    path = tmp_path / "app.env"

    with pytest.raises(RefusedError):
        register_app(settings(github_api_url=stand_in.url), path, wait_for_code=lambda: "abc")

    assert not path.exists()


def test_an_interrupted_registration_leaves_no_file(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        register_app(settings(), tmp_path / "app.env", wait_for_code=interrupted)

    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_kept_and_nobody_is_asked(tmp_path):
    path = tmp_path / "app.env"
    path.write_text("mine")

    with pytest.raises(UsageError, match=r"app\.env exists"):
        register_app(settings(), path, wait_for_code=pytest.fail)

    assert path.read_text() == "mine"


def test_a_file_in_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        register_app(settings(), tmp_path / "a" / "b", wait_for_code=pytest.fail)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8765", "http://localhost", "ledger.example"])
def test_an_address_that_github_cannot_reach_is_refused(url):
    with pytest.raises(SettingsError, match="PERFLEDGER_PUBLIC_URL"):
        app_name(settings(public_url=url))


def test_a_name_is_the_hosts_or_the_given_one_within_githubs_limit():
    assert app_name(settings()) == "perfledger ledger.example"
    assert app_name(settings(), " mine ") == "mine"
    assert len(app_name(settings(public_url=f"https://{'a' * 40}.example"))) == 34
    with pytest.raises(UsageError, match="35 characters"):
        app_name(settings(), "x" * 35)
