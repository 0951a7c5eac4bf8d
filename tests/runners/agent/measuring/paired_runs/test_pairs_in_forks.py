"""Real children, whose forks are independent on both sides or are not used."""

from dataclasses import replace

import pytest

from perfledger.protocol import Command
from perfledger.records import Side, WorkloadSpec
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.protocol_parser import (
    CountedMessage,
    NoForkMessage,
    RunMessage,
    StartedMessage,
)
from perfledger_runners.measuring.paired_runs import measure_pairs

TWO = """
@perfledger.workload
def a():
    return lambda: sum(range(100))

@perfledger.workload
def b():
    return lambda: sum(range(100))
"""
THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
LEAVES_THREAD = "its imports leave 1 thread running"
WORKLOADS = tuple(
    WorkloadSpec(id=f"benchmarks.w:{name}", module="benchmarks.w", function=name) for name in "ab"
)
IDS = tuple(spec.id for spec in WORKLOADS)


class TwoPairs:
    """A rule that wants two pairs of each workload."""

    def __init__(self):
        self.counts = dict.fromkeys(IDS, 0)

    def start(self, workloads):
        assert tuple(workloads) == IDS

    def add(self, base, head):
        assert base.workload == head.workload
        self.counts[base.workload] += 1

    def decision(self):
        return frozenset(name for name, count in self.counts.items() if count < 2)

    def changes(self):
        return frozenset()

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()


def measured_by(harness, requests, *, is_interleaved=True):
    requests = {
        side: replace(request, is_interleaved=is_interleaved) for side, request in requests.items()
    }
    return measure_pairs(
        harness, requests, WORKLOADS, TwoPairs(), seed=1, max_pairs=2, budget_s=600
    )


def processes_of(measured):
    """The workloads that each child ran."""
    runs: dict[int, list[str]] = {}
    for run in measured.runs:
        runs.setdefault(run.process, []).append(run.workload)
    return sorted(map(tuple, runs.values()))


@pytest.mark.slow
def test_forks_of_one_process_run_all_workloads_of_a_side(harness, sides):
    measured = measured_by(harness, sides(TWO))

    assert measured.failures == ()
    assert processes_of(measured) == [IDS] * 4
    assert measured.alone == {}


@pytest.mark.slow
@pytest.mark.parametrize("is_interleaved", [True, False])
@pytest.mark.parametrize("side", Side)
def test_where_one_side_cannot_fork_both_run_each_workload_in_its_own_process(
    harness, sides, side, is_interleaved
):
    texts = [THREAD + TWO if each is side else TWO for each in Side]
    measured = measured_by(harness, sides(*texts), is_interleaved=is_interleaved)

    assert measured.failures == ()
    assert processes_of(measured) == sorted([(name,) for name in IDS] * 4)
    assert measured.alone == dict.fromkeys(IDS, LEAVES_THREAD)
    assert measured.order == measured.order[:2]
    assert {run.pair for run in measured.runs} == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "answer"), [(Command.COUNT, CountedMessage), (Command.MEASURE, RunMessage)]
)
def test_a_request_whose_child_cannot_fork_goes_on_with_one_child_each(
    harness, sides, command, answer
):
    request = replace(sides(THREAD + TWO)[Side.HEAD], command=command, workloads=IDS)

    messages = tuple(run_request(harness, request))

    assert [each.reason for each in messages if isinstance(each, NoForkMessage)] == [LEAVES_THREAD]
    assert [each.workload for each in messages if isinstance(each, StartedMessage)] == [*IDS]
    assert [each.workload for each in messages if isinstance(each, answer)] == [*IDS]
