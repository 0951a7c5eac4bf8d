"""Steps timed on the device: recorded ones, and what holds for any program."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.records import Side
from perfledger_profiles.timeline.device_windows import AHEAD
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.step_windows import steps_of
from perfledger_profiles.torch_profiler.kineto import read_kineto
from tests.runners.profiles.conftest import Trace

RECORDINGS = Path(__file__).parents[2] / "recordings"


def calls(profile):
    return {kernel.name: kernel.count for kernel in profile.kernels}


# What torch's own annotations, gpu_user_annotation, say of the complete recordings.
@pytest.mark.parametrize(
    ("case", "step_us", "kernels", "host_steps"),
    [
        ("h100_gpt_ahead", (41_054.4, 41_058.4, 41_053.7), {"fmha_cutlassB": 4, "arange": 1}, 2),
        ("h100_graph_ahead", (723.5, 723.3, 722.1), {"nvjet_sm90": 20, "GeluCUDA": 1}, 3),
    ],
)
def test_recorded_steps_are_those_of_the_device(case, step_us, kernels, host_steps):
    profile = read_kineto(
        (RECORDINGS / f"{case}.kineto.json").read_bytes(), workload="m:f", side=Side.HEAD
    )

    assert [1e6 * step.seconds for step in profile.each_step] == pytest.approx(step_us, abs=0.1)
    assert [step.number for step in profile.each_step] == [4, 5, 6]
    totals = {
        part: sum(count for name, count in calls(profile).items() if part in name)
        for part in kernels
    }
    assert totals == kernels
    assert profile.notes[0] == AHEAD.format(host_steps, "s")


@pytest.mark.parametrize("case", ["h100_gpt_ahead", "h100_graph_ahead"])
def test_recorded_steps_begin_as_far_apart_as_the_devices_annotations(case):
    text = (RECORDINGS / f"{case}.kineto.json").read_text(encoding="utf-8")
    annotations = sorted(
        event["ts"]
        for event in json.loads(text)["traceEvents"]
        if event["cat"] == "gpu_user_annotation"
    )

    profile = read_kineto(text.encode(), workload="m:f", side=Side.HEAD)

    mean_us = 1e6 * sum(step.seconds for step in profile.each_step) / len(profile.each_step)
    assert mean_us == pytest.approx(float(np.diff(annotations).mean()), rel=1e-3)


STEP = st.tuples(
    st.integers(1, 30),  # us on the host
    st.lists(st.integers(1, 40), min_size=1, max_size=4),  # us of its kernels
)


@given(st.lists(STEP, min_size=1, max_size=6))
def test_the_kernels_of_the_kept_steps_are_those_that_they_launched(launched_steps):
    trace, linked = _queued(launched_steps)
    profile = trace.read()
    columns = trace.columns()
    steps = steps_of(columns, launches_of(columns))

    kept_values = steps.windows.owner.tolist()
    expected_us = sum(sum(linked[number]) for number in kept_values) / len(kept_values)
    assert 1e6 * sum(k.seconds for k in profile.kernels) == pytest.approx(expected_us)
    calls_kept = sum(len(linked[number]) for number in kept_values)
    assert sum(k.count for k in profile.kernels) == pytest.approx(calls_kept / len(kept_values))
    assert sum(o.seconds for o in profile.operations) == pytest.approx(profile.step_seconds)
    begins, ends = steps.segments.start_ns, steps.segments.end_ns
    assert (begins[1:] >= ends[:-1]).all()
    assert (ends > begins).all()


@given(st.lists(STEP, min_size=1, max_size=6))
def test_steps_without_a_pause_fill_the_time_from_the_first_marker_to_the_last_end(steps):
    trace, _ = _queued(steps)
    columns = trace.columns()
    segments = steps_of(columns, launches_of(columns)).segments

    last = max(event["ts"] + event["dur"] for event in trace.events)
    assert segments.length_ns() == pytest.approx(1e3 * last, rel=0.02)


def _queued(steps):
    """Return a trace of a host that never waits, and the us of the kernels of each step."""
    trace = Trace()
    now = free = 0.0
    link = 0
    linked = []
    for number, (host, kernels) in enumerate(steps):
        trace.step(number, now, host)
        for place, lasts in enumerate(kernels):
            link += 1
            at = now + (place + 0.5) * host / (len(kernels) + 1)
            free = max(free, at + 0.1)
            launched = {"kernel": "k", "at": free, "lasts": lasts, "correlation": link}
            trace.launch("cudaLaunchKernel", at, 0.1, **launched)
            free += lasts
        linked.append(kernels)
        now += host
    return trace, linked
