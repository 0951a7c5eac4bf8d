"""Profiled windows of real children, after their measured steps; and what becomes of them."""

from dataclasses import replace

import msgspec
import pytest

from perfledger.profile import Bucket
from perfledger.protocol import PROTOCOL_VERSION
from perfledger.records import Framework, Side, WorkloadSpec
from perfledger_profiles.diff.kernel_times import SideKernel
from perfledger_runners.children.protocol_parser import WindowsMessage
from perfledger_runners.children.window_files import WindowFiles
from perfledger_runners.measuring.kernel_windows import (
    RunWindows,
    lost_window_notes,
    match_kernels,
    read_run_windows,
)
from perfledger_runners.measuring.measured_pair import KERNEL_WINDOWS
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_runners.measuring.profile_runs import trace_folder
from tests.suite.without_kernels import WithoutKernels

TORCH = """
import torch
@perfledger.workload(framework="torch")
def first():
    one = torch.ones(64, 64)
    return lambda: one @ one
@perfledger.workload(framework="torch")
def second():
    one = torch.ones(64, 64)
    return lambda: one + one
@perfledger.workload(framework="torch")
def breaks():
    def step():
        if torch.autograd._profiler_enabled():
            raise StopIteration
        return torch.ones(4)
    return step
"""


# What a step does once the profiler runs, and what is said of it.
UNDER_PROFILER = {
    "ends": ("os.kill(os.getpid(), signal.SIGTERM)", "killed: SIGTERM"),
    "hangs": (
        "open(os.environ['HANG_NOTE'], 'w').write(str(os.getpid())); signal.pause()",
        "hung: it did not end within 1,800 s while being profiled",
    ),
}
LEAVES = """
import os, signal
import torch
@perfledger.workload(framework="torch")
def first():
    def step():
        if torch.autograd._profiler_enabled():
            {}
        return torch.ones(4)
    return step
"""
PLAIN = """
@perfledger.workload()
def plain():
    return list
"""


class TwoPairs(WithoutKernels):
    """Asks for two pairs of every workload."""

    def start(self, workloads):
        self.pairs = dict.fromkeys(workloads, 0)

    def add(self, base, head):
        del head
        self.pairs[base.workload] += 1

    def unfinished(self):
        return frozenset(name for name, pairs in self.pairs.items() if pairs < 2)

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()

    def changes(self):
        return frozenset()


class OnePairOfWindows(TwoPairs):
    """Needs no windows of a workload after its first pair."""

    def due_kernels(self):
        return frozenset(name for name, pairs in self.pairs.items() if pairs == 1)

    def look_at_kernels(self, windows):
        self.pairs_with_windows = {each.workload: each.pairs for each in windows}
        return self.due_kernels()


def spec(name, framework=Framework.TORCH):
    return WorkloadSpec(
        id=f"benchmarks.w:{name}", module="benchmarks.w", function=name, framework=framework
    )


def run(pair, side, *, failure="", seconds=(1.0, 2.0)):
    kernel = SideKernel(
        name="aten::mm",
        bucket=Bucket.COMPUTE,
        path="",
        count=1.0,
        seconds=seconds,
        undisturbed=min(seconds),
    )
    return RunWindows(
        workload="w",
        side=side,
        pair=pair,
        steps=() if failure else seconds,
        kernels=() if failure else (kernel,),
        failure=failure,
    )


def message(**windows):
    return WindowsMessage(version=PROTOCOL_VERSION, workload="w", windows=WindowFiles(**windows))


def test_pairs_with_windows_of_both_sides_are_matched():
    (kernels,) = match_kernels(
        ["w"],
        [
            run(0, Side.BASE),
            run(0, Side.HEAD, seconds=(3.0,)),
            run(1, Side.BASE),
            run(1, Side.HEAD, failure="the reader was killed"),
            run(2, Side.HEAD),
        ],
    )

    assert kernels.pairs == (0,)
    assert (kernels.base_steps, kernels.head_steps) == (((1.0, 2.0),), ((3.0,),))
    assert [(one.base, one.head) for one in kernels.kernels] == [(((1.0, 2.0),), ((3.0,),))]
    assert kernels.failure == "the reader was killed (head, pair 2)"


def test_pairs_that_lost_their_windows_are_noted_with_the_reason():
    runs = [
        *(run(pair, side) for pair in (0, 2) for side in Side),
        run(1, Side.BASE),
        run(1, Side.HEAD, failure="killed: SIGSEGV"),
    ]

    notes = lost_window_notes(match_kernels(["w"], runs), runs)

    assert notes == (
        "w: the kernels of 1 of 3 profiled pairs are missing: killed: SIGSEGV (head, pair 2)",
    )
    assert lost_window_notes(match_kernels(["w"], runs[:4]), runs[:4]) == ()


def test_a_workload_without_windows_is_listed_without_kernels():
    (kernels,) = match_kernels(["w"], [])

    assert (kernels.pairs, kernels.kernels, kernels.failure) == ((), (), "")


@pytest.mark.parametrize(
    ("files", "failure"),
    [
        ({"reason": "no memory"}, "no memory"),
        ({}, "its framework has no profiler here"),
        ({"tool": "another profiler", "traces": ("x",)}, "its framework has no profiler here"),
        (
            {"tool": "torch.profiler", "traces": ("/etc/passwd",)},
            "the child named a file outside its trace folder",
        ),
        (
            {"tool": "torch.profiler", "traces": ()},
            "the child named no trace",
        ),
    ],
)
def test_a_child_that_recorded_nothing_usable_says_why(harness, files, failure):
    windows = read_run_windows(harness, message(**files), side=Side.HEAD, pair=3)

    assert (windows.failure, windows.kernels, windows.pair) == (failure, (), 3)


@pytest.mark.parametrize(
    ("names", "failure"),
    [
        (("loop",), "the child named a file"),  # from Python 3.13 on a loop can be resolved,
        (("a" * 3000,), "the child named a file"),  # and from 3.14 on such a name is no file
        (("a\0b",), "the child named a file that cannot be opened"),
        (("trace", "trace"), "trace"),
    ],
)
def test_a_file_that_a_child_names_wrongly_is_a_failure_and_no_error(harness, names, failure):
    folder = trace_folder(harness, Side.HEAD)
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "trace").write_text("hello")
    windows_message = message(
        tool="torch.profiler", traces=tuple(str(folder / name) for name in names)
    )

    windows = read_run_windows(harness, windows_message, side=Side.HEAD, pair=3)

    assert failure in windows.failure
    assert (folder / "trace").exists() == ("trace" not in names)


def test_what_a_child_says_is_clean_text(harness):
    windows_message = message(reason="no\x1b[2J memory")

    assert "\x1b" not in read_run_windows(harness, windows_message, side=Side.HEAD, pair=3).failure


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
@pytest.mark.parametrize("is_interleaved", [False, True])
def test_the_first_pairs_have_windows_and_the_others_do_not(
    harness, write_benchmarks, request_for, tmp_path, is_interleaved
):
    roomy = replace(harness, limits=replace(harness.limits, memory_bytes=None))
    requests = {
        side: replace(
            request_for(write_benchmarks(tmp_path / side, w=TORCH)), is_interleaved=is_interleaved
        )
        for side in Side
    }
    # In turns one is enough; else the third fails in its windows.
    specs, failing = [spec("second")], []
    if not is_interleaved:
        specs, failing = [spec("first"), *specs], [spec("breaks")]

    measured = measure_pairs(
        roomy,
        requests,
        specs + failing,
        TwoPairs(),
        seed=1,
        max_pairs=2,
        budget_s=3600,
        kernel_pairs=1,
    )

    assert measured.failures == ()
    assert len(measured.runs) == 4 * len(specs + failing)  # also of what fails in its windows
    broken = [each for each in measured.windows if each.workload.endswith("breaks")]
    assert len(broken) == 2 * len(failing)
    assert all(each.failure.startswith("StopIteration (benchmarks") for each in broken)
    others = [each for each in measured.windows if each not in broken]
    assert [(each.pair, each.failure) for each in others] == [(0, "")] * 2 * len(specs)
    *firsts, second = match_kernels([one.id for one in specs], measured.windows)
    assert all("aten::mm" in {one.family for one in first.kernels} for first in firsts)
    assert [one.family for one in second.kernels] == ["aten::add"]
    assert len(second.base_steps[0]) >= KERNEL_WINDOWS
    assert all(seconds > 0 for seconds in (*second.base_steps[0], *second.head_steps[0]))
    assert list((roomy.folder / "traces").rglob("*.gz")) == []
    # A journal keeps them: an interrupted check goes on with them.
    kept_content = msgspec.json.encode(measured.windows)
    assert msgspec.json.decode(kept_content, type=tuple[RunWindows, ...]) == measured.windows


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
@pytest.mark.parametrize("trouble", UNDER_PROFILER)
def test_a_process_that_ends_or_hangs_in_a_window_loses_its_windows_alone(
    harness, write_benchmarks, request_for, tmp_path, trouble
):
    step, reason = UNDER_PROFILER[trouble]
    roomy = replace(harness, limits=replace(harness.limits, memory_bytes=None))
    requests = {
        side: replace(
            request_for(write_benchmarks(tmp_path / side, w=LEAVES.format(step))),
            is_interleaved=True,
        )
        for side in Side
    }

    measured = measure_pairs(
        roomy,
        requests,
        [spec("first")],
        TwoPairs(),
        seed=1,
        max_pairs=1,
        budget_s=1e9,
        kernel_pairs=1,
    )

    assert measured.failures == ()
    assert len(measured.runs) == 2
    (kernels,) = match_kernels(["benchmarks.w:first"], measured.windows)
    assert kernels.failure.startswith(reason)
    assert (kernels.pairs, len(measured.windows)) == ((), 2)


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_lost_its_windows_twice_is_not_profiled_again(
    harness, write_benchmarks, request_for, tmp_path
):
    requests = {side: request_for(write_benchmarks(tmp_path / side, w=PLAIN)) for side in Side}

    measured = measure_pairs(
        harness,
        requests,
        [spec("plain", framework=Framework.HOST)],
        TwoPairs(),
        seed=1,
        max_pairs=2,
        budget_s=3600,
        kernel_pairs=2,
    )

    assert len(measured.runs) == 4
    assert [(each.pair, bool(each.failure)) for each in measured.windows] == [(0, True)] * 2


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_workload_whose_kernels_are_settled_is_not_profiled_again(
    harness, write_benchmarks, request_for, tmp_path
):
    roomy = replace(harness, limits=replace(harness.limits, memory_bytes=None))
    requests = {side: request_for(write_benchmarks(tmp_path / side, w=TORCH)) for side in Side}
    rule = OnePairOfWindows()

    measured = measure_pairs(
        roomy,
        requests,
        [spec("first")],
        rule,
        seed=1,
        max_pairs=2,
        budget_s=3600,
        kernel_pairs=2,
    )

    assert rule.pairs_with_windows == {"benchmarks.w:first": (0,)}
    assert len(measured.runs) == 4
    assert [each.pair for each in measured.windows] == [0, 0]
    (kernels,) = match_kernels(["benchmarks.w:first"], measured.windows)
    assert (kernels.pairs, lost_window_notes([kernels], measured.windows)) == ((0,), ())
