"""Real children under load; whatever goes wrong is a failure with a reason, never a number."""

from dataclasses import replace

import pytest

from perfledger.load import Load, LoopKind
from perfledger.records import Device, FailureReason
from perfledger_runners.measuring.load_runs import load_workloads

QUICK = Load(concurrency=(1, 4), rates=(50.0,), seconds=0.2)
FINE = """
import time
@perfledger.workload(params={"batch": [1, 8]})
def naps(batch):
    return lambda: time.sleep(0.001 * batch)
"""
# Writes how many of its steps are under way.
COUNTED = """
import threading, time
at_once, lock = 0, threading.Lock()
def count(change):
    global at_once
    with lock, open({log!r}, "a") as log:
        at_once += change
        log.write(f"{{at_once}} ")
@perfledger.workload()
def counted():
    def step():
        count(1)
        time.sleep(0.01)
        count(-1)
    return step
"""
SLOWLY_BAD = """
import os, signal, time
def after(count, what):
    def set_up():
        steps = []
        def step():
            steps.append(1)
            time.sleep(0.001)
            if len(steps) > count:
                what()
        return step
    return set_up
@perfledger.workload()
def raises():
    return after(60, lambda: 1 / 0)()
@perfledger.workload()
def dies():
    return after(60, lambda: os.kill(os.getpid(), signal.SIGKILL))()
@perfledger.workload()
def hangs():
    return after(60, hang)()
@perfledger.workload()
def writes():
    return after(60, lambda: os.write(FD, b"served\\n"))()
FD = next(n for n in range(100, 1024) if os.path.exists(f"/proc/self/fd/{n}"))
"""
POINT = {
    "event": "served",
    "workload": "benchmarks.w:w",
    "mode": "closed",
    "concurrency": 1,
    "offered_per_second": None,
    "latencies_s": [1.0, 1.0],
    "services_s": [1.0, 1.0],
    "seconds": 2.0,
    "answered": 2,
    "unserved": 0,
    "peak_bytes": None,
}
LOADED = {
    "event": "loaded",
    "workload": "benchmarks.w:w",
    "batch": 1,
    "device": "cpu",
    "devices": 1,
}


class Heard:
    """What the progress was told."""

    def __init__(self):
        self.workloads, self.points = [], []

    def loading(self, workload):
        self.workloads.append(workload)

    def point_done(self, served):
        self.points.append(served)


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def load_file(harness, write_benchmarks, request_for, tmp_path, heard):
    """Return a function that loads workloads of one file."""

    def run(text, names, load=QUICK):
        request = request_for(write_benchmarks(tmp_path, w=text))
        names = [f"benchmarks.w:{name}" for name in names]
        return load_workloads(harness, request, names, load, progress=heard)

    return run


@pytest.fixture
def say(scripted, request_for, write_benchmarks, tmp_path, heard):
    """Return what becomes of a load whose child says these messages."""

    def load(*messages):
        started = {"event": "started", "workload": "benchmarks.w:w"}
        request = request_for(write_benchmarks(tmp_path / "r", w=""))
        harness = scripted({"event": "facts"}, started, *messages, {"event": "done"})
        return load_workloads(harness, request, ["benchmarks.w:w"], QUICK, progress=heard)

    return load


@pytest.mark.slow(ci_only=True)
def test_each_batch_has_its_points_in_a_child_of_its_own(load_file, heard):
    names = [f"naps[batch={n}]" for n in (1, 8)]

    load_runs = load_file(FINE, names)

    assert load_runs.failures == ()
    assert (load_runs.device, load_runs.devices) == (Device.CPU, 1)
    assert [point.batch for point in load_runs.points] == [1] * 3 + [8] * 3
    assert [point.result.mode for point in load_runs.points[:3]] == [LoopKind.CLOSED] * 2 + [
        LoopKind.OPEN
    ]
    assert all(point.memory_bytes for point in load_runs.points)
    for point in load_runs.points:
        assert min(point.result.services_s) >= 0.001 * point.batch
        pairs = zip(point.result.latencies_s, point.result.services_s, strict=True)
        assert all(latency >= service for latency, service in pairs)
    assert heard.workloads == [f"benchmarks.w:{name}" for name in names]
    assert heard.points == [point.result for point in load_runs.points]


@pytest.mark.slow
def test_four_clients_of_one_server_wait_for_three_others(load_file):
    load_runs = load_file(FINE, ["naps[batch=8]"])

    assert min(load_runs.points[1].result.latencies_s) >= 4 * 0.008


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 4])
def test_several_servers_share_one_queue(load_file, tmp_path, servers):
    log = tmp_path / "log"
    load = replace(QUICK, concurrency=(4,), rates=(), servers=servers)

    load_runs = load_file(COUNTED.format(log=str(log)), ["counted"], load)

    assert load_runs.failures == ()
    assert len(load_runs.points[0].result.latencies_s) >= 4
    most_at_once = max(map(int, log.read_text().split()))
    assert most_at_once <= servers
    assert (most_at_once > 1) is (servers > 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raises", FailureReason.RAISED),
        ("dies", FailureReason.KILLED),
        ("hangs", FailureReason.HUNG),
        ("writes", FailureReason.GARBAGE),
        ("gone", FailureReason.MISSING),
    ],
)
def test_what_fails_under_load_has_a_reason_and_no_numbers(load_file, hang, name, why):
    load_runs = load_file(hang + SLOWLY_BAD, [name])

    assert [failure.why for failure in load_runs.failures] == [why]
    assert load_runs.points == ()
    assert load_runs.device is None


def test_a_point_is_read_as_the_child_said_it(say):
    load_runs = say(POINT, LOADED)

    assert load_runs.failures == ()
    assert load_runs.points[0].result.per_second == 1.0
    assert load_runs.points[0].memory_bytes is None


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"latencies_s": [0.5, 1.0]}, id="answered before it was served"),
        pytest.param({"latencies_s": [1.0]}, id="fewer latencies than services"),
        pytest.param({"latencies_s": [], "services_s": []}, id="none answered, none given up"),
        pytest.param({"latencies_s": [-1.0, 1.0]}, id="a negative latency"),
        pytest.param({"latencies_s": [1e300, 1.0]}, id="a huge latency"),
        pytest.param({"latencies_s": [0.0], "services_s": [0.0]}, id="answered in no time"),
        pytest.param({"answered": 10**9}, id="more answers than requests"),
        pytest.param({"seconds": 1e-300}, id="hardly any time"),
        pytest.param({"concurrency": None}, id="a closed loop without clients"),
        pytest.param({"concurrency": 0}, id="no clients"),
        pytest.param({"mode": "open"}, id="an open loop with clients"),
        pytest.param({"offered_per_second": 1.0}, id="a closed loop with a rate"),
        pytest.param({"seconds": 0.0}, id="no time"),
        pytest.param({"unserved": -1}, id="a negative count"),
        pytest.param({"peak_bytes": "much"}, id="memory in words"),
        pytest.param({"workload": "another:w"}, id="another's"),
    ],
)
def test_a_point_that_no_queue_has_is_garbage(say, fault):
    load_runs = say(POINT | fault, LOADED)

    assert [failure.why for failure in load_runs.failures] == [FailureReason.GARBAGE]
    assert load_runs.points == ()


@pytest.mark.parametrize("batch", [0, -1, 2**40, 1.5, None])
def test_a_batch_that_cannot_be_is_garbage(say, batch):
    load_runs = say(POINT, LOADED | {"batch": batch})

    assert [failure.why for failure in load_runs.failures] == [FailureReason.GARBAGE]


def test_a_load_without_any_point_is_a_failure(say):
    load_runs = say(LOADED)

    assert [failure.why for failure in load_runs.failures] == [FailureReason.GARBAGE]
    assert load_runs.points == ()
