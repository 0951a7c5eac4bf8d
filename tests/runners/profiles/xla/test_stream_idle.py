import pytest

from perfledger.records import Side
from perfledger_profiles.xla.planes_to_profile import profile_of_planes


def read(*many):
    return profile_of_planes(many, workload="m:f", side=Side.HEAD)


def nanos(idle):
    return tuple(
        pytest.approx(seconds * 1e9)
        for seconds in (
            idle.busy_seconds,
            idle.host_wait_seconds,
            idle.kernel_wait_seconds,
            idle.other_seconds,
        )
    )


def host(planes, *launches):
    return planes.host(
        planes.line("main", planes.event("step", 0, 200_000, step_num=0)),
        planes.line(
            "worker",
            *(
                planes.event("cuLaunchKernel", at, 10, correlation_id=number)
                for number, at in launches
            ),
        ),
    )


def gpu(planes, *kernels, number=0):
    events = [planes.event("gemm", start, length, correlation_id=n) for n, start, length in kernels]
    return planes.plane(f"/device:GPU:{number}", planes.line("Stream #7(Compute)", *events))


def test_a_launch_after_the_previous_kernel_is_the_hosts_fault(planes):
    profile = read(
        host(planes, (1, 100), (2, 60_000), (3, 61_000), (4, 62_000)),
        gpu(planes, (1, 1_000, 9_000), (2, 70_000, 10_000), (3, 90_000, 5_000), (4, 150_000, 50)),
    )

    (idle,) = profile.streams
    assert idle.stream == "7"
    # Before the second, which was launched late; before two that were queued.
    assert nanos(idle) == (24_050, 60_000, 10_000, 55_000)


def test_a_kernel_whose_launch_is_not_known_was_not_waited_for_by_the_host(planes):
    profile = read(host(planes), gpu(planes, (1, 0, 100), (2, 5_100, 100)))

    (idle,) = profile.streams
    assert nanos(idle) == (200, 0, 5_000, 0)


def test_what_runs_beside_another_on_its_stream_is_busy_once(planes):
    profile = read(host(planes), gpu(planes, (1, 0, 100), (2, 50, 100)))

    (idle,) = profile.streams
    assert nanos(idle) == (150, 0, 0, 0)


def test_streams_of_several_devices_bear_their_names(planes):
    profile = read(host(planes), *(gpu(planes, (1, 0, 10 * n), number=n) for n in (1, 2)))

    assert [idle.stream for idle in profile.streams] == ["GPU:2 7", "GPU:1 7"]


def test_launches_on_the_drivers_own_plane_count(planes):
    driver = planes.plane(
        "/host:CUPTI",
        planes.line("Host Threads/1", planes.event("cuLaunchKernel", 400, 1, correlation_id=2)),
    )

    profile = read(host(planes), driver, gpu(planes, (1, 0, 100), (2, 500, 100)))

    (idle,) = profile.streams
    assert nanos(idle) == (200, 400, 0, 0)


def test_what_a_stream_did_between_steps_is_not_the_steps_business(planes):
    steps = [planes.event("step", at, 1_000, step_num=n) for n, at in enumerate((0, 5_000))]

    profile = read(
        planes.host(planes.line("main", *steps)), gpu(planes, (1, 900, 50), (2, 5_200, 100))
    )

    (idle,) = profile.streams
    # 50 ns of the first step after its kernel, 200 of the second before it.
    assert nanos(idle) == (75, 0, 125, 0)


def test_a_tpu_has_no_streams(planes):
    device = planes.plane("/device:TPU:0", planes.line("XLA Ops", planes.event("dot", 0, 9)))

    assert read(device).streams == ()
