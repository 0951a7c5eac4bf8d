"""Benchmarks of other tools, listed and measured in real children."""

from dataclasses import replace

import pytest

from perfledger.measuring.core_use import PREPARED_ON_DEVICE
from perfledger.protocol import BenchmarkSuite, Command
from perfledger.records import Device, FailureReason, Side, WorkloadSpec
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.protocol_parser import RunMessage
from perfledger_runners.measuring.discovery import discover
from perfledger_runners.measuring.paired_runs import measure_pairs
from tests.suite.without_kernels import WithoutKernels

pytestmark = pytest.mark.slow

SUITE = """
class Sums:
    def setup(self):
        {setup}
    def time_sum(self):
        sum(range(100))
"""
TRACKING = """
def track_size():
    return 3
"""
NAME = "benchmarks.w:Sums.time_sum"
SKIPS = "raise NotImplementedError('no such feature')"


class OnePair(WithoutKernels):
    def start(self, workloads):
        self.waiting = set(workloads)

    def add(self, base, _):
        self.waiting.discard(base.workload)

    def unfinished(self):
        return frozenset(self.waiting)

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()

    def changes(self):
        return frozenset()


SIDES = {
    "time_sum": ("pass", "pass"),
    "time_never": (SKIPS, SKIPS),
    "time_before": ("pass", SKIPS),
}


@pytest.fixture(scope="module")
def pairs(make_harness, write_benchmarks, request_for, tmp_path_factory):
    """One pair of all benchmarks: one is measured, and the others skip themselves somewhere."""
    folder = tmp_path_factory.mktemp("pair")
    texts = [
        "".join(
            SUITE.format(setup=setups[side]).replace("Sums", name).replace("time_sum", name)
            for name, setups in SIDES.items()
        )
        for side in range(2)
    ]
    requests = {
        side: request_for(write_benchmarks(folder / side, w=text), suite=BenchmarkSuite.ASV)
        for side, text in zip(Side, texts, strict=True)
    }
    specs = [
        WorkloadSpec(id=id_of(name), module="benchmarks.w", function=f"{name}.{name}")
        for name in SIDES
    ]
    with make_harness(folder) as harness:
        return measure_pairs(
            harness, requests, specs, OnePair(), seed=1, max_pairs=1, budget_s=3600
        )


def id_of(name):
    return f"benchmarks.w:{name}.{name}"


@pytest.mark.slow(ci_only=True)
def test_what_is_left_out_is_listed_with_its_reason(
    harness, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", w=SUITE.format(setup="pass") + TRACKING)
    request = request_for(root, command=Command.LIST, suite=BenchmarkSuite.ASV, paths=())

    discovery = discover(harness, request)

    assert [spec.id for spec in discovery.workloads] == [NAME]
    assert discovery.left_out == {"benchmarks.w:track_size": "asv: it returns a number, not a time"}


KILLER = "import os\nos._exit(5)\n"
FOR_PYTEST = "def test_{name}(benchmark):\n    benchmark(len, '')\n"


@pytest.mark.slow(ci_only=True)
def test_a_file_that_kills_the_process_costs_asvs_other_files_nothing(
    harness, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", w=SUITE.format(setup="pass"), z=KILLER)

    discovery = discover(harness, request_for(root, suite=BenchmarkSuite.ASV, paths=()))

    assert [each.path for each in discovery.broken] == ["benchmarks/z.py"]
    assert "exit status 5" in discovery.broken[0].detail
    assert [spec.id for spec in discovery.workloads] == [NAME]


def test_asv_imports_only_the_files_that_the_request_lists(
    harness, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", w=SUITE.format(setup="pass"), z=KILLER)
    request = request_for(root, suite=BenchmarkSuite.ASV, paths=())

    discovery = discover(harness, replace(request, listed_files=("benchmarks/w.py",)))

    assert [spec.id for spec in discovery.workloads] == [NAME]
    assert discovery.broken == ()


def test_a_file_that_takes_the_whole_budget_is_named(
    harness, hang, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", w=f"{hang}\nhang()\n")
    request = request_for(root, suite=BenchmarkSuite.ASV, paths=())

    discovery = discover(replace(harness, ends_at=harness.clock() + 1800.0), request)

    assert [each.reason for each in discovery.broken] == [FailureReason.BUDGET]
    detail = discovery.broken[0].detail
    # Not more, as a report cuts the advice off after 200 letters.
    assert detail == (
        "the budget ended it while importing benchmarks/w.py: choose other files with -k or "
        "--workload, or let a set-up do what its import does"
    )


@pytest.mark.slow(ci_only=True)
def test_a_file_that_kills_pytest_costs_the_configured_paths_nothing_else(
    harness, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(
        tmp_path / "checkout", test_good=FOR_PYTEST.format(name="good"), test_kill=KILLER
    )
    request = request_for(root, suite=BenchmarkSuite.PYTEST, paths=("benchmarks",))

    discovery = discover(harness, request)

    assert [each.path for each in discovery.broken] == ["benchmarks/test_kill.py"]
    assert [spec.id for spec in discovery.workloads] == ["benchmarks.test_good:test_good"]


@pytest.mark.slow(ci_only=True)
def test_without_paths_the_whole_suite_of_pytest_is_broken(
    harness, write_benchmarks, request_for, tmp_path
):
    root = write_benchmarks(tmp_path / "checkout", test_kill=KILLER)

    discovery = discover(harness, request_for(root, suite=BenchmarkSuite.PYTEST, paths=()))

    assert [each.path for each in discovery.broken] == ["the list of workloads"]
    assert "exit status 5" in discovery.broken[0].detail


@pytest.mark.slow(ci_only=True)
def test_an_asv_benchmark_is_measured_in_a_pair(pairs):
    measured = [run for run in pairs.runs if run.workload == id_of("time_sum")]

    assert len(measured) == 2
    assert {run.side for run in measured} == set(Side)


@pytest.mark.slow(ci_only=True)
def test_a_benchmark_that_skips_itself_on_both_sides_is_skipped(pairs):
    skipped = id_of("time_never")

    assert pairs.skipped == {skipped: "its setup raised NotImplementedError no such feature"}
    assert skipped not in {each.workload for each in pairs.failures}


def test_a_benchmark_that_skips_itself_on_head_alone_is_a_failure(pairs):
    assert [(each.workload, each.side, each.why) for each in pairs.failures] == [
        (id_of("time_before"), Side.HEAD, FailureReason.SKIPPED)
    ]


ON_GPU = """
import torch

def time_it():
    sum(range(100), len(torch.__version__))
time_it.number = 2
"""


@pytest.mark.slow(ci_only=True)
def test_a_prepared_step_on_a_device_says_what_is_not_read_of_it(
    harness, write_benchmarks, request_for, tmp_path, fake_torch
):
    root = write_benchmarks(tmp_path / "checkout", w=ON_GPU)
    for name, text in fake_torch.items():
        file = root / "torch" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    name = "benchmarks.w:time_it"
    request = request_for(root, [name], suite=BenchmarkSuite.ASV, paths=(), device="auto")

    (run,) = [each for each in run_request(harness, request) if isinstance(each, RunMessage)]

    assert (run.device, run.left_out) == (Device.CUDA, {PREPARED_ON_DEVICE: 1})
