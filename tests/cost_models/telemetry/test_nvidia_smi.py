"""Rows in the shape that `nvidia-smi --query-gpu` documents; none was recorded."""

import pytest

from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

HEADER = "timestamp, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"
ROWS = """\
2026/11/20 10:00:00.125, GPU-aa, NVIDIA H100 80GB HBM3, 40 %, 20390 MiB, 81559 MiB
2026/11/20 10:00:00.130, GPU-bb, NVIDIA H100 80GB HBM3, [N/A], 0 MiB, 81559 MiB
2026/11/20 10:00:15.125, GPU-aa, NVIDIA H100 80GB HBM3, 60 %, 20390 MiB, 81559 MiB
2026/11/20 10:00:15.130, GPU-bb, NVIDIA H100 80GB HBM3, 5 %, 0 MiB, 81559 MiB
"""


def read(rows=ROWS, header=HEADER, name="node-7.csv"):
    return read_activity(f"{header}\n{rows}".encode(), name)


def test_each_device_of_the_host_has_its_utilization_and_memory():
    by_device = {
        (each.device, each.signal): each for each in read().activities if "aa" in each.device
    }

    util = by_device["node-7 GPU-aa", Signal.GPU_UTIL]
    assert util.shares.tolist() == pytest.approx([0.4, 0.6])
    assert util.model == "NVIDIA H100 80GB HBM3"
    memory = by_device["node-7 GPU-aa", Signal.MEMORY]
    assert memory.shares.tolist() == pytest.approx([20390 / 81559] * 2)


def test_values_that_are_not_supported_are_unknown():
    (other,) = (
        each for each in read().activities if "bb" in each.device and each.signal is Signal.GPU_UTIL
    )

    assert other.shares.tolist() == pytest.approx([0.05])


def test_cells_without_units_are_the_same():
    plain_text = ROWS.replace(" %", "").replace(" MiB", "")

    assert [each.shares.tolist() for each in read(plain_text).activities] == [
        each.shares.tolist() for each in read().activities
    ]


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (ROWS, HEADER.replace("timestamp, ", ""), "no timestamp or no uuid"),
        (ROWS, HEADER.replace("uuid, ", ""), "no timestamp or no uuid"),
        ("2026/11/20 10:00:00, GPU-aa\n", HEADER, "line 2: 2 cells for 6 columns"),
        (ROWS.replace("40 %", "many"), HEADER, "line 2, utilization.gpu: 'many' is not a number"),
        (ROWS.replace("2026/11/20 10:00:00.125", "noon"), HEADER, "line 2: 'noon' is not a time"),
    ],
)
def test_an_error_names_what_is_missing_or_wrong(rows, header, message):
    with pytest.raises(UsageFileError, match=message):
        read(rows, header)


def test_a_decimal_comma_that_moves_the_cells_is_no_reading():
    with pytest.raises(UsageFileError, match="line 2: 7 cells for 6 columns: quote cells"):
        read(ROWS.replace("40 %", "40,5 %"))


@pytest.mark.parametrize("cell", ["1 234 MiB", "1\u00a0234 MiB", "1,5 MiB", "1.234,5", "MiB"])
def test_a_number_in_another_notation_is_refused(cell):
    header = HEADER.replace(", ", ";")
    row = ";".join(["2026/11/20 10:00:00", "GPU-aa", "H100", "40 %", cell, "81559 MiB"])

    with pytest.raises(UsageFileError, match="line 2, memory"):
        read(row, header)
