"""What is stored of an upload and of a series, as pages show it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.metrics import WorseDirection
from perfledger_service.rendering.history.stored_verdict_rows import (
    device,
    direction,
    stored_groups,
    upload_headline,
)
from perfledger_service.values.upload_views import UploadStatus, UploadView, VerdictView


def verdict(workload, metric, outcome, *, is_warning=False):
    return VerdictView(
        workload=workload,
        metric=metric,
        unit="s",
        worse=WorseDirection.HIGHER,
        outcome=outcome,
        base=1.0,
        head=1.0,
        change=0.0,
        low=-0.1,
        high=0.1,
        is_warning=is_warning,
        series_id=None,
    )


UPLOAD = UploadView(
    id="0" * 32,
    repository="acme/models",
    pull_request=7,
    base_sha="a" * 40,
    head_sha="b" * 40,
    head_subject="",
    machine_class="cpu:AMD EPYC:1",
    status=UploadStatus.POSTED,
    reason="",
    conclusion="failure",
    headline="Performance regressed",
    created_at=datetime(2026, 11, 22, tzinfo=UTC),
)


def test_what_needs_a_reader_stands_first_and_all_else_as_it_was_stored():
    upload = replace(
        UPLOAD,
        verdicts=(
            verdict("a:a", "step_time_p50", "unchanged"),
            verdict("b:b", "step_time_p50", "unchanged", is_warning=True),
            verdict("c:c", "step_time_p50", "unchanged"),
            verdict("c:c", "peak_memory", "regressed"),
        ),
    )

    groups = stored_groups(upload)

    assert [name for name, _ in groups] == ["c:c", "b:b", "a:a"]
    assert [row.metric for row in groups[0][1]] == ["peak memory", "step time"]


@pytest.mark.parametrize(
    ("waits", "basis"),
    [
        ({}, ""),
        ({"excludes_waits": True}, "without waits for a core"),
        ({"includes_waits": True}, "with waits for a core"),
    ],
)
def test_figures_of_stored_verdicts_beside_load_say_what_they_are_of(waits, basis):
    beside_load = replace(verdict("m:f", "step_time_p50", "regressed"), **waits)

    ((_, (row,)),) = stored_groups(replace(UPLOAD, verdicts=(beside_load,)))

    assert row.basis == basis


def test_a_stored_verdict_has_the_figures_of_its_unit():
    slower = replace(
        verdict("m:f", "step_time_p50", "regressed", is_warning=True),
        base=0.0123,
        head=0.0145,
        change=0.182,
        low=0.169,
        high=0.196,
        series_id=3,
    )

    ((_, (row,)),) = stored_groups(replace(UPLOAD, verdicts=(slower,)))

    texts = (row.base, row.head, row.change, row.interval)
    assert tuple(text.replace("\u00a0", " ") for text in texts) == (
        "12.3 ms",
        "14.5 ms",
        "+18.2 %",
        "+16.9 to +19.6",
    )
    assert (row.unit, row.tone, row.word) == ("", "warning", "regressed, warning")
    assert (row.metric, row.series_id) == ("step time", 3)


def test_what_was_not_measured_has_no_figures_and_what_was_counted_no_interval():
    missing = replace(
        verdict("m:f", "<loss>", "not measured"),
        unit="nats",
        base=None,
        head=None,
        change=None,
        low=None,
        high=None,
    )
    exact = replace(missing, base=1.0, head=2.0, change=1.0, low=1.0, high=1.0)

    ((_, (first, second)),) = stored_groups(replace(UPLOAD, verdicts=(missing, exact)))

    assert {first.unit, first.base, first.head, first.change, first.interval} == {""}
    assert (second.metric, second.unit, second.base) == ("<loss>", "nats", "1")
    assert (second.change, second.interval) == ("+100\u00a0%", "")


@pytest.mark.parametrize(
    ("values", "headline", "tone"),
    [
        ({}, "Performance regressed", "regressed"),
        ({"conclusion": "success"}, "Performance regressed", "improved"),
        ({"conclusion": "action_required"}, "Performance regressed", "undecided"),
        (
            {"conclusion": "", "headline": "", "status": UploadStatus.RECEIVED},
            "Received, not judged yet",
            "unchanged",
        ),
        (
            {"status": UploadStatus.REFUSED, "reason": "the pull request is closed"},
            "Refused: the pull request is closed",
            "not-measured",
        ),
    ],
)
def test_an_uploads_headline_has_the_colour_of_what_became_of_it(values, headline, tone):
    shown_upload_headline = upload_headline(replace(UPLOAD, **values))

    assert (shown_upload_headline.headline, shown_upload_headline.tone) == (headline, tone)
    assert (
        shown_upload_headline.base,
        shown_upload_headline.head,
        shown_upload_headline.device,
    ) == (
        "aaaaaaaaaaaa",
        "bbbbbbbbbbbb",
        "AMD EPYC (cpu)",
    )
    assert shown_upload_headline.moment == "2026-11-22 00:00 UTC"


@pytest.mark.parametrize(
    ("machine_class", "expected"),
    [
        ("cuda:NVIDIA H100 80GB HBM3:1", "NVIDIA H100 80GB HBM3 (cuda)"),
        ("tpu:TPU v4:8", "8 x TPU v4 (tpu)"),
        ("<odd>", "<odd>"),
    ],
)
def test_a_class_of_machines_is_said_as_people_say_it(machine_class, expected):
    assert device(machine_class) == expected


def test_which_way_is_worse_is_said():
    assert (direction(WorseDirection.HIGHER), direction(WorseDirection.LOWER)) == (
        "higher is worse",
        "lower is worse",
    )
