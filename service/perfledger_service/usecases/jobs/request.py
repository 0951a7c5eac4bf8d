"""Holds what a runner says when it asks for a job, and which jobs it can run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob
from perfledger_service.values.service_views.device_views import Quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A runner that asks for a job: its name, the lease that it would hold, and what it can run.

    `devices` are the names of those that a machine class is measured on, as far as it knows them:
    of a MIG slice also its GPU's.
    """

    runner: str
    machine_classes: tuple[str, ...]
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lease: str
    lease_s: float

    def can_run(self, job: StoredRunnerJob, closed: Iterable[Quarantine] = ()) -> bool:
        """Return whether a job is for this runner, and for a machine class of it.

        Its classes with a device in quarantine are closed to jobs that are not of the device.
        """
        names = {(one.device.device, one.device.name) for one in closed}
        open_classes = (
            one
            for one in self.machine_classes
            if job.kind.is_of_device or names.isdisjoint(self.devices_of(one))
        )
        is_for_this = job.for_runner in {"", self.runner}
        return is_for_this and any(job.is_for(one) for one in open_classes)

    def devices_of(self, machine_class: str) -> frozenset[tuple[str, str]]:
        """Return kind and name of each device that a machine class is measured on."""
        kind = machine_class.partition(":")[0]
        return frozenset((kind, name) for name in self.devices.get(machine_class, ()))

    def devices_for(self, job: StoredRunnerJob) -> int:
        """Return the most devices that a machine class of this runner that fits a job ends with."""
        fitting = (one for one in self.machine_classes if job.is_for(one))
        counts = (one.rpartition(":")[2] for one in fitting)
        return max((int(count) for count in counts if count.isdecimal()), default=1)
