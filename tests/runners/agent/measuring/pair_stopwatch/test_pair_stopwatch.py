"""The time of a pair, charged to the workload that started last."""

from perfledger_runners.children.child_process import ChildContinuation, ChildExit
from perfledger_runners.children.protocol_parser import DoneMessage, StartedMessage
from perfledger_runners.measuring.pair_stopwatch import PairStopwatch


def test_a_pair_of_a_workload_alone_has_its_own_time_its_files_and_what_all_share():
    times = iter([3.0, 5.0, 9.0, 10.0, 12.0, 13.0])
    watch = PairStopwatch(
        clock=lambda: next(times), since=0.0, file_of=lambda name: name.partition(":")[0]
    )
    for message in (
        ChildContinuation("a:f"),  # 3 s of all
        StartedMessage(version=2, workload="a:f", log_bytes=0),  # 2 s of the file
        StartedMessage(version=2, workload="a:g", log_bytes=0),  # 4 s of f
        DoneMessage(version=2),  # 1 s of g
        ChildExit(""),
    ):
        assert watch.heard(message) is message

    assert watch.alone() == {"a:f": 6.0 + 2.0 + 4.0, "a:g": 6.0 + 2.0 + 1.0}
