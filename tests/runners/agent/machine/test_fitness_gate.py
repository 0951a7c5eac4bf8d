import pytest

from perfledger.records import Device, FindingLevel
from perfledger_runners.machine.core_speed import CoreSpeed
from perfledger_runners.machine.fitness_gate import read_fitness, read_fitness_afterwards
from perfledger_runners.machine.nvml import Gpu

IDLE = "cpu0 {} 0 0 {} 0 0 0 0\nprocs_running 1\n"


def names(findings):
    return [each.name for each in findings]


@pytest.fixture
def quiet(kernel):
    """Return the files of a machine whose only core idles, and the sleep in which it does."""
    files = kernel({"proc/stat": IDLE.format(0, 100)})

    def sleep(_):
        kernel({"proc/stat": IDLE.format(1, 200)})

    return {"files": files, "usable": (0,), "sleep": sleep}


@pytest.fixture
def steady():
    """Return a probe of the cores' speed that finds it steady."""
    return lambda _: CoreSpeed(1e-3, 1e-3)


def test_a_cpu_is_its_host(quiet, steady):
    findings = read_fitness(Device.CPU, None, **quiet, core_speed=steady)

    assert names(findings)[:3] == ["other programs", "stolen time", "core speed"]
    assert findings[0].level is FindingLevel.FINE
    assert len(set(names(findings))) == len(findings)


def test_a_gpu_comes_before_its_host(quiet, steady, fake_nvml):
    findings = read_fitness(Device.CUDA, Gpu(fake_nvml(), "handle"), **quiet, core_speed=steady)

    assert (findings[0].name, findings[0].level) == ("GPU processes", FindingLevel.BUSY)
    assert "other programs" in names(findings)


def test_only_gpus_that_are_used_are_examined(quiet, steady, fake_nvml):
    one, other = Gpu(fake_nvml(), "handle"), Gpu(fake_nvml(), "handle")
    gpu = Gpu(fake_nvml(), "handle", more=(one, other))

    def detail(devices):
        findings = read_fitness(Device.CUDA, gpu, devices=devices, **quiet, core_speed=steady)
        return findings[0].detail

    assert "GPUs" not in detail(1)
    assert detail(2).startswith("all 2 GPUs: ")
    assert detail(None).startswith("all 3 GPUs: ")


@pytest.mark.parametrize(("device", "name"), [(Device.CUDA, "GPU"), (Device.TPU, "TPU")])
def test_a_device_that_does_not_tell_is_unknown(quiet, steady, device, name):
    findings = read_fitness(device, None, **quiet, core_speed=steady)

    assert (findings[0].name, findings[0].level) == (name, FindingLevel.UNKNOWN)


def test_afterwards_only_the_load_is_read_again(quiet):
    host_finding = read_fitness_afterwards(**quiet)

    assert (host_finding.name, host_finding.level) == (
        "other programs, afterwards",
        FindingLevel.FINE,
    )


def test_nonsense_keeps_no_check_from_measuring(hostile, fake_nvml):
    gpu = Gpu(fake_nvml(*fake_nvml().answers), "handle")

    findings = read_fitness(
        Device.CUDA,
        gpu,
        files=hostile,
        usable=(0,),
        sleep=lambda _: None,
        core_speed=lambda _: None,
    )

    assert "busy" not in {each.level for each in findings}
    assert findings[0].level is FindingLevel.UNKNOWN


def test_this_computer_has_a_finding_of_every_kind():
    findings = read_fitness(Device.CPU, None, sleep=lambda _: None)

    assert len(findings) >= 9
    assert all(each.detail for each in findings)
