import math

import pytest

from perfledger_cost_models.usage import device_spans
from perfledger_cost_models.usage.device_spans import (
    EARLIEST,
    LATEST,
    DeviceSpan,
    UsageFileError,
    any_number,
    check_runs_differ,
    parse_time,
    span_of,
    usage_of,
)

MIDNIGHT = 1_790_812_800.0  # 2026-10-01T00:00:00Z


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-01T00:00:00Z",
        "2026-10-01",
        " 2026-10-01 00:00:00 ",
        "2026-10-01T02:00:00+02:00",
        "1790812800",
        "1790812800.0",
        "1790812800000",
    ],
)
def test_iso_times_seconds_and_milliseconds_are_one_moment(text):
    assert parse_time(text, "x") == MIDNIGHT


@pytest.mark.parametrize(
    ("text", "seconds"), [(str(EARLIEST), EARLIEST), ("2200-01-01T00:00:00Z", LATEST)]
)
def test_the_first_and_the_last_moment_are_possible(text, seconds):
    assert parse_time(text, "x") == seconds


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "1999-12-31T23:59:59Z", "2200-01-01T00:00:01Z", "nan", "inf", "1e11", "-1"],
)
def test_what_is_no_time_of_this_age_is_refused(text):
    with pytest.raises(UsageFileError, match=r"x: .* is not a time such as"):
        parse_time(text, "x")


@pytest.mark.parametrize(
    ("cell", "number"), [("-1.5e3", -1500.0), ("+Inf", math.inf), (" -infinity ", -math.inf)]
)
def test_a_cell_is_a_number_or_what_prometheus_writes_for_none(cell, number):
    assert any_number(cell, "x") == number
    assert math.isnan(any_number("NaN", "x"))


@pytest.mark.parametrize("cell", ["", "+-nan", "--inf", "\u0131nf", "nano", "1_5"])
def test_a_cell_that_is_no_number_is_refused(cell):
    with pytest.raises(UsageFileError, match=r"x: .* is not a number: export it again"):
        any_number(cell, "x")


def test_device_hours_are_devices_times_hours():
    assert DeviceSpan({}, MIDNIGHT, MIDNIGHT + 5400, 8.0).device_hours == 12.0


@pytest.mark.parametrize(
    "values",
    [
        (EARLIEST, LATEST, 1.0, 1),
        (MIDNIGHT, MIDNIGHT, 0.0, 0),
        (MIDNIGHT, MIDNIGHT + 1, 1e6, 200),
    ],
)
def test_spans_at_the_limits_are_accepted(values):
    start, end, devices, labels = values
    names = {str(count): "" for count in range(labels)}

    assert span_of("x", names, start, end, devices) == DeviceSpan(names, start, end, devices)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((EARLIEST - 1, MIDNIGHT, 1.0, 1), "impossible"),
        ((MIDNIGHT, LATEST + 1, 1.0, 1), "impossible"),
        ((MIDNIGHT + 1, MIDNIGHT, 1.0, 1), "impossible"),
        ((math.nan, MIDNIGHT, 1.0, 1), "impossible"),
        ((MIDNIGHT, MIDNIGHT, 1e6 + 1, 1), "not between 0 and 1000000"),
        ((MIDNIGHT, MIDNIGHT, -0.5, 1), "not between 0 and 1000000"),
        ((MIDNIGHT, MIDNIGHT, math.nan, 1), "not between 0 and 1000000"),
        ((MIDNIGHT, MIDNIGHT, 1.0, 201), "more than 200 labels"),
    ],
)
def test_spans_one_beyond_the_limits_are_refused(values, message):
    start, end, devices, labels = values

    with pytest.raises(UsageFileError, match=message):
        span_of("x", {str(count): "" for count in range(labels)}, start, end, devices)


def test_a_files_period_is_from_its_first_moment_to_its_last_idle_ones_included():
    spans = [DeviceSpan({}, 20.0, 30.0, 1.0), DeviceSpan({}, 10.0, 25.0, 1.0)]

    usage = usage_of("x", "kind", spans, idle_moments=[5.0, 40.0])

    assert (usage.start, usage.end, usage.spans) == (5.0, 40.0, tuple(spans))


def test_a_file_has_at_most_so_many_spans(monkeypatch):
    monkeypatch.setattr(device_spans, "MAX_SPANS", 2)
    spans = [DeviceSpan({}, 10.0, 20.0, 1.0)] * 3

    assert len(usage_of("x", "kind", spans[:2]).spans) == 2
    with pytest.raises(UsageFileError, match="more than 2 entries"):
        usage_of("x", "kind", spans)


def test_a_run_that_two_files_contain_is_refused():
    first, second = (
        usage_of(name, "kind", [], idle_moments=[0.0], runs=[("c", "7", 5.0), ("c", name, 6.0)])
        for name in ("a.txt", "b.txt")
    )

    check_runs_differ([first])
    with pytest.raises(
        UsageFileError, match=r"b\.txt and a\.txt both contain '7' from the same time"
    ):
        check_runs_differ([first, second])


def test_runs_of_a_requeued_job_and_of_another_cluster_differ():
    files = [
        usage_of(name, "kind", [], idle_moments=[0.0], runs=[run])
        for name, run in (
            ("a", ("c", "7", 5.0)),
            ("b", ("c", "7", 6.0)),
            ("d", ("other", "7", 5.0)),
        )
    ]

    check_runs_differ(files)
