"""Steps are set up and torn down in this process, on a repository on disk."""

import os
from dataclasses import replace

import pytest

from perfledger.process.command_context import CommandContext
from perfledger.process.forks.process_end import ProcessEnd
from perfledger.process.loaded_packages import PackageRecorder
from perfledger.process.message_channel import MessageChannel
from perfledger.protocol import ChildRequest, Command

HELD = """
from pathlib import Path
import perfledger

NOTES = Path(__file__).with_name("notes")

class Step:
    opened = 0
    def __init__(self):
        Step.opened += 1
        self.number = Step.opened
        self.note("open")
    def __call__(self):
        pass
    def close(self):
        self.note("close")
        {end}
    def note(self, what):
        with NOTES.open("a") as notes:
            print(what, self.number, file=notes)

@perfledger.workload(set_ups=2, teardown=Step.close)
def held():
    return Step()
"""


@pytest.mark.parametrize(
    ("command", "notes"),
    [
        (Command.MEASURE, ["open 1", "close 1", "open 2", "close 2"]),
        (Command.PROFILE, ["open 1", "close 1"]),
        (Command.COUNT, []),
    ],
)
def test_each_step_is_torn_down_before_the_next_set_up(
    command, notes, write, send_command, tmp_path
):
    root = write({"benchmarks/held.py": HELD.format(end="pass"), "benchmarks/notes": ""})

    answer = send_command(root, command, trace_folder=str(tmp_path / "traces"))

    assert not answer.of("failed")
    assert (root / "benchmarks/notes").read_text().splitlines() == notes


def test_a_teardown_that_fails_fails_the_workload(write, send_command):
    root = write({"benchmarks/held.py": HELD.format(end="raise OSError('still busy')")})

    failed = send_command(root, Command.MEASURE).about("benchmarks.held:held")

    assert (failed["event"], failed["reason"]) == ("failed", "raised")
    assert "still busy" in failed["detail"]


def test_a_workload_has_the_same_number_in_the_fork_of_its_file_as_in_the_request(tmp_path):
    request = ChildRequest(
        command=Command.PROFILE, root="", repository="", workloads=("a:one", "b:one", "b:two")
    )
    context = CommandContext(
        request=request,
        channel=MessageChannel(os.open(os.devnull, os.O_WRONLY), at_fork=lambda _: None),
        root=tmp_path,
        roots=(),
        recorder=PackageRecorder((), own_folders=(), repository=tmp_path),
        end=ProcessEnd(tmp_path),
        workloads=("b:one", "b:two"),
    )

    assert [context.index_of(name) for name in context.workloads] == [1, 2]
    all_of_them = replace(context, request=replace(request, workloads=()))
    assert [all_of_them.index_of(name) for name in context.workloads] == [0, 1]
