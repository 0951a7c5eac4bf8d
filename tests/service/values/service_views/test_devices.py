"""Tests what tells devices apart, and the share of what a canary should reach."""

from dataclasses import replace

from perfledger.records import Device, Machine
from perfledger_service.values.service_views.devices import CanaryRate, DeviceKey

RATE = CanaryRate(
    name="matmul", framework="torch", setting="", unit="FLOP", processes=2, per_second=3e12
)


def test_a_device_has_its_id_or_the_kind_of_its_host():
    gpu = Machine(device=Device.CUDA, model="NVIDIA H100", uuid="GPU-0", count=8)
    cpu = Machine(device=Device.CPU, model="Xeon", cpu_model="Xeon", cores=8)

    assert DeviceKey.from_machine(gpu) == DeviceKey(
        device="cuda", model="NVIDIA H100", name="GPU-0", has_id=True
    )
    assert DeviceKey.from_machine(cpu).name == "Xeon, 8 cores, unknown host"
    assert not DeviceKey.from_machine(cpu).has_id
    for machine in (gpu, cpu):
        start = DeviceKey.from_machine(machine).class_start
        assert machine.machine_class.rpartition(":")[0] == start


def test_the_devices_of_a_gpus_machine_are_its_gpus_and_the_processors_of_its_host():
    gpus = Machine(
        device=Device.CUDA,
        model="NVIDIA H100",
        uuid="GPU-0",
        more_uuids=("GPU-1",),
        count=2,
        host="a1",
        cpu_model="Xeon",
    )

    of_gpus = DeviceKey.all_from_machine(gpus)
    (of_cpu,) = DeviceKey.all_from_machine(gpus.part(Device.CPU, 1))
    assert [each.name for each in of_gpus] == ["GPU-0", "GPU-1", "Xeon of host a1"]
    assert of_gpus[-1] == of_cpu
    assert [each.name for each in DeviceKey.all_from_machine(replace(gpus, host=""))] == [
        "GPU-0",
        "GPU-1",
    ]


def test_a_rate_without_an_expectation_has_no_share():
    assert RATE.share is None
    assert RATE.title == "matmul in torch"
    expecting = CanaryRate(
        name="matmul",
        framework="torch",
        setting="",
        unit="FLOP",
        processes=2,
        per_second=3e12,
        expected_per_second=4e12,
    )
    assert expecting.share == 0.75
