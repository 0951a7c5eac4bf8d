from dataclasses import replace

import pytest

from perfledger.records import Device
from perfledger_runners.machine.cpu_settings import CpuSettings
from perfledger_runners.machine.nvml import CLOCKS_SET, Gpu
from perfledger_runners.machine.setting_fixes import cpu_fixes, gpu_fixes, read_setting_fixes


def commands(fixes):
    return [(fix.command, fix.undo) for fix in fixes]


def test_a_governor_is_set_and_set_back(kernel):
    fixes = cpu_fixes(CpuSettings(governors=frozenset({"powersave"})), kernel({}))

    assert commands(fixes) == [
        (
            "sudo cpupower frequency-set -g performance",
            "sudo cpupower frequency-set -g powersave",
        )
    ]
    assert fixes[0].setting == "governor: powersave"


def test_mixed_governors_are_not_set_back_to_one_of_them(kernel):
    (fix,) = cpu_fixes(CpuSettings(governors=frozenset({"performance", "powersave"})), kernel({}))

    assert fix.undo.startswith("set each core's own governor again: note them before")


@pytest.mark.parametrize(
    "settings", [CpuSettings(), CpuSettings(governors=frozenset({"performance"}), has_turbo=False)]
)
def test_what_is_unknown_or_right_needs_nothing(kernel, settings):
    assert cpu_fixes(settings, kernel({})) == ()


@pytest.mark.parametrize(
    ("file", "command", "undo"),
    [
        ("intel_pstate/no_turbo", "echo 1 | sudo tee", "echo 0 | sudo tee"),
        ("cpufreq/boost", "echo 0 | sudo tee", "echo 1 | sudo tee"),
    ],
)
def test_turbo_is_turned_off_by_the_drivers_own_switch(kernel, file, command, undo):
    files = kernel({})
    (files.cores / file).parent.mkdir(parents=True, exist_ok=True)
    (files.cores / file).write_text("0\n" if "intel" in file else "1\n")

    (fix,) = cpu_fixes(CpuSettings(has_turbo=True), files)

    path = f"/sys/devices/system/cpu/{file}"
    assert (fix.command, fix.undo) == (f"{command} {path}", f"{undo} {path}")


def test_a_gpu_gets_persistence_its_power_and_a_locked_clock(fake_nvml):
    condition = replace(Gpu(fake_nvml(persistence=0), "handle").condition(), power_cap_w=500.0)

    assert commands(gpu_fixes(condition, "GPU-1")) == [
        ("sudo nvidia-smi -i GPU-1 -pm 1", "sudo nvidia-smi -i GPU-1 -pm 0"),
        ("sudo nvidia-smi -i GPU-1 -pl 700", "sudo nvidia-smi -i GPU-1 -pl 500"),
        ("sudo nvidia-smi -i GPU-1 -lgc 1590,1590", "sudo nvidia-smi -i GPU-1 -rgc"),
    ]


def test_a_gpu_that_tells_nothing_or_whose_clock_is_locked_needs_nothing(fake_nvml):
    silent = Gpu(fake_nvml(*fake_nvml().answers), "handle").condition()
    locked = Gpu(fake_nvml(reasons=CLOCKS_SET), "handle").condition()

    assert gpu_fixes(silent, "") == ()
    assert gpu_fixes(locked, "GPU-1") == ()


def test_all_gpus_are_set_for_cuda_and_none_for_the_cpu(fake_nvml, kernel):
    library = fake_nvml()
    library.answers["nvmlDeviceGetUUID"] = {"first": "GPU-1", "second": "GPU-2"}
    gpu = Gpu(library, "first", more=(Gpu(library, "second"),))

    fixes = read_setting_fixes(Device.CUDA, gpu, files=kernel({}), usable={0})

    assert [fix.undo for fix in fixes] == [
        "sudo nvidia-smi -i GPU-1 -rgc",
        "sudo nvidia-smi -i GPU-2 -rgc",
    ]
    assert read_setting_fixes(Device.CPU, gpu, files=kernel({}), usable={0}) == ()
