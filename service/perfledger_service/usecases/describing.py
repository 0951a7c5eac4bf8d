"""A bundle's counted and profiled work in, what a unit of it asks of a device out."""

from collections.abc import Sequence

from perfledger import work
from perfledger.bundle import Bundle
from perfledger.profile import Bucket, Profile
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.work import Count
from perfledger_cost_models.descriptor import Arithmetic, Descriptor, Fixed, Memory
from perfledger_cost_models.unit_cost import Throughput
from perfledger_profiles.hardware import Hardware
from perfledger_profiles.hardware_match import match_hardware
from perfledger_service.errors import NotFoundError, UsageError

# What no accelerator makes shorter; copies and messages are not among them.
HOST_BUCKETS = (Bucket.INPUT, Bucket.SYNC, Bucket.RUNTIME, Bucket.CPU, Bucket.OTHER)


def measured_descriptor(
    bundle: Bundle, spec: WorkloadSpec, *, units_per_second: Throughput, dtype: str
) -> Descriptor:
    """Return what the head of a workload asks for, as it was counted and profiled.

    The counts do not say in which type operations run: `dtype` does. Raises NotFoundError for a
    step that was not counted, UsageError for one that several devices share.
    """
    machine = machine_of(bundle, spec)
    if machine.count > 1:
        msg = (
            f"{spec.id} ran on {machine.count} devices, and what they exchange is not counted: "
            "declare it in a file of workloads"
        )
        raise UsageError(msg)
    counts = _counts(bundle, spec)
    flops, moved = (counts.get(name) for name in (work.FLOPS, work.BYTES))
    if flops is None or moved is None or not (flops.value > 0 and moved.value > 0):
        msg = (
            f"what {spec.id} computes and moves was not counted: declare it in a file of workloads"
        )
        raise NotFoundError(msg)
    steps = 1 / spec.units_per_step
    return Descriptor(
        name=spec.id,
        unit=spec.unit,
        arithmetic=(Arithmetic(dtypes=(dtype,), flops=flops.value * steps, source=flops.source),),
        memory=(Memory(bytes=moved.value * steps, source=moved.source),),
        fixed=_fixed(bundle.profiles, spec, seconds=1 / units_per_second[1]),
    )


def measured_hardware(bundle: Bundle, spec: WorkloadSpec) -> Hardware:
    """Return the facts about the device that a workload's head ran on; raises NotFoundError."""
    machine = machine_of(bundle, spec)
    if machine.device is Device.CPU:
        msg = f"{spec.id} was measured on a CPU: there is no table of CPUs' peaks to project from"
        raise NotFoundError(msg)
    match = match_hardware(machine.model, memory_bytes=machine.memory_bytes, mig=machine.mig)
    if match.hardware is None:
        msg = f"{spec.id} cannot be projected: {match.reason}"
        raise NotFoundError(msg)
    return match.hardware


def machine_of(bundle: Bundle, spec: WorkloadSpec) -> Machine:
    """Return as much of the machine as a workload's head ran on."""
    return bundle.machines().get((spec.id, Side.HEAD), bundle.machine)


def _counts(bundle: Bundle, spec: WorkloadSpec) -> dict[str, Count]:
    return {
        count.name: count
        for counted in bundle.work
        if (counted.workload, counted.side) == (spec.id, Side.HEAD)
        for count in counted.work.counts
    }


def _fixed(profiles: Sequence[Profile], spec: WorkloadSpec, *, seconds: float) -> Fixed | None:
    """Return the host's share of a profiled step, of the time that a unit takes unprofiled."""
    for profile in profiles:
        is_head = (profile.workload, profile.side) == (spec.id, Side.HEAD)
        if is_head and profile.has_steps and profile.step_seconds > 0:
            spent = profile.bucket_seconds()
            share = sum(spent[bucket] for bucket in HOST_BUCKETS) / profile.step_seconds
            return Fixed(
                seconds=min(share, 1.0) * seconds,
                source=f"{profile.tool}: {share:.1%} of the step no device was busy",
            )
    return None
