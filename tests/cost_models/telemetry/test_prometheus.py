"""Answers made here in the shape of query_range over dcgm-exporter; none was recorded."""

import json

import pytest

from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.metric_values import NO_MEMORY_SIZE, SHARES_NOT_PERCENT
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

T0 = 1_790_000_000
STEP = 60
GPU = {"gpu": "0", "UUID": "GPU-1", "modelName": "NVIDIA A100-SXM4-80GB", "Hostname": "a"}
UTIL = GPU | {"__name__": "DCGM_FI_DEV_GPU_UTIL"}
USED = GPU | {"__name__": "DCGM_FI_DEV_FB_USED"}
FREE = GPU | {"__name__": "DCGM_FI_DEV_FB_FREE"}


def answer(*series):
    result = [
        {
            "metric": labels,
            "values": [
                [T0 + STEP * at, str(value)] for at, value in enumerate(values) if value is not None
            ],
        }
        for labels, values in series
    ]
    return json.dumps({"data": {"resultType": "matrix", "result": result}}).encode()


def read(*series, name="range.json"):
    return read_activity(answer(*series), name)


def test_a_sample_stands_for_the_step_that_it_begins():
    (activity,) = read((UTIL, [40, 60])).activities

    assert activity.signal is Signal.GPU_UTIL
    assert activity.device == "GPU-1"
    assert activity.shares.tolist() == pytest.approx([0.4, 0.6])
    assert (activity.starts - T0).tolist() == [0, 60]
    assert (activity.ends - T0).tolist() == [60, 120]


def test_a_missing_sample_is_not_known_and_not_idle():
    (activity,) = read((UTIL, [40, 60, None, None, 80])).activities

    assert (activity.ends - activity.starts).sum() == 3 * STEP


@pytest.mark.parametrize("blank", ["NaN", "2147483632", "9223372036854775794", "140737488355328"])
def test_what_dcgm_says_for_not_supported_is_not_known(blank):
    export = read((UTIL, [40, blank, 80]))

    (activity,) = export.activities
    assert activity.shares.tolist() == pytest.approx([0.4, 0.8])
    assert export.left_out == (blank != "NaN")


@pytest.mark.parametrize("value", ["-1", "+Inf", "-Inf"])
def test_what_is_no_share_is_left_out_and_counted(value):
    export = read((UTIL, [40, value, 80]))

    assert export.activities[0].shares.tolist() == pytest.approx([0.4, 0.8])
    assert export.left_out == 1


@pytest.mark.parametrize(("values", "is_said"), [([0.9, 0.4], 1), ([1, 0], 0), ([0.5, 40], 0)])
def test_shares_where_percent_should_be_are_said(values, is_said):
    assert read((UTIL, values)).notes.count(SHARES_NOT_PERCENT) == is_said


def test_a_part_of_a_device_has_engine_active_and_no_gpu_util():
    labels = GPU | {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "GPU_I_PROFILE": "1g.10gb"}

    (activity,) = read((labels | {"GPU_I_ID": "7"}, [0.2, 0.4])).activities

    assert (activity.signal, activity.device) == (Signal.ENGINE_ACTIVE, "GPU-1 #7")
    assert activity.shares.tolist() == [0.2, 0.4]


def test_a_device_that_is_cut_is_told_by_its_parts():
    engine = GPU | {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE"}
    part = engine | {"GPU_I_PROFILE": "1g.10gb", "GPU_I_ID": "7", "namespace": "nlp"}

    activities = read((engine, [0.2, 0.4]), (part, [0.5, 0.5])).activities

    assert [(each.device, each.devices) for each in activities] == [("GPU-1 #7", 1 / 7)]


def test_a_device_is_known_as_a_whole_until_it_is_cut():
    engine = GPU | {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE"}
    part = engine | {"GPU_I_PROFILE": "1g.10gb", "GPU_I_ID": "7"}

    activities = read((engine, [0.2, 0.2, 0.4, 0.4]), (part, [None, None, 0.5, 0.5])).activities

    assert {each.device: each.shares.tolist() for each in activities} == {
        "GPU-1": [0.2, 0.2],
        "GPU-1 #7": [0.5, 0.5],
    }


def test_shares_of_the_profiling_fields_are_taken_as_they_are():
    active = GPU | {"__name__": "DCGM_FI_PROF_SM_ACTIVE"}
    tensor = GPU | {"__name__": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}

    activities = read((active, [0.25, 1.02]), (tensor, [0.1, 0.1])).activities

    assert [each.signal for each in activities] == [Signal.SM_ACTIVE, Signal.TENSOR_ACTIVE]
    assert activities[0].shares.tolist() == [0.25, 1.0]


def test_memory_is_a_share_of_what_is_used_and_free():
    (activity,) = read((USED, [20_000, 30_000]), (FREE, [20_000, 10_000])).activities

    assert activity.signal is Signal.MEMORY
    assert activity.shares.tolist() == pytest.approx([0.5, 0.75])


def test_memory_is_a_share_of_the_nominal_size_where_nothing_else_is_told():
    (activity,) = read((USED, [40_000_000_000 / 2**20, 99_999])).activities

    assert activity.shares.tolist() == pytest.approx([0.5, 1.0])


def test_memory_is_a_share_of_the_total_that_is_told():
    total = GPU | {"__name__": "DCGM_FI_DEV_FB_TOTAL"}

    (activity,) = read((USED, [10_000, 20_000]), (total, [40_000, 40_000])).activities

    assert activity.shares.tolist() == pytest.approx([0.25, 0.5])


def test_memory_of_an_unknown_device_is_left_out_and_said():
    strange = {"modelName": "NVIDIA Z1"}

    export = read((UTIL | strange, [1, 1]), (USED | strange, [1, 1]))

    assert [each.signal for each in export.activities] == [Signal.GPU_UTIL]
    assert export.notes == (NO_MEMORY_SIZE,)


def test_memory_that_dcgm_cannot_tell_is_not_known():
    (activity,) = read((USED, [2147483632, 10_000]), (FREE, [2147483632, 30_000])).activities

    assert activity.shares.tolist() == pytest.approx([0.25])


def test_a_pod_and_its_namespace_hold_a_device():
    activity_export = read(
        (UTIL | {"namespace": "nlp", "pod": "train-0", "team": "search"}, [1, 1])
    )

    holder = activity_export.activities[0].owner
    assert holder == DeviceOwner(team="search", namespace="nlp", job="train-0")
    assert [holder.at(level) for level in OwnerLevel] == ["search", "nlp", "nlp/train-0"]


def test_where_labels_are_exported_the_plain_ones_are_the_scrapes_own():
    scrape = {"namespace": "monitoring", "pod": "exporter-x"}
    held_labels = UTIL | scrape | {"exported_namespace": "nlp", "exported_pod": "train-0"}
    free = UTIL | scrape | {"UUID": "GPU-2"}

    first, second = read((held_labels, [1, 1]), (free, [0, 0])).activities

    assert first.owner == DeviceOwner(namespace="nlp", job="train-0")
    assert second.owner == DeviceOwner(is_free=True)


def test_an_exporter_holds_no_device():
    scrape = {"namespace": "monitoring", "pod": "nvidia-dcgm-exporter-x7"}

    (activity,) = read((UTIL | scrape, [1, 1])).activities

    assert activity.owner.at(OwnerLevel.JOB) == "(unknown)"


def test_a_job_of_kubeflow_or_slurm_is_told_from_its_pods():
    pod = {"pod": "bert-worker-3", "label_training_kubeflow_org_job_name": "bert"}

    (first,) = read((UTIL | pod, [1, 1])).activities
    (second,) = read((UTIL | {"hpc_job": "1277"}, [1, 1])).activities

    assert (first.owner.job, second.owner.job) == ("bert", "1277")


def test_a_part_of_a_device_is_a_device_of_its_size():
    part = GPU | {"GPU_I_PROFILE": "2g.20gb", "GPU_I_ID": "5"}
    names = {"__name__": "DCGM_FI_PROF_SM_ACTIVE"}

    (activity,) = read((part | names, [0.5, 0.5])).activities

    assert (activity.device, activity.devices) == ("GPU-1 #5", 2 / 7)


def test_a_file_called_by_its_metric_tells_it_where_the_series_do_not():
    (activity,) = read((GPU, [40, 60]), name="DCGM_FI_DEV_GPU_UTIL.json").activities

    assert activity.signal is Signal.GPU_UTIL


def test_a_device_without_uuid_is_its_host_and_index():
    labels = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "3", "Hostname": "n1"}

    assert read((labels, [1, 1])).activities[0].device == "n1 3"


def test_samples_in_csv_are_read_as_well():
    text = "timestamp,value,__name__,UUID,namespace,pod\n" + "".join(
        f"{T0 + STEP * at},50,DCGM_FI_DEV_GPU_UTIL,GPU-1,nlp,a\n" for at in range(3)
    )

    (activity,) = read_activity(text.encode(), "range.csv").activities

    assert activity.owner == DeviceOwner(namespace="nlp", job="a")
    assert activity.shares.tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(answer(({"__name__": "up", "gpu": "0"}, [1, 1])), "no metric of", id="up"),
        pytest.param(answer((UTIL, [1])), "no device with two samples", id="one sample"),
        pytest.param(answer((UTIL, [])), "no device with two samples", id="none"),
        pytest.param(answer((UTIL, [900, 900])), "no value that is a share", id="all too high"),
        pytest.param(
            b"time,value,__name__,gpu\n" + b"1790000000,1,DCGM_FI_DEV_GPU_UTIL,0\n" * 2,
            "two samples of one device",
            id="appears twice",
        ),
        pytest.param(
            answer(({"__name__": "DCGM_FI_DEV_GPU_UTIL", "namespace": "a"}, [1, 1])),
            "does not name (its|the) device",
            id="a sum over devices",
        ),
        pytest.param(answer((UTIL, ["x", 2])), "a number", id="a word"),
        pytest.param(answer((UTIL, [1, 2]))[:-9], "not an answer", id="truncated"),
        pytest.param(b'{"resultType": ' + b"[" * 100_000, "not an answer", id="deep"),
        pytest.param(
            b'{"data": {"resultType": "matrix", "result": 7}}', "not an answer", id="types"
        ),
        pytest.param(
            answer((UTIL, [1, 2])).replace(b"1790000060", b"1e300"),
            "are impossible",
            id="far future",
        ),
        pytest.param(
            answer((UTIL, [1, 2])).replace(b"1790000000", b"-4"), "are impossible", id="long ago"
        ),
    ],
)
def test_a_file_without_activity_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_activity(data, "range.json")


@pytest.mark.parametrize(
    ("profile", "devices"), [("1g.10gb", 1 / 7), ("3g.40gb", 0.5), ("5g.60gb", 1.0), ("", 1.0)]
)
def test_a_slice_counts_as_its_part_and_one_that_no_device_has_as_a_device(profile, devices):
    part = UTIL | {"GPU_I_ID": "1", "GPU_I_PROFILE": profile}
    series = part | {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE"}

    assert {each.devices for each in read((series, [0.5, 0.5])).activities} == {devices}
