"""Answers made here in the shape of timeSeries.list; none was recorded."""

import json

import pytest

from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.cloud_monitoring import (
    BUSY_SECONDS,
    NEXT_PAGE,
    OPS_AGENT_MEMORY,
)
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

DUTY = "kubernetes.io/container/accelerator/duty_cycle"
POD = {"namespace_name": "nlp", "pod_name": "train-0", "node_name": "", "project_id": "p"}


def series(kind=DUTY, values=(30, 20, 10), labels=None, resource=None, key="int64Value", **more):
    points = [
        {
            "interval": {
                "startTime": f"2026-10-01T00:0{at}:00Z",
                "endTime": f"2026-10-01T00:0{at}:00Z",
            },
            "value": {key: str(value) if key == "int64Value" else value},
        }
        for at, value in zip(range(len(values), 0, -1), values, strict=True)
    ]
    return {
        "metric": {"type": kind, "labels": labels or {"accelerator_id": "7", "model": "nvidia-l4"}},
        "resource": {"type": "k8s_container", "labels": POD if resource is None else resource},
        "metricKind": "GAUGE",
        "valueType": "INT64",
        "points": points,
    } | more


def read(*many, **more):
    return read_activity(json.dumps({"timeSeries": many} | more).encode(), "series.json")


def test_points_come_newest_first_and_a_duty_cycle_is_percent():
    (activity,) = read(series()).activities

    assert activity.signal is Signal.GPU_UTIL
    assert activity.shares.tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert activity.owner == DeviceOwner(namespace="nlp", job="train-0")
    assert activity.device == "train-0 7"


def test_the_list_alone_is_what_gcloud_prints():
    data = json.dumps([series(metadata={"userLabels": {"team": "search"}})]).encode()

    (activity,) = read_activity(data, "series.json").activities

    assert activity.owner.team == "search"


def test_memory_is_a_share_of_the_total():
    used = series(DUTY.replace("duty_cycle", "memory_used"), values=(8, 4))
    total = series(DUTY.replace("duty_cycle", "memory_total"), values=(16, 16))

    (activity,) = read(used, total).activities

    assert activity.signal is Signal.MEMORY
    assert activity.shares.tolist() == pytest.approx([0.25, 0.5])


def test_what_a_tpus_matrix_units_do_is_read():
    kind = "kubernetes.io/node/accelerator/tensorcore_utilization"

    (activity,) = read(series(kind, values=(62.5, 12.5), key="doubleValue")).activities

    assert (activity.signal, activity.shares.tolist()) == (Signal.TENSOR_ACTIVE, [0.125, 0.625])


@pytest.mark.parametrize("where", ["series", "answer"])
def test_a_unit_that_is_stated_counts(where):
    kind, unit = "agent.googleapis.com/gpu/utilization", {"unit": "1"}
    one = series(kind, values=(0.5, 0.25), key="doubleValue")

    export = read(one | unit) if where == "series" else read(one, **unit)

    assert export.activities[0].shares.tolist() == [0.25, 0.5]


@pytest.mark.parametrize("key", ["int64Value", "doubleValue"])
def test_a_unit_of_shares_on_values_of_percent_does_not_count(key):
    busy = series(values=(88, 90), key=key) | {"unit": "1"}
    idle = series(values=(0, 1), key=key, labels={"accelerator_id": "8"}) | {"unit": "1"}

    first, second = read(busy, idle).activities

    assert first.shares.tolist() == pytest.approx([0.9, 0.88])
    assert second.shares.tolist() == pytest.approx([0.01, 0.0])


def test_the_agents_memory_says_by_a_label_what_is_free():
    gpu = {"gpu_number": "0", "uuid": "GPU-1"}
    used = series(OPS_AGENT_MEMORY, (30.0, 10.0), gpu | {"memory_state": "used"}, key="doubleValue")
    free = series(OPS_AGENT_MEMORY, (10.0, 30.0), gpu | {"memory_state": "free"}, key="doubleValue")

    (activity,) = read(used, free).activities

    assert activity.shares.tolist() == pytest.approx([0.25, 0.75])


def test_busy_seconds_are_what_they_grew_by():
    seconds = series(BUSY_SECONDS, values=(7.0, 90.0, 60.0, 0.0), key="doubleValue")

    (activity,) = read(seconds).activities

    assert activity.shares.tolist() == pytest.approx([1.0, 0.5])  # the counter was set back after


def test_managed_prometheus_has_dcgms_names():
    kind = "prometheus.googleapis.com/DCGM_FI_DEV_GPU_UTIL/gauge"
    held_fields = series(
        kind, labels={"UUID": "GPU-1", "exported_pod": "a", "exported_namespace": "n"}
    )
    free = series(kind, labels={"UUID": "GPU-2"}, resource={"cluster": "c"})

    first, second = read(held_fields, free).activities

    assert first.owner == DeviceOwner(namespace="n", job="a")
    assert second.owner == DeviceOwner(is_free=True)


def test_a_next_page_is_said():
    assert read(series(), nextPageToken="x").notes == (NEXT_PAGE,)


def test_a_point_without_a_number_is_not_known():
    one = series()
    one["points"][1]["value"] = {"boolValue": True}

    assert len(read(one).activities[0].shares) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b'{"timeSeries": [', "not an answer", id="truncated"),
        pytest.param(b'{"timeSeries": ' + b"[" * 100_000, "not an answer", id="deep"),
        pytest.param(b'[{"metric": 1, "points": 2}]', "not an answer", id="types"),
        pytest.param(b'{"timeSeries": []}', "no metric of activity", id="empty"),
        pytest.param(
            json.dumps({"timeSeries": [series("run.googleapis.com/cpu")]}).encode(),
            "no metric of activity",
            id="another metric",
        ),
        pytest.param(
            json.dumps({"timeSeries": [series("prometheus.googleapis.com/up/gauge")]}).encode(),
            "no metric of activity",
            id="another of Prometheus",
        ),
        pytest.param(
            json.dumps({"timeSeries": [series(resource={}, labels={"x": "y"})]}).encode(),
            "does not name (its|the) device",
            id="no device",
        ),
        pytest.param(
            json.dumps({"timeSeries": [series()]}).replace('"20"', '"many"').encode(),
            "a number",
            id="a number",
        ),
        pytest.param(
            json.dumps({"timeSeries": [series()]}).replace("00:02:00Z", "soon").encode(),
            "not a time",
            id="not a time",
        ),
    ],
)
def test_a_file_without_activity_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_activity(data, "series.json")


def test_three_of_the_metrics_without_activity_are_named_in_a_short_message():
    many = [series(f"example.com/{letter * 400}") for letter in "dcba"]

    with pytest.raises(UsageFileError, match="only ") as raised:
        read(*many)

    assert len(str(raised.value)) == 600
    with pytest.raises(UsageFileError, match=r"only \['x/a', 'x/b', 'x/c'\]: request"):
        read(*(series(f"x/{letter}") for letter in "dcba"))
