"""Gathers what carries a change over to other devices: their peaks, and what bounds the step."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache

from perfledger.bundle import Bundle
from perfledger.records import Machine, Side, WorkloadSpec
from perfledger_cost_models.change_price.device_transfer import DeviceTransfers
from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor
from perfledger_profiles.bottleneck.classification import (
    OF_THE_DEVICE,
    Bottleneck,
    BottleneckConfidence,
)
from perfledger_profiles.hardware.device_peaks import known_hardware
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.cost.device_efficiency import roofs_of
from perfledger_service.usecases.cost.projection import (
    hardware_name,
    measured_work,
    projection_calibration,
)
from perfledger_service.usecases.cost.work_rates import PEAK_DTYPE
from perfledger_service.usecases.trace.explain import classify_profile

# With these labels the step is bound by the device itself, or nothing is known.
_NOT_OUTSIDE = frozenset((*OF_THE_DEVICE, Bottleneck.UNKNOWN))


@cache
def device_transfers() -> DeviceTransfers:
    """Return the devices of the hardware table, with the published error of projections."""
    return DeviceTransfers(roofs=_roofs(), calibration=projection_calibration())


def bound_outside(bundle: Bundle, workload: str, machine: Machine) -> str:
    """Return what outside the device bounds a workload's step on either side, "" if nothing."""
    for profile in bundle.profiles:
        if profile.workload != workload or profile.side not in Side:
            continue
        view = classify_profile(workload, profile, machine=machine)
        label = view.classification.primary
        is_sure = view.classification.confidence is not BottleneckConfidence.LOW
        if is_sure and label not in _NOT_OUTSIDE:
            return str(label)
    return ""


def counted_work(bundle: Bundle, spec: WorkloadSpec | None) -> WorkloadDescriptor | None:
    """Return a workload's counted work; None if it was not counted, or on a CPU."""
    if spec is not None and bundle.work_of(spec.id):
        with suppress(NotFoundError, UsageError):
            return measured_work(bundle, spec, dtype=PEAK_DTYPE).descriptor
    return None


def _roofs() -> Mapping[str, DeviceRoofs]:
    return {hardware_name(hardware): roofs_of(hardware) for hardware in known_hardware()}
