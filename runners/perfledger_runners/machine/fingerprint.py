"""Builds the machine's fingerprint from the kernel's, the child's and the driver's facts."""

import platform
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.measuring.core_use import usable_cores
from perfledger.records import Device, Machine
from perfledger_runners.children.protocol_parser import DeviceFacts, FactsMessage
from perfledger_runners.machine.nvml import GpuFacts

PROC = Path("/proc")
SYS = Path("/sys")
CPU_FREQUENCY = Path("devices/system/cpu/cpu0/cpufreq")
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


def read_host(*, proc: Path = PROC, sys: Path = SYS) -> HostFacts:
    """Return the host's facts; a system without /proc has fewer."""
    kilohertz = _read(sys / CPU_FREQUENCY / "cpuinfo_max_freq").strip()
    memory = _field(_read(proc / "meminfo"), "MemTotal").split()
    return HostFacts(
        cpu_model=_field(_read(proc / "cpuinfo"), "model name")
        or platform.processor()
        or platform.machine(),
        cores=usable_cores(),
        memory_bytes=int(memory[0]) * 1024 if memory else None,
        clock_mhz=int(kilohertz) / 1000 if kilohertz.isdigit() else None,
        governor=_read(sys / CPU_FREQUENCY / "scaling_governor").strip(),
        kernel=f"{platform.system()} {platform.release()}",
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
    """Return the machine by the facts of the host, the child and, for CUDA, the driver."""
    device_facts = facts.device if facts else DeviceFacts()
    device = device_of(facts, requested=requested)
    shared = Machine(
        device=device,
        model=host.cpu_model,
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
        case Device.CPU:
            return shared
        case Device.CUDA:
            return _on_gpu(shared, device_facts, gpu)
        case Device.TPU:
            return _on_tpu(shared, device_facts)


def host_notes(host: HostFacts, gpu: GpuFacts | None) -> tuple[str, ...]:
    """Return notes on what may disturb a measurement on this machine.

    The facts are read before any workload runs, so processes on the GPU are foreign.
    """
    notes: list[str] = []
    if host.governor and host.governor != "performance":
        notes.append(f"the CPU's frequency governor is {host.governor!r}, not 'performance'")
    if gpu is not None:
        if gpu.processes:
            first = ", ".join(map(str, sorted(gpu.processes)[:5]))
            count = len(gpu.processes)
            notes.append(f"{count} other processes compute on this GPU (first: {first})")
        if gpu.is_persistent is False:
            notes.append("the GPU's persistence mode is off: nvidia-smi -pm 1")
    return tuple(notes)


def _on_gpu(machine: Machine, device: DeviceFacts, gpu: GpuFacts | None) -> Machine:
    machine = replace(
        machine,
        model=device.name or device.device_kind,
        count=max(device.count, device.device_count, 1),
        uuid=device.uuid,
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


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
