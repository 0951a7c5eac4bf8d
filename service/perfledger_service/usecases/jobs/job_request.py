"""Holds what a runner says when it asks for a job, and which jobs it can run."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob
from perfledger_service.values.service_views.device_views import Quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A runner that asks for a job: its name, the lease that it would hold, and what it can run.

    `devices` are the names of those that it measures on, as far as it knows them.
    """

    runner: str
    machine_classes: tuple[str, ...]
    devices: tuple[str, ...] = ()
    lease: str
    lease_s: float

    def can_run(self, job: StoredRunnerJob, closed: Iterable[Quarantine] = ()) -> bool:
        """Return whether a job is for this runner, and for a machine class of it.

        Its classes on a device in quarantine are closed to jobs that are not of the device.
        """
        starts = {each.device.class_start for each in closed if each.device.name in self.devices}
        open_classes = (
            one
            for one in self.machine_classes
            if job.kind.is_of_device or one.rpartition(":")[0] not in starts
        )
        is_for_this = job.for_runner in {"", self.runner}
        return is_for_this and any(job.is_for(one) for one in open_classes)

    def devices_for(self, job: StoredRunnerJob) -> int:
        """Return the most devices that a machine class of this runner that fits a job ends with."""
        fitting = (one for one in self.machine_classes if job.is_for(one))
        counts = (one.rpartition(":")[2] for one in fitting)
        return max((int(count) for count in counts if count.isdecimal()), default=1)
