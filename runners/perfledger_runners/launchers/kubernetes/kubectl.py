"""Sends requests to an API server with kubectl, which finds clusters and logs in.

kubectl rather than the Python client: Kubernetes users have it, with their contexts and login
plugins, and it needs no further package (version 37 of the client unpacks to 74 MB in 1,900 files
and needs ten packages). `--raw` sends exactly one request, without any discovery before it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode

from perfledger_runners.launchers.engine_tool import ToolAnswer, ToolTimeoutError, ask_tool
from perfledger_runners.launchers.kubernetes.api_records import (
    EventRecords,
    KubernetesJob,
    KubernetesPod,
    PodList,
    decode_record,
    detail_text,
)
from perfledger_runners.launchers.launcher import LauncherError

REQUEST_TIMEOUT_S = 30
MAX_PODS = 20  # for one Job; there are several if Kueue took it back
MAX_EVENTS = 50
MAX_KUBECTL_ERROR = 4000  # characters; its first line names the reason
# Reasons for which another attempt is useless.
REFUSALS = frozenset(
    {"BadRequest", "Forbidden", "Invalid", "MethodNotAllowed", "NotAcceptable", "NotFound"}
    | {"RequestEntityTooLarge", "Unauthorized", "UnsupportedMediaType"}
)
_REASON = re.compile(r"^Error from server \((\w{1,60})\)", re.MULTILINE)
# Two reasons that kubectl words differently from the API.
_REASON_PATTERNS = {
    "Unauthorized": re.compile(r"^error: You must be logged in", re.MULTILINE),
    "Invalid": re.compile(r"^The .{1,300} is invalid", re.MULTILINE),
}


class KubernetesError(LauncherError):
    """A request that an API server did not fulfil, with the reason that it gives ("": none)."""

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def is_refusal(self) -> bool:
        """Return whether the same request would be refused again."""
        return self.reason in REFUSALS


class KubectlProgram(Protocol):
    """The program that sends a request: kubectl, a process for each."""

    def __call__(self, words: Sequence[str], /, *, text: bytes, max_error: int) -> ToolAnswer:
        """Run it with these words and this input, and return its answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """The kubectl of this machine, for one namespace of a cluster."""

    namespace: str
    context: str = ""  # "": kubectl's own, or in a pod its service account's
    request_timeout_s: float = REQUEST_TIMEOUT_S
    program: KubectlProgram = ask_tool

    def create_job(self, manifest: bytes) -> None:
        """Create a Job."""
        self._ask("create", self._jobs, text=manifest)

    def job(self, name: str) -> KubernetesJob | None:
        """Return a Job, None if there is none with this name."""
        try:
            answer = self._ask("get", f"{self._jobs}/{name}")
        except KubernetesError as error:
            if error.reason == "NotFound":
                return None
            raise
        return decode_record(answer, KubernetesJob)

    def delete_job(self, name: str) -> None:
        """Delete a Job once its pods are gone; nothing to do if there is none."""
        try:
            self._ask("delete", f"{self._jobs}/{name}?propagationPolicy=Foreground")
        except KubernetesError as error:
            if error.reason != "NotFound":
                raise

    def newest_pod(self, name: str) -> KubernetesPod | None:
        """Return the newest pod of the Job of this name, if there is any."""
        query = {"labelSelector": f"app.kubernetes.io/instance={name}", "limit": MAX_PODS}
        answer = self._ask("get", f"{self._pods}?{urlencode(query)}")
        pods = decode_record(answer, PodList).items or ()
        # Times of the API are RFC 3339 in UTC, so their order is that of their texts.
        return max(pods, key=lambda pod: pod.metadata.creation_timestamp or "", default=None)

    def last_warning(self, name: str) -> str:
        """Return the last warning about the Job of this name, such as a quota; "" without one."""
        selector = f"involvedObject.kind=Job,involvedObject.name={name},type=Warning"
        query = urlencode({"fieldSelector": selector, "limit": MAX_EVENTS})
        answer = self._ask("get", f"{self._namespace_path}/events?{query}")
        events = decode_record(answer, EventRecords).items or ()
        return detail_text(events[-1].reason, events[-1].message) if events else ""

    def log(self, pod: KubernetesPod, *, max_lines: int, max_bytes: int) -> bytes:
        """Return the end of a pod's output."""
        query = urlencode({"tailLines": max_lines, "limitBytes": max_bytes})
        return self._ask("get", f"{self._pods}/{quote(pod.metadata.name, safe='')}/log?{query}")

    def _ask(self, verb: str, path: str, *, text: bytes = b"") -> bytes:
        words = ["kubectl", verb, f"--raw={path}", f"--request-timeout={self.request_timeout_s}s"]
        if self.context:
            words.append(f"--context={self.context}")
        if text:
            words.append("--filename=-")
        try:
            answer = self.program(words, text=text, max_error=MAX_KUBECTL_ERROR)
        except ToolTimeoutError as error:
            raise KubernetesError(str(error)) from error
        if answer.status == 0:
            return answer.output
        why = detail_text(answer.error) or f"exit status {answer.status}"
        msg = f"kubectl {verb} failed: {why}"
        raise KubernetesError(msg, reason=_reason(answer.error))

    @property
    def _namespace_path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}"

    @property
    def _pods(self) -> str:
        return f"{self._namespace_path}/pods"

    @property
    def _jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"


def _reason(text: str) -> str:
    """Return the API's reason for a failure from kubectl's message, "" if it has none."""
    match = _REASON.search(text)
    if match is not None:
        return match[1]
    return next((name for name, pattern in _REASON_PATTERNS.items() if pattern.search(text)), "")
