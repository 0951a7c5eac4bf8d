"""Which windows of profiled steps are made, by a real profiler and a scripted clock."""

import gzip
import json

import pytest

from perfledger.meters.torch_profile import ACTIVE, WARMUP, WINDOWS, trace

pytestmark = [pytest.mark.slow, pytest.mark.torch]
STEPS = WARMUP + ACTIVE  # of a window


@pytest.fixture
def profiled(torch, tmp_path):
    """Return a function that profiles windows of an addition, each step of so many seconds."""

    def profile(seconds):
        class ScriptedClock:
            steps = 0

            def time(self, step):
                step()
                self.steps += 1
                return seconds

        def next_step():
            ones = torch.ones(8)
            return lambda: ones + ones

        clock = ScriptedClock()
        path = tmp_path / "trace.json.gz"
        return trace(torch, next_step, clock, path=path, has_cuda=False), clock.steps // STEPS

    return profile


def additions(path):
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [event for event in events if event.get("name") == "aten::add"]


def test_one_window_has_shapes_and_the_others_have_the_times(profiled):
    traced, windows = profiled(0.01)

    assert windows == 1 + WINDOWS
    timed = (traced.trace, *traced.repeats)
    assert len(set(timed)) == WINDOWS
    for path in timed:
        assert len(additions(path)) == ACTIVE
        assert not any("Input Dims" in event["args"] for event in additions(path))
    shaped = additions(traced.shapes)
    assert [event["args"]["Input Dims"][:2] for event in shaped] == [[[8], [8]]] * ACTIVE


def test_long_steps_have_few_windows(profiled):
    traced, windows = profiled(1.0)

    assert windows == 2
    assert traced.repeats == ()
