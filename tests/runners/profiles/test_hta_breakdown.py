"""The rules of HolisticTraceAnalysis in benchmarks/profiles/hta_breakdown.py."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def hta(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks" / "profiles")
    return importlib.import_module("hta_breakdown")


@pytest.fixture
def breakdown(hta):
    def of(trace, **options):
        temporal_breakdown = hta.temporal_breakdown(trace.columns(), **options)
        assert temporal_breakdown is not None
        return temporal_breakdown

    return of


@pytest.fixture
def three_steps(trace):
    """Return a trace of three steps, each with a kernel, a collective beside it, and a copy."""
    for number in range(3):
        begin = 1000 * number
        trace.step(number + 1, begin, 1000)
        for place, (kernel, at, lasts, stream) in enumerate(
            [("gemm", 100, 200, 7), ("ncclKernel", 200, 200, 20), ("Memcpy HtoD", 500, 50, 9)]
        ):
            trace.launch(
                "cudaLaunchKernel",
                begin + 10 * place,
                5,
                kernel=kernel,
                at=begin + at,
                lasts=lasts,
                correlation=10 * number + place + 1,
                stream=stream,
            )
    return trace


def test_the_last_step_is_left_out_unless_it_is_asked_for(three_steps, breakdown):
    short, whole_temporal_breakdown = (
        breakdown(three_steps, include_last_step=last) for last in (False, True)
    )

    assert (short.kernels, whole_temporal_breakdown.kernels) == (6, 9)
    assert (short.kernel_us, whole_temporal_breakdown.kernel_us) == (1450, 2450)


def test_idle_compute_and_the_rest_are_all_of_the_time(three_steps, breakdown, hta):
    temporal_breakdown = breakdown(three_steps)

    assert (
        temporal_breakdown.idle_us,
        temporal_breakdown.compute_us,
        temporal_breakdown.non_compute_us,
    ) == (750, 400, 300)
    assert temporal_breakdown.overlap == pytest.approx(0.5)
    assert dict(temporal_breakdown.by_work) == {
        hta.Work.COMPUTE: 200,
        hta.Work.COMPUTE | hta.Work.COMMUNICATION: 200,
        hta.Work.COMMUNICATION: 200,
        hta.Work.MEMORY: 100,
    }


def test_kernels_are_ranked_by_their_whole_time(three_steps, breakdown, hta):
    temporal_breakdown = breakdown(three_steps, top=2)

    assert temporal_breakdown.top == (
        hta.KernelTime(name="gemm", us=400, count=2),
        hta.KernelTime(name="ncclKernel", us=400, count=2),
    )


def test_a_launch_after_the_last_steps_end_is_left_out(three_steps, breakdown):
    three_steps.launch("cudaLaunchKernel", 3500, 5, kernel="late", at=3600, lasts=9, correlation=99)

    assert breakdown(three_steps, include_last_step=True).kernels == 9


def test_with_fewer_than_two_steps_all_counts(trace, breakdown):
    trace.step(1, 0, 100)
    trace.launch("cudaLaunchKernel", 500, 5, kernel="late", at=600, lasts=9, correlation=9)

    temporal_breakdown = breakdown(trace)

    assert (
        temporal_breakdown.kernels,
        temporal_breakdown.kernel_us,
        temporal_breakdown.idle_us,
    ) == (1, 9, 0)
    assert temporal_breakdown.overlap is None


def test_fractions_of_a_microsecond_are_rounded_as_that_tool_does(trace, breakdown):
    trace.add("gemm", 10.4, 20.3, cat="kernel", stream=7).add(
        "gemm", 40.0, 9.9, cat="kernel", stream=7
    )

    temporal_breakdown = breakdown(trace)

    assert (
        temporal_breakdown.kernel_us,
        temporal_breakdown.compute_us,
        temporal_breakdown.idle_us,
    ) == (38, 28, 10)


def test_work_that_is_neither_is_busy_and_no_compute(trace, breakdown):
    trace.add("gemm", 0, 10, cat="kernel", stream=7).add(
        "Stream Sync", 20, 10, cat="cuda_sync", stream=7
    )

    temporal_breakdown = breakdown(trace)

    assert (
        temporal_breakdown.idle_us,
        temporal_breakdown.compute_us,
        temporal_breakdown.non_compute_us,
    ) == (10, 10, 10)


def test_why_streams_stood_still_is_of_the_kept_calls_in_whole_microseconds(three_steps, hta):
    idle_by_stream = {idle.stream: idle for idle in hta.temporal_idle(three_steps.columns())}

    assert idle_by_stream["7"].host_wait_ns == 800_000
    assert idle_by_stream["20"].host_wait_ns == 800_000
    assert (idle_by_stream["9"].kernel_wait_ns, idle_by_stream["9"].other_ns) == (0, 0)


def test_idle_time_is_rounded_like_the_rest(trace, hta):
    trace.add("gemm", 10.4, 20.3, cat="kernel", stream=7)
    trace.add("gemm", 40.2, 9.9, cat="kernel", stream=7)

    assert [idle.kernel_wait_ns for idle in hta.temporal_idle(trace.columns())] == [11_000]


def test_the_work_of_an_mtia_is_what_the_steps_launched(trace, breakdown):
    launch = "runFunction - job_prep_and_submit_for_execution"
    for number in range(2):
        begin = 100 * number
        trace.step(number, begin, 100)
        trace.add(launch, begin + 5, 5, cat="mtia_runtime", correlation=number + 1)
        trace.add("pe_exe", begin + 20, 30, cat="mtia_ccp_events", stream=3, correlation=number + 1)
        trace.add("job", begin + 20, 10, cat="mtia_ccp_events", stream=3, correlation=number + 1)
        trace.add("dma copy", begin + 60, 10, cat="mtia_ccp_events")
    trace.add("job", 300, 10, cat="mtia_ccp_events", stream=3, correlation=99)

    temporal_breakdown = breakdown(trace)

    assert (temporal_breakdown.kernels, temporal_breakdown.kernel_us) == (6, 150)
    assert (temporal_breakdown.compute_us, temporal_breakdown.idle_us) == (20, 70)
