"""Reads an API server's answers about Jobs, pods and events; unknown fields are ignored."""

from typing import TypeVar

import msgspec

from perfledger_runners.launchers.launcher import LauncherError
from perfledger_runners.safe_text import clean_text

MAX_DETAIL_TEXT = 300  # characters shown of a cluster's messages


class ApiRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an answer."""


class ApiCondition(ApiRecord, frozen=True, kw_only=True):
    """One condition of a Job or a pod: its type, whether it holds, and why."""

    type: str
    status: str = ""
    reason: str | None = None
    message: str | None = None

    @property
    def text(self) -> str:
        """Return reason and message, cleaned and shortened."""
        return detail_text(self.reason, self.message)


class ApiMetadata(ApiRecord, frozen=True, kw_only=True):
    """Name and times of an object; one with a time of deletion is being deleted."""

    name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class JobSpec(ApiRecord, frozen=True, kw_only=True):
    """The specification of a Job."""

    suspend: bool | None = None


class JobStatus(ApiRecord, frozen=True, kw_only=True):
    """The status of a Job."""

    conditions: tuple[ApiCondition, ...] | None = None


class KubernetesJob(ApiRecord, frozen=True, kw_only=True):
    """A Job."""

    metadata: ApiMetadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_being_deleted(self) -> bool:
        """Return whether it is being deleted, so that its pod ends."""
        return self.metadata.deletion_timestamp is not None

    def condition(self, kind: str) -> ApiCondition | None:
        """Return its condition of this type if it holds."""
        return _condition_that_holds(self.status.conditions, kind)


class StateDetails(ApiRecord, frozen=True, kw_only=True):
    """Why a container waits, or how it ended."""

    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None


class ContainerState(ApiRecord, frozen=True, kw_only=True):
    """The state of a container."""

    waiting: StateDetails | None = None
    terminated: StateDetails | None = None


class ContainerStatus(ApiRecord, frozen=True, kw_only=True):
    """A container with its state."""

    state: ContainerState = ContainerState()


class PodStatus(ApiRecord, frozen=True, kw_only=True):
    """The status of a pod."""

    phase: str = ""
    reason: str | None = None
    message: str | None = None
    conditions: tuple[ApiCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class PodSpec(ApiRecord, frozen=True, kw_only=True):
    """Where a pod runs."""

    node_name: str | None = None


class KubernetesPod(ApiRecord, frozen=True, kw_only=True):
    """A pod, of one container."""

    metadata: ApiMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def node(self) -> str:
        """Return the name of its node, "" until it has one."""
        return detail_text(self.spec.node_name)

    @property
    def container(self) -> ContainerState:
        """Return the state of its container."""
        statuses = self.status.container_statuses
        return statuses[0].state if statuses else ContainerState()

    def condition(self, kind: str) -> ApiCondition | None:
        """Return its condition of this type if it holds."""
        return _condition_that_holds(self.status.conditions, kind)


class PodList(ApiRecord, frozen=True, kw_only=True):
    """The pods that a selector finds."""

    items: tuple[KubernetesPod, ...] | None = None


class KubernetesEvent(ApiRecord, frozen=True, kw_only=True):
    """What a controller reports about an object."""

    type: str | None = None
    reason: str | None = None
    message: str | None = None


class EventRecords(ApiRecord, frozen=True, kw_only=True):
    """Events of an object."""

    items: tuple[KubernetesEvent, ...] | None = None


Record = TypeVar("Record", bound=ApiRecord)


def decode_record(data: bytes, kind: type[Record]) -> Record:
    """Return an answer's record; raise LauncherError if it is not one."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"kubectl did not answer with a {kind.__name__}: {detail_text(str(error))}"
        raise LauncherError(msg) from error


def detail_text(*parts: str | None) -> str:
    """Return a cluster's message as "reason: message" on one line, cleaned and shortened."""
    text = ": ".join(part for part in parts if part)
    return " ".join(clean_text(text[: 4 * MAX_DETAIL_TEXT]).split())[:MAX_DETAIL_TEXT]


def _condition_that_holds(
    conditions: tuple[ApiCondition, ...] | None, kind: str
) -> ApiCondition | None:
    for condition in conditions or ():
        if condition.type == kind:
            return condition if condition.status == "True" else None
    return None
