"""A load curve as text, JSON, CSV and picture; the curve is made up."""

import csv
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger.load import LoadResult, LoopKind
from perfledger_baselines.estimation.load_points import MeasuredLoad, measured_point
from perfledger_service.rendering.bench.load import load_document
from perfledger_service.rendering.bench.load_plot import load_chart, load_svg
from perfledger_service.rendering.chart.marks import DotMark, LineMark
from perfledger_service.rendering.layout.writers import plain_lines, to_csv, to_json, to_terminal


def point(*, batch=1, slowest_s=0.02, clients=None, offered=None, answered=500):
    latencies = tuple(0.01 + (slowest_s - 0.01) * (n * 19 % 500) / 499 for n in range(500))
    served = LoadResult(
        mode=LoopKind.OPEN if clients is None else LoopKind.CLOSED,
        concurrency=clients,
        offered_per_second=offered,
        latencies_s=latencies,
        services_s=(0.005,) * 500,
        seconds=10.0,
        answered=answered,
    )
    return measured_point(served, batch=batch, memory_bytes=None if clients else 3 * 2**30)


@pytest.fixture
def view():
    return MeasuredLoad(
        workload="m:f[size=3]",
        device="NVIDIA H100 80GB HBM3",
        devices=2,
        servers=1,
        points=(point(clients=1), point(clients=16, batch=4), point(offered=50.0)),
    )


def test_a_table_fits_eighty_columns(view):
    shown = plain_lines(to_terminal(load_document(view)))

    assert max(map(len, shown.splitlines())) <= 80
    assert "m:f[size=3] on 2 of NVIDIA H100 80GB HBM3, 1 server" in shown
    assert "16 clients" in shown
    assert "3.00\N{NO-BREAK SPACE}GiB" in shown


def test_a_queue_that_grew_is_said(view):
    grown = replace(view, points=(point(offered=60.0, answered=500),))

    assert "At 60/s the queue grew" in plain_lines(to_terminal(load_document(grown)))
    assert "the queue grew" in load_svg(grown)
    assert "the queue grew" not in plain_lines(to_terminal(load_document(view)))


def test_a_name_cannot_act_in_a_terminal_or_a_picture(view):
    evil = replace(view, workload="[red]\x1b[31m<script>", device="\x1b]0;x</title>")

    assert "\x1b" not in plain_lines(to_terminal(load_document(evil))) + to_json(
        load_document(evil)
    ) + to_csv(load_document(evil))
    assert "[red]" in plain_lines(to_terminal(load_document(evil)))
    assert "<script>" not in load_svg(evil)
    ElementTree.fromstring(load_svg(evil))


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


def test_a_picture_has_a_line_for_each_quantile_of_each_loop_and_batch(view):
    chart = load_chart(view)

    lines = [mark for mark in chart.marks if isinstance(mark, LineMark)]
    curves = [
        line for line in lines if line.points[0][0] != line.points[-1][0] or len(line.points) == 1
    ]
    dots = [mark for mark in chart.marks if isinstance(mark, DotMark)]
    assert len(curves) == len(dots) == 9
    assert {dot.is_open for dot in dots} == {True, False}
    assert sorted(dot.y for dot in dots) == sorted(
        each.seconds for one in view.points for each in (one.p50, one.p95, one.p99)
    )


def test_a_single_point_can_be_drawn(view):
    ElementTree.fromstring(load_svg(replace(view, points=view.points[:1])))
