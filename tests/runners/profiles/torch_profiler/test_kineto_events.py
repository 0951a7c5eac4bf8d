import pytest

from perfledger_profiles.timeline.trace import UNKNOWN, CallKind, LaunchConfiguration
from perfledger_profiles.torch_profiler.kineto import read_kineto_trace

SHAPE = {"grid": [64, 2, 1], "block": [128, 1, 1], "registers per thread": 90}


def calls(trace):
    """Return the name and kind of each call of a trace."""
    return [
        (trace.names[name], CallKind(kind))
        for name, kind in zip(trace.name.tolist(), trace.kind.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("kernel", CallKind.KERNEL),
        ("Kernel", CallKind.KERNEL),
        ("mtia_ccp_events", CallKind.KERNEL),
        ("gpu_memcpy", CallKind.COPY),
        ("Memcpy", CallKind.COPY),
        ("gpu_memset", CallKind.MEMSET),
        ("cuda_sync", CallKind.DEVICE_WAIT),
        ("gpu_user_annotation", CallKind.DEVICE_ANNOTATION),
        ("cpu_op", CallKind.OPERATOR),
        ("Operator", CallKind.OPERATOR),
        ("user_annotation", CallKind.ANNOTATION),
        ("cuda_runtime", CallKind.RUNTIME),
        ("cuda_driver", CallKind.RUNTIME),
        ("hip_runtime", CallKind.RUNTIME),
        ("xpu_runtime", CallKind.RUNTIME),
        ("mtia_runtime", CallKind.RUNTIME),
    ],
)
def test_categories_of_all_versions_and_devices_have_a_kind(trace, category, kind):
    assert calls(trace.add("a", 0, 1, cat=category).columns()) == [("a", kind)]


def test_what_takes_no_time_of_its_own_is_no_call(trace):
    trace.add("a", 0, 1).add("f.py(3): g", 0, 1, cat="python_function").add("x", 0, 1, cat="ac2g")

    assert calls(trace.columns()) == [("a", CallKind.OPERATOR)]


@pytest.mark.parametrize(("start", "duration", "dropped"), [(0, 0, 0), (-1, 1, 1), (1, -1, 1)])
def test_a_call_may_take_no_time_but_no_negative_one(trace, start, duration, dropped):
    columns = trace.add("a", start, duration).add("b", 5, 1).columns()

    assert columns.dropped_events == dropped
    assert [name for name, _ in calls(columns)] == ["a", "b"][dropped:]


def test_times_are_whole_nanoseconds_since_the_first_call(trace):
    columns = trace.add("a", 1661203462598738.25, 0.5).add("b", 1661203462598739, 2).columns()

    assert columns.start_ns.tolist() == [0, 750]
    assert columns.end_ns.tolist() == [500, 2750]
    assert columns.epoch_ns == 1661203462598738250


def test_large_times_lose_no_nanosecond(trace):
    columns = (
        trace.add("a", 4458676416788.066, 1)
        .add("Memcpy DtoD", 4458677058538.88, 5.12)
        .add("cudaStreamGetPriority", 4458676751907.27, 0.73)
        .columns()
    )

    assert columns.start_ns.tolist() == [0, 641_750_814, 335_119_204]
    assert columns.end_ns.tolist() == [1000, 641_755_934, 335_119_934]


def test_how_a_kernel_was_launched_is_kept_once_for_all_alike(trace):
    extra = {"shared memory": 49152, "blocks per SM": 0.59, "warps per SM": 2.37}
    for number in range(3):
        trace.add("gemm", number, 1, cat="kernel", thread=(0, 7), **SHAPE, **extra)

    columns = trace.columns()

    assert columns.launch.tolist() == [0, 0, 0]
    assert columns.launches == (
        LaunchConfiguration(
            grid=(64, 2, 1),
            block=(128, 1, 1),
            registers=90,
            shared_memory_bytes=49152,
        ),
    )


def test_a_kernel_may_use_no_registers_and_no_shared_memory(trace):
    none = {"registers per thread": 0, "shared memory": 0}

    (launch,) = trace.add("k", 0, 1, cat="kernel", **none).columns().launches

    assert (launch.registers, launch.shared_memory_bytes) == (0, 0)


def test_what_a_collective_moves_is_kept(trace):
    text = {
        "Collective name": "allreduce",
        "In msg nelems": 1024,
        "dtype": "BFloat16",
        "Group size": 8,
    }
    trace.add("ncclDevKernel_AllReduce", 0, 1, cat="kernel", **text)

    (launch,) = trace.columns().launches

    assert (launch.collective, launch.elements) == ("allreduce", 1024)
    assert (launch.element_type, launch.ranks) == ("BFloat16", 8)


def test_what_is_not_of_its_type_is_unknown_and_costs_no_event(trace):
    odd = {"grid": "64,1,1", "block": [1, 2], "registers per thread": -4, "dtype": {"a": 1}}
    trace.add("gemm", 0, 1, cat="kernel", stream="x", correlation=None, **odd)
    trace.add("gemm", 0, 1, cat="kernel", stream="7", correlation=2**80, grid=[1, 0, 1])
    trace.add("Memcpy HtoD", 0, 1, cat="gpu_memcpy", stream=1.0, bytes="much")
    trace.add("Memset", 0, 1, cat="gpu_memset", stream="", bytes=None)

    columns = trace.columns()

    assert columns.launches == (LaunchConfiguration(),) * len(columns.launches)
    assert columns.stream.tolist() == [UNKNOWN, 7, 1, UNKNOWN]
    assert columns.correlation.tolist() == [UNKNOWN] * 4
    assert columns.bytes.tolist() == [UNKNOWN] * 4
    assert columns.dropped_events == 0


def test_a_host_and_a_device_with_one_number_are_two_lanes(trace):
    trace.add("a", 0, 1, thread=(0, 7)).add("gemm", 0, 1, cat="kernel", thread=(0, 7))

    columns = trace.columns()

    assert [lane.is_device for lane in columns.lanes] == [False, True]
    assert columns.lane.tolist() == [0, 1]


def test_memory_is_followed_device_by_device(trace):
    for device_type, device, allocated in ((0, -1, 3456), (1, 0, 10), (77, 2, 5)):
        text = {"Device Type": device_type, "Device Id": device, "Total Allocated": allocated}
        trace.events.append({"ph": "i", "name": "[memory]", "ts": 7, "args": text})
    trace.add("a", 5, 1)

    memory = trace.columns().memory

    assert memory.devices == ("cpu", "cuda:0", "device type 77:2")
    assert memory.time_ns.tolist() == [2000] * 3
    assert memory.allocated_bytes.tolist() == [3456, 10, 5]
    assert memory.reserved_bytes.tolist() == [UNKNOWN] * 3


@pytest.mark.parametrize(
    ("stated", "share"),
    [
        (37, 0.37),
        (0.5, 0.005),
        (100, 1.0),
        (0, None),
        (101, None),
        (-1, None),
        ("37", None),
        (None, None),
    ],
)
def test_the_stated_occupancy_is_a_share_and_0_says_nothing(trace, stated, share):
    text = {"est. achieved occupancy %": stated}

    (launch,) = trace.add("k", 0, 1, cat="kernel", **text).columns().launches

    assert launch.occupancy == share


def test_the_devices_and_the_rank_are_read_from_the_header(trace):
    device = {"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 4, "numSms": 108}
    trace.header = {
        "deviceProperties": [device | {"computeMajor": 8, "computeMinor": 0, "warpSize": 32}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
    }
    columns = trace.add("a", 0, 1).columns()

    (found_device,) = columns.devices
    assert (found_device.name, found_device.memory_bytes, found_device.multiprocessors) == (
        "NVIDIA A100",
        4,
        108,
    )
    assert found_device.compute_capability == "8.0"
    assert (columns.rank, columns.backend) == (3, "nccl")


def test_an_amd_device_has_no_nvidia_capability(trace):
    device = {"name": "AMD Instinct MI250X", "computeMajor": 9, "computeMinor": 0, "warpSize": 64}
    trace.header = {"deviceProperties": [device]}

    (found_device,) = trace.add("a", 0, 1).columns().devices

    assert found_device.compute_capability == ""


def test_a_header_with_bad_utf8_says_nothing(trace):
    trace.header = {
        "deviceProperties": [{"name": "A?00"}],
        "distributedInfo": {"backend": "n?cl", "rank": 3},
    }
    data = trace.add("a", 0, 1).data().replace(b"?", b"\xff")

    columns = read_kineto_trace(data)

    assert (columns.devices, columns.rank, columns.backend) == ((), None, "")


@pytest.mark.parametrize("header", [[], 7, [{"name": 3}], {"a": 1}, None])
def test_an_odd_header_says_nothing(trace, header):
    trace.header = {"deviceProperties": header, "distributedInfo": header}

    columns = trace.add("a", 0, 1).columns()

    assert (columns.devices, columns.rank, columns.backend) == ((), None, "")
