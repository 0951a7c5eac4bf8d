"""Defines the work that a service's queue has for runners, as both sides know it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger.workload_pattern import is_match

# Within that time the service hears from the runner that holds a job, or gives it to another one.
DEFAULT_LEASE_S = 120.0
MIN_LEASE_S, MAX_LEASE_S = 1.0, 3600.0
# Characters of why a job ended: a runner sends no more, and the service refuses more.
MAX_REASON = 1000
# Names of devices in quarantine that a job comes with: more are not in one project at a time.
MAX_EXCLUDED_DEVICES = 500


class RunnerJobKind(StrEnum):
    """What a job is for."""

    RERUN = "rerun"  # of a pull request's check, asked for in a comment
    AB = "ab"  # an A/B request of the default branch
    BISECTION = "bisection"
    CANARY = "canary"  # the default branch's newest commit against itself
    BUILTIN = "builtin"  # the canaries of `bench builtin`, of which no commit is
    NIGHTLY = "nightly"  # the default branch's newest commit against its parent
    WEEKLY = "weekly"

    @property
    def is_of_device(self) -> bool:
        """Return whether a job shows the state of a device, also of one in quarantine."""
        return self in {RunnerJobKind.CANARY, RunnerJobKind.BUILTIN}

    @property
    def names_class(self) -> bool:
        """Return whether a job's machine class is a name, whatever signs are in it."""
        return self in {RunnerJobKind.AB, RunnerJobKind.BUILTIN}

    @property
    def statuses_without_bundle(self) -> frozenset[int]:
        """Return the exit statuses that end such a job although it has no bundle.

        A bisection may end with several commits (3) or find no difference to search for (5).
        """
        return frozenset({0, 3, 5}) if self is RunnerJobKind.BISECTION else frozenset()


class RunnerJobState(StrEnum):
    """Where a job stands; the last three are final."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Return whether something is still to be done."""
        return self in {RunnerJobState.QUEUED, RunnerJobState.LEASED}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerJob:
    """One entry of a service's queue for runners.

    Without commits it is about the newest one of the default branch when it runs. `workloads` are
    ids, all without any. A fork's commit may only be run where `allows_fork` says so.
    """

    id: str
    repository: str
    kind: RunnerJobKind
    machine_class: str  # a pattern, but of the kinds that name one class
    base_sha: str = ""
    head_sha: str = ""
    pull_request: int | None = None
    allows_fork: bool = False
    workloads: tuple[str, ...] = ()
    max_pairs: int | None = None
    metric: str = ""  # that a bisection is about, "" for the step time
    for_runner: str = ""  # the name of the one that is to take it, "" for any
    requested_by: str = ""
    state: RunnerJobState = RunnerJobState.QUEUED
    runner: str = ""
    attempts: int = 0
    reason: str = ""
    upload_id: str | None = None
    created_at: datetime
    due_at: datetime
    lease_expires_at: datetime | None = None
    excluded_devices: tuple[str, ...] = ()  # that it is not to be measured on, as it is lent

    def is_for(self, machine_class: str) -> bool:
        """Return whether a machine class is to run this job."""
        if self.kind.names_class:
            return machine_class == self.machine_class
        return is_match(self.machine_class, machine_class)
