"""Rows made here in the shape of W&B's events; none was recorded."""

import json

import pytest

from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

T0 = 1_790_000_000.0


def rows(*many, **same):
    return [{"_timestamp": T0 + 15 * at, **same, **row} for at, row in enumerate(many)]


def read(fields, name="a1b2c3.json"):
    return read_activity(json.dumps(fields).encode(), name)


def test_each_gpu_of_a_run_is_a_device_and_the_file_names_the_run():
    activities = read(rows(*[{"system.gpu.0.gpu": 40, "system.gpu.1.gpu": 80.0}] * 2)).activities

    assert [each.device for each in activities] == ["a1b2c3 gpu 0", "a1b2c3 gpu 1"]
    assert activities[0].owner == DeviceOwner(job="a1b2c3")
    assert activities[1].shares.tolist() == pytest.approx([0.8, 0.8])


def test_columns_may_say_the_run():
    same = {"entity": "search", "project": "bert", "run": "x1"}

    (activity,) = read(rows(*[{"system/gpu.0.gpu": 40}] * 2, **same)).activities

    assert activity.owner == DeviceOwner(team="search", namespace="bert", job="x1")


def test_allocated_memory_is_read_once_and_traffic_is_not():
    row = {
        "system.gpu.0.gpu": 1,
        "system.gpu.0.memory": 99,
        "system.gpu.0.memoryAllocated": 25,
        "system.gpu.0.memoryAllocatedBytes": 1e9,
        "system.gpu.process.0.gpu": 50,
    }

    activities = read(rows(row, row)).activities

    assert [each.signal for each in activities] == [Signal.GPU_UTIL, Signal.MEMORY]
    assert activities[1].shares.tolist() == [0.25, 0.25]


def test_hosts_of_one_run_have_devices_of_their_own():
    row = {
        "system.gpu.0.gpu/l:n1": 10,
        "system.gpu.0.gpu/l:n2": 20,
        "system.gpu.0.smActive/l:n1": 5,
    }

    activities = read(rows(row, row)).activities

    assert [each.device for each in activities] == [
        "a1b2c3 gpu n1 0",
        "a1b2c3 gpu n2 0",
        "a1b2c3 gpu n1 0",
    ]
    assert activities[2].signal is Signal.SM_ACTIVE


def test_tpus_have_their_duty_cycle():
    row = {
        "system.tpu.0.dutyCycle": 40,
        "system.tpu.0.tensorcoreUtilization": 10,
        "system.tpu.0.memoryUsage": 25,
    }

    activities = read(rows(row, row)).activities

    assert {each.device for each in activities} == {"a1b2c3 tpu 0"}
    assert {each.signal: each.shares.tolist() for each in activities} == {
        Signal.GPU_UTIL: pytest.approx([0.4, 0.4]),
        Signal.TENSOR_ACTIVE: pytest.approx([0.1, 0.1]),
        Signal.MEMORY: [0.25, 0.25],
    }


@pytest.mark.parametrize(
    "metric",
    [
        *("gpu.0.gpu", "gpu.0.memoryAllocated", "gpu.0.smActive", "gpu.0.pipeTensorActive"),
        *("tpu.0.dutyCycle", "tpu.0.tensorcoreUtilization", "tpu.0.memoryUsage"),
    ],
)
def test_shares_are_recorded_in_per_cent(metric):
    (activity,) = read(rows(*[{f"system.{metric}": 25}] * 2)).activities

    assert activity.shares.tolist() == [0.25, 0.25]


def test_csv_is_read_as_pandas_writes_it_and_an_empty_cell_is_no_sample():
    text = (
        ",system.cpu,system.gpu.0.gpu,_timestamp,_runtime\n"
        f"0,3.0,40.0,{T0},10\n1,3.0,,{T0 + 15},25\n2,3.0,60.0,{T0 + 30},40\n3,3,60,{T0 + 45},1\n"
    )

    (activity,) = read_activity(text.encode(), "x1.csv").activities

    assert activity.shares.tolist() == pytest.approx([0.4, 0.6, 0.6])
    assert activity.owner.job == "x1"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b'[{"system.gpu.0.gpu": 1}', "not a list", id="truncated"),
        pytest.param(b'["system.gpu.0.gpu", "system.gpu.x"]', "not a list", id="no rows"),
        pytest.param(b'{"system.gpu.0.gpu": 1}', "not a list", id="not a list"),
        pytest.param(b'[{"system.gpu.0.gpu": 1}]', "not a time", id="not a time"),
        pytest.param(b'[{"system.gpu.0.fan": 1}]', "no column", id="no gpu"),
        pytest.param(
            json.dumps(rows({"system.gpu.0.gpu": "x"})).encode(), "not a num", id="a word"
        ),
        pytest.param(
            json.dumps(rows({"system.gpu.0.gpu": [1]})).encode(), "not a num", id="a list"
        ),
        pytest.param(
            json.dumps(rows({"system.gpu.0.gpu": True})).encode(), "not a num", id="a truth"
        ),
        pytest.param(
            json.dumps(rows({"system.gpu.0.gpu": 1})).encode(),
            "no device with two samples",
            id="one row",
        ),
        pytest.param(b'[{"system.gpu.0.gpu":' + b"[" * 100_000, "not a list", id="deep"),
        pytest.param(
            b'[{"system.gpu.0.gpu": 1' + b"0" * 400 + b', "_timestamp": 1790000000}]',
            "is too large",
            id="huge",
        ),
        pytest.param(b"system.gpu.0.gpu,_timestamp\n1\n", "1 cells for 2", id="a short row"),
    ],
)
def test_a_file_without_activity_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_activity(data, "x1.json")


def test_a_row_is_named_by_its_place_from_one():
    data = json.dumps(rows({"system.gpu.0.gpu": 1}, {"system.gpu.0.gpu": "x"})).encode()

    with pytest.raises(UsageFileError, match=r"x1\.json, row 2: 'x' is not a number"):
        read_activity(data, "x1.json")


@pytest.mark.parametrize("row", ["1700000010,5", "1700000010,5,6,7"])
def test_a_ragged_row_may_hold_a_number_that_is_cut_off(row):
    header = "_timestamp,system.gpu.0.gpu,system.gpu.0.memoryAllocated"

    with pytest.raises(UsageFileError, match=r"line 3: [24] cells for 3 columns"):
        read_activity(f"{header}\n1700000000,50,60\n{row}\n".encode(), "x1.csv")
