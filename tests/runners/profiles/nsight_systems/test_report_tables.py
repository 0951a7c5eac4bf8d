import pytest

from perfledger_profiles.nsight_systems.report_tables import NsysReport, header_of, records_of

KERNELS = "Time (%),Total Time (ns),Instances,Name"
API = "Time (%),Total Time (ns),Num Calls,Name"


@pytest.mark.parametrize(
    ("header", "report"),
    [
        ("Start (ns),Duration (ns),CorrId,GrdX,Name", NsysReport.GPU_TRACE),
        ("Count,KAvg (ns),Kernel Name", NsysReport.LAUNCHES),
        ("Range,Total Proj Time (ns)", NsysReport.PROJECTED_RANGES),
        ("Total Time (ns),Instances,Range", NsysReport.RANGES),
        ("Total Time (ns),Count,Operation", NsysReport.COPY_TIMES),
        ("Total (MB),Operations,Operation", NsysReport.COPY_SIZES),
        (API, NsysReport.API),
        (KERNELS, NsysReport.KERNELS),
    ],
)
def test_a_report_is_known_by_its_columns(header, report):
    report_header = header_of(header.split(","))

    assert (report_header.report, report_header.width) == (report, header.count(",") + 1)


@pytest.mark.parametrize("header", ["Name,Age", "Total Time (ns),Name", ",,"])
def test_other_columns_are_no_header(header):
    assert header_of(header.split(",")) is None


def test_cells_have_their_text_and_their_value_in_si_units():
    (record,) = records_of([KERNELS, "100.0,3000,2, gemm "])

    assert record.text("name") == "gemm"
    assert record.value("total time", "s") == pytest.approx(3e-6)
    assert record.value("instances") == 2
    assert record.value("total time", "B") is None
    assert (record.text("median"), record.value("median")) == ("", None)


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("75.794 ms", 75.794e-3),
        ("5.819 \u03bcs", 5.819e-6),
        ("1,024.5 s", 1024.5),
        ("241 ns", 241e-9),
    ],
)
def test_a_cell_may_have_its_own_unit_where_the_title_has_none(cell, seconds):
    head = "Time,Total Time,Instances,Avg,Name"

    (record,) = records_of([head, f'100%,"{cell}",13024,1 ns,gemm'])

    assert record.report is NsysReport.KERNELS
    assert record.value("total time", "s") == pytest.approx(seconds)
    assert record.value("instances") == 13024


@pytest.mark.parametrize("cell", ["75.794", "75.794 MB", "ms", " ms", "75 bananas", "-1 ms"])
def test_a_cell_of_another_or_no_unit_is_none(cell):
    (record,) = records_of(["Time,Total Time,Instances,Name", f"100%,{cell},1,gemm"])

    assert record.value("total time", "s") is None


def test_an_unquoted_name_keeps_its_commas():
    (record,) = records_of([KERNELS, "100.0,3000,2,gemm<float, 128>"])

    assert record.text("name") == "gemm<float, 128>"


def test_a_torn_row_is_none():
    assert list(records_of([KERNELS, "100.0,3000"])) == [None]


def test_rows_below_another_header_are_skipped():
    assert list(records_of([KERNELS, "Unread,Report", "1,2"])) == []


@pytest.mark.parametrize(
    ("line", "name", "report"),
    [
        (" ** OS Runtime Summary (osrt_sum):", "cudaLaunchKernel", NsysReport.OS_RUNTIME),
        (" ** CUDA API Summary (cuda_api_sum):", "ioctl", NsysReport.API),
        ("Processing", "cudaLaunchKernel", NsysReport.API),
        ("Processing", "ioctl", NsysReport.OS_RUNTIME),
    ],
)
def test_the_line_above_or_the_function_tells_the_api_from_the_system(line, name, report):
    (record,) = records_of([line, API, f"100.0,3000,2,{name}"])

    assert record.report is report
