"""Answers and tables made here in the shapes of OpenCost and plain exports; none was recorded."""

import json

import pytest

from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.usage.device_spans import MAX_LABELS, UsageFileError


def allocation(namespace="nlp", hours=24.0, day=1, **properties):
    return {
        "name": namespace,
        "properties": {"cluster": "one", "namespace": namespace} | properties,
        "window": {},
        "start": f"2026-10-{day:02}T00:00:00Z",
        "end": f"2026-10-{day + 1:02}T00:00:00Z",
        "gpuHours": hours,
    }


def answer(*windows):
    return json.dumps({"code": 200, "data": list(windows)}).encode()


def read(data):
    return read_usage(data if isinstance(data, bytes) else data.encode(), "usage")


def test_gpu_hours_are_spread_over_their_window():
    (span,) = read(answer({"nlp": allocation(hours=48.0)})).spans

    assert span.devices == 2
    assert span.device_hours == 48


def test_properties_and_labels_can_be_matched():
    one = allocation(controller="train", labels={"app": "gpt"}, pod=None)

    (span,) = read(answer({"nlp": one})).spans

    assert span.labels == {
        "name": "nlp",
        "cluster": "one",
        "namespace": "nlp",
        "controller": "train",
        "label_app": "gpt",
    }


def test_what_was_summed_by_something_else_has_its_name():
    one = {key: value for key, value in allocation().items() if key not in {"name", "properties"}}

    (span,) = read(answer({"team-a": one})).spans

    assert span.labels == {"name": "team-a"}


def test_what_nobody_used_is_no_use():
    window = {"start": "2026-10-01T00:00:00Z", "end": "2026-10-02T00:00:00Z", "gpuHours": 24.0}
    data = [{"west/__idle__": window, "nlp": window}]
    table = "date,name,gpus\n2026-10-01,__idle__,4\n2026-10-01, nlp ,1\n"

    for file in (json.dumps({"data": data}), table):
        (span,) = read_usage(file.encode(), "allocation").spans
        assert span.labels["name"] == "nlp"


def test_windows_without_gpus_or_without_anything_count_for_the_period_only():
    device_usage = read(
        answer({"nlp": allocation()}, None, {"web": allocation(hours=0.0, day=9)}, {"x": None})
    )

    assert len(device_usage.spans) == 1
    assert (device_usage.end - device_usage.start) / 86_400 == 9


@pytest.mark.parametrize(
    "text",
    [
        "Namespace,Start,End,GPU Hours\nnlp,2026-10-01,2026-10-02,48\n",
        "namespace,window_start,window_end,gpu_hours\nnlp,2026-10-01T00:00Z,2026-10-02T00:00Z,48\n",
        "Date,Namespace,GPUs\n2026-10-01,nlp,2\n",
        "\ufeffdate,namespace,gpuCount\n2026-10-01,nlp,2\n",
    ],
)
def test_tables_say_hours_or_devices_and_when(text):
    (span,) = read(text).spans

    assert span.device_hours == 48
    assert list(span.labels.values()) == ["nlp"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b'{"data": 3}', "not an answer of OpenCost", id="wrong type"),
        pytest.param(b"[" * 200_000, "not an answer of OpenCost", id="deep"),
        pytest.param(
            answer({"a": allocation()})[:-20], "not an answer of OpenCost", id="truncated"
        ),
        pytest.param(answer({"a": allocation(hours=-1.0)}), "devices", id="negative"),
        pytest.param(answer({"a": allocation(hours=1e300)}), "devices", id="huge"),
        pytest.param(answer({"a": allocation() | {"end": "soon"}}), "not a time", id="not a time"),
        pytest.param(
            answer({"a": allocation() | {"end": "2026-10-01T00:00:00Z"}}),
            "a window",
            id="no window",
        ),
        pytest.param(
            answer({"a": allocation(labels={f"l{n}": "x" for n in range(MAX_LABELS)})}),
            "labels",
            id="too many labels",
        ),
        pytest.param("date,gpus\n2026-10-01,many\n", "not a number of GPU hours", id="no number"),
        pytest.param("date,gpus\n2026-10-01,\n", "not a number of GPU hours", id="nothing"),
        pytest.param("date,gpus\n2026-10-01,nan\n", "devices", id="not a number"),
        pytest.param("date,gpus\n2026-10-01\n", "1 cells for 2", id="short row"),
        pytest.param("date,gpus\n1e999,2\n", "not a time", id="no end of time"),
        pytest.param('date,gpus\n"2026-10-01,2\n', "line 2, is not CSV", id="an open quote"),
        pytest.param("date,gpus\n", "no entries", id="empty"),
    ],
)
def test_what_cannot_be_counted_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read(data)


@pytest.mark.parametrize("column", ["gpus", "gpu_hours"])
def test_a_long_cell_is_shown_by_its_first_forty_letters(column):
    with pytest.raises(UsageFileError, match=f"'{'x' * 40}' is not a number of GPU hours"):
        read(f"date,{column}\n2026-10-01,{'x' * 100}\n")


def test_opencosts_own_export_has_no_hours():
    """Its GPUs are those of a container while it ran: one hour on 8 of them is not 192 hours."""
    header = "Date,Namespace,Pod,CPUCoreUsageAverage,GPUs,GPUCost"

    with pytest.raises(UsageFileError, match=r"OpenCost's CSV export, .* which has gpuHours"):
        read(f"{header}\n2026-10-01,nlp,train-0,0.5,8,20\n")
    (span,) = read(f"{header},GPUHours\n2026-10-01,nlp,train-0,0.5,8,20,8\n").spans
    assert span.device_hours == 8
