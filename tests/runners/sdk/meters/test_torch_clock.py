"""torch's clock and meter, on a fake CUDA that keeps a script and on the real torch's CPU."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.meters import torch_profile
from perfledger.meters.clock import HostClock
from perfledger.meters.torch_clock import (
    TorchClock,
    TorchMeter,
    torch_device,
    torch_facts,
)
from perfledger.protocol import Command
from perfledger.records import Device, FailureReason


class FakeCuda:
    """A CUDA device whose time passes only when it is told to, and which writes down its calls."""

    def __init__(self, *, count=1, allocated=(0,)):
        self.calls: list[str] = []
        self.now_ms = 0.0
        self.count = count
        self.allocated = allocated
        fake = self

        class Event:
            def __init__(self, *, enable_timing):
                self.is_timed = enable_timing
                self.at_ms = None

            def record(self):
                fake.calls.append("record")
                self.at_ms = fake.now_ms

            def elapsed_time(self, end):
                assert self.is_timed
                assert end.is_timed
                fake.calls.append("elapsed")
                return end.at_ms - self.at_ms

        self.Event = Event

    def synchronize(self):
        self.calls.append("synchronize")

    def is_available(self):
        return self.count > 0

    def device_count(self):
        return self.count

    def empty_cache(self):
        self.calls.append("empty cache")

    def reset_peak_memory_stats(self, index=0):
        self.calls.append(f"reset peak of {index}")

    def max_memory_allocated(self, index=0):
        return self.allocated[index]

    def get_device_properties(self, index):
        assert index < self.count
        return SimpleNamespace(
            name="NVIDIA H100 80GB HBM3", uuid=f"1234-{index}", total_memory=80, major=9, minor=0
        )


def fake_torch(**cuda):
    version = SimpleNamespace(cuda="12.8")
    return SimpleNamespace(cuda=FakeCuda(**cuda), __version__="2.13.0", version=version)


def test_a_step_is_timed_by_a_pair_of_events_and_then_waited_for():
    torch = fake_torch()

    def step():
        torch.cuda.calls.append("step")
        torch.cuda.now_ms += 12.5

    assert TorchClock(torch).time(step) == 0.0125
    assert torch.cuda.calls == ["record", "step", "record", "synchronize", "elapsed"]


def test_each_step_is_timed_by_itself():
    torch = fake_torch()
    clock = TorchClock(torch)
    times = iter([1.0, 2.0, 4.0])

    def step():
        torch.cuda.now_ms += next(times)

    assert [clock.time(step) for _ in range(3)] == [0.001, 0.002, 0.004]


def test_on_cuda_the_peak_is_the_allocators_and_begins_anew_with_each_workload():
    torch = fake_torch(count=2, allocated=(1_000, 0))
    meter = TorchMeter(torch, Device.CUDA)
    meter.reset_peak()

    assert torch.cuda.calls == ["empty cache", "reset peak of 0", "reset peak of 1"]
    assert meter.peak_bytes() == 1_000
    assert isinstance(meter.clock, TorchClock)


def test_a_peak_of_nothing_is_unknown():
    assert TorchMeter(fake_torch(), Device.CUDA).peak_bytes() is None


def test_on_the_cpu_the_hosts_clock_and_memory_tell():
    torch = fake_torch(allocated=(1,))
    meter = TorchMeter(torch, Device.CPU)
    meter.reset_peak()
    peak = meter.peak_bytes()

    assert isinstance(meter.clock, HostClock)
    assert peak is not None
    assert peak > 1_000_000
    assert torch.cuda.calls == []


@pytest.mark.parametrize(
    ("device", "allocated", "expected"),
    [
        pytest.param(Device.CUDA, (5, 0, 0), (1, (0,)), id="one of several"),
        pytest.param(Device.CUDA, (0, 0, 7), (1, (2,)), id="the last"),
        pytest.param(Device.CUDA, (5, 0, 7), (2, (0, 2)), id="those that hold something"),
        pytest.param(Device.CUDA, (0, 0, 0), (1, ()), id="a step without tensors of its own"),
        pytest.param(Device.CPU, (5, 5, 5), (1, ()), id="the host beside them"),
    ],
)
def test_a_step_computes_on_the_devices_that_hold_its_tensors(device, allocated, expected):
    torch = fake_torch(count=3, allocated=allocated)

    meter = TorchMeter(torch, device)

    assert (meter.devices(), meter.device_places()) == expected


def test_nothing_is_placed_for_torch():
    with TorchMeter(fake_torch(), Device.CPU).device_context() as nothing:
        assert nothing is None


@pytest.mark.parametrize(
    ("wanted_device", "count", "expected"),
    [
        ("auto", 1, Device.CUDA),
        ("auto", 0, Device.CPU),
        ("cpu", 1, Device.CPU),
        ("cuda", 1, Device.CUDA),
    ],
)
def test_the_device_is_cuda_where_there_is_one(wanted_device, count, expected):
    assert torch_device(wanted_device, fake_torch(count=count)) is expected


@pytest.mark.parametrize(
    ("wanted_device", "detail"),
    [("cuda", "torch 2.13.0 finds no CUDA device here"), ("tpu", "no clock for torch on 'tpu'")],
)
def test_a_device_that_is_not_here_is_an_error_that_says_what_to_do(wanted_device, detail):
    with pytest.raises(UnmeasurableError, match=detail) as caught:
        torch_device(wanted_device, fake_torch(count=0))
    assert caught.value.reason is FailureReason.NO_DEVICE


def test_the_facts_are_those_of_the_first_device():
    assert torch_facts(fake_torch(count=8)) == {
        "kind": "cuda",
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": "GPU-1234-0",
        "more_uuids": [f"GPU-1234-{index}" for index in range(1, 8)],
        "count": 8,
        "memory_bytes": 80,
        "capability": "9.0",
        "cuda": "12.8",
    }


def test_without_a_device_there_are_no_facts():
    assert torch_facts(fake_torch(count=0)) == {}


class FakeProfile:
    """A profiler that writes down how it is driven."""

    def __init__(self, *, activities, schedule, record_shapes):
        self.activities = activities
        self.schedule = schedule
        self.has_shapes = record_shapes
        self.steps = 0
        self.path = ""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.is_closed = True

    def step(self):
        self.steps += 1

    def export_chrome_trace(self, path):
        Path(path).write_text("{}")
        self.path = f"{path}.gz"  # its compressed copy


@pytest.fixture
def profiling():
    fake_profiles: list[FakeProfile] = []

    def profile(**arguments):
        fake_profiles.append(FakeProfile(**arguments))
        return fake_profiles[-1]

    profiler = SimpleNamespace(
        ProfilerActivity=SimpleNamespace(CPU="cpu", CUDA="cuda"),
        schedule=lambda **arguments: arguments,
        profile=profile,
    )
    return SimpleNamespace(profiler=profiler), fake_profiles


def test_a_profile_on_cuda_watches_the_device_too_and_drops_the_first_active_step(
    tmp_path, scripted_clock, profiling
):
    torch, result = profiling
    clock = scripted_clock([*[9.0] * 7, 9.0, 9.0, 9.0, 1.0, 2.0, 3.0, 4.0])

    path = tmp_path / "0.kineto.json.gz"
    traced = torch_profile.trace(torch, lambda: list, clock, path=path, has_cuda=True)

    assert [each.has_shapes for each in result] == [True, False]
    for each in result:
        assert each.activities == ["cpu", "cuda"]
        assert each.schedule == {"wait": 0, "warmup": 2, "active": 5, "repeat": 1}
        assert each.steps == 7
    assert [each.path for each in result] == [str(traced.shapes), str(path)]
    assert (traced.trace, traced.steps, traced.step_seconds) == (path, 4, 2.5)
    assert traced.repeats == ()  # it took long enough


def test_every_profiled_window_has_a_file_and_the_median_one_is_first(
    tmp_path, scripted_clock, profiling
):
    torch, result = profiling
    seconds = (0.03, 0.015, 0.04, 0.02, 0.05, 0.07, 0.06, 0.08)
    clock = scripted_clock([one for each in (0.09, *seconds) for one in [each] * 7])

    path = tmp_path / "0.kineto.json.gz"
    traced = torch_profile.trace(torch, lambda: list, clock, path=path, has_cuda=False)

    files = {each.path: place for place, each in enumerate(result)}
    assert [files[str(one)] for one in (traced.trace, *traced.repeats)] == [3, 1, 2, 4, 5, 6, 7, 8]
    assert files[str(traced.shapes)] == 0
    assert {one.parent for one in traced.repeats} == {tmp_path}
    assert traced.step_seconds == pytest.approx(0.04)


WORKLOADS = """
import torch
import perfledger

@perfledger.workload(unit="samples", units_per_step=lambda batch: batch)
def train(batch=4, device="?"):
    model = torch.nn.Linear(8, 2).to(device)
    data = torch.ones(batch, 8, device=device)
    def step():
        model(data).sum().backward()
    return step
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory, run_child):
    root = tmp_path_factory.mktemp("torch-repository")
    (root / "benchmarks").mkdir()
    (root / "benchmarks/net.py").write_text(WORKLOADS)
    folder = root / "traces"
    return (
        run_child(root, Command.MEASURE),
        run_child(root, Command.PROFILE, trace_folder=str(folder)),
    )


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_real_training_step_is_measured(measured):
    run = measured[0].about("benchmarks.net:train")

    assert len(run["samples"]["step_time_p50"]) == 2
    read = set(run["samples"]) - {"cpu_time"}  # its steps are short
    assert read == {"step_time_p50", "cpu_active", "peak_memory"}


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_the_facts_name_the_loaded_torch(tmp_path, run_child, torch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/net.py").write_text(WORKLOADS)

    (facts,) = run_child(tmp_path, Command.LIST).of("facts")

    assert facts["frameworks"]["torch"] == torch.__version__


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_profiled_pass_is_a_chrome_trace_with_a_mark_for_each_active_step(measured):
    profile = measured[1].about("benchmarks.net:train")

    with gzip.open(profile["trace"]) as file:
        events = json.load(file)["traceEvents"]
    names = {event.get("name", "") for event in events}
    marks = {name for name in names if name.startswith("ProfilerStep#")}
    assert "aten::linear" in names
    assert (profile["tool"], profile["steps"]) == ("torch.profiler", len(marks) - 1)
    assert profile["steps"] >= 4
    assert profile["step_seconds"] > 0
    assert profile["trace"].endswith("/0.kineto.json.gz")


@pytest.mark.slow
@pytest.mark.torch
def test_cuda_asked_for_where_there_is_none_is_said(write, send_command, torch):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")

    answer = send_command(write({"benchmarks/net.py": WORKLOADS}), Command.MEASURE, device="cuda")

    failed = answer.about("benchmarks.net:train")
    assert failed["reason"] == FailureReason.NO_DEVICE
    assert "finds no CUDA device here" in failed["detail"]


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.torch
def test_a_real_cuda_step_is_measured_on_the_device(write, send_command, torch):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")

    answer = send_command(write({"benchmarks/net.py": WORKLOADS}), Command.MEASURE, device="cuda")

    run = answer.about("benchmarks.net:train")
    assert min(run["samples"]["step_time_p50"]) > 0
    assert run["samples"]["peak_memory"][0] > 0
    assert "cpu_active" not in run["samples"]
