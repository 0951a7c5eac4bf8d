"""Runs submissions as Jobs of Kubernetes.

A Job has the name of its submission: creating it again finds it, so that neither a lost answer nor
a killed runner makes anything run twice. The bundle comes back on a volume that runner and pods
share, the exit status and the end of the log through the API server.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from perfledger.rounding import integer, minutes
from perfledger_runners.launchers.kubernetes.api_records import KubernetesPod
from perfledger_runners.launchers.kubernetes.job_manifest import (
    GRACE_S,
    KubernetesJobSettings,
    check_job_settings,
    job_manifest,
)
from perfledger_runners.launchers.kubernetes.job_states import start_problem, submission_status
from perfledger_runners.launchers.kubernetes.kubectl import Kubectl, KubernetesError
from perfledger_runners.launchers.launcher import (
    RESULT_WAIT_S,
    LauncherError,
    Submission,
    SubmissionLimits,
    SubmissionState,
    SubmissionStatus,
)

POLL_S = 5.0  # an API server has many users, so it is not polled in a tight loop
# Between attempts of a request that got no answer, or to a busy server.
RETRY_WAITS_S = (1.0, 2.0, 4.0, 8.0)
# An unreachable registry recovers; a wrong image or Secret does not.
START_WAIT_S = 600.0
# A pod asked to end has its grace period, and the kubelet some time to report the end.
DELETION_WAIT_S = GRACE_S + 60.0
MAX_LOG_LINES = 10_000
MAX_LOG_BYTES = 2 * 2**20
# Exit statuses of a check that leaves a bundle: passed, failed, and undecided or not measured.
STATUSES_WITH_BUNDLE = frozenset({0, 1, 3})

Answer = TypeVar("Answer")


@dataclass(slots=True, kw_only=True)
class KubernetesLauncher:
    """Jobs of one namespace, identified by the names of their submissions."""

    settings: KubernetesJobSettings
    limits: SubmissionLimits
    kubectl: Kubectl
    poll_s: float = POLL_S
    outlives_runner: bool = True
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    _since: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def __post_init__(self) -> None:
        """Raise LauncherError if no pod can measure with these settings."""
        check_job_settings(self.settings)

    def submit(self, submission: Submission) -> None:
        """Create a Job, unless there is one of this name."""
        manifest = job_manifest(submission, self.settings, self.limits)
        self._ask_again(lambda: self._create(submission.name, manifest))

    def status(self, submission: Submission) -> SubmissionStatus:
        """Return the Job's state; one that cannot start ends after some minutes."""
        job = self.kubectl.job(submission.name)
        pod = None if job is None else self.kubectl.newest_pod(submission.name)
        status = submission_status(job, pod)
        if status.state is SubmissionState.WAITING:
            return self._waiting_status(submission.name, pod, status)
        is_missing = status.exit_status in STATUSES_WITH_BUNDLE and not _is_file_there(submission)
        if is_missing and self._elapsed_s(submission.name, "result") < RESULT_WAIT_S:
            return SubmissionStatus(state=SubmissionState.RUNNING, node=status.node)
        return status

    def collect(self, submission: Submission) -> None:
        """Write the end of the pod's log; the bundle is on the shared volume."""
        try:
            pod = self.kubectl.newest_pod(submission.name)
            if pod is None:
                log = b"Its pod is gone, and its log with it.\n"
            else:
                log = self.kubectl.log(pod, max_lines=MAX_LOG_LINES, max_bytes=MAX_LOG_BYTES)
        except LauncherError as error:  # the result does not depend on it
            log = f"Its log cannot be read: {error}\n".encode()
        try:
            submission.log.write_bytes(log)
        except OSError as error:
            msg = f"{submission.log} cannot be written: {error.strerror}"
            raise LauncherError(msg) from error

    def cancel(self, name: str) -> None:
        """Delete the Job and wait until its pod, which could still write a bundle, has ended."""
        for key in [key for key in self._since if key[0] == name]:
            del self._since[key]
        self._ask_again(lambda: self.kubectl.delete_job(name))
        until = self.clock() + DELETION_WAIT_S
        while self._ask_again(lambda: self.kubectl.job(name)) is not None:
            if self.clock() >= until:
                seconds = integer(DELETION_WAIT_S)
                msg = f"its pod has not ended {seconds} s after its Job was deleted"
                raise LauncherError(msg)
            self.wait(min(self.poll_s, 1.0))

    def _create(self, name: str, manifest: bytes) -> None:
        """Create a Job or find the one that an earlier attempt created."""
        try:
            self.kubectl.create_job(manifest)
        except KubernetesError as error:
            if error.reason != "AlreadyExists":
                raise
            job = self.kubectl.job(name)
            if job is None or job.is_being_deleted:
                msg = f"the Job {name} of an earlier attempt is still being deleted"
                raise KubernetesError(msg) from error

    def _waiting_status(
        self, name: str, pod: KubernetesPod | None, status: SubmissionStatus
    ) -> SubmissionStatus:
        """Return the state of a Job that has not started, with a reason if there is one."""
        problem = start_problem(pod)
        if not problem:
            self._since.pop((name, "start"), None)
        elif self._elapsed_s(name, "start") >= START_WAIT_S:
            reason = f"its container did not start within {minutes(START_WAIT_S)}"
            return SubmissionStatus(state=SubmissionState.ENDED, reason=f"{reason} ({problem})")
        if pod is None and not status.reason:
            with suppress(LauncherError):  # events are only a hint, and not everybody may read them
                warning = self.kubectl.last_warning(name)
                return SubmissionStatus(state=SubmissionState.WAITING, reason=warning)
        return status

    def _elapsed_s(self, name: str, what: str) -> float:
        """Return how long a submission has been in this state."""
        now = self.clock()
        return now - self._since.setdefault((name, what), now)

    def _ask_again(self, request: Callable[[], Answer]) -> Answer:
        """Send a request that may be repeated, until it is answered or refused."""
        for wait_s in RETRY_WAITS_S:
            try:
                return request()
            except KubernetesError as error:
                if error.is_refusal:
                    raise
                self.wait(wait_s)
        return request()


def _is_file_there(submission: Submission) -> bool:
    """Return whether the bundle is there; listing a folder makes an NFS client look again."""
    try:
        return submission.bundle in [*submission.bundle.parent.iterdir()]
    except OSError:
        return False
