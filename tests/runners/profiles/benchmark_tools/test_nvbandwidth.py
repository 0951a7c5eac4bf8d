import json

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.nvbandwidth import read_nvbandwidth
from perfledger_profiles.formats import ProfileFormat, detect_format
from perfledger_profiles.parsing.errors import ProfileError

# The layout of nvbandwidth v0.8's output.
TEXT = """nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
Driver Version: 572.83

example-host
Device 0: NVIDIA A10 (00000000:01:00)
Device 1: NVIDIA A10 (00000000:02:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     12.98     13.02

SUM host_to_device_memcpy_ce 26.00

Waived:
Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     45.10
 1     45.20       N/A

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    613.22    614.00
"""
CASE = {
    "name": "host_to_device_memcpy_ce",
    "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s) ",
    "bandwidth_matrix": [["12.3964"]],
    "status": "Passed",
}
WAIVED = {"name": "device_to_device_memcpy_read_ce", "status": "Waived"}


def read(text):
    return read_nvbandwidth(text.encode(), workload="m:f", side=Side.HEAD)


def document(*cases):
    return json.dumps({"nvbandwidth": {"Driver Version": "565.02", "testcases": list(cases)}})


def test_each_cell_of_a_matrix_is_a_reading():
    profile = read(TEXT)

    readings = {reading.subject: (reading.name, reading.value) for reading in profile.readings}
    assert readings == {
        "host_to_device_memcpy_ce row 0 column 0": ("copy_bw", pytest.approx(12.98e9)),
        "host_to_device_memcpy_ce row 0 column 1": ("copy_bw", pytest.approx(13.02e9)),
        "device_to_device_memcpy_read_ce row 0 column 1": ("copy_bw", pytest.approx(45.1e9)),
        "device_to_device_memcpy_read_ce row 1 column 0": ("copy_bw", pytest.approx(45.2e9)),
        "host_device_latency_sm row 0 column 0": ("copy_latency", pytest.approx(613.22e-9)),
        "host_device_latency_sm row 0 column 1": ("copy_latency", pytest.approx(614e-9)),
    }
    assert (profile.device.name, profile.device.count) == ("NVIDIA A10", 2)
    assert "example-host" not in repr(profile)


def test_json_has_the_same_readings():
    (reading,) = read(document(CASE, WAIVED)).readings

    assert (reading.name, reading.unit, reading.value) == ("copy_bw", "B/s", 12.3964e9)


@pytest.mark.parametrize("text", [TEXT, document(CASE)])
def test_the_format_is_detected(text):
    assert detect_format(text.encode(), "x") is ProfileFormat.NVBANDWIDTH


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nvbandwidth Version: v0.8",
        "Running host_to_device_memcpy_ce.\nmemcpy bandwidth (GB/s)",
        "Running host_to_device_memcpy_ce.\nmemcpy bandwidth (GB/s)\n 0\n 0 nan",
        "Running host_to_device_memcpy_ce.\nmemcpy bandwidth (GB/s)\n 0\n 0 -5",
        "Running host_to_device_memcpy_ce.\nmemcpy bandwidth (furlongs)\n 0\n 0 5",
        "{",
        "{}",
        document(),
        document(WAIVED),
        document(3),
        document({**CASE, "bandwidth_matrix": "12"}),
        document({**CASE, "bandwidth_matrix": [3, None, {}]}),
        '{"nvbandwidth": 4}',
    ],
)
def test_a_file_without_measurements_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)


def test_a_file_that_is_cut_off_keeps_what_it_has():
    profile = read(TEXT[: TEXT.index(" 1     45.20")])

    assert len(profile.readings) == 3
