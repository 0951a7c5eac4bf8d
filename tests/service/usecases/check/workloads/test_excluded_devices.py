"""Tests that nothing is measured on a device that is excluded, and that others do not hinder."""

from dataclasses import replace

import pytest

from perfledger.records import Device, Framework, Machine, WorkloadSpec
from perfledger_service.errors import ExcludedDeviceError
from perfledger_service.usecases.check.workloads.excluded_devices import refuse_excluded

GPUS = Machine(
    device=Device.CUDA,
    model="NVIDIA H100",
    count=4,
    uuid="GPU-0",
    more_uuids=("GPU-1", "GPU-2", "GPU-3"),
    cpu_model="Xeon",
    host="a1",
)
ON_GPU = WorkloadSpec(id="m:f", module="m", function="f", framework=Framework.TORCH)
ON_TWO = replace(ON_GPU, devices=2)
ON_CPU = replace(ON_GPU, device="cpu")
PLAIN = replace(ON_GPU, framework=Framework.HOST)


@pytest.mark.parametrize(
    ("specs", "excluded"),
    [
        ([ON_GPU], "GPU-0"),
        ([ON_GPU, ON_TWO], "GPU-1"),
        ([ON_CPU], "Xeon of host a1"),
        ([ON_GPU, PLAIN], "Xeon of host a1"),
    ],
)
def test_an_excluded_device_of_a_workload_is_refused_by_name(specs, excluded):
    with pytest.raises(ExcludedDeviceError, match=f"{excluded} is in quarantine"):
        refuse_excluded(GPUS, specs, ("GPU-9", excluded))


@pytest.mark.parametrize(
    ("specs", "excluded"),
    [
        ([ON_GPU], "GPU-1"),  # beside it
        ([ON_TWO], "GPU-2"),
        ([ON_GPU], "Xeon of host a1"),
        ([ON_CPU, PLAIN], "GPU-0"),
        ([ON_CPU], "Xeon of host b2"),
        ([ON_CPU], "Xeon"),
        ([], "GPU-0"),
    ],
)
def test_another_device_does_not_hinder(specs, excluded):
    refuse_excluded(GPUS, specs, (excluded,))


def test_a_slice_of_an_excluded_gpu_is_refused():
    piece = replace(GPUS, count=1, uuid="MIG-1", more_uuids=(), parent_uuid="GPU-9")

    with pytest.raises(ExcludedDeviceError, match="GPU-9"):
        refuse_excluded(piece, [ON_GPU], ("GPU-9",))


def test_a_name_in_the_message_has_no_control_characters():
    evil = replace(GPUS, uuid="GPU\x1b[2J")

    with pytest.raises(ExcludedDeviceError) as caught:
        refuse_excluded(evil, [ON_GPU], (evil.uuid,))
    assert str(caught.value).isprintable()
