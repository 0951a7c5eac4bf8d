from datetime import UTC, datetime

import pytest

from perfledger_service.values.service_views.admin import (
    AppInstallation,
    InstallationView,
    WaitingUpload,
)
from perfledger_service.values.upload_views import UploadStatus

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def installation(suspended_at=None):
    return AppInstallation(
        id=41,
        account="octo",
        permissions={},
        events=(),
        suspended_at=suspended_at,
        rate_limit=None,
    )


@pytest.mark.parametrize(
    ("values", "is_complete"),
    [
        ({}, True),
        ({"missing_permissions": ("checks: write",)}, False),
        ({"missing_events": ("issue_comment",)}, False),
        ({"problem": "no answer", "installation": None}, False),
        ({"installation": installation(NOON)}, False),
    ],
)
def test_an_installation_is_complete_that_lacks_nothing_and_is_not_suspended(values, is_complete):
    view = InstallationView(repository="o/m", **{"installation": installation()} | values)

    assert view.is_complete is is_complete


@pytest.mark.parametrize(
    ("status", "retry_at", "may_retry"),
    [
        (UploadStatus.RECEIVED, None, False),
        (UploadStatus.JUDGED, NOON, True),
        (UploadStatus.FAILED, None, True),
    ],
)
def test_what_failed_or_waits_for_another_attempt_may_be_retried(status, retry_at, may_retry):
    upload = WaitingUpload(
        id="1" * 32,
        repository="o/m",
        pull_request=None,
        status=status,
        reason="",
        attempt=1,
        created_at=NOON,
        retry_at=retry_at,
        failing_since=None,
    )

    assert upload.may_retry is may_retry
