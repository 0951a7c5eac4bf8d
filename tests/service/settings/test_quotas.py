import pytest
from pydantic import ValidationError

from perfledger_service.settings.quotas import QuotaSettings, UploadQuota
from perfledger_service.settings.service import service_settings


def test_an_operator_sets_what_a_project_may_upload(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_HOURLY_UPLOADS", "5000")
    monkeypatch.setenv("PERFLEDGER_SERIES_PER_PROJECT", "3")

    assert service_settings().upload_quota() == UploadQuota(uploads=5000, series=3)


@pytest.mark.parametrize("value", [0, -1, 10**12, "many"])
def test_a_quota_that_stops_everything_or_nothing_is_refused(value):
    with pytest.raises(ValidationError):
        QuotaSettings.model_validate({"hourly_imports": value})
