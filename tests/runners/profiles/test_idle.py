from perfledger_profiles.idle import Idle, idle_streams
from perfledger_profiles.launches import launches_of


def idle(trace):
    columns = trace.columns()
    return idle_streams(columns, launches_of(columns), columns.is_device_work)


def launched(trace, *spans, stream=7):
    for number, (launch, at, lasts) in enumerate(spans, start=1):
        trace.launch(
            "cudaLaunchKernel",
            launch,
            1,
            kernel="k",
            at=at,
            lasts=lasts,
            correlation=100 * stream + number,
            stream=stream,
        )
    return trace


def test_a_launch_after_the_end_of_the_work_before_is_waiting_for_the_host(trace):
    assert idle(launched(trace, (0, 10, 10), (50, 60, 5))) == (
        Idle(stream="7", busy_ns=15_000, host_wait_ns=40_000, kernel_wait_ns=0, other_ns=0),
    )


def test_gaps_below_30_us_are_between_kernels_and_others_something_else(trace):
    found = idle(launched(trace, (0, 10, 10), (1, 49, 1), (2, 80, 1)))

    assert found == (
        Idle(stream="7", busy_ns=12_000, host_wait_ns=0, kernel_wait_ns=29_000, other_ns=30_000),
    )


def test_a_launch_at_the_very_end_of_the_work_before_is_in_time(trace):
    (found,) = idle(launched(trace, (0, 10, 10), (20, 30, 1)))

    assert (found.host_wait_ns, found.kernel_wait_ns) == (0, 10_000)


def test_work_without_a_known_launch_does_not_blame_the_host(trace):
    trace.add("a", 0, 10, cat="kernel", thread=(0, 7), stream=7)
    trace.add("b", 20, 10, cat="kernel", thread=(0, 7), stream=7)

    assert idle(trace)[0].kernel_wait_ns == 10_000


def test_each_stream_has_its_own_gaps_and_the_busiest_is_first(trace):
    launched(trace, (0, 10, 10), (50, 60, 5), stream=7)
    launched(trace, (0, 10, 100), stream=20)

    assert [found.stream for found in idle(trace)] == ["20", "7"]


def test_streams_of_several_devices_say_of_which(trace):
    trace.add("a", 0, 10, cat="kernel", thread=(0, 7), stream=7)
    trace.add("b", 0, 10, cat="kernel", thread=(1, 7), stream=7)

    assert [found.stream for found in idle(trace)] == ["0:7", "1:7"]
