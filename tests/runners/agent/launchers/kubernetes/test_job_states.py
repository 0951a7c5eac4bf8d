"""Tests states that no other test reaches; those of a cluster are in test_job_launcher."""

import msgspec
import pytest

from perfledger_runners.launchers.kubernetes.api_records import KubernetesJob, KubernetesPod
from perfledger_runners.launchers.kubernetes.job_states import start_problem, submission_status

FAILED = [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]
DELETED = {"deletionTimestamp": "2026-01-02T03:04:05Z"}


def job(metadata=None, suspend=False, conditions=()):
    document = {
        "metadata": metadata or {},
        "spec": {"suspend": suspend},
        "status": {"conditions": conditions},
    }
    return msgspec.convert(document, KubernetesJob)


def pod(metadata=None, **status):
    document = {"metadata": metadata or {}, "spec": {"nodeName": "gpu7"}, "status": status}
    return msgspec.convert(document, KubernetesPod)


def ended(**details):
    return [{"state": {"terminated": details}}]


@pytest.mark.parametrize(
    ("record", "pods", "state", "text"),
    [
        (job(), None, "waiting", ""),
        (job(), pod(), "waiting", ""),
        (job(), pod(phase="Unknown"), "running", "gpu7"),
        # Its controller says so soon.
        (job(), pod(phase="Failed", containerStatuses=ended(exitCode=3)), "running", "gpu7"),
        (job(metadata=DELETED), None, "running", ""),
        (job(metadata=DELETED), pod(phase="Running"), "running", "gpu7"),
        (job(metadata=DELETED, suspend=True), None, "running", ""),
        (job(suspend=True), pod(phase="Running"), "waiting", "it is suspended"),
        (job(), pod(DELETED, phase="Running", reason="NodeLost"), "ended", "node was lost"),
        (job(conditions=FAILED), None, "ended", "its pod is gone (BackoffLimitExceeded)"),
        (job(conditions=FAILED), pod(phase="Failed"), "ended", "says that it failed (Backoff"),
        (
            job(conditions=FAILED),
            pod(phase="Failed", reason="UnexpectedAdmissionError", message="no device"),
            "ended",
            "Kubernetes ended it (UnexpectedAdmissionError: no device, gpu7)",
        ),
        (
            job(conditions=FAILED),
            pod(DELETED, phase="Failed", containerStatuses=ended(exitCode=143)),
            "ended",
            "its pod was deleted (gpu7)",
        ),
        (
            job(conditions=FAILED),
            pod(phase="Failed", containerStatuses=ended(exitCode=0)),
            "ended",
            "Kubernetes says that it failed",
        ),
    ],
)
def test_a_job_and_its_pod_have_one_meaning(record, pods, state, text):
    status = submission_status(record, pods)

    assert (status.state, status.exit_status) == (state, None)
    assert text in status.reason + status.node


def test_a_condition_that_does_not_hold_means_nothing():
    failed = [{"type": "Failed", "status": "False"}, {"type": "Complete", "status": "Unknown"}]

    assert submission_status(job(conditions=failed), None).state == "waiting"


def test_a_container_that_is_being_made_has_no_problem():
    making = [{"state": {"waiting": {"reason": "ContainerCreating"}}}]

    assert start_problem(pod(phase="Pending", containerStatuses=making)) == ""
    assert start_problem(None) == ""
