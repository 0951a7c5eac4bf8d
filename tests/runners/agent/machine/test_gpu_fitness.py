from dataclasses import replace

import pytest

from perfledger.records import FindingLevel
from perfledger_runners.machine.gpu_fitness import MAX_NAMED, gpu_findings
from perfledger_runners.machine.nvml import CLOCKS_SET, GpuCondition

FIT = GpuCondition(
    processes=0,
    active_share=0.0,
    reasons=CLOCKS_SET,
    temperature_c=41,
    slowdown_c=87,
    power_cap_w=700.0,
    default_power_cap_w=700.0,
    default_clock_mhz=1590,
    is_persistent=True,
    is_mig=False,
    has_ecc=True,
    will_have_ecc=True,
    bus_id="0000:65:00.0",
)
UNKNOWN = GpuCondition(
    processes=None,
    active_share=None,
    reasons=None,
    temperature_c=None,
    slowdown_c=None,
    power_cap_w=None,
    default_power_cap_w=None,
    default_clock_mhz=None,
    is_persistent=None,
    is_mig=None,
    has_ecc=None,
    will_have_ecc=None,
    bus_id="",
)
SLOT = "sys/bus/pci/devices/0000:65:00.0/local_cpulist"


@pytest.fixture
def near(kernel):
    """Return the files of a machine whose first four cores are near the GPU."""
    return kernel({SLOT: "0-3\n"})


def findings_by_name(condition, files, usable=(0, 1)):
    return {each.name: each for each in gpu_findings([condition], usable, files)}


def test_a_gpu_with_locked_clocks_and_no_one_else_is_fine_in_everything(near):
    findings = findings_by_name(FIT, near)

    assert {each.level for each in findings.values()} == {FindingLevel.FINE}
    assert findings["GPU clock"].detail == "locked"


def test_a_gpu_that_tells_nothing_is_unknown_in_everything(near):
    assert {each.level for each in findings_by_name(UNKNOWN, near).values()} == {
        FindingLevel.UNKNOWN
    }


def test_without_the_drivers_library_the_gpu_is_unknown(near):
    (host_finding,) = gpu_findings([], (0,), near)

    assert (host_finding.name, host_finding.level) == ("GPU", FindingLevel.UNKNOWN)
    assert "perfledger[gpu]" in host_finding.detail


@pytest.mark.parametrize(
    ("changed", "name", "level", "detail"),
    [
        ({"processes": 2, "active_share": 0.5}, "GPU processes", "busy", "2 other processes on"),
        ({"processes": 1, "active_share": None}, "GPU processes", "busy", "1 other process on"),
        ({"active_share": 0.05}, "GPU processes", "busy", "the GPU was active 5 % of the time"),
        ({"active_share": 0.04}, "GPU processes", "fine", "none, active 4 % of the time"),
        ({"processes": None}, "GPU processes", "unknown", "the driver does not list them"),
        ({"reasons": CLOCKS_SET | 0x40}, "GPU throttling", "busy", "lowered by heat"),
        ({"reasons": 0x4}, "GPU throttling", "noisy", "lowered by its power cap"),
        ({"reasons": 0}, "GPU clock", "unknown", "not known to be locked"),
        ({"power_cap_w": 400.0}, "GPU power cap", "noisy", "400 W of 700 W"),
        ({"default_power_cap_w": None}, "GPU power cap", "fine", "700 W"),
        ({"temperature_c": 77}, "GPU temperature", "noisy", "77 °C, slows down at 87 °C"),
        ({"temperature_c": 76}, "GPU temperature", "fine", "76 °C"),
        ({"temperature_c": 99, "slowdown_c": None}, "GPU temperature", "fine", "99 °C"),
        ({"is_mig": True}, "MIG", "noisy", "on: other instances share"),
        ({"is_persistent": False}, "GPU persistence", "noisy", "off"),
        ({"has_ecc": False, "will_have_ecc": False}, "ECC", "fine", "off"),
        ({"will_have_ecc": False}, "ECC", "noisy", "on, and off after the next restart"),
        ({"will_have_ecc": None}, "ECC", "fine", "on"),
        ({"bus_id": "0000:b3:00.0"}, "GPU's cores", "unknown", "the kernel does not show"),
    ],
)
def test_each_condition_is_judged_by_itself(near, changed, name, level, detail):
    findings = findings_by_name(replace(FIT, **changed), near)

    assert findings[name].level == level
    assert detail in findings[name].detail
    assert [each.name for each in findings.values() if each.level == "busy"] == (
        [name] if level == "busy" else []
    )


def test_of_several_gpus_the_worst_is_named(near):
    cooler, capped = FIT, replace(FIT, processes=2, power_cap_w=300.0)
    lost = replace(FIT, processes=None, power_cap_w=300.0)

    findings = {one.name: one for one in gpu_findings([cooler, capped, lost, capped], (0,), near)}

    processes, cap = findings["GPU processes"], findings["GPU power cap"]
    assert processes.level is FindingLevel.BUSY
    assert processes.detail.startswith("GPUs 1, 3: 2 other processes on this GPU")
    assert (cap.level, cap.detail.partition(":")[0]) == (FindingLevel.NOISY, "GPUs 1, 2, 3")
    assert "-pl 700" in cap.advice
    assert findings["GPU clock"].detail == "all 4 GPUs: locked"


def test_what_cannot_be_read_of_one_gpu_is_unknown_of_all(near):
    findings = {one.name: one for one in gpu_findings([FIT, UNKNOWN], (0,), near)}

    assert {one.level for one in findings.values()} == {FindingLevel.UNKNOWN}
    assert findings["ECC"].detail.startswith("GPU 1: the driver does not report it")


def test_conditions_of_many_gpus_are_cut(near):
    hot = [replace(FIT, temperature_c=80 + place) for place in range(6)]

    [temperature] = [one for one in gpu_findings(hot, (0,), near) if one.name == "GPU temperature"]

    assert temperature.detail.count("GPU ") == MAX_NAMED
    assert temperature.detail.endswith("; ...")


def test_cores_near_any_of_the_gpus_are_near(kernel):
    other = replace(FIT, bus_id="0000:b3:00.0")
    files = kernel({SLOT: "0-3\n", SLOT.replace("65", "b3"): "4-7\n"})

    def locality(*conditions):
        return gpu_findings(conditions, range(8), files)[-1]

    assert locality(FIT, other).level is FindingLevel.FINE
    assert "4 of 8 usable cores" in locality(FIT).detail


def test_clocks_are_locked_at_the_default_or_at_one_of_the_list(near):
    advice = findings_by_name(replace(FIT, reasons=0), near)["GPU clock"].advice
    unknown = findings_by_name(replace(FIT, reasons=0, default_clock_mhz=None), near)[
        "GPU clock"
    ].advice

    assert advice == "lock clocks: sudo nvidia-smi -lgc 1590"
    assert "SUPPORTED_CLOCKS" in unknown


@pytest.mark.parametrize(
    ("usable", "advice"),
    [((2, 3, 4, 5), "taskset -c 2-3 "), ((8, 9), "taskset -c 0-3 ")],
)
def test_cores_of_another_node_are_far_from_the_gpu(near, usable, advice):
    core_finding = findings_by_name(FIT, near, usable)["GPU's cores"]

    assert core_finding.level is FindingLevel.NOISY
    assert advice in core_finding.advice


def test_nonsense_about_the_slot_is_unknown(hostile):
    assert findings_by_name(FIT, hostile)["GPU's cores"].level is FindingLevel.UNKNOWN
