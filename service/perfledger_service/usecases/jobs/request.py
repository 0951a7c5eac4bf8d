"""Holds a runner's request for a job, and which jobs it can run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob
from perfledger_service.values.service_views.devices import Quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A runner that asks for a job: its name, the lease that it would hold, and what it can run.

    `devices` are the known names of the devices that measure a machine class; for a MIG slice, also
    its GPU's name.
    """

    runner: str
    machine_classes: tuple[str, ...]
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lease: str
    lease_s: float

    def can_run(self, job: StoredRunnerJob, closed: Iterable[Quarantine] = ()) -> bool:
        """Return whether a job is for this runner and one of its machine classes.

        A class with a device in quarantine takes only that device's own jobs.
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
        """Return kind and name of each device that measures a machine class."""
        kind = machine_class.partition(":")[0]
        return frozenset((kind, name) for name in self.devices.get(machine_class, ()))

    def devices_for(self, job: StoredRunnerJob) -> int:
        """Return the highest device count among this runner's machine classes that fit a job."""
        fitting = (one for one in self.machine_classes if job.is_for(one))
        counts = (one.rpartition(":")[2] for one in fitting)
        return max((int(count) for count in counts if count.isdecimal()), default=1)
