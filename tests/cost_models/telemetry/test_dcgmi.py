"""Lines in the shape that `dcgmi dmon` documents; none was recorded."""

import pytest

from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

LINES = """\
2026-11-20T10:00:00Z #Entity   GPUTL        SMACT        MCUTL
2026-11-20T10:00:00Z ID
2026-11-20T10:00:00Z GPU 0     40           0.250        7
2026-11-20T10:00:00Z GPU 1     N/A          0.000        7
2026-11-20T10:00:15Z GPU 0     60           0.750        7
2026-11-20T10:00:15Z GPU 1     0            0.000        7
"""


def read(lines=LINES):
    return read_activity(lines.encode(), "node-7.txt")


def test_each_device_has_the_columns_that_are_activity():
    shares = {(each.device, each.signal): each.shares.tolist() for each in read().activities}

    assert shares == {
        ("node-7 gpu 0", Signal.GPU_UTIL): [0.4, 0.6],
        ("node-7 gpu 0", Signal.SM_ACTIVE): [0.25, 0.75],
        ("node-7 gpu 1", Signal.GPU_UTIL): [0.0],
        ("node-7 gpu 1", Signal.SM_ACTIVE): [0.0, 0.0],
    }


def test_the_older_header_is_read():
    assert len(read(LINES.replace("#Entity", "# Entity")).activities) == 4


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("\n".join(line[21:] for line in LINES.splitlines()), "line 3 has no time"),
        (LINES.replace("0.250        7", "0.250"), "line 3: 2 values for"),
        (LINES.replace("0.250", "much"), "line 3, SMACT: 'much' is not a number"),
        ("# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization\n", "one scrape of an exporter"),
    ],
)
def test_an_error_says_what_to_do(lines, message):
    with pytest.raises(UsageFileError, match=message):
        read(lines)
