"""Which windows of profiled steps are made, by a real profiler and a scripted clock."""

import gzip
import json
from dataclasses import replace

import pytest

from perfledger.meters.device import (
    MAX_WINDOW_STEPS,
    MIN_WINDOW_STEPS,
    USUAL_EFFORT,
    TraceEffort,
)
from perfledger.meters.torch_profile import WARMUP, trace

EXTRA_FLAGS, FASTEST = 8, 4  # a byte of a gzip file, and what level 1 writes there (RFC 1952)

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


def test_after_measured_steps_the_profilers_warm_up_runs_none(profile_of):
    traced, steps = profile_of(
        0.01, TraceEffort(windows=3, has_shapes=False, steps=4, is_warm=True)
    )

    assert steps == 3 * (1 + 4)
    assert [len(additions(path)) for path in (traced.trace, *traced.repeats)] == [1 + 4] * 3


def test_traces_are_compressed_at_the_fastest_level_and_nothing_else_is_left(profile_of, tmp_path):
    traced, _ = profile_of(0.01, TraceEffort(windows=2, steps=4))

    traces = {traced.trace, *traced.repeats, traced.shapes}
    assert {*tmp_path.iterdir()} == traces
    assert {path.read_bytes()[EXTRA_FLAGS] for path in traces} == {FASTEST}
