"""Writes the manifest of the Job that runs a submission."""

import re
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from perfledger.time_units import SECONDS_PER_DAY
from perfledger_runners.launchers.launcher import LauncherError, Submission, SubmissionLimits
from perfledger_runners.machine.host_identity import HOST_VARIABLE

# An object in etcd may have 1.5 MB.
MAX_MANIFEST_BYTES = 1_000_000
MAX_ENTRIES = 50  # of each table or list of the launcher file
# Seconds that a finished Job is kept. Whoever reads a log the next day still finds the Job; later
# nobody needs it.
KEEP_FINISHED_S = SECONDS_PER_DAY
# A check asked to end first stops its children and removes its checkouts.
GRACE_S = 60
CONTAINER = "check"
# Units in which Kubernetes allots memory; a check's limit always has one.
_MEMORY = re.compile(r"[1-9][0-9]{0,8}(Mi|Gi|Ti)")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_COUNT = re.compile(r"[1-9][0-9]{0,3}")
_RESOURCE = re.compile(r"cpu|memory|ephemeral-storage|[a-z0-9.-]{1,100}/[A-Za-z0-9._-]{1,63}")
TPU = "google.com/tpu"
# Without these GKE gives a pod no TPU slice.
TPU_SELECTORS = ("cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology")

DnsLabel = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")]
DnsName = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")]
LabelKey = Annotated[
    str, msgspec.Meta(pattern=r"\A([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}\w)?\Z")
]
LabelValue = Annotated[
    str, msgspec.Meta(pattern=r"\A([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?\Z")
]
QueueName = Annotated[LabelValue, msgspec.Meta(min_length=1)]
VariableName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]{0,200}\Z")]
SecretKey = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._-]{1,253}\Z")]
ImageName = Annotated[str, msgspec.Meta(pattern=r"\A[\w][\w.:/@-]{0,999}\Z")]
ContextName = Annotated[str, msgspec.Meta(pattern=r"\A[^\x00-\x1f]{0,500}\Z")]
UserNumber = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class SecretReference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of a Secret in the cluster, whose value is never read here."""

    name: DnsName
    key: SecretKey


class PodToleration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A taint of nodes on which a pod may still run."""

    key: LabelKey
    value: LabelValue | None = None  # None: whatever its value
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] = "NoSchedule"


class KubernetesJobSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operator's settings for the Jobs that measure one class of devices.

    `claims` are volumes that the runner has too, by the paths where both mount them. The user id is
    the runner's, whose files the pods share.
    """

    image: ImageName
    resources: dict[str, str | int]
    claims: dict[str, DnsName]
    environment: dict[VariableName, str] = {}
    secret_environment: dict[VariableName, SecretReference] = {}
    node_selector: dict[LabelKey, LabelValue] = {}
    tolerations: tuple[PodToleration, ...] = ()
    image_pull_secrets: tuple[DnsName, ...] = ()
    priority_class: DnsName | None = None
    queue: QueueName | None = None
    queue_priority: QueueName | None = None
    user: UserNumber = 10001
    group: UserNumber = 10001


def check_job_settings(settings: KubernetesJobSettings) -> None:
    """Raise LauncherError if no pod can measure with these settings; the message names one."""
    for name, value in msgspec.structs.asdict(settings).items():
        if isinstance(value, Sized) and not isinstance(value, str) and len(value) > MAX_ENTRIES:
            _refuse(f"`{name}` may have {MAX_ENTRIES} entries")
    _check_resources(settings.resources)
    missing = [key for key in TPU_SELECTORS if key not in settings.node_selector]
    if TPU in settings.resources and missing:
        _refuse(f"`node_selector` lacks {missing[0]}: a pod with {TPU} needs it")
    _check_claims(settings.claims)
    if settings.queue_priority is not None and settings.queue is None:
        _refuse("`queue_priority` belongs to Kueue: it needs `queue`")


def job_manifest(
    submission: Submission, settings: KubernetesJobSettings, limits: SubmissionLimits
) -> bytes:
    """Return the Job of a submission as JSON; raise LauncherError for one that cannot run there.

    It runs once: neither the Job nor the kubelet restarts it, since that would measure again.
    """
    if not _NAME.fullmatch(submission.name):
        _refuse(f"{submission.name[:40]!r} is not a valid name of a Job")
    _check_paths(submission, settings)
    labels = _labels(submission.name)
    job_labels = dict(labels)
    if settings.queue is not None:
        job_labels["kueue.x-k8s.io/queue-name"] = settings.queue
    if settings.queue_priority is not None:
        job_labels["kueue.x-k8s.io/priority-class"] = settings.queue_priority
    spec: dict[str, object] = {
        "backoffLimit": 0,
        "completions": 1,
        "parallelism": 1,
        # The Job then says why an evicted, preempted or lost pod is gone.
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "FailJob",
                    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                }
            ]
        },
        "suspend": settings.queue is not None,  # Kueue admits it
        "ttlSecondsAfterFinished": KEEP_FINISHED_S,
        "template": {
            "metadata": {
                "labels": labels,
                "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
            },
            "spec": _pod_spec(submission, settings, limits),
        },
    }
    # A pod's own limit starts on its node. A Job's limit includes the wait, in case its runner is
    # lost.
    if limits.wait_s is not None and limits.run_s is not None:
        spec["activeDeadlineSeconds"] = int(limits.wait_s + limits.run_s)
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": submission.name,
            "labels": job_labels,
        },
        "spec": spec,
    }
    try:
        data = msgspec.json.encode(manifest)
    except UnicodeEncodeError as error:
        msg = f"the command has a word that is not UTF-8, so Kubernetes cannot run it: {error}"
        raise LauncherError(msg) from error
    if len(data) > MAX_MANIFEST_BYTES:
        _refuse(f"the command is too long: its manifest has more than {MAX_MANIFEST_BYTES} bytes")
    return data


def literal_word(word: str) -> str:
    """Return a word escaped for Kubernetes, which replaces $(NAME) and reads $$ as $."""
    return word.replace("$", "$$")


def _pod_spec(
    submission: Submission, settings: KubernetesJobSettings, limits: SubmissionLimits
) -> dict[str, object]:
    claims = [*enumerate(settings.claims.items())]
    resources = {name: str(value) for name, value in settings.resources.items()}
    spec: dict[str, object] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # their variables may begin with PERFLEDGER_, too
        "shareProcessNamespace": True,  # so the check is not process 1, which must reap orphans
        "terminationGracePeriodSeconds": GRACE_S,
        "nodeSelector": settings.node_selector,
        "tolerations": [_toleration(one) for one in settings.tolerations],
        "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.user,
            "runAsGroup": settings.group,
            "fsGroup": settings.group,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": settings.image,
                "command": [literal_word(word) for word in submission.command],
                "workingDir": str(submission.folder),
                "env": _variables(settings),
                # Requests equal limits, in whole processors: a static CPU manager then gives the
                # pod cores of its own.
                "resources": {"requests": resources, "limits": resources},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [
                    *({"name": f"claim-{at}", "mountPath": path} for at, (path, _) in claims),
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - an empty one of the pod
                    {"name": "memory", "mountPath": "/dev/shm"},  # noqa: S108 - likewise
                ],
            }
        ],
        "volumes": [
            *(
                {"name": f"claim-{at}", "persistentVolumeClaim": {"claimName": claim}}
                for at, (_, claim) in claims
            ),
            {"name": "tmp", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory"}},
        ],
    }
    if limits.run_s is not None:
        spec["activeDeadlineSeconds"] = int(limits.run_s)
    if settings.priority_class is not None:
        spec["priorityClassName"] = settings.priority_class
    return spec


def _labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "perfledger-job", "app.kubernetes.io/instance": name}


def _variables(settings: KubernetesJobSettings) -> list[dict[str, object]]:
    """Return the environment of the job: the configured variables, and the name of its node."""
    values: list[dict[str, object]] = [
        {"name": name, "value": literal_word(value)} for name, value in settings.environment.items()
    ]
    references: list[dict[str, object]] = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": one.name, "key": one.key}}}
        for name, one in settings.secret_environment.items()
    ]
    variables = [*values, *references]
    if HOST_VARIABLE not in {each["name"] for each in variables}:
        node = {"fieldRef": {"fieldPath": "spec.nodeName"}}
        variables.append({"name": HOST_VARIABLE, "valueFrom": node})
    return variables


def _toleration(toleration: PodToleration) -> dict[str, str]:
    words = {"key": toleration.key, "effect": toleration.effect}
    if toleration.value is None:
        return {**words, "operator": "Exists"}
    return {**words, "operator": "Equal", "value": toleration.value}


def _check_resources(resources: Mapping[str, str | int]) -> None:
    for name in ("cpu", "memory"):
        if name not in resources:
            _refuse(f"`resources` lacks {name}: only a pod with limits has cores of its own")
    for name, value in resources.items():
        if not _RESOURCE.fullmatch(name):
            _refuse(f"`resources` contains {name[:40]!r}: use names such as nvidia.com/gpu")
        is_memory = name in {"memory", "ephemeral-storage"}
        if is_memory and not _MEMORY.fullmatch(str(value)):
            _refuse(f'`resources` has {name} = {str(value)[:40]!r}: write "64Gi"')
        if not is_memory and not _COUNT.fullmatch(str(value)):
            _refuse(f"`resources` has {name} = {str(value)[:40]!r}: write a whole number")


def _check_claims(claims: Mapping[str, str]) -> None:
    if not claims:
        _refuse("`claims` is empty: name the volume that the runner and its pods share")
    for path in claims:
        if not path.startswith("/") or path == "/" or ":" in path or ".." in Path(path).parts:
            _refuse(f"`claims` contains {path[:40]!r}: write an absolute path")


def _check_paths(submission: Submission, settings: KubernetesJobSettings) -> None:
    """Raise LauncherError for a file that only the runner could see."""
    for path in (submission.folder, submission.bundle):
        if not any(path.is_relative_to(claim) for claim in settings.claims):
            _refuse(f"{path} is on none of the `claims`: pods would not see it")


def _refuse(message: str) -> None:
    raise LauncherError(message)
