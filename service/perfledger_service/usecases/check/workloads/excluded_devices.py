"""Refuses to measure workloads on excluded devices, such as those in quarantine."""

from collections.abc import Collection, Iterable

from perfledger.records import Device, Framework, Machine, WorkloadSpec
from perfledger_service.errors import ExcludedDeviceError
from perfledger_service.rendering.layout.escape import clean


def refuse_excluded(
    machine: Machine, specs: Iterable[WorkloadSpec], excluded: Collection[str]
) -> None:
    """Raise ExcludedDeviceError if one of the workloads would be measured on an excluded device.

    The devices are taken to be the machine's first ones, as many as the workload uses.
    """
    names = {name for spec in specs for name in _part(machine, spec).occupied_names}
    excluded_names = sorted(names & set(excluded))
    if excluded_names:
        devices = ", ".join(map(clean, excluded_names))
        msg = f"{devices} is in quarantine or excluded: measure on another device of its class"
        raise ExcludedDeviceError(msg)


def _part(machine: Machine, spec: WorkloadSpec) -> Machine:
    """Return the part of a machine that a workload is to run on."""
    is_host = spec.framework is Framework.HOST or spec.device == Device.CPU
    return machine.part(Device.CPU if is_host else machine.device, spec.devices)
