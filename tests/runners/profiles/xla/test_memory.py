"""What XLA's allocators say among the host's events."""

import pytest

from perfledger.records import Side
from perfledger_profiles.xla.planes_to_profile import profile_of_planes


@pytest.fixture
def memory(planes):
    """Return the points of a profile of two chips, a step of 100 ns, and these events."""

    def memory(*events, thread="worker"):
        return profile_of_planes(
            [
                planes.host(
                    planes.line("main", planes.event("step", 0, 100, step_num=1)),
                    planes.line(thread, *events),
                ),
                *(
                    planes.plane(
                        f"/device:TPU:{number}",
                        planes.line("XLA Ops", planes.event("dot.1", 10, 40)),
                    )
                    for number in range(2)
                ),
            ],
            workload="m:f",
            side=Side.HEAD,
        )

    return memory


@pytest.fixture
def memory_planes(planes):
    def memory_planes(name, at, **stats):
        return planes.event(name, at, 0, **stats)

    return memory_planes


def test_what_is_in_use_after_each_allocation_is_the_memory_of_its_device(memory, memory_planes):
    profile = memory(
        memory_planes(
            "MemoryDeallocation", 60, index_on_host=0, bytes_reserved=8, bytes_allocated=100
        ),
        memory_planes(
            "MemoryAllocation", 20, index_on_host=0, bytes_reserved=8, bytes_allocated=500
        ),
        memory_planes(
            "MemoryAllocation", 30, index_on_host=1, bytes_reserved=0, bytes_allocated=50
        ),
    )

    points = [(one.device, one.seconds, one.allocated_bytes) for one in profile.memory]
    assert points == [
        ("TPU:0", pytest.approx(20e-9), 508.0),
        ("TPU:0", pytest.approx(60e-9), 108.0),
        ("TPU:1", pytest.approx(30e-9), 50.0),
    ]
    assert profile.reading("peak_mem_allocated", subject="TPU:0") == 508.0


def test_an_allocator_goes_by_its_name_and_the_hosts_own_is_not_the_devices(memory, memory_planes):
    profile = memory(
        memory_planes("MemoryAllocation", 20, allocator_name="GPU_0_bfc", bytes_allocated=500),
        memory_planes("MemoryAllocation", 30, allocator_name="gpu_host_bfc", bytes_allocated=900),
    )

    assert [one.device for one in profile.memory] == ["cpu (gpu_host_bfc)", "GPU_0_bfc"]


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"bytes_allocated": "many"},
        {"bytes_allocated": -5},
        {"bytes_allocated": 2**63, "index_on_host": 2**40},
        {"bytes_allocated": 2.5},
    ],
)
def test_what_is_no_number_of_bytes_is_no_point(memory, memory_planes, stats):
    assert memory(memory_planes("MemoryAllocation", 20, **stats)).memory == ()


def test_memory_outside_the_steps_is_left_out(memory, memory_planes):
    assert (
        memory(memory_planes("MemoryAllocation", 200, index_on_host=0, bytes_allocated=5)).memory
        == ()
    )
