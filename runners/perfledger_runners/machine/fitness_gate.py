"""Reads how fit this machine is to measure on a device, before a check or between its parts."""

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from perfledger.records import Device, HostFinding
from perfledger_runners.machine.cgroup_limits import read_limits
from perfledger_runners.machine.core_speed import CoreSpeed, read_core_speed
from perfledger_runners.machine.cpu_settings import read_cpu_settings
from perfledger_runners.machine.gpu_fitness import gpu_findings
from perfledger_runners.machine.host_fitness import host_findings, other_programs, unknown
from perfledger_runners.machine.host_load import read_load
from perfledger_runners.machine.memory_state import read_memory
from perfledger_runners.machine.nvml import Gpu
from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles

AFTERWARDS = ", afterwards"  # ends the name of a finding that is read again


def read_fitness(
    device: Device,
    gpu: Gpu | None,
    *,
    devices: int | None = None,
    files: ProcFiles = THIS_SYSTEM,
    usable: Collection[int] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    core_speed: Callable[[Collection[int]], CoreSpeed | None] = read_core_speed,
) -> tuple[HostFinding, ...]:
    """Return the findings while nothing of the check runs, those about the device first.

    They are about the first `devices` GPUs that workloads may use, or about all of them.
    """
    load, limits = read_load(files, usable=usable, sleep=sleep), read_limits(files)
    host = host_findings(
        load,
        read_cpu_settings(load.usable, files),
        limits,
        read_memory(files, group=limits.memory_pressure, group_share=limits.free_memory_share),
        core_speed(load.usable),
    )
    match device:
        case Device.CPU | Device.IMPORTED:
            return host
        case Device.CUDA:
            gpus = () if gpu is None else (gpu, *gpu.more)[:devices]
            return gpu_findings([each.condition() for each in gpus], load.usable, files) + host
        case Device.TPU:
            return (unknown("TPU", "the runtime does not report who else uses it"), *host)


def read_fitness_afterwards(
    *,
    files: ProcFiles = THIS_SYSTEM,
    usable: Collection[int] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> HostFinding:
    """Return the finding about other programs once everything of the check has ended."""
    load = read_load(files, usable=usable, sleep=sleep)
    programs = other_programs(load, read_cpu_settings(load.usable, files))
    return replace(programs, name=f"{programs.name}{AFTERWARDS}")
