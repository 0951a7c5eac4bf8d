import pytest

from perfledger.profile import OperationFamily
from perfledger_profiles.nsight_systems.gpu_trace_report import (
    GpuTraceRow,
    busy_readings,
    traced_device,
    traced_kernels,
    work_of,
)
from perfledger_profiles.nsight_systems.report_tables import records_of

HEAD = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,Bytes (MB),Device,Name"
)
GEMM = "1000,2000,1,9,32,1,384,1,1,168,,A100 (0),gemm_kernel"
COPY = "4000,1000,2,,,,,,,,0.024,A100 (0),[CUDA memcpy HtoD]"


def row(start, seconds, *, device="A100 (0)", name="gemm", grid="1,1,1"):
    return GpuTraceRow(
        name=name,
        grid=grid,
        block="1,1,1",
        registers=32,
        start_seconds=start,
        seconds=seconds,
        bytes=None,
        device=device,
    )


def test_kernels_have_a_launch_shape_and_copies_have_bytes():
    kernel, copy = (work_of(record) for record in filter(None, records_of([HEAD, GEMM, COPY])))

    assert (kernel.grid, kernel.block, kernel.registers) == ("9,32,1", "384,1,1", 168)
    assert kernel.seconds == pytest.approx(2e-6)
    assert (copy.grid, copy.registers, copy.bytes) == ("", None, pytest.approx(24e3))


@pytest.mark.parametrize("line", [",1,1,,,,,,,,,d,k", "1,-1,1,,,,,,,,,d,k", "1,1,1,,,,,,,,,d,"])
def test_a_row_without_time_or_name_is_none(line):
    (record,) = filter(None, records_of([HEAD, line]))

    assert work_of(record) is None


def test_kernels_are_summed_by_name_and_launch_shape():
    found = traced_kernels([row(0, 1), row(2, 2), row(4, 4, grid="2,1,1")])

    assert [(k.seconds, k.count, k.grid) for k in found] == [(3, 2, "1,1,1"), (4, 1, "2,1,1")]
    assert {k.family for k in found} == {OperationFamily.GEMM}


def test_the_device_is_named_and_counted():
    device = traced_device([row(0, 1), row(1, 1, device="A100 (1)")])

    assert (device.name, device.count) == ("A100", 2)
    assert traced_device([row(0, 1, device="")]) is None


def test_each_device_is_busy_between_its_first_and_last_event():
    rows = [row(0, 2), row(1, 2), row(6, 2), row(0, 1, device="A100 (1)")]

    assert {r.subject: r.value for r in busy_readings(rows)} == {
        "gpu 0": pytest.approx(5 / 8),
        "gpu 1": pytest.approx(1.0),
    }


@pytest.mark.parametrize(("registers", "expected"), [(2**31 - 1, 2**31 - 1), (2**31, None)])
def test_more_registers_than_an_integer_holds_are_unknown(registers, expected):
    (record,) = filter(None, records_of([HEAD, GEMM.replace("168", str(registers))]))

    assert work_of(record).registers == expected
