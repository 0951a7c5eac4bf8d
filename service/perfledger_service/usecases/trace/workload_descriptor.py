"""Describes the work per unit of a measured workload."""

from collections.abc import Sequence

from perfledger import step_work
from perfledger.bundle import Bundle
from perfledger.profile import Bucket, Profile
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.rounding import decimals
from perfledger.step_work import Count, StepWork
from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    FixedTime,
    MemoryTraffic,
    WorkloadDescriptor,
)
from perfledger_cost_models.tco.unit_cost import Throughput
from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.hardware.device_peaks import HardwareSpec
from perfledger_service.errors import NotFoundError, UsageError

# Host time, which no accelerator shortens; copies and messages are not part of it.
HOST_BUCKETS = (Bucket.INPUT, Bucket.SYNC, Bucket.RUNTIME, Bucket.CPU, Bucket.OTHER)


def measured_descriptor(
    bundle: Bundle, spec: WorkloadSpec, *, units_per_second: Throughput, dtype: str
) -> WorkloadDescriptor:
    """Return the work of a workload's head, as counted and profiled.

    `dtype` is the data type of operations, which the counts do not contain. Raises NotFoundError
    without counts, UsageError for a step on several devices.
    """
    machine = machine_of(bundle, spec)
    if machine.count > 1:
        msg = (
            f"{spec.id} ran on {machine.count} devices, whose communication is not counted: "
            "declare it in a file of workloads"
        )
        raise UsageError(msg)
    counts = _counts(bundle, spec)
    flops, moved_bytes = (counts.get(name) for name in (step_work.FLOPS, step_work.BYTES))
    if flops is None or moved_bytes is None or not (flops.value and moved_bytes.value):
        msg = f"the work of {spec.id} was not counted: declare it in a file of workloads"
        raise NotFoundError(msg)
    if not (flops.is_complete and moved_bytes.is_complete):
        msg = (
            f"the work of {spec.id} was not counted completely, and the check's report says what "
            "is missing: declare it in a file of workloads"
        )
        raise NotFoundError(msg)
    steps = 1 / spec.units_per_step
    return WorkloadDescriptor(
        name=spec.id,
        unit=spec.unit,
        arithmetic=(
            ArithmeticWork(dtypes=(dtype,), flops=flops.value * steps, source=flops.source),
        ),
        memory=(MemoryTraffic(bytes=moved_bytes.value * steps, source=moved_bytes.source),),
        fixed=_host_time(bundle.profiles, spec, seconds=1 / units_per_second[1]),
    )


def measured_hardware(bundle: Bundle, spec: WorkloadSpec) -> HardwareSpec:
    """Return the hardware that a workload's head ran on; raise NotFoundError."""
    machine = machine_of(bundle, spec)
    if machine.device is Device.CPU:
        msg = (
            f"{spec.id} was measured on a CPU, and projections need an accelerator: measure on one"
        )
        raise NotFoundError(msg)
    match = match_hardware(machine.model, memory_bytes=machine.memory_bytes, mig=machine.mig)
    if match.hardware is None:
        msg = f"{spec.id} cannot be projected: {match.reason}"
        raise NotFoundError(msg)
    return match.hardware


def machine_of(bundle: Bundle, spec: WorkloadSpec) -> Machine:
    """Return the part of the machine that a workload's head ran on."""
    runs = bundle.runs_of(spec.id, Side.HEAD)
    return bundle.machine.part_used_by(runs[0]) if runs else bundle.machine


def _counts(bundle: Bundle, spec: WorkloadSpec) -> dict[str, Count]:
    work = bundle.work_of(spec.id).get(Side.HEAD, StepWork())
    return {count.name: count for count in work.counts}


def _host_time(
    profiles: Sequence[Profile], spec: WorkloadSpec, *, seconds: float
) -> FixedTime | None:
    """Return the host time per unit: its share of a profiled step times the unprofiled time."""
    for profile in profiles:
        is_head = (profile.workload, profile.side) == (spec.id, Side.HEAD)
        if is_head and profile.has_steps and profile.step_seconds > 0:
            spent = profile.bucket_seconds()
            share = sum(spent[bucket] for bucket in HOST_BUCKETS) / profile.step_seconds
            return FixedTime(
                seconds=min(share, 1.0) * seconds,
                source=(
                    f"{profile.tool}: {decimals(share * 100, 1)} % of the step without a busy "
                    "device"
                ),
            )
    return None
