"""Answers and downloads made here in CloudWatch's shapes; none was recorded."""

import json

import pytest

from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.cloudwatch import INCOMPLETE, MAX_HEADER_ROWS
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

TIMES = ["2026-10-01T00:10:00+00:00", "2026-10-01T00:05:00+00:00", "2026-10-01T00:00:00+00:00"]
LABEL = "i-0abc1234 0 nvidia_smi_utilization_gpu"


def result(label=LABEL, values=(90, 50, 10), times=TIMES, status="Complete"):
    return {
        "Id": "m1",
        "Label": label,
        "Timestamps": times,
        "Values": list(values),
        "StatusCode": status,
    }


def read(*results, **more):
    document = {"MetricDataResults": results, "Messages": []} | more
    return read_activity(json.dumps(document).encode(), "data.json")


def test_values_come_newest_first_and_are_percent():
    (activity,) = read(result()).activities

    assert activity.signal is Signal.GPU_UTIL
    assert activity.shares.tolist() == pytest.approx([0.1, 0.5, 0.9])
    assert (activity.ends - activity.starts).tolist() == [300] * 3
    assert (activity.device, activity.owner) == ("i-0abc1234 0", DeviceOwner(job="i-0abc1234"))


def test_a_label_with_names_says_who_holds_the_device():
    label = "team=nlp job=bert InstanceId=i-0abc1234 index=3 name=Tesla_T4 nvidia_smi_memory_used"

    (activity,) = read(result(label=label, values=(8_000_000_000 / 2**20,) * 3)).activities

    assert activity.owner == DeviceOwner(team="nlp", job="bert")
    assert (activity.device, activity.model) == ("i-0abc1234 3", "Tesla T4")
    assert activity.shares.tolist() == pytest.approx([0.5] * 3)


def test_container_insights_says_the_pod_and_its_namespace():
    place = "Namespace=nlp PodName=train-0 NodeName=ip-10-0-0-7 GpuDevice=nvidia1"

    (activity,) = read(result(label=f"{place} container_gpu_utilization")).activities

    assert activity.owner == DeviceOwner(namespace="nlp", job="train-0")
    assert (activity.device, activity.signal) == ("ip-10-0-0-7 nvidia1", Signal.GPU_UTIL)
    assert activity.shares.tolist() == pytest.approx([0.1, 0.5, 0.9])


def test_pages_of_one_series_are_put_together():
    first, second = result(values=(90,), times=TIMES[:1]), result(values=(50, 10), times=TIMES[1:])

    (activity,) = read(first, second).activities

    assert len(activity.starts) == 3


@pytest.mark.parametrize("more", [{"NextToken": "x"}, {}])
def test_an_answer_that_is_not_whole_says_so(more):
    status = "Complete" if more else "PartialData"

    assert read(result(status=status), **more).notes == (INCOMPLETE,)


def test_a_whole_answer_says_nothing():
    assert read(result(), result(label="i-0abc1234 CPUUtilization")).notes == ()


def test_times_in_seconds_are_read_too():
    (activity,) = read(result(times=[1790000600.0, 1790000300, 1790000000])).activities

    assert activity.starts.tolist() == [1790000000, 1790000300, 1790000600]


def test_the_consoles_download_is_read():
    text = (
        f"Full label,{LABEL},{LABEL.replace(' 0 ', ' 1 ')}\n"
        "Id,m1,m2\nStatistic,Average,Average\nPeriod,300,300\n"
        "2026/10/01 00:00:00,10,20\n2026/10/01 00:05:00,30,\n"
    )

    first, second = read_activity(text.encode(), "metrics.csv").activities

    assert first.shares.tolist() == pytest.approx([0.1, 0.3])
    assert (first.device, second.device) == ("i-0abc1234 0", "i-0abc1234 1")
    assert second.shares.tolist() == pytest.approx([0.2])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b'{"MetricDataResults": [', "not an answer", id="truncated"),
        pytest.param(b'{"MetricDataResults": ' + b"[" * 100_000, "not an answer", id="deep"),
        pytest.param(b'{"MetricDataResults": [{"Values": "x"}]}', "not an answer", id="types"),
        pytest.param(b'{"MetricDataResults": []}', "no GPU metric", id="empty"),
        pytest.param(
            json.dumps({"MetricDataResults": [result(values=(1,))]}).encode(),
            "lacks times",
            id="fewer values",
        ),
        pytest.param(
            json.dumps({"MetricDataResults": [result(times=["soon"] * 3)]}).encode(),
            "not a time",
            id="not a time",
        ),
        pytest.param(
            json.dumps(
                {"MetricDataResults": [result(label="nvidia_smi_utilization_gpu")]}
            ).encode(),
            "does not name (its|the) device",
            id="no device",
        ),
        pytest.param(
            json.dumps(
                {"MetricDataResults": [result(label="job=a index=0 nvidia_smi_utilization_gpu")]}
            ).encode(),
            "does not name (its|the) device",
            id="the index of any instance",
        ),
        pytest.param(b"Label,x\nlater,1\n", "no GPU metric", id="no rows"),
        pytest.param(
            b"Label,i-0abc1234 nvidia_smi_utilization_gpu\n2026-10-01 00:00,x\n",
            "not a num",
            id="csv",
        ),
        pytest.param(
            b"Label,i-0abc1234 nvidia_smi_utilization_gpu\n2026-10-01 00:00,1\nx,1\n",
            "is not a time",
            id="a row of words below",
        ),
        pytest.param(b"Label,a\n" + b"x,y\n" * 200, "is not a time", id="words without end"),
    ],
)
def test_a_file_without_activity_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_activity(data, "data")


def test_rows_above_the_first_time_have_a_limit():
    label = b"Label,i-0abc1234 nvidia_smi_utilization_gpu\n"
    times = b"2026-10-01 00:00,10\n2026-10-01 00:05,20\n"
    most = label + b"x,y\n" * (MAX_HEADER_ROWS - 1)

    (activity,) = read_activity(most + times, "data").activities

    assert activity.shares.tolist() == pytest.approx([0.1, 0.2])
    with pytest.raises(UsageFileError, match=f"line {MAX_HEADER_ROWS + 1}: 'x' is not a time"):
        read_activity(most + b"x,y\n" + times, "data")
