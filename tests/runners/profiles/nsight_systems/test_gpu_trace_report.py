import pytest

from perfledger_profiles.nsight_systems.gpu_trace_report import GpuTimeline
from perfledger_profiles.nsight_systems.report_tables import records_of
from perfledger_profiles.timeline.trace import UNKNOWN, CallKind

HEAD = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,Bytes (MB),"
    "SrcMemKd,DstMemKd,Device,Strm,Name"
)
GEMM = "1000,2000,1,9,32,1,384,1,1,168,,,,A100 (0),7,gemm_kernel"
COPY = "4000,1000,2,,,,,,,,0.024,Pageable,Device,A100 (0),7,[CUDA memcpy HtoD]"
MEMSET = "6000,500,3,,,,,,,,0.001,,Device,A100 (0),7,[CUDA memset]"


def trace_of(*lines):
    timeline = GpuTimeline()
    added = [timeline.add(record) for record in filter(None, records_of([HEAD, *lines]))]
    return timeline.trace(dropped=added.count(False), notes=())


def device(cell, *, start=1000):
    return GEMM.replace("A100 (0)", cell).replace("1000", str(start), 1)


def test_kernels_have_a_launch_and_copies_have_bytes():
    trace = trace_of(GEMM, COPY, MEMSET)

    assert trace.names == ("gemm_kernel", "Memcpy HtoD (Pageable -> Device)", "Memset (Device)")
    assert trace.kind.tolist() == [CallKind.KERNEL, CallKind.COPY, CallKind.MEMSET]
    assert trace.start_ns.tolist() == [0, 3000, 5000]
    assert trace.end_ns.tolist() == [2000, 4000, 5500]
    assert trace.bytes.tolist() == [UNKNOWN, 24_000, 1000]
    launch = trace.launches[trace.launch[0]]
    assert (launch.grid, launch.block, launch.registers) == ((9, 32, 1), (384, 1, 1), 168)
    assert launch.shared_memory_bytes is None


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("[CUDA memcpy Device-to-Host]", "Memcpy DtoH (Pageable -> Device)"),
        ("[CUDA memcpy Peer-to-Peer]", "Memcpy PtoP (Pageable -> Device)"),
        ("[CUDA memcpy somewhere]", "[CUDA memcpy somewhere]"),
    ],
)
def test_copies_have_the_names_of_torch(printed, name):
    assert trace_of(COPY.replace("[CUDA memcpy HtoD]", printed)).names == (name,)


@pytest.mark.parametrize(
    "line", [",1,1,,,,,,,,,,,d,7,k", "1,-1,1,,,,,,,,,,,d,7,k", "1,1,1" + "," * 13]
)
def test_a_row_without_time_or_name_counts_as_dropped(line):
    trace = trace_of(GEMM, line)

    assert (trace.name.size, trace.dropped_events) == (1, 1)


@pytest.mark.parametrize(
    ("cells", "numbers", "models"),
    [
        (["A100 (0)"], [0], ["A100"]),
        (["A100 (3)"], [3], ["A100"]),
        (["A100 (0)", "H100 (2)"], [0, 2], ["A100", "", "H100"]),
        (["A100", "H100"], [0, 1], ["A100", "H100"]),
        (["A100 (99999)"], [0], ["A100 (99999)"]),
        (["A100 (9999)", "A100 (0)"], [9999, 0], ["A100"]),
        ([""], [0], []),
    ],
)
def test_devices_have_the_printed_number_else_their_place(cells, numbers, models):
    trace = trace_of(*(device(cell) for cell in cells))

    assert [trace.lanes[lane].process for lane in trace.lane] == numbers
    assert [one.name for one in trace.devices] == models


def test_streams_of_a_device_are_apart():
    trace = trace_of(GEMM, GEMM.replace(",7,gemm", ",13,gemm"))

    assert trace.stream.tolist() == [7, 13]


def test_a_timeline_without_rows_is_false():
    assert not GpuTimeline()


def test_a_time_beyond_every_clock_costs_its_row():
    trace = trace_of(GEMM, device("A100 (0)", start="9" * 40))

    assert (trace.name.size, trace.dropped_events) == (1, 1)
