import json

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.serving.load_curve import LoadCurveError, LoadMode
from perfledger_cost_models.serving.load_test_json import MAX_LOAD_BYTES, read_load_curve

POINT = {
    "mode": "open",
    "concurrency": None,
    "offered_per_second": 40.0,
    "batch": 1,
    "completed": 2400,
    "seconds": 60.0,
    "throughput_per_second": 40.0,
    "latency_p50_s": 0.021,
    "latency_p95_s": 0.043,
    "latency_p99_s": 0.058,
    "latency_p99_low_s": 0.054,
    "latency_p99_high_s": 0.063,
    "memory_bytes": 21474836480,
}
DOCUMENT = {
    "version": 1,
    "workload": "serve:generate",
    "device": "NVIDIA H100 80GB HBM3",
    "devices": 1,
    "points": [POINT],
}


def written(point=None, **values):
    document = DOCUMENT | values
    if point is not None:
        document["points"] = [POINT | point]
    return json.dumps(document).encode()


def test_a_load_test_is_read_whole():
    curve = read_load_curve(written(), "curve.json")

    (point,) = curve.points
    assert (curve.workload, curve.accelerator, curve.devices) == ("serve:generate", "H100-80GB", 1)
    assert (point.mode, point.offered_per_second, point.batch) == (LoadMode.OPEN, 40.0, 1)
    assert (point.latency_p99_low_s, point.memory_bytes) == (0.054, 21474836480)


def test_a_later_versions_keys_are_passed_over():
    assert read_load_curve(written(runner="a new key"), "curve.json").devices == 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (written(version=2), "version"),
        (written(devices=0), "devices"),
        (written(devices=1.5), "devices"),
        (written(devices=True), "devices"),
        (written(workload=""), "workload"),
        (written(workload="w" * 201), "workload"),
        (written(points=[]), "points"),
        (written(points=[POINT] * 301), "points"),
        (written({"mode": "half-open"}), "mode"),
        (written({"mode": "closed"}), "no concurrency"),
        (written({"latency_p99_s": "fast"}), "latency_p99_s"),
        (written({"latency_p99_s": 0}), "latency_p99_s"),
        (written({"latency_p99_s": None}), "latency_p99_s"),
        (written({"latency_p99_s": 1e9}), "latency_p99_s"),
        (written({"latency_p99_s": 0.04}), "P50 <= P95 <= P99"),
        (written({"throughput_per_second": -1}), "throughput_per_second"),
        (written({"completed": 2**60}), "completed"),
        (written({"batch": 0}), "batch"),
        (written().replace(b"0.058", b"NaN"), "not a load curve"),
        (written().replace(b"0.058", b"1e999"), "not a load curve"),
        (written().replace(b'"completed": 2400, ', b""), "completed"),
        (written()[:-20], "not a load curve"),
        (written().replace(b"serve", b"\xff\xfe"), "not a load curve"),
        (b"", "not a load curve"),
        (b"[" * 100_000, "not a load curve"),
        (b" " * (MAX_LOAD_BYTES + 1), "larger than"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_by_name(data, says):
    with pytest.raises(LoadCurveError, match=says) as error:
        read_load_curve(data, "curve.json")

    assert "curve.json" in str(error.value)


@given(st.integers(0, len(written()) - 1), st.binary(min_size=1, max_size=4))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(place, damage):
    data = written()
    try:
        curve = read_load_curve(data[:place] + damage + data[place + len(damage) :], "curve.json")
    except LoadCurveError:
        return

    assert curve.points
