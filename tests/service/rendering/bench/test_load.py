"""A load curve as text, JSON and CSV."""

import csv
import json
from dataclasses import replace

import pytest

from perfledger_service.rendering.bench.load import load_document, rate
from perfledger_service.rendering.layout.writers import plain_lines, to_csv, to_json, to_terminal


def test_a_table_fits_eighty_columns(view):
    shown_plain_lines = plain_lines(to_terminal(load_document(view)))

    assert max(map(len, shown_plain_lines.splitlines())) <= 80
    assert "m:f[size=3] on 2 of NVIDIA H100 80GB HBM3, 1 server" in shown_plain_lines
    assert "16 clients" in shown_plain_lines
    assert "3.00\N{NO-BREAK SPACE}GiB" in shown_plain_lines


def test_a_queue_that_grew_is_said(view, queued):
    grown = replace(view, points=(queued,))

    assert "At 60/s the queue grew" in plain_lines(to_terminal(load_document(grown)))
    assert "the queue grew" not in plain_lines(to_terminal(load_document(view)))


def test_a_name_cannot_act_in_a_terminal(view):
    evil = replace(view, workload="[red]\x1b[31m<script>", device="\x1b]0;x</title>")

    assert "\x1b" not in plain_lines(to_terminal(load_document(evil))) + to_json(
        load_document(evil)
    ) + to_csv(load_document(evil))
    assert "[red]" in plain_lines(to_terminal(load_document(evil)))


def test_json_and_csv_say_the_same(view):
    document, rows = (
        json.loads(to_json(load_document(view))),
        list(csv.DictReader(to_csv(load_document(view)).splitlines())),
    )

    for written, row in zip(document["points"], rows, strict=True):
        for name, value in written.items():
            assert row[name] == ("" if value is None else str(value)), name


def test_throughput_and_quantiles_are_those_of_the_requests(view):
    first = json.loads(to_json(load_document(view)))["points"][0]

    assert first["throughput_per_second"] == 50.0
    assert first["completed"] == 500
    assert first["latency_p50_s"] == pytest.approx(0.015, rel=0.01)
    assert first["latency_p99_low_s"] <= first["latency_p99_s"] <= first["latency_p99_high_s"]
    assert first["service_p50_s"] == 0.005
    assert first["memory_bytes"] is None


def test_requests_a_second_have_three_digits_up_to_a_thousand():
    assert [rate(value) for value in (43.21, 998.7, 1000.6, 12_345.6)] == [
        *("43.2/s", "999/s", "1,001/s", "12,346/s"),
    ]


def test_a_load_test_is_written_as_agreed(view, queued, matches_golden):
    document = load_document(replace(view, points=(*view.points, queued)))

    matches_golden("load.txt", plain_lines(to_terminal(document)))
