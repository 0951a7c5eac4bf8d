import json

import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.formats import ProfileFormat, detect_format, read_profile
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm.rocprof import read_rocprof


def event(place, name, begin_ns, end_ns, **args):
    """Return an event as rocprof 1 writes it: all numbers are text, times in the arguments."""
    return {
        "ph": "X",
        "name": name,
        "pid": str(place),
        "tid": "0",
        "ts": str(begin_ns // 1000),
        "dur": str((end_ns - begin_ns) // 1000),
        "args": {"BeginNs": str(begin_ns), "EndNs": str(end_ns), "pid": "7", "tid": "7", **args},
    }


ON_GPU = {"dev-id": "4", "queue-id": "0"}
EVENTS = [
    {},
    {"args": {"name": "CPU HIP API"}, "ph": "M", "pid": 2, "name": "process_name"},
    event(1, "CopyHostToDevice", 1000, 3000, **ON_GPU),
    event(2, "hipMemcpy", 500, 6000),
    event(3, "hsa_signal_wait_scacquire", 600, 5900),
    event(2, "hipLaunchKernel", 6500, 7000),
    event(10, "vector_add(float*, float*, float*, int) [clone .kd]", 7000, 9000, **ON_GPU),
    {"ph": "s", "cat": "DataFlow", "id": 0, "pid": 2, "tid": 7, "ts": 2, "name": "dep"},
    event(2, "hipDeviceSynchronize", 7100, 9000),
    event(1, "CopyDeviceToHost", 9500, 10000, **ON_GPU),
]


def data(events):
    return json.dumps({"traceEvents": events, "otherData": {"CMD": "./vector_add"}}).encode()


def read(events):
    return read_rocprof(data(events), workload="m:f", side=Side.HEAD)


def test_the_chrome_trace_of_rocprof_1_is_a_timeline(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(data(EVENTS))

    profile = read_profile(path, workload="m:f", side=Side.HEAD)

    assert detect_format(data(EVENTS), "results.json") is ProfileFormat.ROCPROF
    assert profile.tool == "rocprof"
    assert profile.step_seconds == pytest.approx(9e-6)  # from the first work to the last
    seconds = {one.name: one.seconds for one in profile.operations}
    assert seconds["vector_add(float*, float*, float*, int)"] == pytest.approx(2e-6)
    assert seconds["hipMemcpy"] == pytest.approx(3e-6)
    assert seconds["hipLaunchKernel"] == pytest.approx(0.5e-6)
    assert "hsa_signal_wait_scacquire" not in seconds
    assert profile.bucket_seconds()[Bucket.COPY] == pytest.approx(2.5e-6)
    assert not profile.is_host_known  # which call started which work is not recorded


def test_devices_are_those_of_the_events():
    other = event(9, "gemm", 1000, 2000, **{"dev-id": "3", "queue-id": "1"})

    assert [one.name for one in read([*EVENTS, other]).devices] == ["device 3", "device 4"]


def test_events_without_times_are_counted():
    profile = read([*EVENTS, event(10, "gemm", 9000, 9500, BeginNs="soon")])

    assert profile.dropped_events == 1


@pytest.mark.parametrize("content", [data([{}]), b'{"traceEvents": 5}', data(EVENTS)[:-40]])
def test_what_has_no_event_of_rocprof_is_refused(content):
    with pytest.raises(ProfileError):
        read_rocprof(content, workload="m:f", side=Side.HEAD)
