import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.metrics import WorseDirection
from perfledger_service.rendering.history.page_data import (
    capacity_document,
    series_document,
    series_list_document,
    uploads_document,
    verdicts_document,
)
from perfledger_service.rendering.layout.writers import to_csv, to_json
from perfledger_service.values.fleet_views import CapacityView, MeasuredUtilization
from perfledger_service.values.upload_views import (
    SeriesSummary,
    UploadStatus,
    UploadView,
    VerdictView,
)

MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
VERDICT = VerdictView(
    workload="gpt:step",
    metric="step_time_p50",
    unit="s",
    worse=WorseDirection.HIGHER,
    outcome="regressed",
    base=0.01,
    head=0.012,
    change=0.2,
    low=0.19,
    high=0.21,
    is_warning=False,
    series_id=3,
)
MISSING = replace(
    VERDICT,
    outcome="not measured",
    base=None,
    head=None,
    change=None,
    low=None,
    high=None,
    series_id=None,
)
UPLOAD = UploadView(
    id="1" * 32,
    repository="octo/models",
    pull_request=7,
    base_sha="a" * 40,
    head_sha="b" * 40,
    head_subject="=cmd()",
    machine_class="cuda:H100:1",
    status=UploadStatus.POSTED,
    reason="",
    conclusion="failure",
    headline="slower",
    created_at=MOMENT,
    verdicts=(VERDICT, MISSING),
)


def rows(document):
    return list(csv.DictReader(io.StringIO(to_csv(document))))


def test_checks_are_rows_and_no_subject_is_a_formula():
    (row,) = rows(uploads_document([UPLOAD]))

    assert (row["check"], row["pull_request"], row["conclusion"]) == ("1" * 32, "7", "failure")
    assert row["head_subject"] != "=cmd()"


def test_what_was_not_measured_is_empty_and_never_zero():
    measured, missing = rows(verdicts_document([UPLOAD]))
    of_json = json.loads(to_json(verdicts_document([UPLOAD])))["verdicts"]

    assert (measured["change"], measured["series"], measured["unit"]) == ("0.2", "3", "s")
    assert [missing[key] for key in ("base", "head", "change", "low", "high")] == [""] * 5
    assert of_json[1]["change"] is None
    assert of_json[0]["outcome"] == "regressed"


def test_series_are_rows_with_their_newest_values():
    summary = SeriesSummary(
        id=3,
        workload="gpt:step",
        metric="step_time_p50",
        unit="s",
        machine_class="cuda:H100:1",
        points=12,
        last=0.012,
        measured_at=MOMENT,
    )

    (row,) = rows(series_list_document("octo/models", [summary]))

    assert (row["series"], row["last"], row["points"]) == ("3", "0.012", "12")


def test_a_series_has_all_its_commits_and_its_changes(history):
    document = json.loads(to_json(series_document(history)))

    assert len(document["commits"]) == len(history.commits)
    assert document["commits"][0]["center"] == pytest.approx(history.commits[0].center)
    assert len(document["changes"]) == len(history.changes)
    assert document["unit"] == history.series.unit


def test_capacity_has_a_row_for_each_workload():
    use = MeasuredUtilization(
        repository="octo/models",
        workload="gpt:step",
        machine_class="cuda:H100:1",
        active=0.5,
        low=0.4,
        high=0.6,
        readings=20,
        gpu_busy=None,
        device_hours_per_year=1000.0,
        upload_id="1" * 32,
        created_at=MOMENT,
    )

    (row,) = rows(capacity_document(CapacityView(imports=(), utilization=(use,))))

    assert (row["active"], row["gpu_busy"], row["idle_hours"]) == ("0.5", "", "500.0")
