"""Reads jobs from Kubernetes' objects, as `kubectl get -A -o json` prints them.

Pods, Jobs, Volcano's Jobs (https://volcano.sh/en/docs/vcjob) and Kueue's Workloads
(https://kueue.sigs.k8s.io/docs/concepts/workload) are read. An object with an owner in the list
counts as its owner's, and an object with the same owner as a Workload counts as the Workload's.
Kueue creates the pods of a Job only when they may start, so the Job and the Workload have the
submission time, and the pods do not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec

from perfledger_cost_models.job_logs.csv_rows import SkipReason, job_of
from perfledger_cost_models.job_logs.table import MAX_JOBS, WHOLE_DEVICE, Job, JobLogError
from perfledger_cost_models.job_logs.time_columns import TimeColumns
from perfledger_cost_models.prices.mig_profiles import mig_milli

_WORKLOAD = "Workload"
_KINDS = ("Pod", "Job", _WORKLOAD)
_DEVICES = ("nvidia_com_gpu", "amd_com_gpu", "google_com_tpu", "habana_ai_gaudi")
_MIG = "nvidia_com_mig_"
_FRACTION = "gpu-fraction"  # Run:ai's annotation
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?\d+)?)([numk]|[MGTPE]|[KMGTPE]i)?")
_SCALES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "Ki": 1024.0} | {
    letter + suffix: base**power
    for power, letter in enumerate("MGTPE", start=2)
    for suffix, base in (("", 1000.0), ("i", 1024.0))
}
_ENDED = ("Complete", "Failed", "Finished")  # of Jobs and Workloads
_BEGUN = ("PodScheduled", "Admitted")
_DONE = frozenset({"Completed", "Failed", "Terminated", "Aborted"})  # of Volcano's Jobs

_Amount = str | int | float
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_JOBS)]  # of pods


class _Resources(msgspec.Struct):
    requests: dict[str, _Amount] | None = None
    limits: dict[str, _Amount] | None = None


class _Container(msgspec.Struct):
    resources: _Resources | None = None


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []


class _Template(msgspec.Struct):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _PodSet(msgspec.Struct):
    count: _Count = 1
    template: _Template = msgspec.field(default_factory=_Template)


class _Task(msgspec.Struct):
    replicas: _Count = 1
    template: _Template = msgspec.field(default_factory=_Template)


class _Spec(msgspec.Struct, rename="camel"):
    containers: list[_Container] = []
    template: _Template | None = None
    pod_sets: list[_PodSet] = []
    tasks: list[_Task] = []  # Volcano's, as is its queue
    queue: str | None = None
    parallelism: _Count | None = None
    priority: int | None = None
    queue_name: str | None = None
    active_deadline_seconds: int | None = None


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] = []


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _Terminated(msgspec.Struct, rename="camel"):
    finished_at: str | None = None


class _State(msgspec.Struct):
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct):
    state: _State = msgspec.field(default_factory=_State)


class _JobState(msgspec.Struct, rename="camel"):
    phase: str = ""
    last_transition_time: str | None = None


class _Status(msgspec.Struct, rename="camel"):
    phase: str = ""
    state: _JobState = msgspec.field(default_factory=_JobState)
    start_time: str | None = None
    conditions: list[_Condition] = []
    container_statuses: list[_ContainerStatus] = []


class _Item(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Kind(msgspec.Struct):
    kind: str = ""


class _List(msgspec.Struct):
    items: list[msgspec.Raw]  # other kinds have different fields of the same names
    kind: str = ""


_LIST_DECODER = msgspec.json.Decoder(_List)
_KIND_DECODER = msgspec.json.Decoder(_Kind)
_ITEM_DECODER = msgspec.json.Decoder(_Item)


def kubernetes_jobs(text: str) -> Iterator[Job | SkipReason]:
    """Read a list of objects, each a job; errors give its index as the line. Raise JobLogError."""
    try:
        object_list = _LIST_DECODER.decode(text)
        # The API's own PodList, unlike kubectl's List, does not repeat the kind with each.
        listed = object_list.kind.removesuffix("List")
        kinds = [_KIND_DECODER.decode(item).kind or listed for item in object_list.items]
        items = [
            _ITEM_DECODER.decode(item) if kind in _KINDS else _Item()
            for item, kind in zip(object_list.items, kinds, strict=True)
        ]
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"the job log is not a list as printed by `kubectl get pods -A -o json`: {error}"
        raise JobLogError(msg) from error
    jobs = [item for item, kind in zip(items, kinds, strict=True) if kind in _KINDS]
    listed_objects = {(each.metadata.namespace, each.kind, each.metadata.name) for each in jobs}
    # Kueue's Workload is a child of the object that it queues, of any kind, beside its pods.
    queued = {
        owner for each in jobs if each.kind == _WORKLOAD for owner in _owners(each)
    } | listed_objects
    times = TimeColumns()
    for number, (item, kind) in enumerate(zip(items, kinds, strict=True), start=1):
        if kind not in _KINDS:
            yield SkipReason.OTHER_KIND
            continue
        counted_owners = listed_objects if kind == _WORKLOAD else queued
        yield (
            job_of(_row(item), number, times)
            if counted_owners.isdisjoint(_owners(item))
            else SkipReason.STEP
        )


def plain_name(name: str) -> str:
    """Return a label's or a resource's name as Prometheus writes it: "nvidia_com_gpu"."""
    return re.sub(r"[^a-z0-9]", "_", name.lower())


def columns_of(requests: Mapping[str, float]) -> dict[str, str]:
    """Return the columns of requests, keyed by `plain_name`: devices, cores and bytes."""
    devices = sum(requests.get(name, 0.0) for name in _DEVICES)
    share = WHOLE_DEVICE
    for name, amount in requests.items():
        if name.startswith(_MIG) and amount and not devices:
            devices, share = amount, mig_milli(name)
    return {
        "devices": f"{devices:.17g}",
        "gpu_milli": str(share),
        "cpu_request": f"{requests.get('cpu', 0.0):.17g}",
        "memory_bytes": f"{requests.get('memory', 0.0):.17g}",
    }


def _owners(item: _Item) -> Iterator[tuple[str, str, str]]:
    for owner in item.metadata.owner_references:
        yield item.metadata.namespace, owner.kind, owner.name


def _row(item: _Item) -> dict[str, str]:
    labels, spec = item.metadata.labels or {}, item.spec
    row = {f"label_{plain_name(name)}": value for name, value in labels.items()}
    row |= {"uid": item.metadata.uid or f"{item.kind} {item.metadata.name}"}
    row |= {"namespace": item.metadata.namespace, **columns_of(_requests(spec))}
    if spec.queue_name:
        row["label_kueue_x_k8s_io_queue_name"] = spec.queue_name
    if spec.queue:
        row["label_volcano_sh_queue_name"] = spec.queue
    if fraction := (item.metadata.annotations or {}).get(_FRACTION):
        row["devices"] = fraction
    row["submit_time"] = item.metadata.creation_timestamp or ""
    row["start_time"] = _moment(item.status.conditions, _BEGUN) or item.status.start_time or ""
    row["end_time"] = _end(item.status)
    row["priority"] = "" if spec.priority is None else str(spec.priority)
    seconds = spec.active_deadline_seconds
    row["limit_s"] = "" if seconds is None else str(seconds)
    return row


def _end(status: _Status) -> str:
    if status.phase in {"Pending", "Running"}:
        return ""
    if status.state.phase in _DONE:
        return status.state.last_transition_time or ""
    ends = [
        each.state.terminated.finished_at
        for each in status.container_statuses
        if each.state.terminated and each.state.terminated.finished_at
    ]
    return max(ends, default="") or _moment(status.conditions, _ENDED)


def _moment(conditions: Sequence[_Condition], types: Sequence[str]) -> str:
    moments = (
        each.last_transition_time or ""
        for each in conditions
        if (each.type in types and each.status == "True")
        or (types is _BEGUN and each.status == "Running")  # Volcano's have no type
    )
    return next(moments, "")


def _requests(spec: _Spec) -> dict[str, float]:
    """Return the sum of all pods' requests."""
    sets = [(each.count, each.template.spec) for each in spec.pod_sets]
    sets += [(each.replicas, each.template.spec) for each in spec.tasks]
    if spec.template is not None:
        pods = 1 if spec.parallelism is None else spec.parallelism
        sets.append((pods, spec.template.spec))
    sets.append((1, _PodSpec(spec.containers)))
    requests: dict[str, float] = {}
    for count, pod in sets:
        for container in pod.containers:
            resources = container.resources or _Resources()
            for name, amount in {**(resources.limits or {}), **(resources.requests or {})}.items():
                resource = plain_name(name)
                requests[resource] = requests.get(resource, 0.0) + count * _number(amount)
    return requests


def _number(amount: _Amount) -> float:
    """Return "500m", "64Gi" or 4 as a number."""
    match = _QUANTITY.fullmatch(str(amount))
    try:
        number, unit = (match[1], match[2] or "") if match else ("", "")
        return float(number) * _SCALES[unit]
    except ValueError as error:
        msg = f"the job log: {str(amount)[:40]!r} is not a Kubernetes quantity: correct it"
        raise JobLogError(msg) from error
