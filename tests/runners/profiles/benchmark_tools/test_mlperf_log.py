import json

import pytest

from perfledger_profiles.benchmark_tools.mlperf_log import MARK, MlperfEvent, events_of
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS

CELLS = {"key": "run_start", "value": 1, "time_ms": 1500, "metadata": {"lineno": 3}}
EVENT = MlperfEvent(key="run_start", value=1, seconds=1.5, metadata={"lineno": 3})
LINE = f"{MARK} {json.dumps(CELLS)}"


@pytest.mark.parametrize("line", [LINE, f"rank 0: {LINE}", f"{LINE} (rank 0)"])
def test_an_event_is_read_whatever_a_launcher_adds(line):
    assert list(events_of([line])) == [EVENT]


def test_other_lines_are_no_events():
    assert list(events_of(["epoch 1", "", json.dumps(CELLS)])) == []


@pytest.mark.parametrize(
    "line",
    [
        MARK,
        f"{MARK} no object",
        LINE[:-20],
        f'{MARK} {{"key": "run_start"}}',
        f'{MARK} {{"key": 1, "time_ms": 1}}',
        f"{MARK} {'[' * 5_000}",
        f"{LINE}{' ' * MAX_LINE_CHARACTERS}",
    ],
)
def test_a_torn_event_is_none(line):
    assert list(events_of([line, LINE])) == [None, EVENT]
