import pytest

from perfledger_profiles.nsight_systems.export_columns import NsysColumns
from perfledger_profiles.timeline.trace import UNKNOWN, CallKind, LaunchConfiguration

PROCESS = 5 << 24
THREAD = PROCESS | 77
STRINGS = {1: "gemm", 2: "cudaLaunchKernel"}
LAUNCH = (9, 32, 1, 384, 1, 1, 168, 1024, 2048)


@pytest.fixture
def columns():
    return NsysColumns(STRINGS)


def trace_of(columns):
    return columns.trace(devices=(), notes=())


def test_times_begin_at_the_first_call(columns):
    columns.add_call(CallKind.RUNTIME, 1000, 1010, THREAD, 2, correlation=3)
    columns.add_work(CallKind.KERNEL, (1020, 1050, 0, 7, 3, PROCESS), 1, launch=LAUNCH)

    trace = trace_of(columns)

    assert trace.epoch_ns == 1000
    assert [trace.names[name] for name in trace.name.tolist()] == ["cudaLaunchKernel", "gemm"]
    assert (trace.start_ns.tolist(), trace.end_ns.tolist()) == ([0, 20], [10, 50])
    assert trace.correlation[0] == trace.correlation[1] != UNKNOWN
    assert [lane.is_device for lane in trace.lanes] == [False, True]
    assert trace.launches == (
        LaunchConfiguration(
            grid=(9, 32, 1), block=(384, 1, 1), registers=168, shared_memory_bytes=3072
        ),
    )


def test_a_number_counts_for_its_own_process_alone(columns):
    other = 6 << 24
    for process in (PROCESS, other):
        columns.add_call(CallKind.RUNTIME, 0, 1, process | 77, 2, correlation=3)
        columns.add_work(CallKind.KERNEL, (2, 3, 0, 7, 3, process), 1)

    first, first_kernel, second, second_kernel = trace_of(columns).correlation.tolist()

    assert first == first_kernel
    assert second == second_kernel
    assert first != second


@pytest.mark.parametrize("times", [(5, 4), (-1, 4), (None, 4), (0, 2**62), ("0", 1)])
def test_a_row_without_valid_times_is_counted(columns, times):
    columns.add_call(CallKind.OPERATOR, *times, THREAD, "forward")

    trace = trace_of(columns)

    assert (trace.name.size, trace.dropped_events) == (0, 1)


def test_a_graph_is_one_kernel(columns):
    columns.add_graph((0, 10, 0, 7, 3, PROCESS))

    trace = trace_of(columns)

    assert columns.has_graphs
    assert (trace.names, trace.kind.tolist()) == (("(CUDA graph)",), [CallKind.KERNEL])


def test_unknown_numbers_and_strings_are_empty(columns):
    columns.add_work(CallKind.COPY, (0, 1, None, None, None, None), 99, moved_bytes=-1)

    trace = trace_of(columns)

    assert trace.names == ("",)
    assert {trace.stream[0], trace.launch[0], trace.bytes[0]} == {UNKNOWN}


def test_a_process_is_in_the_24_bits_above_the_thread(columns):
    """The machine is above them, by NVIDIA's manual."""
    machine, process, thread = 3 << 48, 0xABCDEF << 24, 0xFEDCBA
    columns.add_call(CallKind.RUNTIME, 0, 1, machine | process | thread, 2, correlation=3)

    (lane,) = trace_of(columns).lanes

    assert lane.process == 0xABCDEF


@pytest.mark.parametrize(
    ("launch", "grid", "block", "shared_memory_bytes"),
    [
        ((1, 1, 1, 1, 1, 1, 16, 0, 0), (1, 1, 1), (1, 1, 1), 0),
        ((0, 1, 1, 1, 1, 0, 16, 1, 2), None, None, 3),
        ((1, 1, 1, 1, 1, 1, 16, None, 2), (1, 1, 1), (1, 1, 1), None),
        ((1, 1, 1, 1, 1, 1, 16, 2, -1), (1, 1, 1), (1, 1, 1), None),
    ],
)
def test_a_launch_has_sides_of_one_or_more_and_memory_of_none_or_more(
    columns, launch, grid, block, shared_memory_bytes
):
    columns.add_work(CallKind.KERNEL, (0, 1, 0, 7, 3, PROCESS), 1, launch=launch)

    assert trace_of(columns).launches[-1] == LaunchConfiguration(
        grid=grid, block=block, registers=16, shared_memory_bytes=shared_memory_bytes
    )
