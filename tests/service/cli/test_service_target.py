import pytest

from perfledger_service.cli.service_target import service_at
from perfledger_service.errors import UsageError


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    monkeypatch.delenv("PERFLEDGER_UPLOAD_URL", raising=False)
    monkeypatch.setenv("PERFLEDGER_UPLOAD_TOKEN", "pl_0123abcd_" + "s" * 43)


def test_an_option_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_UPLOAD_URL", "https://variable.invalid")

    assert service_at("https://option.invalid").url == "https://option.invalid"
    assert service_at(None).url == "https://variable.invalid"


def test_a_missing_service_says_how_to_name_one():
    with pytest.raises(UsageError, match="pass --upload-url or set PERFLEDGER_UPLOAD_URL"):
        service_at(None)
