from typing import Any

import pytest

from perfledger_profiles.benchmark_tools import nccl_rows
from perfledger_profiles.benchmark_tools.nccl_rows import NcclTiming, read_rows

HEAD = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
ROW = "1024 256 float sum -1 10.0 0.1 0.2 0 20.0 0.05 0.1 N/A"


def test_a_row_has_both_timings_in_seconds():
    table = read_rows([HEAD, ROW])

    (row,) = table.rows
    ten_us: Any = pytest.approx(10e-6)
    assert (row.size_bytes, row.words) == (1024, ("float", "sum"))
    assert row.out_of_place == NcclTiming(
        seconds=ten_us,
        algorithm_gb_per_second=0.1,
        bus_gb_per_second=0.2,
        wrong=0.0,
        wrong_name="wrong",
    )
    assert row.in_place.wrong is None
    assert (table.has_operation_column, table.has_root_column, table.dropped) == (True, True, 0)


@pytest.mark.parametrize(
    "tag", ["[1,0]<stdout>:", "0: ", "[pod/worker-0/main] ", "2026-01-02T03:04:05.678Z "]
)
def test_a_launchers_prefix_is_no_part_of_a_row(tag):
    assert read_rows([tag + HEAD, tag + ROW]).rows == read_rows([HEAD, ROW]).rows


def test_rows_need_a_header():
    assert read_rows([ROW]).rows == ()


@pytest.mark.parametrize(
    "row", ["1024 256", "1024 256 float sum -1 10.0 0.1", "1024 1 f x x -1 1 1"]
)
def test_a_torn_row_is_counted(row):
    table = read_rows([HEAD, row, ROW])

    assert (len(table.rows), table.dropped) == (1, 1)


def test_the_older_column_of_deviations_keeps_its_name():
    (row,) = read_rows(["size count type time algbw busbw error", "8 2 float 1.0 1.0 1.0 0.5"]).rows

    assert (row.in_place.wrong, row.in_place.wrong_name) == (0.5, "error")
    assert row.out_of_place is None


@pytest.mark.parametrize("bandwidth", ["N/A", "-1.0", "0"])
def test_a_bandwidth_that_is_no_amount_is_zero(bandwidth):
    (row,) = read_rows([HEAD, ROW.replace("0.05 0.1", f"{bandwidth} {bandwidth}")]).rows

    assert (row.in_place.algorithm_gb_per_second, row.in_place.bus_gb_per_second) == (0.0, 0.0)


def test_rows_beyond_the_most_are_left_out_with_a_note(monkeypatch):
    monkeypatch.setattr(nccl_rows, "MAX_ROWS", 2)

    tables = [read_rows([HEAD, *[ROW] * count]) for count in (1, 2, 3)]

    assert [len(table.rows) for table in tables] == [1, 2, 2]
    assert [bool(table.notes) for table in tables] == [False, True, True]
