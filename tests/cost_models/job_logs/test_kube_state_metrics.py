"""Jobs from kube-state-metrics' series; all series are made up."""

import json

import pytest

from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError


def series(metric, value, **labels):
    return {"metric": {"__name__": metric, **labels}, "values": [[0, "0"], [60, str(value)]]}


def answer(*samples, kind="matrix"):
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": samples}})


def test_series_of_one_pod_are_one_job():
    known_fields = {"namespace": "ml", "pod": "p", "uid": "u"}
    labels = {"resource": "nvidia_com_gpu", **known_fields}
    log = read_job_log(
        answer(
            series("kube_pod_created", 1_700_000_000, **known_fields),
            series("kube_pod_status_scheduled_time", 1_700_000_050, **known_fields),
            series("kube_pod_completion_time", 1_700_003_650, **known_fields),
            series("kube_pod_container_resource_requests", 4, container="a", **labels),
            series("kube_pod_container_resource_requests", 2, container="b", **labels),
            series("kube_pod_labels", 1, label_queue="root.a", **known_fields),
        )
    )
    jobs = log.jobs

    assert log.format is LogFormat.PROMETHEUS
    assert (jobs.devices[0], jobs.wait_ms[0], jobs.run_ms[0]) == (6, 50_000, 3_600_000)
    assert jobs.team.names == ("root.a",)


def test_a_restarted_exporter_repeats_its_series():
    once = {"exported_namespace": "ml", "exported_pod": "p", "exported_container": "a"}
    once |= {"pod": "exporter", "namespace": "monitoring", "resource": "nvidia_com_gpu"}
    fields = [
        series(metric, value, instance=instance, **once)
        for instance in ("10.0.0.1", "10.0.0.2")
        for metric, value in (
            ("kube_pod_created", 1_700_000_000),
            ("kube_pod_container_resource_requests", 4),
        )
    ]

    jobs = read_job_log(answer(*fields)).jobs

    assert (jobs.devices.tolist(), jobs.team.names) == ([4], ("ml",))


def test_samples_in_csv_are_series_too():
    rows = "__name__,namespace,pod,timestamp,value\n"
    rows += "kube_pod_created,ml,p,1700000060,1700000000\n"
    rows += "kube_pod_start_time,ml,p,1700000060,1700000060\n"

    assert read_job_log(rows).jobs.wait_ms.tolist() == [60_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (answer(kind="vector"), "query_range"),
        (answer(), "kube_pod_created"),
        ("__name__,timestamp,value\nkube_pod_created,soon,1\n", "not a time"),
    ],
)
def test_an_answer_without_pods_is_an_error(text, message):
    with pytest.raises(JobLogError, match=message):
        read_job_log(text)
