"""Files that were joined with themselves, and work that only looks alike."""

import pytest

from perfledger_profiles.torch_profiler.duplicate_events import DUPLICATES


def add_work(trace):
    trace.step(1, 0, 100).add("aten::mm", 5, 20)
    trace.launch("cudaLaunchKernel", 10, 5, kernel="gemm", at=20, lasts=40, correlation=1)


def test_an_event_that_is_there_twice_counts_once(trace):
    add_work(trace)
    once = trace.read()
    add_work(trace)

    twice = trace.read()

    assert twice.kernels == once.kernels
    assert twice.operations == once.operations
    assert twice.notes[0] == DUPLICATES.format(4)


@pytest.mark.parametrize("change", [{"correlation": 2}, {"stream": 9}, {"at": 60}])
def test_work_of_another_launch_stream_or_time_is_other_work(trace, change):
    work = {"kernel": "gemm", "at": 20, "lasts": 40, "correlation": 1}
    trace.step(1, 0, 200)
    trace.launch("cudaLaunchKernel", 10, 5, **work)
    trace.launch("cudaLaunchKernel", 16, 2, **work | change)

    profile = trace.read()

    assert sum(kernel.count for kernel in profile.kernels) == 2
    assert not any("more than once" in note for note in profile.notes)


def test_short_calls_of_the_host_may_be_alike(trace):
    trace.step(1, 0, 100).add("aten::empty", 5, 1).add("aten::empty", 5, 1)
    trace.launch("cudaLaunchKernel", 10, 5, kernel="gemm", at=20, lasts=40, correlation=1)

    assert trace.columns().notes == ()
