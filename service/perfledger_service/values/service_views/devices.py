"""Holds devices with their canaries and quarantines, as the store keeps and pages show them."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from perfledger.records import Device, Machine
from perfledger_baselines.judging.device_drift import DriftState

MIG_SLICE = " MIG "  # between a GPU's model and the size of its slice, in the driver's name of it


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKey:
    """Identity of a project's device: kind, model, and an id, or the model with its host.

    With `has_id` it is unique; otherwise several devices may have the same key.
    """

    device: str
    model: str
    name: str
    has_id: bool

    @classmethod
    def from_machine(cls, machine: Machine) -> Self:
        """Return the key of a machine's device, of several the first."""
        return cls(
            device=machine.device,
            model=machine.model,
            name=machine.device_name,
            has_id=machine.is_identified,
        )

    @classmethod
    def all_from_machine(cls, machine: Machine) -> tuple[Self, ...]:
        """Return the keys of a machine's devices, of the GPU of a MIG slice, and of processors.

        The processors are its host's, on which CPU workloads beside a GPU are measured.
        """
        first = cls.from_machine(machine)
        keys = [replace(first, name=name) for name in machine.device_names]
        if machine.parent_uuid:
            model = machine.model.partition(MIG_SLICE)[0]
            keys.append(replace(first, model=model, name=machine.parent_uuid))
        processors = machine.part(Device.CPU, 1)
        if machine.device is not Device.CPU and processors.is_identified:
            keys.append(cls.from_machine(processors))
        return tuple(keys)

    @property
    def class_start(self) -> str:
        """Return how this device's machine classes begin; they end with ":" and a count."""
        return f"{self.device}:{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A time during which a device is not used for measuring."""

    id: int
    device: DeviceKey
    reason: str
    set_by: str  # "canaries", or a person
    since: datetime
    released_at: datetime | None = None  # None: it lasts
    released_by: str = ""
    release_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRate:
    """One canary of a run; a comparison is None with too few values to compare with."""

    name: str
    framework: str
    setting: str  # that rates share which are compared
    unit: str
    processes: int
    per_second: float
    expected_per_second: float | None = None
    own_count: int = 0
    own_change: float | None = None  # rate / typical earlier one - 1
    own_detectable: float | None = None  # share of the rate that a device must lose to be reported
    sibling_count: int = 0
    sibling_change: float | None = None
    sibling_detectable: float | None = None
    is_slower: bool = False

    @property
    def title(self) -> str:
        """Return the name with the framework."""
        return f"{self.name} in {self.framework}"

    @property
    def share(self) -> float | None:
        """Return the part of the expected rate that was reached; None if that is unknown."""
        expected = self.expected_per_second
        return self.per_second / expected if expected else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRun:
    """All canaries of one bundle on one device, and what they show about it."""

    bundle_id: str
    epoch: str
    is_disturbed: bool  # other work ran: it says nothing
    state: DriftState
    reason: str
    measured_at: datetime
    stored_at: datetime
    rates: tuple[CanaryRate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """A device with its newest canaries, their past rates, and its quarantine."""

    id: int
    key: DeviceKey
    newest: CanaryRun | None  # None: only a person quarantined it
    past: tuple[tuple[float, ...], ...] = ()  # of each newest canary, oldest first, with it
    quarantine: Quarantine | None = None  # that lasts


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceList:
    """The devices of a project that have canaries or a quarantine, and how many are left out."""

    repository: str
    devices: tuple[DeviceView, ...]
    left_out: int = 0
