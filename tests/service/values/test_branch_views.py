"""Tests whether an alert was confirmed on another device than that of its suspect."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_service.values.branch_views import AlertView
from tests.service.suspects import an_alert


@pytest.mark.parametrize(
    ("suspected", "confirmed", "is_other"),
    [
        (("GPU-0",), "GPU-0", False),
        (("GPU-0",), "GPU-1", True),
        (("GPU-0", "GPU-1"), "GPU-1", False),
        (("GPU-0", "GPU-1"), "GPU-2", True),
        ((), "GPU-0", None),
        (("GPU-0",), "", None),
        ((), "", None),
    ],
)
def test_another_device_is_one_that_no_suspect_was_seen_on(suspected, confirmed, is_other):
    view = AlertView(
        alert=an_alert(devices=suspected),
        upload_id="1" * 32,
        after_sha="a" * 40,
        last_sha="b" * 40,
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
        device=confirmed,
    )

    assert view.is_other_device is is_other


def test_the_devices_of_all_changes_count():
    (one,), (other,) = (an_alert(devices=(device,)).changes for device in ("GPU-0", "GPU-1"))
    view = AlertView(
        alert=replace(an_alert(), changes=(one, other)),
        upload_id="1" * 32,
        after_sha="a" * 40,
        last_sha="b" * 40,
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
        device="GPU-1",
    )

    assert view.is_other_device is False
