"""Judges how fit GPUs are for measuring, from their settings and their present condition."""

from collections.abc import Collection, Sequence

from perfledger.records import FindingLevel, HostFinding
from perfledger.rounding import for_programs, percentage, typed
from perfledger_runners.machine.host_fitness import finding, unknown
from perfledger_runners.machine.nvml import CLOCKS_SET, HARD_THROTTLE, SLOWDOWNS, GpuCondition
from perfledger_runners.proc_files import (
    THIS_SYSTEM,
    ProcFiles,
    cores_text,
    read_cores,
)

# Of the time before the check, when none of its processes runs on the GPU.
BUSY_ACTIVE = 0.05
# NVIDIA's boards lower the clock step by step before they reach their limit.
NEAR_SLOWDOWN_C = 10.0
MAX_NAMED = 4  # conditions of several GPUs in one finding
NO_GPU = "the driver cannot be read: pip install 'perfledger[gpu]'"


def gpu_findings(
    conditions: Sequence[GpuCondition], usable: Collection[int], files: ProcFiles = THIS_SYSTEM
) -> tuple[HostFinding, ...]:
    """Return the findings about the GPUs that a check uses, the most important kinds first.

    Of each kind there is one: the worst of several GPUs', which says which these are by their place
    among those that the workloads may use, from 0.
    """
    if not conditions:
        return (unknown("GPU", NO_GPU),)
    examinations = (
        *(_processes, _throttling, _clock, _power_cap, _temperature, _mig, _persistence, _ecc),
    )
    return (
        *(_worst([examine(each) for each in conditions]) for examine in examinations),
        _locality(conditions, frozenset(usable), files),
    )


def _worst(findings: Sequence[HostFinding]) -> HostFinding:
    """Return the worst of one kind of finding about several GPUs, which names them."""
    if len(findings) == 1:
        return findings[0]
    severity = list(FindingLevel)
    worst = min(findings, key=lambda each: severity.index(each.level))
    places_by_detail: dict[str, list[int]] = {}
    for index, each in enumerate(findings):
        if each.level is worst.level:
            places_by_detail.setdefault(each.detail, []).append(index)
    parts = [
        f"{_gpus(places, len(findings))}: {detail}" for detail, places in places_by_detail.items()
    ]
    if len(parts) > MAX_NAMED:
        parts[MAX_NAMED:] = ["..."]
    return finding(worst.name, worst.level, "; ".join(parts), worst.advice)


def _gpus(places: Sequence[int], count: int) -> str:
    if len(places) == count:
        return f"all {count} GPUs"
    return f"GPU{'s' * (len(places) != 1)} {', '.join(map(str, places))}"


def _processes(condition: GpuCondition) -> HostFinding:
    count, active = condition.processes, condition.active_share
    busy = "" if active is None else f", active {percentage(active)} of the time"
    advice = "stop them (nvidia-smi lists them), or choose another GPU: CUDA_VISIBLE_DEVICES"
    if count:
        detail = f"{count} other process{'es' * (count != 1)} on this GPU{busy}"
        return finding("GPU processes", FindingLevel.BUSY, detail, advice)
    if active is not None and active >= BUSY_ACTIVE:
        detail = f"none is visible from here, but the GPU was{busy.removeprefix(',')}"
        return finding("GPU processes", FindingLevel.BUSY, detail, advice)
    if count is None:
        return unknown("GPU processes", f"the driver does not list them{busy}")
    return finding("GPU processes", FindingLevel.FINE, f"none{busy}")


def _throttling(condition: GpuCondition) -> HostFinding:
    reasons = condition.reasons
    if reasons is None:
        return unknown("GPU throttling", "the driver does not report why the clock is lowered")
    causes = ", ".join(dict.fromkeys(words for bit, words in SLOWDOWNS.items() if reasons & bit))
    if not causes:
        return finding("GPU throttling", FindingLevel.FINE, "none now")
    level = FindingLevel.BUSY if reasons & HARD_THROTTLE else FindingLevel.NOISY
    return finding(
        "GPU throttling", level, f"the clock is lowered by {causes}", "check cooling and power"
    )


def _clock(condition: GpuCondition) -> HostFinding:
    """Return the finding about locked clocks; NVML reports a lock only while it slows the GPU."""
    if (condition.reasons or 0) & CLOCKS_SET:
        return finding("GPU clock", FindingLevel.FINE, "locked")
    clock = condition.default_clock_mhz
    value = "MHZ (nvidia-smi -q -d SUPPORTED_CLOCKS lists them)"
    if clock is not None:
        value = for_programs(clock)
    detail = "not known to be locked: the driver reports a lock only while it lowers the clock"
    return unknown("GPU clock", detail, f"lock clocks: sudo nvidia-smi -lgc {value}")


def _power_cap(condition: GpuCondition) -> HostFinding:
    cap, default = condition.power_cap_w, condition.default_power_cap_w
    if cap is None:
        return unknown("GPU power cap", "the driver does not report it")
    if default is None or cap >= default:
        return finding("GPU power cap", FindingLevel.FINE, f"{typed(cap)} W")
    detail = f"{typed(cap)} W of {typed(default)} W: the clock falls under load"
    advice = f"sudo nvidia-smi -pl {for_programs(default)}"
    return finding("GPU power cap", FindingLevel.NOISY, detail, advice)


def _temperature(condition: GpuCondition) -> HostFinding:
    now, limit = condition.temperature_c, condition.slowdown_c
    if now is None:
        return unknown("GPU temperature", "the driver does not report it")
    detail = f"{typed(now)} °C" + ("" if limit is None else f", slows down at {typed(limit)} °C")
    is_near = limit is not None and now >= limit - NEAR_SLOWDOWN_C
    level = FindingLevel.NOISY if is_near else FindingLevel.FINE
    return finding("GPU temperature", level, detail, "let it cool, and check its fans")


def _mig(condition: GpuCondition) -> HostFinding:
    if condition.is_mig is None:
        return unknown("MIG", "the driver does not report it, or the GPU has no instances")
    if not condition.is_mig:
        return finding("MIG", FindingLevel.FINE, "off")
    detail = "on: other instances share the clock, the power and the heat of this one"
    return finding("MIG", FindingLevel.NOISY, detail, "keep the GPU's other instances idle")


def _persistence(condition: GpuCondition) -> HostFinding:
    if condition.is_persistent is None:
        return unknown("GPU persistence", "the driver does not report it")
    if condition.is_persistent:
        return finding("GPU persistence", FindingLevel.FINE, "on")
    detail = "off: the driver initialises the GPU again for each process"
    return finding("GPU persistence", FindingLevel.NOISY, detail, "sudo nvidia-smi -pm 1")


def _ecc(condition: GpuCondition) -> HostFinding:
    now, later = condition.has_ecc, condition.will_have_ecc
    if now is None:
        return unknown("ECC", "the driver does not report it, or the GPU has none")
    words = {True: "on", False: "off"}
    if later is None or later == now:
        return finding("ECC", FindingLevel.FINE, words[now])
    detail = (
        f"{words[now]}, and {words[later]} after the next restart: the amount of memory will change"
    )
    return finding("ECC", FindingLevel.NOISY, detail, "restart the machine, then measure")


def _locality(
    conditions: Sequence[GpuCondition], usable: frozenset[int], files: ProcFiles
) -> HostFinding:
    """Return the finding about the cores near any of the GPUs."""
    slots = files.sys / "bus/pci/devices"
    cores_by_gpu = [
        read_cores(slots / each.bus_id / "local_cpulist") if each.bus_id else frozenset[int]()
        for each in conditions
    ]
    if not all(cores_by_gpu):
        return unknown("GPU's cores", "the kernel does not show which cores are near the GPU")
    near = frozenset[int]().union(*cores_by_gpu)
    if usable <= near:
        return finding("GPU's cores", FindingLevel.FINE, "all usable cores are near the GPU")
    cores = cores_text(near & usable or near)
    return finding(
        "GPU's cores",
        FindingLevel.NOISY,
        f"{len(usable - near)} of {len(usable)} usable cores are on another NUMA node",
        f"pin to the GPU's: taskset -c {cores} perfledger check",
    )
