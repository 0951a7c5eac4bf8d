"""Lists settings that an administrator should change, as commands; perfledger runs none of them."""

from collections.abc import Collection
from dataclasses import dataclass

from perfledger.records import Device
from perfledger.rounding import for_programs, typed
from perfledger_runners.machine.cpu_settings import CpuSettings, read_cpu_settings
from perfledger_runners.machine.host_load import usable_core_numbers
from perfledger_runners.machine.nvml import CLOCKS_SET, Gpu, GpuCondition
from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles, read_text

PERFORMANCE = "performance"
# The driver's own switch if it has one; with neither file, the CPU has no turbo to turn off.
INTEL_SWITCH, OTHER_SWITCH = "intel_pstate/no_turbo", "cpufreq/boost"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingFix:
    """A setting that adds noise, the command that sets it, and the one that undoes that."""

    setting: str  # and its present value
    command: str
    undo: str


def read_setting_fixes(
    device: Device,
    gpu: Gpu | None,
    *,
    files: ProcFiles = THIS_SYSTEM,
    usable: Collection[int] | None = None,
) -> tuple[SettingFix, ...]:
    """Return the settings to change for measuring on a device: those of all GPUs, then the host's.

    Settings that cannot be read are left out: nothing is known to be wrong with them.
    """
    cores = usable_core_numbers() if usable is None else usable
    gpus = (gpu, *gpu.more) if gpu is not None and device is Device.CUDA else ()
    return (
        *(fix for each in gpus for fix in gpu_fixes(each.condition(), each.uuid)),
        *cpu_fixes(read_cpu_settings(cores, files), files),
    )


def cpu_fixes(settings: CpuSettings, files: ProcFiles = THIS_SYSTEM) -> tuple[SettingFix, ...]:
    """Return the settings to change on the cores' clocks."""
    fixes: list[SettingFix] = []
    governors = sorted(settings.governors)
    if governors and governors != [PERFORMANCE]:
        fixes.append(
            SettingFix(
                setting=f"governor: {', '.join(governors)}",
                command=f"sudo cpupower frequency-set -g {PERFORMANCE}",
                undo=(
                    f"sudo cpupower frequency-set -g {governors[0]}"
                    if len(governors) == 1
                    else "set each core's own governor again: note them before, by "
                    "`cpupower -c all frequency-info -p`"
                ),
            )
        )
    if settings.has_turbo:
        is_intel = read_text(files.cores / INTEL_SWITCH) != ""
        name, off, on = (INTEL_SWITCH, 1, 0) if is_intel else (OTHER_SWITCH, 0, 1)
        path = f"/sys/devices/system/cpu/{name}"
        fixes.append(
            SettingFix(
                setting="turbo: on",
                command=f"echo {off} | sudo tee {path}",
                undo=f"echo {on} | sudo tee {path}",
            )
        )
    return tuple(fixes)


def gpu_fixes(condition: GpuCondition, uuid: str) -> tuple[SettingFix, ...]:
    """Return what should be set about a GPU's clock, power and driver.

    Its default clock is the fastest that it sustains under any load, according to NVIDIA.
    """
    tool = f"sudo nvidia-smi -i {uuid}" if uuid else "sudo nvidia-smi"
    fixes: list[SettingFix] = []
    if condition.is_persistent is False:
        fixes.append(
            SettingFix(
                setting="GPU persistence: off", command=f"{tool} -pm 1", undo=f"{tool} -pm 0"
            )
        )
    cap, default = condition.power_cap_w, condition.default_power_cap_w
    if cap is not None and default is not None and cap < default:
        fixes.append(
            SettingFix(
                setting=f"GPU power cap: {typed(cap)} W of {typed(default)} W",
                command=f"{tool} -pl {for_programs(default)}",
                undo=f"{tool} -pl {for_programs(cap)}",
            )
        )
    clock = condition.default_clock_mhz
    if clock is not None and not (condition.reasons or 0) & CLOCKS_SET:
        megahertz = for_programs(clock)
        fixes.append(
            SettingFix(
                setting="GPU clock: not known to be locked",
                command=f"{tool} -lgc {megahertz},{megahertz}",
                undo=f"{tool} -rgc",
            )
        )
    return tuple(fixes)
