"""One GPU of three, by the names that people know it by; no GPU here, so NVML is a fake."""

from types import SimpleNamespace

import pytest

from perfledger_runners.machine.gpu_choice import GpuChoiceError, chosen_gpu
from tests.cases import case

HANDLES = ("by index 0", "by index 1", "by index 2")
UUIDS = ("GPU-a1", "GPU-b7", "GPU-b9")
SLOTS = ("00000000:17:00.0", "00000000:65:00.0", "00000001:65:00.0")


@pytest.fixture
def three_gpus(fake_nvml):
    library = fake_nvml()
    library.answers |= {
        "nvmlDeviceGetCount": 3,
        "nvmlDeviceGetHandleByIndex": dict(enumerate(HANDLES)),
        "nvmlDeviceGetHandleByUUID": {**dict(zip(UUIDS, HANDLES, strict=True)), "MIG-7": "slice"},
        "nvmlDeviceGetUUID": {**dict(zip(HANDLES, UUIDS, strict=True)), "slice": "MIG-7"},
        "nvmlDeviceGetPciInfo": {
            handle: SimpleNamespace(busId=slot) for handle, slot in zip(HANDLES, SLOTS, strict=True)
        },
        "nvmlDeviceIsMigDeviceHandle": dict.fromkeys(HANDLES, 0) | {"slice": 1},
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": {"slice": HANDLES[1]},
    }
    return library


@pytest.mark.parametrize(
    ("name", "visible", "expected"),
    [
        ("0", "", "GPU-a1"),
        ("1", "", "GPU-b7"),
        ("1", "2,0", "GPU-a1"),  # as torch numbers what is left
        ("0", "GPU-b7", "GPU-b7"),
        ("GPU-b7", "", "GPU-b7"),
        ("GPU-a", "", "GPU-a1"),
        ("GPU-b9", "0,2", "GPU-b9"),
        ("17:00.0", "", "GPU-a1"),
        ("0000:65:00.0", "", "GPU-b7"),
        ("00000001:65:00.0", "", "GPU-b9"),
        ("0001:65:00.0".upper(), "", "GPU-b9"),
        ("MIG-7", "", "MIG-7"),
        ("MIG-7", "1", "MIG-7"),
        ("0", "MIG-7", "MIG-7"),
    ],
)
def test_a_gpu_is_chosen_by_number_uuid_or_slot(three_gpus, name, visible, expected):
    environment = {"CUDA_VISIBLE_DEVICES": visible}

    assert chosen_gpu(name, three_gpus, environment) == expected


@pytest.mark.parametrize(
    ("name", "visible"),
    [
        ("3", ""),
        ("1", "2"),
        ("GPU-b", ""),  # of two
        ("GPU-c", ""),
        ("GPU-a1", "1,2"),
        ("65:00.0", ""),  # of two domains
        ("66:00.0", ""),
        ("65:00.0", "0"),
        ("MIG-7", "0,2"),  # a slice of GPU 1
    ],
)
def test_a_gpu_that_is_not_there_or_one_of_several_is_an_error_that_lists_them(
    three_gpus, name, visible
):
    with pytest.raises(GpuChoiceError, match=r"no GPU is .* may use: 0 \((GPU|MIG)-") as error:
        chosen_gpu(name, three_gpus, {"CUDA_VISIBLE_DEVICES": visible})

    assert repr(name) in str(error.value)


def test_the_list_of_gpus_in_an_error_has_their_slots(three_gpus):
    with pytest.raises(GpuChoiceError) as error:
        chosen_gpu("7", three_gpus, {})

    assert str(error.value).endswith(
        "0 (GPU-a1, 0000:17:00.0), 1 (GPU-b7, 0000:65:00.0), 2 (GPU-b9, 0001:65:00.0)"
    )


def test_other_texts_name_no_gpu(three_gpus):
    for name in ("-1", "1,2", "²", "gpu-a1", "GPU-", "GPU-a,1", "65:00", "all", "9" * 5, " 1"):
        with case(name=name), pytest.raises(GpuChoiceError, match="names no GPU: give its number"):
            chosen_gpu(name, three_gpus, {})


@pytest.mark.parametrize(
    ("name", "visible", "expected"),
    [
        ("1", "", "1"),
        ("GPU-a1", "", "GPU-a1"),
        ("1", "4, 6", "6"),
        ("GPU-b7", "GPU-a1,GPU-b7", "GPU-b7"),
    ],
)
def test_without_the_driver_cuda_finds_the_gpu(name, visible, expected):
    assert chosen_gpu(name, None, {"CUDA_VISIBLE_DEVICES": visible}) == expected


def test_a_driver_that_does_not_tell_uuids_is_like_none(fake_nvml):
    assert chosen_gpu("1", fake_nvml("nvmlDeviceGetUUID"), {}) == "1"


@pytest.mark.parametrize(
    ("name", "visible", "message"),
    [
        ("65:00.0", "", "the NVIDIA driver cannot be asked here"),
        ("2", "4,6", "no GPU is '2' among those in CUDA_VISIBLE_DEVICES: 4, 6"),
        ("GPU-a1", "GPU-b7", "no GPU is 'GPU-a1' among those in CUDA_VISIBLE_DEVICES: GPU-b7"),
    ],
)
def test_what_cannot_be_found_without_the_driver_is_an_error(name, visible, message):
    with pytest.raises(GpuChoiceError, match=message):
        chosen_gpu(name, None, {"CUDA_VISIBLE_DEVICES": visible})
