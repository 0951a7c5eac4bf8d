import os
import platform
from dataclasses import replace

import pytest

from perfledger.protocol import PROTOCOL_VERSION
from perfledger.records import Device, Machine
from perfledger_runners.children.message_texts import DeviceFacts
from perfledger_runners.children.protocol_parser import FactsMessage
from perfledger_runners.machine.fingerprint import (
    HostFacts,
    device_of,
    fingerprint,
    read_host,
    read_machine,
)
from perfledger_runners.machine.nvml import Gpu
from perfledger_runners.proc_files import ProcFiles

HOST = HostFacts(
    cpu_model="AMD EPYC 9654",
    cores=96,
    memory_bytes=2**40,
    clock_mhz=3700.0,
    governor="performance",
    kernel="Linux 6.8",
)


def facts(**device):
    return FactsMessage(
        version=PROTOCOL_VERSION,
        python="3.12.1",
        frameworks={"torch": "2.13.0"},
        device=DeviceFacts(**device),
    )


def test_this_computer_has_a_name_cores_and_memory():
    host = read_host()

    assert host.cores == len(os.sched_getaffinity(0))
    assert host.cpu_model
    assert host.memory_bytes is not None
    assert host.kernel == f"{platform.system()} {platform.release()}"


def test_a_system_without_proc_is_described_by_what_is_left(tmp_path):
    host = read_host(ProcFiles(tmp_path, tmp_path))

    assert (host.memory_bytes, host.clock_mhz, host.governor) == (None, None, "")
    assert host.cpu_model in {platform.processor(), platform.machine()}
    assert host.cores >= 1


def test_the_kernels_tables_are_read(tmp_path):
    frequency = tmp_path / "devices/system/cpu/cpu0/cpufreq"
    frequency.mkdir(parents=True)
    (frequency / "cpuinfo_max_freq").write_text("3700000\n")
    (frequency / "scaling_governor").write_text("powersave\n")
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: AMD EPYC 9654\nprocessor\t: 1\n"
    )
    (tmp_path / "meminfo").write_text("MemTotal:       1024 kB\n")

    host = read_host(ProcFiles(tmp_path, tmp_path))

    assert (host.cpu_model, host.memory_bytes) == ("AMD EPYC 9654", 2**20)
    assert (host.clock_mhz, host.governor) == (3700.0, "powersave")


@pytest.mark.parametrize(
    ("told_device", "requested", "expected"),
    [
        (None, "auto", Device.CPU),
        (facts(), "auto", Device.CPU),
        (facts(kind="cuda"), "auto", Device.CUDA),
        (facts(kind="cuda"), "cpu", Device.CPU),
        (facts(platform="gpu"), "auto", Device.CUDA),
        (facts(platform="tpu"), "auto", Device.TPU),
        (facts(platform="cpu"), "auto", Device.CPU),
        (None, "cuda", Device.CUDA),
    ],
)
def test_the_device_is_what_was_asked_for_or_what_is_there(told_device, requested, expected):
    assert device_of(told_device, requested=requested) is expected


def test_a_cpus_machine_is_its_host():
    assert fingerprint(facts(), requested="cpu", host=HOST) == Machine(
        device=Device.CPU,
        model="AMD EPYC 9654",
        memory_bytes=2**40,
        clock_mhz=3700.0,
        cpu_model="AMD EPYC 9654",
        cores=96,
        governor="performance",
        kernel="Linux 6.8",
        python="3.12.1",
        frameworks={"torch": "2.13.0"},
    )


def test_a_machine_whose_child_never_spoke_is_still_a_machine():
    machine = fingerprint(None, requested="auto", host=HOST)

    assert (machine.device, machine.python, machine.frameworks) == (Device.CPU, "", {})


def test_a_gpus_machine_is_what_the_driver_tells(fake_nvml):
    facts_message = facts(
        kind="cuda", name="H100", uuid="GPU-1", count=2, memory_bytes=2**36, cuda="12.4"
    )
    gpu = Gpu(fake_nvml(), "handle").facts()

    machine = fingerprint(facts_message, requested="auto", host=HOST, gpu=gpu)

    assert machine.machine_class == "cuda:NVIDIA H100 80GB HBM3:2"
    assert (machine.uuid, machine.driver, machine.runtime) == ("GPU-1", "560.35", "CUDA 12.4")
    assert (machine.memory_bytes, machine.power_cap_w) == (80 * 2**30, 700.0)
    assert (machine.has_ecc, machine.mig, machine.is_clock_locked) == (True, "disabled", None)
    assert machine.clock_mhz == 1980
    assert machine.cpu_model == "AMD EPYC 9654"


def test_without_the_driver_a_gpus_machine_is_what_the_framework_tells():
    facts_message = facts(kind="cuda", name="NVIDIA L4", uuid="GPU-2", count=1, memory_bytes=2**34)

    machine = fingerprint(facts_message, requested="auto", host=HOST)

    assert machine.machine_class == "cuda:NVIDIA L4:1"
    assert (machine.uuid, machine.memory_bytes) == ("GPU-2", 2**34)
    assert (machine.driver, machine.runtime, machine.has_ecc, machine.mig) == ("", "", None, "")
    assert machine.clock_mhz is None


def test_the_drivers_cuda_stands_in_for_a_framework_that_does_not_say(fake_nvml):
    gpu = Gpu(fake_nvml(), "handle").facts()

    machine = fingerprint(facts(platform="gpu"), requested="auto", host=HOST, gpu=gpu)

    assert machine.runtime == "CUDA 12.6"


def test_a_tpus_machine_is_what_jax_tells():
    facts_message = facts(platform="tpu", device_kind="TPU v4", device_count=4)

    machine = fingerprint(facts_message, requested="auto", host=HOST)

    assert machine.machine_class == "tpu:TPU v4:4"
    assert (machine.clock_mhz, machine.memory_bytes) == (None, None)


def test_a_machine_without_a_gpu_has_none_to_ask():
    machine, gpu = read_machine(facts(), requested="cpu", environment={})

    assert (machine.device, gpu) == (Device.CPU, None)
    assert machine.cores == len(os.sched_getaffinity(0))


def test_a_gpu_that_the_driver_does_not_show_is_what_the_framework_tells():
    facts_message = facts(kind="cuda", name="NVIDIA L4", uuid="GPU-none", count=1)

    machine, _ = read_machine(facts_message, requested="auto", environment={})

    assert (machine.device, machine.uuid) == (Device.CUDA, "GPU-none")


def test_a_machine_names_all_its_gpus_in_the_frameworks_order(fake_nvml):
    facts_message = facts(kind="cuda", uuid="GPU-1", more_uuids=("GPU-0", "GPU-2"), count=3)
    gpu = Gpu(fake_nvml(), "handle").facts(visible=("GPU-0", "GPU-1", "GPU-2"))

    machine = fingerprint(facts_message, requested="auto", host=HOST, gpu=gpu)

    assert machine.device_names == ("GPU-1", "GPU-0", "GPU-2")
    silent = fingerprint(facts(platform="gpu"), requested="auto", host=HOST, gpu=gpu)
    assert silent.device_names == ("GPU-1",)
    assert replace(silent, count=3).device_names == ("GPU-1", "GPU-0", "GPU-2")


def test_a_slice_is_the_only_device_of_its_machine(fake_nvml):
    gpu = replace(Gpu(fake_nvml(), "handle").facts(), uuid="MIG-7", parent_uuid="GPU-1")
    facts_message = facts(kind="cuda", uuid="GPU-7", more_uuids=("GPU-8",), count=2)

    machine = fingerprint(facts_message, requested="auto", host=HOST, gpu=gpu)

    assert machine.device_names == ("MIG-7",)
    assert machine.occupied_names == ("MIG-7", "GPU-1")
