"""Whether an alert was confirmed on another device, and what is of an import."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent
from perfledger_service.values.branch_views import AlertView, EventView, is_imported_class
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


@pytest.mark.parametrize(
    ("machine_class", "is_import"),
    [("imported:asv, box:1", True), ("cpu:imported:1", False), ("", False), ("*", False)],
)
def test_a_class_of_an_import_has_its_device(machine_class, is_import):
    assert is_imported_class(machine_class) is is_import


@pytest.mark.parametrize(
    ("classes", "is_imported"),
    [
        (("imported:asv, box:1",), True),
        (("imported:asv, box:1", "cpu:Test CPU:1"), False),
        ((), False),
    ],
)
def test_an_event_is_imported_where_all_of_its_series_are(classes, is_imported):
    series = tuple(
        ChangedSeries(
            workload="m:f",
            metric="time (s)",
            machine_class=one,
            before=1.0,
            after=1.1,
            change=0.1,
            low=0.09,
            high=0.11,
        )
        for one in classes
    )
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    event = TrackedEvent(harm=Harm.WORSE, measured_series=series)

    view = EventView(event=event, opened_at=moment, changed_at=moment)

    assert view.is_imported is is_imported
