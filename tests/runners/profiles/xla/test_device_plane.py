import pytest

from perfledger.profile import ProfiledDevice
from perfledger_profiles.xla.device_plane import device_work, is_device, profiled_device

TPU_STATS = {
    "device_type_string": "TPU v6 Lite",
    "peak_teraflops_per_second": 918.0,
    "peak_hbm_bw_gigabytes_per_second": 1637.993152512,
}
GPU_STATS = {
    "gpu_device_name": "NVIDIA H100 80GB HBM3",
    "device_type_string": "Nvidia GPU",
    "compute_cap_major": 9,
    "compute_cap_minor": 0,
    "core_count": 132,
    "memory_size": 85_000_000_000,
    "memory_bandwidth": 3_352_000_000_000,
}


def test_a_tpu_states_its_peaks(planes):
    found_planes = [planes.plane(f"/device:TPU:{n}", stats=TPU_STATS) for n in range(4)]

    assert profiled_device(found_planes) == ProfiledDevice(
        name="TPU v6 Lite",
        peak_flops=918e12,
        peak_bytes_per_second=1637.993152512e9,
        count=4,
    )


def test_a_gpu_states_what_it_is_made_of(planes):
    found_profiled_device = profiled_device([planes.plane("/device:GPU:0", stats=GPU_STATS)])

    assert found_profiled_device == ProfiledDevice(
        name="NVIDIA H100 80GB HBM3",
        memory_bytes=85_000_000_000,
        compute_capability="9.0",
        multiprocessors=132,
        peak_bytes_per_second=3.352e12,
    )


def test_an_amd_gpu_is_no_generation_of_nvidias(planes):
    stats = {
        "device_vendor": "AMD",
        "compute_cap_major": 9,
        "compute_cap_minor": 4,
        "core_count": 304,
        "memory_size": 206_141_652_992,
        "memory_bandwidth": 2_662_400_000_000,  # half of an MI300X's
    }

    assert profiled_device([planes.plane("/device:GPU:0", stats=stats)]) == ProfiledDevice(
        name="AMD", memory_bytes=206_141_652_992, multiprocessors=304
    )


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"device_type_string": "", "memory_size": 0},
        {"peak_teraflops_per_second": float("nan")},
        {"peak_teraflops_per_second": "918", "memory_bandwidth": -1},
    ],
)
def test_a_device_that_says_nothing_of_use_is_unknown(planes, stats):
    assert profiled_device([planes.plane("/device:TPU:0", stats=stats)]) is None
    assert profiled_device([]) is None


def test_a_tpus_sparse_cores_and_the_host_are_no_devices(planes):
    names = ["/device:TPU:0", "/device:GPU:11", "/device:TPU:0 SparseCore 0", "/host:CPU"]

    assert [is_device(planes.plane(name)) for name in names] == [True, True, False, False]


def test_operations_that_follow_on_each_other_are_in_no_one_else(planes):
    work = device_work(
        planes.plane(
            "/device:TPU:0",
            planes.line("XLA Ops", planes.event("a", 0, 10), planes.event("b", 10, 10)),
        )
    )

    assert [(call.picoseconds, call.is_leaf) for call in work.calls] == [(10_000, True)] * 2


def test_a_stream_whose_name_is_broken_is_told_at_once(planes):
    name = "Stream #1" + "(" * 500_000
    events = [planes.event("gemm", n, 1) for n in range(20)]

    work = device_work(planes.plane("/device:GPU:0", planes.line(name, *events)))

    assert {call.lane for call in work.calls} == {"Stream #1"}
