"""Tables made here in the shape of Metrics Explorer's download; none was recorded."""

import pytest

from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

HEAD = (
    "TimeSeries ID,a,b\n"
    "pod_name,train-0,train-1\n"
    "namespace_name,nlp,nlp\n"
    "accelerator_id,GPU-1,GPU-2\n"
    "model,nvidia-tesla-a100,nvidia-tesla-a100\n"
)
ZONE = "GMT+0200 (Central European Summer Time)"
NAME = "Accelerator_duty_cycle_[MEAN].csv"


def rows(*values):
    lines = (f"Tue Apr 07 2026 10:{at:02}:00 {ZONE},{one}" for at, one in enumerate(values))
    return "\n".join(lines)


def read(text, name=NAME):
    return read_activity(text.encode(), name)


def test_each_column_is_a_device_and_its_labels_say_whose():
    activity_export = read(HEAD + rows("50,undefined", "70,10", "90,20", "90,20"))

    first, second = activity_export.activities
    assert activity_export.kind == "Google Cloud Monitoring"
    assert first.signal is Signal.GPU_UTIL
    assert first.shares.tolist() == pytest.approx([0.5, 0.7, 0.9, 0.9])
    assert first.owner == DeviceOwner(namespace="nlp", job="train-0")
    assert (first.device, first.model) == ("train-0 GPU-1", "nvidia-tesla-a100")
    assert second.shares.tolist() == [0.1, 0.2, 0.2]


def test_times_are_read_in_the_zone_that_they_name():
    (first, *_) = read(HEAD + rows("50,50", "50,50")).activities

    assert first.starts.tolist() == [1775548800.0, 1775548860.0]  # 08:00 UTC


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("duty_cycle.csv", Signal.GPU_UTIL),
        ("GPU_utilization_[MEAN].csv", Signal.GPU_UTIL),
        ("GPU_utilization_[MEAN] (1).csv", Signal.GPU_UTIL),
        ("TensorCore_utilization_[MEAN].csv", Signal.TENSOR_ACTIVE),
    ],
)
def test_the_files_name_says_of_which_metric_it_is(name, signal):
    assert read(HEAD + rows("50,50", "50,50"), name).activities[0].signal is signal


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (HEAD + rows("1,1", "1,1"), "chart.csv", "is not named after its metric"),
        (HEAD, NAME, "has no values"),
        (HEAD + rows("1,x"), NAME, "is not a number"),
        (HEAD + rows("1,1") + "\nTue Apr 99 2026 10:00:00 GMT+0200,1,1", NAME, "is not a time"),
        (HEAD + rows("1,1") + "\nTue Apr 07 9999 10:00:00 GMT+0200,1,1", NAME, "is not a time"),
        ("TimeSeries ID,a\n" + rows("1", "1"), NAME, "does not name its device"),
        (HEAD + rows("-1,-1", "-1,nan"), NAME, "no value that is a share"),
    ],
)
def test_what_cannot_be_told_says_why(text, name, says):
    with pytest.raises(UsageFileError, match=says):
        read(text, name)
