"""Builds the machine's fingerprint from the kernel's, the child's and the driver's facts."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace

from perfledger.measuring.turn_core import usable_cores
from perfledger.records import Device, Machine
from perfledger_runners.children.message_texts import DeviceFacts
from perfledger_runners.children.protocol_parser import FactsMessage
from perfledger_runners.machine.host_identity import host_identity
from perfledger_runners.machine.nvml import Gpu, GpuFacts, find_gpu, load_nvml, visible_uuids
from perfledger_runners.proc_files import (
    THIS_SYSTEM,
    ProcFiles,
    count,
    read_count,
    read_text,
)

CPU_FREQUENCY = "cpu0/cpufreq"
# Device kinds of torch and JAX.
KINDS = {"cuda": Device.CUDA, "gpu": Device.CUDA, "tpu": Device.TPU}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The facts of the host; unknown is "" or None."""

    cpu_model: str
    cores: int
    memory_bytes: int | None
    clock_mhz: float | None
    governor: str
    kernel: str
    identity: str = ""  # unique to this host


def read_host(
    files: ProcFiles = THIS_SYSTEM, *, environment: Mapping[str, str] | None = None
) -> HostFacts:
    """Return the host's facts; a system without /proc has fewer."""
    kilohertz = read_count(files.cores / CPU_FREQUENCY / "cpuinfo_max_freq")
    memory = count(_field(read_text(files.proc / "meminfo"), "MemTotal").removesuffix(" kB"))
    return HostFacts(
        cpu_model=_field(read_text(files.proc / "cpuinfo"), "model name")
        or platform.processor()
        or platform.machine(),
        cores=usable_cores(),
        memory_bytes=None if memory is None else memory * 1024,
        clock_mhz=None if kilohertz is None else kilohertz / 1000,
        governor=read_text(files.cores / CPU_FREQUENCY / "scaling_governor"),
        kernel=f"{platform.system()} {platform.release()}",
        identity=host_identity(environment or {}, files=files),
    )


def device_of(facts: FactsMessage | None, *, requested: str) -> Device:
    """Return the device that workloads run on with the `requested` one."""
    if requested != "auto":
        return Device(requested)
    device = facts.device if facts else DeviceFacts()
    return KINDS.get(device.kind) or KINDS.get(device.platform) or Device.CPU


def fingerprint(
    facts: FactsMessage | None, *, requested: str, host: HostFacts, gpu: GpuFacts | None = None
) -> Machine:
    """Return the machine from the facts of the host, the child and, for CUDA, the driver."""
    device_facts = facts.device if facts else DeviceFacts()
    device = device_of(facts, requested=requested)
    shared = Machine(
        device=device,
        model=host.cpu_model,
        host=host.identity,
        memory_bytes=host.memory_bytes,
        clock_mhz=host.clock_mhz,
        cpu_model=host.cpu_model,
        cores=host.cores,
        governor=host.governor,
        kernel=host.kernel,
        python=facts.python if facts else "",
        frameworks=dict(facts.frameworks) if facts else {},
    )
    match device:
        case Device.CPU | Device.IMPORTED:
            return shared
        case Device.CUDA:
            return _on_gpu(shared, device_facts, gpu)
        case Device.TPU:
            return _on_tpu(shared, device_facts)


def read_machine(
    facts: FactsMessage | None, *, requested: str, environment: Mapping[str, str]
) -> tuple[Machine, Gpu | None]:
    """Return this machine from its own facts and a child's, and its GPU for CUDA."""
    host = read_host(environment=environment)
    machine = fingerprint(facts, requested=requested, host=host)
    nvml = load_nvml() if machine.device is Device.CUDA else None
    gpu = nvml and find_gpu(
        nvml, uuid=machine.uuid, more_uuids=machine.more_uuids, environment=environment
    )
    if gpu is None:
        return machine, None
    gpu_facts = gpu.facts(visible=visible_uuids(nvml, environment))
    return fingerprint(facts, requested=requested, host=host, gpu=gpu_facts), gpu


def _on_gpu(machine: Machine, device: DeviceFacts, gpu: GpuFacts | None) -> Machine:
    machine = replace(
        machine,
        model=device.name or device.device_kind,
        count=max(device.count, device.device_count, 1),
        uuid=device.uuid,
        more_uuids=device.more_uuids,
        memory_bytes=device.memory_bytes,
        runtime=f"CUDA {device.cuda}" if device.cuda else "",
        clock_mhz=None,
    )
    if gpu is None:
        return machine
    return replace(
        machine,
        model=gpu.model or machine.model,
        uuid=gpu.uuid or machine.uuid,
        # CUDA uses one slice of a GPU per process.
        more_uuids=() if gpu.parent_uuid else machine.more_uuids or gpu.more_uuids,
        parent_uuid=gpu.parent_uuid,
        memory_bytes=gpu.memory_bytes or machine.memory_bytes,
        driver=gpu.driver,
        runtime=machine.runtime or (f"CUDA {gpu.cuda}" if gpu.cuda else ""),
        clock_mhz=gpu.max_clock_mhz,
        is_clock_locked=gpu.is_clock_locked,
        power_cap_w=gpu.power_cap_w,
        has_ecc=gpu.has_ecc,
        mig={True: "enabled", False: "disabled", None: ""}[gpu.is_mig],
    )


def _on_tpu(machine: Machine, device: DeviceFacts) -> Machine:
    return replace(
        machine,
        model=device.device_kind,
        count=max(device.device_count, 1),
        memory_bytes=device.memory_bytes,
        clock_mhz=None,
    )


def _field(text: str, name: str) -> str:
    """Return the value of the first line "name : value", as /proc writes its tables."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
