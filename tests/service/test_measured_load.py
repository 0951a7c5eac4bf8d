"""A load curve as text, JSON, CSV and picture; the curve is made up."""

import csv
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger.load import Mode, Served
from perfledger_baselines.measured_load import MeasuredLoad, measured_point
from perfledger_service.pages.measured_load import load_csv, load_json, load_text
from perfledger_service.pages.measured_load_plot import load_svg
from perfledger_service.pages.terminal import plain

SVG = "{http://www.w3.org/2000/svg}"


def point(*, batch=1, slowest_s=0.02, clients=None, offered=None, answered=500):
    latencies = tuple(0.01 + (slowest_s - 0.01) * (n * 19 % 500) / 499 for n in range(500))
    served = Served(
        mode=Mode.OPEN if clients is None else Mode.CLOSED,
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
    shown = plain(load_text(view))

    assert max(map(len, shown.splitlines())) <= 80
    assert "m:f[size=3] on 2 of NVIDIA H100 80GB HBM3, 1 server" in shown
    assert "16 clients" in shown
    assert "3.00\N{NO-BREAK SPACE}GiB" in shown


def test_a_queue_that_grew_is_said(view):
    grown = replace(view, points=(point(offered=60.0, answered=500),))

    assert "At 60/s the queue grew" in plain(load_text(grown))
    assert "the queue grew" in load_svg(grown)
    assert "the queue grew" not in plain(load_text(view))


def test_a_name_cannot_act_in_a_terminal_or_a_picture(view):
    evil = replace(view, workload="[red]\x1b[31m<script>", device="\x1b]0;x</title>")

    assert "\x1b" not in plain(load_text(evil)) + load_json(evil) + load_csv(evil)
    assert "[red]" in plain(load_text(evil))
    assert "<script>" not in load_svg(evil)
    ElementTree.fromstring(load_svg(evil))


def test_json_and_csv_say_the_same(view):
    document, rows = json.loads(load_json(view)), list(csv.DictReader(load_csv(view).splitlines()))

    for written, row in zip(document["points"], rows, strict=True):
        for name, value in written.items():
            assert row[name] == ("" if value is None else str(value)), name


def test_throughput_and_quantiles_are_those_of_the_requests(view):
    first = json.loads(load_json(view))["points"][0]

    assert first["throughput_per_second"] == 50.0
    assert first["completed"] == 500
    assert first["latency_p50_s"] == pytest.approx(0.015, rel=0.01)
    assert first["latency_p99_low_s"] <= first["latency_p99_s"] <= first["latency_p99_high_s"]
    assert first["service_p50_s"] == 0.005
    assert first["memory_bytes"] is None


def test_a_picture_has_a_line_for_each_quantile_of_each_loop_and_batch(view):
    drawn = ElementTree.fromstring(load_svg(view))

    assert len(drawn.findall(f"{SVG}polyline")) == 9
    assert len(drawn.findall(f"{SVG}circle")) == 9


def test_a_single_point_can_be_drawn(view):
    ElementTree.fromstring(load_svg(replace(view, points=view.points[:1])))
