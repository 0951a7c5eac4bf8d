"""Kubernetes' objects as job logs; all objects are made up."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.job_logs.csv_rows import SkipReason
from perfledger_cost_models.job_logs.formats import LogFormat
from perfledger_cost_models.job_logs.readers import read_job_log
from perfledger_cost_models.job_logs.table import JobLogError

DAY = "2026-01-05T"


def object_of(kind, name, *, labels=None, spec=None, status=None, **metadata):
    known_fields = {"name": name, "namespace": "ml", "creationTimestamp": f"{DAY}00:00:00Z"}
    metadata = known_fields | {"labels": labels} | metadata
    return {"kind": kind, "metadata": metadata, "spec": spec or {}, "status": status or {}}


def pod(name, requests, *, end="00:30:00", **rest):
    spec = {"containers": [{"resources": {"requests": requests}}], "priority": 7}
    ended = {"state": {"terminated": {"finishedAt": f"{DAY}{end}Z"}}}
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": f"{DAY}00:10:00Z"}
    status = {"phase": "Succeeded", "conditions": [placed], "containerStatuses": [ended]}
    return object_of("Pod", name, spec=spec, status=status, **rest)


def log_of(*items, kind="List"):
    return read_job_log(json.dumps({"kind": kind, "items": items}))


def test_a_pod_waits_until_it_is_placed_and_runs_until_its_containers_end():
    log = log_of(pod("a", {"nvidia.com/gpu": "2", "cpu": "500m", "memory": "64Gi"}))
    jobs = log.jobs

    assert log.format is LogFormat.KUBERNETES
    assert (jobs.wait_ms[0], jobs.run_ms[0]) == (600_000, 1_200_000)
    assert (jobs.devices[0], jobs.cpu_milli[0], jobs.memory_mib[0]) == (2, 500, 65_536)
    assert (jobs.priority[0], jobs.team.names) == (7, ("ml",))


@pytest.mark.parametrize(
    ("memory", "mib"),
    [
        ("1048576Ki", 1024),
        ("2Ti", 2**21),
        ("3Gi", 3072),
        ("3Mi", 3),
        ("1048576", 1),
        ("1e9", 954),
        ("2097152000m", 2),
        ("3145728000000u", 3),
        ("3000000000000000n", 3),  # 2.86 MiB
        ("10485760k", 10_000),
        ("1000M", 954),
        ("1G", 954),
        ("1T", 953_674),
        ("0.001P", 953_674),
        ("0.000001E", 953_674),
        ("0.001Pi", 1_073_742),
        ("0.000001Ei", 1_099_512),
    ],
)
def test_quantities_have_the_suffixes_of_kubernetes(memory, mib):
    jobs = log_of(pod("a", {"nvidia.com/gpu": 1, "memory": memory})).jobs

    assert jobs.memory_mib.tolist() == [mib]


@pytest.mark.parametrize(
    "label", ["kueue.x-k8s.io/queue-name", "volcano.sh/queue-name", "queue", "runai/queue"]
)
def test_the_queue_of_each_scheduler_is_the_team(label):
    jobs = log_of(pod("a", {"nvidia.com/gpu": 1}, labels={label: "research"})).jobs

    assert jobs.team.names == ("research",)


def test_a_job_is_all_of_its_pods_and_they_are_not_counted_again():
    template = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}]}}
    done = {"type": "Complete", "status": "True", "lastTransitionTime": f"{DAY}01:10:00Z"}
    job = object_of(
        "Job",
        "train",
        spec={"parallelism": 2, "template": template, "activeDeadlineSeconds": 7200},
        status={"startTime": f"{DAY}00:10:00Z", "conditions": [done]},
    )

    log = log_of(job, pod("x", {}, ownerReferences=[{"kind": "Job", "name": "train"}]))

    assert (log.jobs.devices.tolist(), log.jobs.run_ms.tolist()) == ([8], [3_600_000])
    assert log.jobs.limit_ms.tolist() == [7_200_000]
    assert dict(log.left_out) == {SkipReason.STEP: 1}


def test_a_workload_of_kueue_waits_until_it_is_admitted():
    template = {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 8}}}]}}
    conditions = [
        {"type": "Admitted", "status": "True", "lastTransitionTime": f"{DAY}00:20:00Z"},
        {"type": "Finished", "status": "True", "lastTransitionTime": f"{DAY}02:20:00Z"},
    ]
    spec = {"queueName": "team-b", "podSets": [{"count": 3, "template": template}]}

    jobs = log_of(object_of("Workload", "w", spec=spec, status={"conditions": conditions})).jobs

    assert (jobs.devices[0], jobs.wait_ms[0], jobs.run_ms[0]) == (24, 1_200_000, 7_200_000)
    assert jobs.team.names == ("team-b",)


def test_pods_of_what_a_workload_queues_are_not_counted_again():
    template = {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 8}}}]}}
    owners = [{"kind": "PyTorchJob", "name": "train"}]
    spec = {"podSets": [{"count": 2, "template": template}]}
    workload = object_of("Workload", "w", spec=spec, ownerReferences=owners)
    pods = [pod(name, {"nvidia.com/gpu": 8}, ownerReferences=owners) for name in "ab"]

    log = log_of(workload, *pods, pod("c", {"nvidia.com/gpu": 1}))

    assert log.jobs.devices.tolist() == [16, 1]
    assert dict(log.left_out)[SkipReason.STEP] == 2


@pytest.mark.parametrize("kind", ["CronJob", "ReplicaSet", "PyTorchJob"])
def test_pods_of_an_object_that_is_no_job_are_counted(kind):
    owners = [{"kind": kind, "name": "train"}]

    log = log_of(object_of(kind, "train"), pod("a", {"nvidia.com/gpu": 8}, ownerReferences=owners))

    assert log.jobs.devices.tolist() == [8]
    assert dict(log.left_out) == {SkipReason.OTHER_KIND: 1}


def test_an_object_that_is_no_job_may_have_any_fields():
    queue = {"kind": "Queue", "metadata": {"name": 3}, "status": {"state": "Open"}, "spec": None}

    log = log_of(queue, pod("a", {"nvidia.com/gpu": 8}))

    assert log.jobs.devices.tolist() == [8]
    assert dict(log.left_out) == {SkipReason.OTHER_KIND: 1}


def test_a_job_of_volcano_runs_from_its_condition_to_its_state():
    template = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}]}}
    conditions = [
        {"status": "Pending", "lastTransitionTime": f"{DAY}00:00:01Z"},
        {"status": "Running", "lastTransitionTime": f"{DAY}00:05:00Z"},
        {"status": "Completed", "lastTransitionTime": f"{DAY}00:35:00Z"},
    ]
    state = {"phase": "Completed", "lastTransitionTime": f"{DAY}00:35:00Z"}
    spec = {"queue": "research", "tasks": [{"replicas": 4, "template": template}]}

    status = {"conditions": conditions, "state": state}
    jobs = log_of(object_of("Job", "v", spec=spec, status=status)).jobs

    assert (jobs.devices[0], jobs.wait_ms[0], jobs.run_ms[0]) == (8, 300_000, 1_800_000)
    assert jobs.team.names == ("research",)


def test_slices_and_fractions_are_parts_of_a_device():
    jobs = log_of(
        pod("mig", {"nvidia.com/mig-3g.40gb": 2}),
        pod("half", {}, annotations={"gpu-fraction": "0.25"}),
    ).jobs

    assert (jobs.devices.tolist(), jobs.share_milli.tolist()) == ([2, 1], [500, 250])


def test_the_apis_own_list_states_the_kind_once():
    without = {key: value for key, value in pod("a", {}).items() if key != "kind"}

    assert len(log_of(without, kind="PodList").jobs) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a list as"),
        ('{"kind": "Pod"}', "not a list as"),
        ('{"items": []}', "no usable job"),
        ('{"items": [{"kind": "Service"}]}', "no usable job"),
        (
            json.dumps({"items": [pod("a", {"nvidia.com/gpu": "4 GPUs"})]}),
            "not a Kubernetes quantity",
        ),
        (json.dumps({"items": [pod("a", {"cpu": "1.2.3"})]}), "not a Kubernetes quantity"),
        (json.dumps({"items": [pod("a", {"cpu": "1e300P"})]}), "a number"),
        (json.dumps({"items": [pod("a", {"cpu": "1e308"})]}), "is above"),
        (
            json.dumps({"items": [object_of("Job", "a", spec={"parallelism": 10**400})]}),
            "not a list",
        ),
        (json.dumps({"items": [pod("a", {}, end="99")]}), "not a time"),
        ("{" * 5000, "not a list as"),
    ],
)
def test_a_text_that_is_no_list_of_objects_is_an_error(text, words):
    with pytest.raises(JobLogError, match=words):
        read_job_log(text)


@given(st.integers(0, 2000))
def test_a_truncated_list_is_an_error(stop):
    text = json.dumps({"items": [pod("a", {"nvidia.com/gpu": 1}), pod("b", {})]})

    with suppress(JobLogError):
        read_job_log(text[:stop])


@pytest.mark.parametrize(
    ("profile", "milli"), [("1g", 142), ("2g", 285), ("3g", 500), ("4g", 571), ("7g", 1000)]
)
def test_each_slice_of_a_gpu_has_its_share_of_seven(profile, milli):
    """NVIDIA's MIG user guide; a profile of three slices takes half of the memory."""
    jobs = log_of(pod("a", {f"nvidia.com/mig-{profile}.10gb": 1})).jobs

    assert jobs.milli.tolist() == [milli]


def test_a_job_without_counts_is_of_one_pod():
    template = {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": 2}}}]}}
    kinds = (
        ("Job", {"template": template}),
        ("Workload", {"podSets": [{"template": template}]}),
        ("Job", {"tasks": [{"template": template}]}),
    )

    for kind, spec in kinds:
        assert log_of(object_of(kind, "a", spec=spec)).jobs.devices.tolist() == [2]


def test_an_error_counts_objects_from_one():
    broken = pod("b", {"nvidia.com/gpu": 1}, end="99:00:00")

    with pytest.raises(JobLogError, match="line 2"):
        log_of(pod("a", {"nvidia.com/gpu": 1}), broken)
