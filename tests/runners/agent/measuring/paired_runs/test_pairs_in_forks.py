"""Real children, whose forks are independent on both sides or are not used."""

from dataclasses import replace

import pytest

from perfledger.protocol import Command
from perfledger.records import Framework, Side, WorkloadSpec
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import for_workloads
from perfledger_runners.children.protocol_parser import (
    CountedMessage,
    NoForkMessage,
    RunMessage,
    StartedMessage,
)
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_runners.measuring.process_groups import Separation
from tests.suite.without_kernels import WithoutKernels

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
OTHERS = tuple(
    WorkloadSpec(id=f"benchmarks.v:{name}", module="benchmarks.v", function=name) for name in "ab"
)
OTHER_IDS = tuple(spec.id for spec in OTHERS)
ONLY_IN_CI = pytest.mark.slow(ci_only=True)
# Each side and each kind of turns once, and in CI with each other.
SIDES_AND_TURNS = [
    (Side.BASE, True),
    (Side.HEAD, False),
    pytest.param(Side.BASE, False, marks=ONLY_IN_CI),
    pytest.param(Side.HEAD, True, marks=ONLY_IN_CI),
]


class TwoPairs(WithoutKernels):
    """A rule that wants two pairs of each workload."""

    def __init__(self):
        self.counts = {}

    def start(self, workloads):
        self.counts = dict.fromkeys(workloads, 0)

    def add(self, base, head):
        assert base.workload == head.workload
        self.counts[base.workload] += 1

    def unfinished(self):
        return frozenset(name for name, count in self.counts.items() if count < 2)

    def changes(self):
        return frozenset()

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()


def measured_by(harness, requests, *, is_interleaved=True, workloads=WORKLOADS):
    requests = {
        side: replace(request, is_interleaved=is_interleaved) for side, request in requests.items()
    }
    return measure_pairs(
        harness, requests, workloads, TwoPairs(), seed=1, max_pairs=2, budget_s=600
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
    assert measured.separation == Separation()


@pytest.mark.slow
@pytest.mark.parametrize(("side", "is_interleaved"), SIDES_AND_TURNS)
def test_where_one_side_cannot_fork_both_run_each_workload_in_its_own_process(
    harness, sides, side, is_interleaved
):
    texts = [THREAD + TWO if each is side else TWO for each in Side]
    measured = measured_by(harness, sides(*texts), is_interleaved=is_interleaved)

    assert measured.failures == ()
    assert processes_of(measured) == sorted([(name,) for name in IDS] * 4)
    assert measured.separation == Separation(workloads=dict.fromkeys(IDS, LEAVES_THREAD))
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


@pytest.fixture
def two_files(write_benchmarks, request_for, tmp_path):
    """Write benchmarks/v.py and w.py for each side and return the requests, as those for a CPU."""

    def write(side_of_v, top_of_v):
        return {
            side: request_for(
                write_benchmarks(
                    tmp_path / side, w=TWO, v=(top_of_v if side is side_of_v else "") + TWO
                ),
                is_forking=True,
            )
            for side in Side
        }

    return write


@pytest.mark.slow
@pytest.mark.parametrize(("side", "is_interleaved"), SIDES_AND_TURNS)
def test_a_file_that_cannot_fork_on_one_side_leaves_the_others_as_they_are(
    harness, two_files, side, is_interleaved
):
    measured = measured_by(
        harness,
        two_files(side, THREAD),
        is_interleaved=is_interleaved,
        workloads=(*OTHERS, *WORKLOADS),
    )

    assert measured.failures == ()
    assert processes_of(measured) == sorted([*[(name,) for name in OTHER_IDS] * 4, *[IDS] * 4])
    assert measured.separation.workloads == dict.fromkeys(OTHER_IDS, LEAVES_THREAD)
    runs = {(run.workload, run.side, run.pair) for run in measured.runs}
    assert len(runs) == len(measured.runs) == 16


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_file_that_sets_a_variable_for_its_framework_has_forks_of_its_own_process(
    harness, two_files
):
    """torch is imported before the forks of several files, and after the variable here."""
    variable = "import os\nos.environ['OMP_CAREFUL'] = '1'\n"
    specs = [replace(each, framework=Framework.TORCH) for each in (*OTHERS, *WORKLOADS)]
    measured = measured_by(
        for_workloads(harness, specs), two_files(Side.HEAD, variable), workloads=specs
    )

    assert measured.failures == ()
    assert processes_of(measured) == sorted([*[OTHER_IDS] * 4, *[IDS] * 4])
    assert measured.separation == Separation(
        files={"benchmarks.v": "its imports set OMP_CAREFUL, which torch may have read before"}
    )


@pytest.mark.slow
def test_a_request_whose_child_cannot_fork_for_one_file_goes_on_with_its_workloads(
    harness, two_files
):
    requests = two_files(Side.HEAD, THREAD)
    request = replace(requests[Side.HEAD], command=Command.COUNT, workloads=(*OTHER_IDS, *IDS))

    messages = tuple(run_request(harness, request))

    refusals = [each.workloads for each in messages if isinstance(each, NoForkMessage)]
    assert refusals == [OTHER_IDS, OTHER_IDS]  # first beside the other file, then alone
    counted = [each.workload for each in messages if isinstance(each, CountedMessage)]
    assert sorted(counted) == sorted((*OTHER_IDS, *IDS))


@pytest.mark.slow
def test_a_file_that_dies_when_it_is_imported_costs_the_others_nothing(harness, two_files):
    """It has been listed before, and dies in this process alone."""
    measured = measured_by(
        harness,
        two_files(Side.HEAD, "import os\nos._exit(3)\n"),
        workloads=(*OTHERS, *WORKLOADS),
    )

    assert {(each.workload, each.side) for each in measured.failures} == {
        (name, Side.HEAD) for name in OTHER_IDS
    }
    assert "exit status 3" in measured.failures[0].detail
    assert {run.workload for run in measured.runs if run.side is Side.HEAD} == set(IDS)
