"""No GPU here: a fake library, every call of which is checked against the real one's signature."""

import time
from contextlib import nullcontext
from dataclasses import fields

import pynvml
import pytest

from perfledger_runners.machine import nvml as ours
from perfledger_runners.machine.nvml import (
    Gpu,
    GpuActivity,
    GpuCondition,
    GpuFacts,
    GpuState,
    find_gpu,
    load_nvml,
    visible_uuids,
)
from perfledger_runners.machine.telemetry import READ_EVERY_S


def test_the_numbers_are_the_real_librarys():
    assert ours.CLOCK_SM == pynvml.NVML_CLOCK_SM
    assert ours.TEMPERATURE_GPU == pynvml.NVML_TEMPERATURE_GPU
    assert ours.GPM_VERSION == pynvml.NVML_GPM_METRICS_GET_VERSION
    assert ours.GPM_SM_UTIL == pynvml.NVML_GPM_METRIC_SM_UTIL
    assert ours.GPM_PCIE == (
        pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC,
        pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC,
    )
    assert ours.GPM_NVLINK == (
        pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC,
        pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC,
    )
    assert ours.THRESHOLD_SLOWDOWN == pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    assert pynvml.nvmlClocksEventReasonApplicationsClocksSetting == ours.CLOCKS_SET
    hard = (
        pynvml.nvmlClocksEventReasonHwSlowdown
        | pynvml.nvmlClocksEventReasonSwThermalSlowdown
        | pynvml.nvmlClocksEventReasonHwThermalSlowdown
        | pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown
    )
    assert hard == ours.HARD_THROTTLE
    assert hasattr(pynvml.c_nvmlGpmMetricsGet_t, "numMetrics")
    assert hasattr(pynvml.c_nvmlUtilization_t, "gpu")
    assert hasattr(pynvml.nvmlPciInfo_t, "busId")


def test_the_library_without_a_driver_is_none():
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        assert load_nvml() is None
    else:
        assert load_nvml() is pynvml


def test_a_gpu_tells_what_it_is(fake_nvml):
    assert Gpu(fake_nvml(reasons=0x2), "handle").facts() == GpuFacts(
        model="NVIDIA H100 80GB HBM3",
        uuid="GPU-1",
        more_uuids=(),
        parent_uuid="",
        driver="560.35",
        cuda="12.6",
        memory_bytes=80 * 2**30,
        max_clock_mhz=1980,
        is_clock_locked=True,
        power_cap_w=700.0,
        has_ecc=True,
        is_mig=False,
        is_persistent=True,
    )


def test_a_gpu_that_tells_nothing_is_unknown_and_no_error(fake_nvml):
    facts = Gpu(fake_nvml(*fake_nvml().answers), "handle").facts()

    assert facts == GpuFacts(
        model="",
        uuid="",
        more_uuids=(),
        parent_uuid="",
        driver="",
        cuda="",
        memory_bytes=None,
        max_clock_mhz=None,
        is_clock_locked=None,
        power_cap_w=None,
        has_ecc=None,
        is_mig=None,
        is_persistent=None,
    )


def test_a_gpu_tells_what_may_disturb_a_measurement(fake_nvml):
    assert Gpu(fake_nvml(reasons=0x40), "handle").condition() == GpuCondition(
        processes=2,
        active_share=0.37,
        reasons=0x40,
        temperature_c=61,
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


def test_what_a_gpu_does_not_tell_is_unknown_and_not_fine(fake_nvml):
    condition = Gpu(fake_nvml(*fake_nvml().answers), "handle").condition()

    assert {getattr(condition, field.name) for field in fields(condition)} == {None, ""}


def test_the_slot_of_a_gpu_is_read_from_bytes_too(fake_nvml):
    library = fake_nvml()
    library.answers["nvmlDeviceGetPciInfo"].busId = b"00000000:B3:00.0"

    assert Gpu(library, "handle").condition().bus_id == "0000:b3:00.0"


def test_a_gpu_tells_what_it_is_doing(fake_nvml):
    state = Gpu(fake_nvml(reasons=0x40), "handle").state()

    assert state == GpuState(
        reasons=0x40, clock_mhz=1755, power_w=512.5, temperature_c=61, memory_bytes=3 * 2**30
    )


def test_a_gpu_tells_its_energy_in_joules_or_not_at_all(fake_nvml):
    silent = fake_nvml("nvmlDeviceGetTotalEnergyConsumption")

    assert Gpu(fake_nvml(), "handle").energy_joules() == 123.456
    assert Gpu(silent, "handle").energy_joules() is None


def test_an_older_driver_tells_its_reasons_by_their_former_name(fake_nvml):
    library = fake_nvml("nvmlDeviceGetCurrentClocksEventReasons", reasons=0x40)

    assert Gpu(library, "handle").state().reasons == 0x40


def meter_of(library):
    meter = Gpu(library, "handle").activity_meter()
    assert meter is not None
    return meter


def test_sm_activity_is_a_share_since_the_reading_before(fake_nvml):
    library = fake_nvml(shares=[25.0, 100.0])

    with meter_of(library) as meter:
        shares = [meter.read().sm_active, meter.read().sm_active]

    assert shares == [0.25, 1.0]
    assert library.allocations == 0


@pytest.mark.parametrize("reading", [140737488355328.0, 100.5, -1.0, float("nan")])
def test_a_sentinel_is_no_share(fake_nvml, reading):
    with meter_of(fake_nvml(shares=[reading])) as meter:
        assert meter.read().sm_active is None


@pytest.mark.parametrize("reading", [70368744177664.0, -1.0, float("nan"), float("inf")])
def test_a_sentinel_is_no_traffic(fake_nvml, reading):
    library = fake_nvml(rates=(reading, 0.0, reading, 0.0))

    with meter_of(library) as meter:
        assert meter.read() == GpuActivity(sm_active=0.5)


def test_traffic_both_ways_is_added_up_and_unknown_where_one_way_is(fake_nvml):
    counter = pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC

    with meter_of(fake_nvml(counter)) as meter:
        assert meter.read() == GpuActivity(sm_active=0.5, pcie_bytes_per_s=400 * 2**20)


@pytest.mark.parametrize("silent", ["nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmMetricsGet"])
def test_a_meter_that_fails_reads_nothing(fake_nvml, silent):
    library = fake_nvml(silent)

    with meter_of(library) as meter:
        assert meter.read() == GpuActivity()
    assert library.allocations == 0


def test_a_gpu_before_hopper_has_no_meter(fake_nvml):
    assert Gpu(fake_nvml("nvmlGpmQueryDeviceSupport"), "handle").activity_meter() is None


@pytest.mark.parametrize(
    ("uuid", "visible", "handle"),
    [
        ("GPU-1", "0", "by uuid"),
        ("", "GPU-1,GPU-2", "by uuid"),
        ("GPU-unknown", "1", "by index 1"),
        ("", "", "by index 0"),
        ("", "1,0", "by index 1"),
        ("GPU-7", "", "slice 7"),  # as a framework writes the id of a slice
        ("GPU-7", "MIG-8", "slice 8"),
        ("", "\u00b2", "by index 0"),
        ("", "GPU-\udcff", "by index 0"),
        ("", "MIG-\udcff", "by index 0"),
    ],
)
def test_the_gpu_is_the_one_that_the_workloads_see(fake_nvml, uuid, visible, handle):
    gpu = find_gpu(fake_nvml(), uuid=uuid, environment={"CUDA_VISIBLE_DEVICES": visible})

    assert gpu is not None
    assert gpu.handle == handle


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("", ("GPU-0", "GPU-1")),
        ("1", ("GPU-1",)),
        ("1, 0", ("GPU-1", "GPU-0")),
        ("GPU-1,9,0", ("GPU-1",)),
        ("-1", ()),
        ("9" * 5000, ()),
    ],
)
def test_the_visible_gpus_are_those_that_cuda_would_use(fake_nvml, visible, expected):
    library = fake_nvml()
    library.answers |= {
        "nvmlDeviceGetCount": 2,
        "nvmlDeviceGetUUID": {"by index 0": "GPU-0", "by index 1": "GPU-1", "by uuid": "GPU-1"},
    }

    assert visible_uuids(library, {"CUDA_VISIBLE_DEVICES": visible}) == expected


@pytest.mark.parametrize(
    ("visible", "handle", "expected"),
    [
        ("GPU-b,GPU-a1", "by index 2", ("GPU-b7", "GPU-a1")),
        ("GPU-b,GPU-a,1", "by index 2", ("GPU-b7",)),  # the second may be one of two
        ("GPU-a1", "by index 0", ("GPU-a1",)),
        ("GPU-\udcff", "by index 0", ()),
    ],
)
def test_a_gpu_is_known_by_the_first_characters_of_its_uuid(fake_nvml, visible, handle, expected):
    library = fake_nvml()
    library.answers |= {
        "nvmlDeviceGetCount": 3,
        "nvmlDeviceGetHandleByIndex": {0: "by index 0", 1: "by index 1", 2: "by index 2"},
        "nvmlDeviceGetHandleByUUID": {"GPU-a1": "by index 0", "GPU-b7": "by index 2"},
        "nvmlDeviceGetUUID": {
            "by index 0": "GPU-a1",
            "by index 1": "GPU-a12",
            "by index 2": "GPU-b7",
        },
    }
    environment = {"CUDA_VISIBLE_DEVICES": visible}

    gpu = find_gpu(library, uuid="", environment=environment)

    assert gpu is not None
    assert (gpu.handle, visible_uuids(library, environment)) == (handle, expected)


def test_a_slice_names_its_gpu(fake_nvml):
    library = fake_nvml()
    library.answers |= {
        "nvmlDeviceIsMigDeviceHandle": 1,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": "whole",
        "nvmlDeviceGetUUID": {"slice 7": "MIG-7", "whole": "GPU-1"},
    }

    facts = Gpu(library, "slice 7").facts(visible=["MIG-7"])

    assert (facts.uuid, facts.more_uuids, facts.parent_uuid) == ("MIG-7", (), "GPU-1")


def test_no_gpu_is_none(fake_nvml):
    library = fake_nvml("nvmlDeviceGetHandleByIndex")

    assert find_gpu(library, uuid="", environment={}) is None


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.torch
def test_a_real_gpu_tells_its_facts_and_what_it_does():
    nvml = load_nvml()
    gpu = None if nvml is None else find_gpu(nvml, uuid="", environment={})
    if gpu is None:  # before torch, which takes seconds to import
        pytest.skip("needs a CUDA device")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    product = torch.ones(4096, 4096, device="cuda")
    facts, joules = gpu.facts(), gpu.energy_joules()
    meter = gpu.activity_meter()

    with meter or nullcontext():
        began = time.monotonic()
        while time.monotonic() - began < 5 * READ_EVERY_S:
            product = (product @ product).clamp_(0, 1)
            torch.cuda.synchronize()
        active = None if meter is None else meter.read().sm_active

    properties = torch.cuda.get_device_properties(0)
    assert facts.model == properties.name
    assert facts.uuid == f"GPU-{properties.uuid}"
    assert facts.memory_bytes == pytest.approx(properties.total_memory, rel=0.05)
    assert facts.driver
    assert facts.cuda
    assert 0 < (gpu.state().clock_mhz or 0) <= (facts.max_clock_mhz or 0)
    assert joules is None or (gpu.energy_joules() or 0) > joules
    is_hopper_or_newer = properties.major >= 9
    assert (active is not None) is is_hopper_or_newer
    assert active is None or active > 0.5


@pytest.mark.parametrize(
    ("more_uuids", "handles"),
    [
        ((), ["by index 1", "by index 2"]),
        (("GPU-3", "GPU-2"), ["third", "second"]),  # numbered by speed
        (("GPU-9", "GPU-2"), []),  # with an unknown one the places of the others are unknown
    ],
)
def test_a_gpu_comes_with_the_others_in_the_order_of_the_framework(fake_nvml, more_uuids, handles):
    library = fake_nvml()
    indices = {place: f"by index {place}" for place in range(3)}
    uuids = {"by uuid": "GPU-1"} | {f"by index {place}": f"GPU-{place + 1}" for place in range(3)}
    library.answers |= {
        "nvmlDeviceGetCount": 3,
        "nvmlDeviceGetHandleByIndex": indices,
        "nvmlDeviceGetHandleByUUID": {"GPU-1": "by uuid", "GPU-2": "second", "GPU-3": "third"},
        "nvmlDeviceGetUUID": uuids,
    }

    gpu = find_gpu(library, uuid="GPU-1", more_uuids=more_uuids, environment={})

    assert [each.handle for each in gpu.more] == handles


def test_a_slice_has_no_other_gpu_beside_it(fake_nvml):
    library = fake_nvml()
    library.answers["nvmlDeviceIsMigDeviceHandle"] = 1

    gpu = find_gpu(library, uuid="MIG-7", environment={"CUDA_VISIBLE_DEVICES": "MIG-7,MIG-8"})

    assert gpu.more == ()
