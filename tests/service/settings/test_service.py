import pytest

from perfledger_service.settings.service import (
    PriceSettings,
    ServiceSettings,
    UploadSettings,
    price_settings,
    service_settings,
    upload_settings,
)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for kind in (ServiceSettings, UploadSettings, PriceSettings):
        for name in kind.model_fields:
            monkeypatch.delenv(f"PERFLEDGER_{name.upper()}", raising=False)


def test_without_an_environment_there_is_a_database_here_and_no_secret():
    service = service_settings()

    assert service.database_url == "sqlite:///perfledger.db"
    assert service.github_api_url == "https://api.github.com"
    assert service.github_token is service.github_private_key is service.webhook_secret is None
    assert upload_settings().upload_token is None
    assert price_settings().google_api_key is None


def test_each_command_reads_its_own_settings(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_PUBLIC_URL", "https://perf.example")
    monkeypatch.setenv("PERFLEDGER_UPLOAD_URL", "https://upload.example")
    monkeypatch.setenv("PERFLEDGER_CONTRACT", "contract.toml")

    assert service_settings().public_url == "https://perf.example"
    assert upload_settings().upload_url == "https://upload.example"
    assert price_settings().contract == "contract.toml"


def test_a_secret_is_readable_on_request_only(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_GITHUB_TOKEN", "canary")

    settings = service_settings()

    assert "canary" not in f"{settings!r} {settings} {settings.model_dump()}"
    assert settings.github_token is not None
    assert settings.github_token.get_secret_value() == "canary"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://Ledger.Example:443", "https://ledger.example"),
        ("http://ledger.example:80/", "http://ledger.example/"),
        ("https://ledger.example:8443/a", "https://ledger.example:8443/a"),
        ("http://[::1]:8765", "http://[::1]:8765"),
        ("https://ledger.example:x", "https://ledger.example:x"),
        ("ledger", "ledger"),
    ],
)
def test_the_public_url_is_as_browsers_write_it(monkeypatch, text, url):
    monkeypatch.setenv("PERFLEDGER_PUBLIC_URL", text)

    assert service_settings().public_url == url
