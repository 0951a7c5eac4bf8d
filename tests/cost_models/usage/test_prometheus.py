"""Answers made here in the shape of Prometheus' query_range; none was recorded."""

import json

import pytest

from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.usage.device_spans import UsageFileError

T0 = 1_790_000_000
STEP = 3600
UTIL = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0", "Hostname": "a"}
REQUESTS = {"__name__": "kube_pod_container_resource_requests", "namespace": "nlp"}


def answer(*series, kind="matrix"):
    result = [
        {"metric": metric, "values": [[T0 + STEP * at, str(value)] for at, value in values]}
        for metric, values in series
    ]
    document = {"status": "success", "data": {"resultType": kind, "result": result}}
    return json.dumps(document).encode()


def read(*series):
    return read_usage(answer(*series), "range.json")


def hours(usage):
    return sum(span.device_hours for span in usage.spans)


def test_a_number_of_devices_counts_for_the_step_that_each_sample_begins():
    device_usage = read((REQUESTS, [(0, 8), (1, 8), (2, 16)]))

    assert hours(device_usage) == 8 + 8 + 16
    assert [dict(span.labels) for span in device_usage.spans] == [{"namespace": "nlp"}] * 2
    assert (device_usage.end - device_usage.start) / STEP == 3


def test_a_gap_is_no_time_in_which_devices_are_held():
    assert hours(read((REQUESTS, [(0, 8), (1, 8), (5, 8)]))) == 24


def test_a_gpu_that_a_pod_holds_counts_however_busy_it_is():
    held_labels, free = UTIL | {"pod": "train-0"}, UTIL | {"pod": "", "gpu": "1"}

    device_usage = read((held_labels, [(0, 0), (1, 97)]), (free, [(0, 0), (1, 0)]))

    assert hours(device_usage) == 2


def test_a_gpu_is_held_while_how_busy_it_is_is_not_known():
    assert hours(read((UTIL | {"pod": "train-0"}, [(0, 97), (1, "NaN"), (2, "NaN")]))) == 3


def test_a_gpu_that_several_pods_share_at_one_time_counts_once():
    first, second = (UTIL | {"UUID": "GPU-1", "pod": pod} for pod in ("a", "b"))

    device_usage = read((first, [(0, 50), (1, 50), (2, 50)]), (second, [(1, 50)]))

    assert hours(device_usage) == 3
    assert [(span.labels["pod"], span.devices) for span in device_usage.spans] == [
        ("a", 1.0),
        ("a", 0.5),
        ("a", 1.0),
        ("b", 0.5),
    ]


def test_parts_of_a_gpu_and_gpus_without_a_name_share_nothing():
    part = UTIL | {"UUID": "GPU-1", "GPU_I_PROFILE": "1g.10gb", "pod": "a"}
    samples = [(0, 50), (1, 50)]

    parts = read((part | {"GPU_I_ID": "7"}, samples), (part | {"GPU_I_ID": "8"}, samples))

    assert hours(parts) == pytest.approx(4 / 7)
    assert hours(
        read((UTIL | {"UUID": "GPU-1"}, samples), (part | {"GPU_I_ID": "7"}, samples))
    ) == pytest.approx(2 / 7)
    assert hours(read(*((UTIL | {"pod": pod}, samples) for pod in "ab"))) == 4


def test_named_owners_share_a_gpu_only_with_each_other():
    samples = [(0, 50), (1, 50)]
    known_labels, unknown = (
        UTIL | {"UUID": "GPU-1", "pod": "a"},
        UTIL | {"UUID": "GPU-1", "job": "other"},
    )

    device_usage = read((known_labels, samples), (unknown, [*samples, (2, 50)]))

    assert [(span.labels.get("pod"), span.device_hours) for span in device_usage.spans] == [
        ("a", 2),
        (None, 1),
    ]


def test_a_gpu_counts_as_a_whole_until_it_is_cut_into_parts():
    whole_labels = UTIL | {"UUID": "GPU-1", "pod": "a"}
    part = whole_labels | {"GPU_I_ID": "7", "GPU_I_PROFILE": "7g.80gb"}

    device_usage = read((whole_labels, [(at, 50) for at in range(6)]), (part, [(4, 50), (5, 50)]))

    assert [span.device_hours for span in device_usage.spans] == [4, 2]


def test_a_gpu_without_owner_labels_counts_while_it_is_active():
    assert hours(read((UTIL, [(0, 0), (1, 97), (2, 3), (3, "NaN")]))) == 2


@pytest.mark.parametrize(
    ("profile", "model", "part"),
    [
        ("1g.10gb", "NVIDIA H100 80GB HBM3", 1 / 7),
        ("3g.40gb", "NVIDIA H100 80GB HBM3", 1 / 2),
        ("1g.6gb", "NVIDIA A30", 1 / 4),
        ("", "NVIDIA H100 80GB HBM3", 1),
    ],
)
def test_a_part_of_a_gpu_counts_as_its_part(profile, model, part):
    mig = UTIL | {"GPU_I_PROFILE": profile, "modelName": model}

    assert hours(read((mig, [(0, 50), (1, 97)]))) == pytest.approx(2 * part)
    assert hours(read((mig | {"pod": "a"}, [(0, 0), (1, 0)]))) == pytest.approx(2 * part)


def test_samples_in_csv_may_stand_one_a_row_with_their_labels():
    text = "timestamp,value,namespace\n" + "".join(
        f"{T0 + STEP * at},{value},nlp\n" for at, value in [(0, 8), (1, 4)]
    )

    device_usage = read_usage(text.encode(), "range.csv")

    assert hours(device_usage) == 12
    assert device_usage.spans[0].labels == {"namespace": "nlp"}


def test_samples_in_csv_may_stand_one_series_a_column():
    text = (
        '"Time","{namespace=""nlp"", pod=""a""}",vision,"up{job=""x""}"\n'
        "2026-10-01 00:00:00,8,1,\n2026-10-01 01:00:00,8,,\n"
    )

    device_usage = read_usage(text.encode(), "panel.csv")

    assert [(dict(span.labels), span.device_hours) for span in device_usage.spans] == [
        ({"namespace": "nlp", "pod": "a"}, 16),
        ({"series": "vision"}, 1),
    ]


def test_times_in_milliseconds_are_recognised():
    text = f"time,value\n{T0 * 1000},2\n{(T0 + STEP) * 1000},2\n"

    assert hours(read_usage(text.encode(), "range.csv")) == 4


def test_samples_may_follow_each_other_by_a_second():
    text = f"time,value\n{T0},2\n{T0 + 1},2\n{T0 + 2},2\n"

    assert hours(read_usage(text.encode(), "range.csv")) == pytest.approx(6 / 3600)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(answer((REQUESTS, [(0, 1)]), kind="vector"), "matrix", id="an instant"),
        pytest.param(answer((REQUESTS, [(0, 1)])), "no series with two samples", id="one sample"),
        pytest.param(
            answer((REQUESTS, [(0, 87.5), (1, 2)])), "not a number of devices", id="share"
        ),
        pytest.param(answer((REQUESTS, [(0, -1), (1, 2)])), "neither a number", id="negative"),
        pytest.param(answer((REQUESTS, [(0, "+Inf"), (1, 2)])), "neither a number", id="infinite"),
        pytest.param(answer((REQUESTS, [(0, "x"), (1, 2)])), "neither a number", id="no number"),
        pytest.param(answer((REQUESTS, [(0, 1e9), (1, 2)])), "devices", id="too many"),
        pytest.param(answer((REQUESTS, [(0, 1), (1e9, 1)])), "is impossible", id="a far future"),
        pytest.param(
            answer((UTIL, [(0, 1), (1, 1)]), (REQUESTS, [(0, 1)])), "2 metrics", id="two metrics"
        ),
        pytest.param(
            answer((UTIL | {"__name__": "DCGM_FI_DEV_POWER_USAGE"}, [(0, 60), (1, 60)])),
            "does not show whether",
            id="a metric of something else",
        ),
        pytest.param(
            answer((REQUESTS, [(0, 1)]))[:-9], "not an answer of Prometheus", id="truncated"
        ),
        pytest.param(b'{"resultType": ' + b"[" * 100_000, "not an answer of Prom", id="deep"),
        pytest.param(
            b'{"data": {"resultType": "matrix", "result": [7]}}', "not an answer", id="types"
        ),
        pytest.param(b"timestamp,value\n1790000000\n", "1 cells for 2", id="a short row"),
        pytest.param(b"timestamp,value\nlater,1\n", "not a time", id="not a time"),
        pytest.param(b"timestamp,value\n1790000000,\n", "neither a number", id="an empty value"),
    ],
)
def test_what_cannot_be_counted_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_usage(data, "range")


@pytest.mark.parametrize(("percent", "expected"), [(0.5, 2), (1, 2), (0, 0)])
def test_a_gpu_that_is_hardly_used_is_used(percent, expected):
    usage = read((UTIL, [(0, 100), (1, 0), (2, percent), (3, percent)]))

    assert hours(usage) * 3600 / STEP == pytest.approx(1 + expected)
