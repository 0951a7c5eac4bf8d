"""Which windows of profiled steps are made, by a real profiler and a scripted clock."""

import gzip
import json
from dataclasses import replace

import pytest

from perfledger.meters.device import MAX_WINDOW_STEPS, MIN_WINDOW_STEPS, USUAL_EFFORT
from perfledger.meters.torch_profile import WARMUP, trace

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture
def profile_of(torch, tmp_path):
    """Return a function that profiles windows of an addition, each step of so many seconds."""

    def profile(seconds, effort=USUAL_EFFORT):
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
        traced = trace(torch, next_step, clock, path=path, has_cuda=False, effort=effort)
        return traced, clock.steps

    return profile


def additions(path):
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [event for event in events if event.get("name") == "aten::add"]


def test_one_window_has_shapes_and_the_others_have_the_times(profile_of):
    traced, steps = profile_of(0.01)

    assert traced.steps == 5  # of a hundredth of a second each
    assert steps == WARMUP + 1 + MIN_WINDOW_STEPS + USUAL_EFFORT.windows * (WARMUP + 1 + 5)
    timed = (traced.trace, *traced.repeats)
    assert len(set(timed)) == USUAL_EFFORT.windows
    for path in timed:
        assert len(additions(path)) == 1 + 5
        assert not any("Input Dims" in event["args"] for event in additions(path))
    shaped = additions(traced.shapes)
    assert [event["args"]["Input Dims"][:2] for event in shaped] == [[[8], [8]]] * (
        1 + MIN_WINDOW_STEPS
    )


def test_without_time_there_is_one_window_of_the_fewest_steps(profile_of):
    traced, steps = profile_of(0.001, replace(USUAL_EFFORT, until=0.0))

    assert (traced.steps, traced.repeats, traced.shapes) == (MIN_WINDOW_STEPS, (), None)
    assert steps == WARMUP + 1 + MIN_WINDOW_STEPS
    assert len(additions(traced.trace)) == 1 + MIN_WINDOW_STEPS


def test_long_steps_have_few_windows(profile_of):
    traced, steps = profile_of(1.0)

    assert traced.repeats == ()
    assert steps == 2 * (WARMUP + 1 + MIN_WINDOW_STEPS)


def test_windows_of_short_steps_have_more_of_them(profile_of):
    traced, _ = profile_of(1e-6)

    assert traced.steps == MAX_WINDOW_STEPS
    assert len(additions(traced.trace)) == 1 + MAX_WINDOW_STEPS
