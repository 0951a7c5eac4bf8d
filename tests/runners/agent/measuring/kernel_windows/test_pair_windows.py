"""Windows of both sides of a pair, read by one process."""

import msgspec
import pytest

from perfledger.protocol import PROTOCOL_VERSION
from perfledger.records import Side
from perfledger_runners.children.protocol_parser import WindowsMessage
from perfledger_runners.children.window_files import WindowFiles
from perfledger_runners.measuring.kernel_windows import read_pair_windows, read_run_windows
from perfledger_runners.measuring.profile_runs import trace_folder
from tests.runners.profiles.example_trace import training_trace


def message(**windows):
    return WindowsMessage(version=PROTOCOL_VERSION, workload="w", windows=WindowFiles(**windows))


def write_windows(harness, side, *traces, workload="w"):
    """Write what a child recorded, and return what it says of it."""
    paths = [trace_folder(harness, side) / f"{workload}-{n}.json" for n in range(len(traces))]
    for path, trace in zip(paths, traces, strict=True):
        path.write_text(trace)
    files = message(tool="torch.profiler", traces=tuple(map(str, paths)))
    return side, msgspec.structs.replace(files, workload=workload)


@pytest.mark.slow
def test_both_sides_of_a_workload_are_read_as_each_is_alone(harness):
    faster, slower = (training_trace(gemm_us=length).text() for length in (240, 300))

    def write_pair():
        return [
            write_windows(harness, Side.BASE, faster),
            write_windows(harness, Side.HEAD, slower, slower),
            write_windows(harness, Side.HEAD, faster, workload="other"),
        ]

    by_one_process = read_pair_windows(harness, write_pair(), pair=3)
    by_two = [read_run_windows(harness, each, side=side, pair=3) for side, each in write_pair()]

    assert list(by_one_process) == by_two
    assert [(len(one.steps), one.failure) for one in by_one_process] == [(3, ""), (6, ""), (3, "")]
    assert not [*harness.folder.rglob("*.json")]


@pytest.mark.slow
def test_of_a_pair_only_the_side_that_cannot_be_read_loses_its_windows(harness):
    trace = training_trace().text()

    base, head = read_pair_windows(
        harness,
        [write_windows(harness, Side.BASE, trace), write_windows(harness, Side.HEAD, trace, "{")],
        pair=3,
    )

    assert (len(base.steps), base.failure) == (3, "")
    assert (head.side, head.steps) == (Side.HEAD, ())
    assert head.failure
    assert not [*harness.folder.rglob("*.json")]


@pytest.mark.parametrize("tool", ["torch.profiler", "another profiler"])
def test_a_pair_without_files_of_one_side_says_why(harness, tool):
    sides = [(side, message(tool=tool, traces=())) for side in Side]

    windows = read_pair_windows(harness, sides, pair=3)

    assert [one.side for one in windows] == [*Side]
    assert all(one.failure for one in windows)
    assert read_pair_windows(harness, [], pair=3) == ()
