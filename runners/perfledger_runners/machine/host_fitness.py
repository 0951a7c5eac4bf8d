"""Judges how fit a host is to measure on, from its load and its settings.

Unknown stays unknown: a host that does not report its load is not called quiet.
"""

import math
from collections.abc import Collection

from perfledger.records import FindingLevel, HostFinding
from perfledger.rounding import decimals, digits, percentage, typed
from perfledger_runners.machine.cgroup_limits import CgroupLimits
from perfledger_runners.machine.core_speed import CoreSpeed
from perfledger_runners.machine.cpu_settings import CpuSettings
from perfledger_runners.machine.host_load import HostLoad
from perfledger_runners.machine.memory_state import MemoryState
from perfledger_runners.proc_files import cores_text

# Of the usable cores. A twentieth is what an idle desktop or a monitoring agent takes; from a
# quarter on, steps that use all cores wait for one in most turns.
NOISY_SHARE, BUSY_SHARE = 0.05, 0.25
# Tasks of others per core of the host: with half a task, every other step meets one.
BUSY_QUEUE = 0.5
# Time taken by other virtual machines is lost, however quiet this one is.
NOISY_STEAL, BUSY_STEAL = 0.01, 0.1
# The kernel starts to reclaim pages well before the last tenth is used.
LOW_MEMORY = 0.1
NOISY_STALL, BUSY_STALL = 0.01, 0.1
# The same work on the same core: repeated work differs by one or two percent on a quiet core.
NOISY_SPREAD, BUSY_SPREAD = 1.05, 1.25
MAX_WORDS = 300  # characters of a finding: the limit of a cell


def host_findings(
    load: HostLoad,
    settings: CpuSettings,
    limits: CgroupLimits,
    memory: MemoryState,
    speed: CoreSpeed | None,
) -> tuple[HostFinding, ...]:
    """Return the findings about a host, those that usually matter most first."""
    return (
        other_programs(load, settings),
        _steal(load),
        _core_speed(speed),
        _quota(limits, load),
        _memory(memory),
        _governor(settings),
        _turbo(settings),
        _hardware_threads(load.usable, settings),
        _numa(load.usable, settings),
        _isolation(load.usable, settings),
    )


def other_programs(load: HostLoad, settings: CpuSettings) -> HostFinding:
    """Return the finding about programs outside the check."""
    share, busy_cores, queue = load.foreign_share, load.foreign_cores, load.queued_per_core
    if share is None or busy_cores is None:
        return unknown("other programs", "the kernel does not report how busy the cores are")
    cores = len(load.usable)
    used = f"they use {decimals(busy_cores, 1)} of {cores} usable core{'s' * (cores != 1)}"
    parts = [f"{program.name} {decimals(program.cores, 1)}" for program in load.programs]
    if load.hidden_cores >= NOISY_SHARE * cores and load.programs:
        parts.append(f"not visible from here {decimals(load.hidden_cores, 1)}")
    elif load.hidden_cores >= NOISY_SHARE * cores:
        parts.append("not visible from here")
    cores_text = "on all cores: " if load.has_other_cores and load.programs else ""
    named = f" ({cores_text}{', '.join(parts)})" if parts else ""
    waiting = "" if queue is None else f"; {decimals(queue, 1)} of their tasks per core run or wait"
    if share >= BUSY_SHARE or (queue or 0.0) >= BUSY_QUEUE:
        level = FindingLevel.BUSY
    else:
        level = FindingLevel.NOISY if share >= NOISY_SHARE else FindingLevel.FINE
    return finding("other programs", level, f"{used}{named}{waiting}", _load_advice(load, settings))


def quiet_cores(load: HostLoad, settings: CpuSettings) -> frozenset[int]:
    """Return those usable cores whose hardware threads are all quiet, one thread of each.

    Empty if all or none are quiet, or if the kernel does not report it.
    """
    quiet = frozenset(core for core, share in load.busy_shares.items() if share < NOISY_SHARE)
    if not quiet or quiet == load.usable:
        return frozenset()
    groups = settings.physical_cores or tuple(frozenset({core}) for core in load.usable)
    first_threads = frozenset(
        min(group & load.usable) for group in groups if group & load.usable and group <= quiet
    )
    by_node = [first_threads & node for node in settings.nodes] or [first_threads]
    return max(by_node, key=len)


def unknown(name: str, detail: str, advice: str = "") -> HostFinding:
    """Return a finding about something that could not be read."""
    return finding(name, FindingLevel.UNKNOWN, detail, advice)


def finding(name: str, level: FindingLevel, detail: str, advice: str = "") -> HostFinding:
    """Return a finding; advice only if something should change, cut to a cell's length."""
    is_fine = level is FindingLevel.FINE
    return HostFinding(
        name=name,
        level=level,
        detail=detail[:MAX_WORDS],
        advice="" if is_fine else advice[:MAX_WORDS],
    )


def _load_advice(load: HostLoad, settings: CpuSettings) -> str:
    quiet = quiet_cores(load, settings)
    stop = "stop the other programs"
    if not quiet:
        return f"{stop}, or use a dedicated machine"
    cores = cores_text(quiet)
    return f"{stop}, or pin to cores {cores}: taskset -c {cores} perfledger check"


def _steal(load: HostLoad) -> HostFinding:
    share = load.stolen_share
    if share is None:
        return unknown("stolen time", "the kernel does not report what other virtual machines take")
    detail = f"other virtual machines take {percentage(share)} of the cores' time"
    if share < NOISY_STEAL:
        return finding("stolen time", FindingLevel.FINE, detail)
    level = FindingLevel.BUSY if share >= BUSY_STEAL else FindingLevel.NOISY
    return finding("stolen time", level, detail, "use a dedicated host or a metal instance")


def _core_speed(speed: CoreSpeed | None) -> HostFinding:
    if speed is None:
        return unknown(
            "core speed", "a thread's processor time could not be read often enough on each core"
        )
    low_ms, high_ms = 1e3 * speed.low_s, 1e3 * speed.high_s
    detail = f"the same work takes {digits(low_ms, 3)} to {digits(high_ms, 3)} ms of processor time"
    if speed.spread < NOISY_SPREAD:
        return finding("core speed", FindingLevel.FINE, detail)
    level = FindingLevel.BUSY if speed.spread >= BUSY_SPREAD else FindingLevel.NOISY
    return finding(
        "core speed",
        level,
        f"{detail}, {digits(speed.spread, 3)} times: neighbours on the same core, or its clock",
        "use a dedicated host or a metal instance, and fix the clocks",
    )


def _quota(limits: CgroupLimits, load: HostLoad) -> HostFinding:
    cores = limits.quota_cores
    if cores is None:
        return unknown("CPU quota", "the control group of this process is not known")
    if math.isinf(cores):
        return finding("CPU quota", FindingLevel.FINE, "none")
    detail = f"{typed(cores)} cores' worth of time on {len(load.usable)} usable cores"
    if limits.throttled_share is not None:
        detail += (
            f"; processes waited for more in {percentage(limits.throttled_share)} of its periods"
        )
    if cores >= len(load.usable):
        return finding("CPU quota", FindingLevel.FINE, detail)
    advice = "remove the container's CPU limit, and give it whole cores (cpuset) instead"
    return finding("CPU quota", FindingLevel.NOISY, detail, advice)


def _memory(memory: MemoryState) -> HostFinding:
    available, stalled = memory.available_share, memory.stalled_share
    if available is None and stalled is None:
        return unknown("memory", "the kernel does not report how much is free")
    parts: list[str] = []
    level = FindingLevel.FINE
    if available is not None:
        parts.append(f"{percentage(available)} free")
        level = FindingLevel.NOISY if available < LOW_MEMORY else level
    if stalled is not None:
        parts.append(f"tasks wait for it {percentage(stalled)} of the time")
        level = FindingLevel.NOISY if stalled >= NOISY_STALL else level
        level = FindingLevel.BUSY if stalled >= BUSY_STALL else level
    return finding("memory", level, ", ".join(parts), "stop programs that hold memory")


def _governor(settings: CpuSettings) -> HostFinding:
    governors = sorted(settings.governors)
    if not governors:
        return unknown("governor", "the kernel does not show one (a virtual machine seldom does)")
    level = FindingLevel.FINE if governors == ["performance"] else FindingLevel.NOISY
    return finding(
        "governor", level, ", ".join(governors), "sudo cpupower frequency-set -g performance"
    )


def _turbo(settings: CpuSettings) -> HostFinding:
    if settings.has_turbo is None:
        return unknown("turbo", "the kernel does not show whether clocks may rise above nominal")
    if not settings.has_turbo:
        return finding("turbo", FindingLevel.FINE, "off")
    return finding(
        "turbo",
        FindingLevel.NOISY,
        "on: the clock depends on heat and on what other cores do",
        "sudo sh -c 'echo 0 > /sys/devices/system/cpu/cpufreq/boost' (intel_pstate: echo 1 > "
        "/sys/devices/system/cpu/intel_pstate/no_turbo)",
    )


def _hardware_threads(usable: Collection[int], settings: CpuSettings) -> HostFinding:
    """Return the finding about cores that share their units with other hardware threads (SMT)."""
    if not settings.physical_cores:
        return unknown("hardware threads", "the kernel does not show which threads share a core")
    threads = [group & frozenset(usable) for group in settings.physical_cores]
    shared = [group for group in threads if len(group) > 1]
    if not shared:
        return finding("hardware threads", FindingLevel.FINE, "one of each core is usable")
    first = cores_text([min(group) for group in threads])
    return finding(
        "hardware threads",
        FindingLevel.NOISY,
        f"{len(shared)} of {len(threads)} cores have several usable ones (SMT)",
        f"use one of each: taskset -c {first} perfledger check, and keep the others idle",
    )


def _numa(usable: Collection[int], settings: CpuSettings) -> HostFinding:
    if not settings.nodes:
        return unknown("NUMA", "the kernel does not show which memory is near which core")
    if len(settings.nodes) == 1:
        return finding("NUMA", FindingLevel.FINE, "all usable cores are on one node")
    largest = max(settings.nodes, key=lambda node: len(node & frozenset(usable)))
    cores = cores_text(largest & frozenset(usable))
    return finding(
        "NUMA",
        FindingLevel.NOISY,
        f"usable cores are on {len(settings.nodes)} nodes",
        f"stay on one: numactl --physcpubind={cores} --localalloc perfledger check",
    )


def _isolation(usable: Collection[int], settings: CpuSettings) -> HostFinding:
    if settings.isolated is None:
        return unknown("isolated cores", "the kernel does not show whether there are any")
    free = settings.isolated - frozenset(usable)
    if not free:
        return finding("isolated cores", FindingLevel.FINE, "none is left unused")
    cores = cores_text(free)
    return finding(
        "isolated cores",
        FindingLevel.NOISY,
        f"the scheduler keeps cores {cores} free, and the check would not use them",
        f"pin to them: taskset -c {cores} perfledger check",
    )
