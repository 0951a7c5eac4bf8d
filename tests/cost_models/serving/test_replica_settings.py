import math
from typing import Any

import pytest

from perfledger_cost_models.serving.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_cost_models.serving.replica_settings import settings_of


def open_point(rate, p99_s, batch=1):
    return LoadPoint(
        mode=LoadMode.OPEN,
        offered_per_second=rate,
        throughput_per_second=rate,
        completed=100_000,
        latency_p99_s=p99_s,
        batch=batch,
    )


def closed_point(concurrency, batch=1):
    return LoadPoint(
        mode=LoadMode.CLOSED,
        concurrency=concurrency,
        throughput_per_second=10.0 * concurrency,
        latency_p50_s=0.1,
        latency_p99_s=0.2,
        batch=batch,
    )


def curve(*points, **values):
    usual: dict[str, Any] = {"workload": "m:f", "device": "H100-80GB", "devices": 1}
    return LoadCurve(points=points, **usual | values)


def test_an_open_loop_is_one_setting_and_closed_loops_are_one_each():
    settings = settings_of(
        curve(open_point(10.0, 0.2), closed_point(4), closed_point(2, batch=8), closed_point(4, 8))
    )

    assert [(each.batch, each.concurrency, each.is_screening) for each in settings] == [
        (1, None, False),
        (8, 2, True),
        (8, 4, True),
    ]
    assert settings[2].label == "m:f on H100-80GB, batch 8, 4 concurrent"


def test_equal_points_are_one_measurement():
    (setting,) = settings_of(curve(closed_point(4), closed_point(4)))

    assert setting.points == (closed_point(4),)


def test_a_batch_of_two_fills_with_the_next_request():
    single, pair = settings_of(curve(closed_point(1), closed_point(1, batch=2)))

    assert single.fill_s(5.0) == 0.0
    assert pair.fill_s(5.0) == pytest.approx(math.log(100) / 5)  # an exponential's P99
    assert pair.chance(5.0, pair.fill_s(5.0)) == 0.0  # no time is left for the call


def test_whole_devices_are_counted_up():
    (setting,) = settings_of(curve(closed_point(1), time_slices=4))

    assert [setting.devices(replicas) for replicas in (1, 4, 5)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ""),
        ({"servers": 2}, ", 2 servers"),
        ({"time_slices": 2}, ", one of 2 time slices"),
        ({"servers": 3, "time_slices": 4}, ", 3 servers, one of 4 time slices"),
    ],
)
def test_a_setting_is_named_with_its_servers_and_time_slices(values, words):
    (setting,) = settings_of(curve(open_point(10.0, 0.2), **values))

    assert setting.label == f"m:f on H100-80GB, batch 1{words}"
