import math
from dataclasses import replace

import pytest

from perfledger_cost_models.serving.load_curve import (
    LoadCurve,
    LoadCurveError,
    LoadMode,
    LoadPoint,
    ReplicaSharing,
)

GIGABYTE = 10**9


POINT = LoadPoint(
    mode=LoadMode.OPEN,
    offered_per_second=40.0,
    throughput_per_second=40.0,
    latency_p99_s=0.05,
)


def point(**values):
    return replace(POINT, **values)


def curve(device="H100-80GB", **values):
    usual = LoadCurve(workload="m:f", device=device, devices=1, points=(POINT,))
    return replace(usual, **values)


def test_a_server_that_serves_less_than_it_is_offered_does_not_keep_up():
    assert point(throughput_per_second=39.5).keeps_up
    assert not point(throughput_per_second=39.0).keeps_up


def test_a_short_run_is_measured_until_its_last_request_is_done():
    drained = {"offered_per_second": 10.0, "throughput_per_second": 8.0, "latency_p99_s": 9.0}

    assert not point(**drained).keeps_up
    assert point(**drained, completed=200, seconds=25.0, latency_p50_s=5.0).keeps_up
    overloaded = drained | {"throughput_per_second": 5.0, "latency_p99_s": 20.0}
    assert not point(**overloaded, completed=200, seconds=40.0, latency_p50_s=10.0).keeps_up


def test_requests_that_are_still_waiting_when_time_is_up_are_not_served():
    growing = {"offered_per_second": 10.3, "throughput_per_second": 10.0, "latency_p99_s": 600.0}

    assert not point(**growing, completed=103_000, seconds=1e4, latency_p50_s=500.0).keeps_up


def test_the_noise_of_a_p99_is_that_of_its_interval():
    spread = point(latency_p99_low_s=0.045, latency_p99_high_s=0.055).p99_spread

    assert spread == pytest.approx(math.log(0.055 / 0.045) / (2 * 1.96), rel=1e-3)


def test_an_interval_without_an_upper_end_is_twice_its_lower_half():
    spread = point(latency_p99_low_s=0.045).p99_spread

    assert spread == pytest.approx(math.log(0.05 / 0.045) / 1.96, rel=1e-3)


@pytest.mark.parametrize("interval", [{}, {"latency_p99_low_s": 0.05, "latency_p99_high_s": 0.05}])
def test_no_interval_tells_no_noise(interval):
    assert point(**interval).p99_spread is None


def test_the_noise_of_independent_requests_follows_from_the_count_and_shrinks_with_its_root():
    few = point(completed=1000, latency_p95_s=0.03).independent_spread
    many = point(completed=4000, latency_p95_s=0.03).independent_spread

    # An exponential tail of scale (50 - 30 ms) / ln 5, by the quantile's standard error.
    assert few == pytest.approx(0.02 / math.log(5) / 0.05 * math.sqrt(99 / 1000))
    assert many == pytest.approx(few / 2)


def test_the_median_tells_the_tail_where_the_95th_percentile_is_not_known():
    spread = point(completed=1000, latency_p50_s=0.02).independent_spread

    assert spread == pytest.approx(0.03 / math.log(50) / 0.05 * math.sqrt(99 / 1000))


@pytest.mark.parametrize("details", [{}, {"completed": 1000}, {"latency_p95_s": 0.03}])
def test_a_noise_that_nothing_tells_is_not_guessed(details):
    assert point(**details).independent_spread is None


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"offered_per_second": None}, "no offered_per_second"),
        ({"mode": LoadMode.CLOSED}, "no concurrency"),
        ({"throughput_per_second": 0.0}, "above zero"),
        ({"latency_p99_s": math.nan}, "above zero"),
        ({"latency_p99_s": math.inf}, "above zero"),
        ({"memory_bytes": -1}, "above zero"),
        ({"latency_p95_s": 0.06}, "P50 <= P95 <= P99"),
        ({"latency_p99_low_s": 0.06}, "in its interval"),
    ],
)
def test_a_point_that_cannot_be_is_refused(values, says):
    with pytest.raises(LoadCurveError, match=says):
        point(**values)


@pytest.mark.parametrize(
    ("device", "accelerator", "sharing", "parts"),
    [
        ("NVIDIA H100 80GB HBM3", "H100-80GB", ReplicaSharing.WHOLE, 1),
        ("L40S", "L40S", ReplicaSharing.WHOLE, 1),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-40GB", ReplicaSharing.MIG, 7),
        ("NVIDIA A100-SXM4-40GB MIG 1g.10gb", "A100-40GB", ReplicaSharing.MIG, 4),
        ("NVIDIA A100-SXM4-80GB MIG 2g.20gb", "A100-80GB", ReplicaSharing.MIG, 3),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "A100-80GB", ReplicaSharing.MIG, 2),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "H100-80GB", ReplicaSharing.MIG, 7),
        ("NVIDIA H200 MIG 1g.18gb", "H200-141GB", ReplicaSharing.MIG, 7),
        ("NVIDIA H200 MIG 7g.141gb", "H200-141GB", ReplicaSharing.MIG, 1),
        ("some card", None, ReplicaSharing.WHOLE, 1),
    ],
)
def test_a_device_says_what_it_is_a_part_of(device, accelerator, sharing, parts):
    load_curve = curve(device)

    assert (load_curve.accelerator, load_curve.sharing, load_curve.per_device) == (
        accelerator,
        sharing,
        parts,
    )


def test_how_many_parts_an_unknown_device_has_is_not_guessed():
    with pytest.raises(LoadCurveError, match="unknown device"):
        _ = curve("some card MIG 1g.5gb").per_device


@pytest.mark.parametrize("servers", [0, 65])
def test_servers_of_a_replica_are_counted(servers):
    with pytest.raises(LoadCurveError, match="servers: use 1 to 64"):
        curve(servers=servers)


def test_time_slices_share_one_memory():
    load_curve = curve("L40S", time_slices=4)

    assert load_curve.sharing is ReplicaSharing.TIME_SLICED
    assert load_curve.free_bytes(point(memory_bytes=11 * GIGABYTE)) == 4 * GIGABYTE
    assert load_curve.free_bytes(point(memory_bytes=13 * GIGABYTE)) == -4 * GIGABYTE


def test_memory_that_is_not_known_or_a_slices_own_is_no_limit():
    large = point(memory_bytes=500 * GIGABYTE)

    assert curve("some card").free_bytes(large) is None
    assert curve("NVIDIA H200 MIG 1g.18gb").free_bytes(large) is None
    assert curve().free_bytes(point()) is None


@pytest.mark.parametrize(
    "values",
    [
        {"points": ()},
        {"devices": 0},
        {"time_slices": 0},
        {"time_slices": 65},
        {"devices": 2, "time_slices": 2},
        {"devices": 2, "device": "NVIDIA H200 MIG 1g.18gb"},
        {"time_slices": 2, "device": "NVIDIA H200 MIG 1g.18gb"},
    ],
)
def test_a_replica_that_cannot_be_is_refused(values):
    with pytest.raises(LoadCurveError):
        curve(**values)


@pytest.mark.parametrize(
    "details", [{"latency_p50_s": 2.0}, {"seconds": 10.0}, {"seconds": 2.0, "latency_p50_s": 2.0}]
)
def test_a_run_of_unknown_length_or_latency_served_what_it_says(details):
    slow = {"offered_per_second": 10.0, "throughput_per_second": 8.0, "latency_p99_s": 9.0}

    assert not point(**slow, **details).keeps_up
    assert point(**slow, seconds=10.0, latency_p50_s=2.0).keeps_up


def test_a_run_of_a_single_request_is_drained_too():
    one = point(
        offered_per_second=0.5,
        throughput_per_second=0.25,
        latency_p99_s=2.0,
        latency_p50_s=2.0,
        seconds=4.0,
        completed=1,
    )

    assert one.keeps_up
