from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfledger.meters import jax_profile
from perfledger.meters.device import TraceEffort


class FakeArray:
    """An array that is not ready before somebody waits for it."""

    is_ready = False
    sharding = SimpleNamespace(device_set={0})

    def __array__(self):
        raise NotImplementedError


class FakeProfiler:
    """A profiler that writes down its calls, of a version without ProfileOptions."""

    def __init__(self, *, is_writing):
        self.calls = []
        self._is_writing = is_writing

    def start_trace(self, folder):
        self.calls.append("start")
        if self._is_writing:
            path = Path(folder) / "plugins/profile/now/host.xplane.pb"
            path.parent.mkdir(parents=True)
            path.write_bytes(b"")

    def stop_trace(self):
        self.calls.append("stop")

    def StepTraceAnnotation(self, name, *, step_num):  # noqa: N802 - JAX's name
        self.calls.append(f"{name} {step_num}")
        return nullcontext()


def test_each_profiled_step_is_annotated_and_the_first_is_not_kept(tmp_path, scripted_clock):
    profiler = FakeProfiler(is_writing=True)
    clock = scripted_clock([9.0, 1.0, 2.0, 3.0, 4.0])

    traced = jax_profile.trace(
        SimpleNamespace(profiler=profiler), lambda: FakeArray, clock, folder=tmp_path
    )

    assert profiler.calls == ["start", *(f"step {n}" for n in range(5)), "stop"]
    assert traced.trace == tmp_path / "0/plugins/profile/now/host.xplane.pb"
    assert (traced.steps, traced.step_seconds, traced.repeats) == (4, 2.5, ())


@pytest.mark.parametrize("seconds", [0.001, 9.0])
def test_without_time_there_is_one_window(tmp_path, scripted_clock, seconds):
    profiler = FakeProfiler(is_writing=True)

    traced = jax_profile.trace(
        SimpleNamespace(profiler=profiler),
        lambda: FakeArray,
        scripted_clock([seconds] * 5),
        folder=tmp_path,
        effort=TraceEffort(until=0.0),
    )

    assert (traced.steps, traced.repeats) == (4, ())
    assert traced.step_seconds == pytest.approx(seconds)


def test_the_median_window_is_first_and_all_are_kept(tmp_path, scripted_clock):
    profiler = FakeProfiler(is_writing=True)
    seconds = (0.09, 0.0125, 0.02, 0.03, 0.08, 0.07, 0.06, 0.05)
    clock = scripted_clock([one for each in seconds for one in [each] * 5])

    traced = jax_profile.trace(
        SimpleNamespace(profiler=profiler), lambda: FakeArray, clock, folder=tmp_path
    )

    assert profiler.calls.count("start") == 8
    assert traced.trace == tmp_path / "7/plugins/profile/now/host.xplane.pb"
    assert traced.step_seconds == pytest.approx(0.05)
    assert [path.relative_to(tmp_path).parts[0] for path in traced.repeats] == list("0123456")


def test_short_steps_have_longer_windows_after_one_that_tells_so(tmp_path, scripted_clock):
    profiler = FakeProfiler(is_writing=True)
    clock = scripted_clock([0.005] * (5 + 8 * 11))

    traced = jax_profile.trace(
        SimpleNamespace(profiler=profiler), lambda: FakeArray, clock, folder=tmp_path
    )

    assert profiler.calls.count("start") == 1 + 8
    assert traced.steps == 10  # of 50 milliseconds together
    assert len(traced.repeats) == 7
    assert {path.name for path in tmp_path.iterdir()} == set("01234567")


def test_the_profiler_is_stopped_when_a_step_raises(tmp_path, scripted_clock):
    profiler = FakeProfiler(is_writing=True)
    with pytest.raises(ZeroDivisionError):
        jax_profile.trace(
            SimpleNamespace(profiler=profiler),
            lambda: lambda: 1 // 0,
            scripted_clock([]),
            folder=tmp_path,
        )

    assert profiler.calls == ["start", "step 0", "stop"]


def test_a_profiler_that_writes_nothing_is_an_error(tmp_path, scripted_clock):
    jax = SimpleNamespace(profiler=FakeProfiler(is_writing=False))

    with pytest.raises(FileNotFoundError, match=r"wrote no \.xplane\.pb below"):
        jax_profile.trace(jax, lambda: FakeArray, scripted_clock([2.0] * 5), folder=tmp_path)
