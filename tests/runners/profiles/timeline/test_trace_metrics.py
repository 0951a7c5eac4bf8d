import pytest

DATALOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.fixture
def steps(trace):
    """Return a trace of three steps with a loader, a kernel, a collective and a copy in each."""
    for number, begin in ((4, 0), (5, 1000), (6, 2000)):
        trace.step(number, begin, 1000).add(DATALOADER, begin, 100)
        for place, (kernel, at, lasts, stream, category) in enumerate(
            [
                ("volta_sgemm_128x64_nt", 200, 300, 7, "kernel"),
                ("ncclDevKernel_AllReduce", 400, 200, 20, "kernel"),
                ("Memcpy HtoD (Pinned -> Device)", 700, 100, 7, "gpu_memcpy"),
            ]
        ):
            trace.launch(
                "cudaLaunchKernel",
                begin + 110 + 10 * place,
                5,
                kernel=kernel,
                at=begin + at,
                lasts=lasts,
                correlation=10 * number + place,
                stream=stream,
                cat=category,
                bytes=1_000_000,
            )
    return trace


def test_readings_follow_from_the_kept_steps(steps):
    profile = steps.read()

    assert {r.name: r.value for r in profile.readings} == {
        "gpu_busy": pytest.approx(0.5),
        "comm_time": pytest.approx(200e-6),
        "comm_overlap": pytest.approx(0.5),
        "launch_delay_p50": pytest.approx((85 + 275) / 2 * 1e-6),
        "queue_len_p50": pytest.approx(1.0),
        "queue_len_max": pytest.approx(2.0),
        "h2d_time": pytest.approx(100e-6),
        "h2d_bw": pytest.approx(1e6 / 100e-6),
        "input_wait_frac": pytest.approx(0.1),
        "marked_step_p50": pytest.approx(1000e-6),
        "tc_ratio": pytest.approx(0.0),
        "tc_eligible": pytest.approx(0.0),
    }


def test_a_cpu_trace_has_no_readings_of_a_device(trace):
    profile = trace.step(1, 0, 100).add("aten::mm", 0, 60).read()

    assert (profile.readings, profile.kernels, profile.streams) == ((), (), ())
    assert profile.device is None
