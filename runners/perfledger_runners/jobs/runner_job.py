"""Defines the jobs that a service's queue has for runners, shared by both sides."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger.registration.workload_pattern import is_match
from perfledger.time_units import SECONDS_PER_HOUR

# If the service hears nothing from a job's runner for this long, it gives the job to another one.
DEFAULT_LEASE_S = 120.0
# A dead runner's job waits so long for another one.
MIN_LEASE_S, MAX_LEASE_S = 1.0, float(SECONDS_PER_HOUR)
# Characters of the reason why a job ended: a runner sends no more, and the service refuses more.
MAX_REASON = 1000
# Names of quarantined devices sent with a job; a project does not have more at a time.
MAX_EXCLUDED_DEVICES = 500


class RunnerJobKind(StrEnum):
    """The purpose of a job."""

    RERUN = "rerun"  # of a pull request's check, requested in a comment
    AB = "ab"  # an A/B request of the default branch
    BISECTION = "bisection"
    CANARY = "canary"  # the default branch's newest commit against itself
    BUILTIN = "builtin"  # the canaries of `bench builtin`, which belong to no commit
    NIGHTLY = "nightly"  # the default branch's newest commit against its parent
    WEEKLY = "weekly"

    @property
    def is_of_device(self) -> bool:
        """Return whether a job shows the state of a device, including one in quarantine."""
        return self in {RunnerJobKind.CANARY, RunnerJobKind.BUILTIN}

    @property
    def names_class(self) -> bool:
        """Return whether a job's machine class is a name rather than a pattern."""
        return self in {RunnerJobKind.AB, RunnerJobKind.BUILTIN}

    @property
    def statuses_without_bundle(self) -> frozenset[int]:
        """Return the exit statuses that end such a job although it has no bundle.

        A bisection may end with several commits (3) or find no difference to search for (5).
        """
        return frozenset({0, 3, 5}) if self is RunnerJobKind.BISECTION else frozenset()


class RunnerJobState(StrEnum):
    """State of a job; the last three are final."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Return whether the job still needs work."""
        return self in {RunnerJobState.QUEUED, RunnerJobState.LEASED}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerJob:
    """One entry of a service's queue for runners.

    Without commits it is about the default branch's newest one when it runs. `workloads` are ids;
    none means all. A fork's commit may be run only if `allows_fork` is set.
    """

    id: str
    repository: str
    kind: RunnerJobKind
    machine_class: str  # a pattern; a name for the kinds that name one class
    base_sha: str = ""
    head_sha: str = ""
    pull_request: int | None = None
    allows_fork: bool = False
    workloads: tuple[str, ...] = ()
    max_pairs: int | None = None
    metric: str = ""  # the metric that a bisection is about, "" for the step time
    for_runner: str = ""  # the name of the only runner that may take it, "" for any
    requested_by: str = ""
    state: RunnerJobState = RunnerJobState.QUEUED
    runner: str = ""
    attempts: int = 0
    reason: str = ""
    upload_id: str | None = None
    created_at: datetime
    due_at: datetime
    lease_expires_at: datetime | None = None
    excluded_devices: tuple[str, ...] = ()  # devices not to measure on, as of when it is lent

    def is_for(self, machine_class: str) -> bool:
        """Return whether a machine class runs this job."""
        if self.kind.names_class:
            return machine_class == self.machine_class
        return is_match(self.machine_class, machine_class)
