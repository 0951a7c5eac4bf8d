"""Derives from a Job and its pod whether a submission waits or runs, or how it ended."""

from perfledger_runners.launchers.kubernetes.api_records import (
    ApiCondition,
    KubernetesJob,
    KubernetesPod,
    detail_text,
)
from perfledger_runners.launchers.launcher import SubmissionState, SubmissionStatus

# A container that waits for one of these reasons may never start: an image, a Secret or a volume is
# wrong.
START_PROBLEMS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull"}
    | {"ImageInspectError", "ImagePullBackOff", "InvalidImageName", "RegistryUnavailable"}
    | {"RunContainerError"}
)
# Reasons of the condition DisruptionTarget.
DISRUPTIONS = {
    "DeletionByPodGC": "its node is gone",
    "DeletionByTaintManager": "its node was lost or tainted",
    "EvictionByEvictionAPI": "it was evicted from its node",
    "PreemptionByKubeScheduler": "a pod of higher priority preempted it",
    "PreemptionByScheduler": "a pod of higher priority preempted it",
    "TerminationByKubelet": "its node ended it",
}
POD_REASONS = {
    "DeadlineExceeded": "Kubernetes ended it at its time limit",
    "Evicted": "its node evicted it",
    "NodeLost": "its node was lost",
}
KILLED_STATUS = 128 + 9  # by SIGKILL
CONTAINER_REASONS = {
    "ContainerCannotRun": "its command did not start",
    "OOMKilled": "it used more memory than its limit (`resources`)",
    "StartError": "its command did not start",
}


def submission_status(job: KubernetesJob | None, pod: KubernetesPod | None) -> SubmissionStatus:
    """Return the state of the submission of a Job and its newest pod."""
    if job is None:
        return _ended_status("somebody deleted its Job in Kubernetes")
    if job.condition("Complete") is not None:
        node = "" if pod is None else pod.node
        return SubmissionStatus(state=SubmissionState.ENDED, exit_status=0, node=node)
    failure = job.condition("Failed")
    if failure is not None:
        return _failed_job(failure, pod)
    return _unfinished_job(job, pod)


def start_problem(pod: KubernetesPod | None) -> str:
    """Return what keeps a pod's container from starting, "" if nothing does."""
    waiting = None if pod is None else pod.container.waiting
    if waiting is None or waiting.reason not in START_PROBLEMS:
        return ""
    return detail_text(waiting.reason, waiting.message)


def _waiting_reason(pod: KubernetesPod | None) -> str:
    problem = start_problem(pod)
    if pod is None or problem:
        return problem
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.text
    waiting = pod.container.waiting
    return "" if waiting is None else detail_text(waiting.reason, waiting.message)


def _unfinished_job(job: KubernetesJob, pod: KubernetesPod | None) -> SubmissionStatus:
    if pod is not None and _is_lost(pod):
        return _ended_status(DISRUPTIONS["DeletionByTaintManager"], pod.node)
    if job.spec.suspend and not job.is_being_deleted:
        condition = job.condition("Suspended")
        why = "" if condition is None else condition.text
        reason = detail_text("it is suspended, perhaps until Kueue admits it", why)
        return SubmissionStatus(state=SubmissionState.WAITING, reason=reason)
    has_begun = pod is not None and pod.status.phase not in {"", "Pending"}
    # The pod of a Job that is being deleted may still end normally.
    if has_begun or job.is_being_deleted:
        return SubmissionStatus(state=SubmissionState.RUNNING, node="" if pod is None else pod.node)
    return SubmissionStatus(state=SubmissionState.WAITING, reason=_waiting_reason(pod))


def _is_lost(pod: KubernetesPod) -> bool:
    """Return whether a pod's node is lost, so that nobody reports how the pod ends."""
    condition = pod.condition("DisruptionTarget")
    is_tainted = condition is not None and condition.reason == "DeletionByTaintManager"
    is_deleted = pod.metadata.deletion_timestamp is not None
    return is_deleted and (is_tainted or pod.status.reason == "NodeLost")


def _failed_job(failure: ApiCondition, pod: KubernetesPod | None) -> SubmissionStatus:
    """Return how a Job failed, as reported by its pod, else by the Job."""
    if failure.reason == "DeadlineExceeded":
        return _ended_status("it did not end within its wait and time limits")
    if pod is None:
        return _ended_status("its pod is gone", failure.text)
    reason, details = _outside_cause(pod)
    if reason:
        return _ended_status(reason, details, pod.node)
    terminated = pod.container.terminated
    if terminated is None or not terminated.exit_code:
        return _ended_status("Kubernetes says that it failed", failure.text, pod.node)
    return SubmissionStatus(
        state=SubmissionState.ENDED, exit_status=terminated.exit_code, node=pod.node
    )


def _outside_cause(pod: KubernetesPod) -> tuple[str, str]:
    """Return what ended a pod other than the check itself, with details; "" if nothing did."""
    disruption, terminated = pod.condition("DisruptionTarget"), pod.container.terminated
    if disruption is not None:
        reason = DISRUPTIONS.get(disruption.reason or "", "Kubernetes disrupted it")
        return reason, disruption.text
    if pod.status.reason:
        reason = POD_REASONS.get(pod.status.reason, "Kubernetes ended it")
        return reason, detail_text(pod.status.reason, pod.status.message)
    # A check survives if one of its children is killed for its memory; then its own status counts.
    is_own_end = (
        terminated is not None
        and terminated.reason == "OOMKilled"
        and terminated.exit_code != KILLED_STATUS
    )
    if terminated is not None and terminated.reason in CONTAINER_REASONS and not is_own_end:
        return CONTAINER_REASONS[terminated.reason], terminated.message or ""
    if pod.metadata.deletion_timestamp is not None:
        return "its pod was deleted", ""
    return "", ""


def _ended_status(reason: str, *details: str) -> SubmissionStatus:
    """Return an end without an exit status of the check."""
    text = ", ".join(detail_text(each) for each in details if each)
    return SubmissionStatus(
        state=SubmissionState.ENDED, reason=f"{reason} ({text})" if text else reason
    )
