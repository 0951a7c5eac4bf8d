import pytest


def test_readings_follow_from_the_kept_steps(steps):
    profile = steps.read()

    assert {r.name: r.value for r in profile.readings} == {
        "gpu_busy": pytest.approx(0.5),
        "comm_time": pytest.approx(200e-6),
        "comm_overlap": pytest.approx(0.5),
        "alone_time": pytest.approx(100e-6),  # of the collective, which a product hides half of
        "launch_delay_p50": pytest.approx((85 + 275) / 2 * 1e-6),
        "queue_len_p50": pytest.approx(1.0),
        "queue_len_max": pytest.approx(2.0),
        "h2d_time": pytest.approx(100e-6),
        "h2d_bw": pytest.approx(1e6 / 100e-6),
        "input_wait_frac": pytest.approx(0.1),
        "marked_step_p50": pytest.approx(1000e-6),
        "tc_ratio": pytest.approx(0.0),
    }


def test_a_cpu_trace_has_no_readings_of_a_device(trace):
    profile = trace.step(1, 0, 100).add("aten::mm", 0, 60).read()

    assert (profile.readings, profile.kernels, profile.streams) == ((), (), ())
    assert profile.device is None
