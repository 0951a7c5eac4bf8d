"""Tests how many steps processes measured, and how many would be best, on made-up times."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Side
from perfledger_baselines.estimation.pairing import match_runs
from perfledger_service.usecases.check.step_count import (
    beginnings,
    best_steps,
    process_steps,
)


def timed(bundle, *, startup_s=2.0, between=0.0, slowdown=1.0, **values):
    """Return the bundle with runs that follow each other and processes that differ."""
    noise = np.random.default_rng(0)
    at = datetime(2026, 11, 20, 11, tzinfo=UTC)
    runs = []
    for run in bundle.runs:
        factor = slowdown * math.exp(between * noise.standard_normal())
        steps = tuple(factor * step for step in run.samples[STEP_TIME.name])
        samples = run.samples | {STEP_TIME.name: steps}
        runs.append(replace(run, **({"started_at": at.isoformat(), "samples": samples} | values)))
        at += timedelta(seconds=slowdown * startup_s + sum(steps))
    return replace(bundle, runs=tuple(runs))


def best(bundle, workload="gpt:step"):
    return best_steps(match_runs(bundle.runs)[workload], beginnings(bundle))


def with_steps(bundle, steps_of):
    """Return the bundle with the step times that `steps_of` gives for each run."""
    runs = tuple(
        replace(run, samples=run.samples | {STEP_TIME.name: steps_of(run)}) for run in bundle.runs
    )
    return replace(bundle, runs=runs)


def alternating(run):
    """Return steps of 1 s, off by 10 % either way; head's processes differ by 5 % each."""
    level = math.exp(0.05 * (-1) ** run.pair) if run.side is Side.HEAD else 1.0
    return tuple(level * math.exp(0.1 * (-1) ** step) for step in range(10))


def test_the_best_count_follows_kalibera_and_jones(make_bundle):
    """sqrt(startup / step * within variance / between variance), computed by hand."""
    bundle = timed(with_steps(make_bundle(pairs=6), alternating), startup_s=20.0)
    within = 0.01 * 10 / 9
    scatter = (0 + 0.0025 * 6 / 5) / 2
    expected = math.sqrt(20.0 / math.cosh(0.05) * within / (scatter - within / 10))

    steps, reason = best(bundle)

    assert 10 < expected < 30
    assert (steps, reason) == (math.ceil(expected), "")


def test_processes_that_start_slowly_and_differ_little_should_measure_many_steps(make_bundle):
    bundle = make_bundle(samples=20, pairs=10)

    assert best(timed(bundle)) == (30, "")
    assert best(timed(bundle, between=0.02, startup_s=0.05)) == (5, "")


@pytest.mark.parametrize("slowdown", [0.01, 100.0])
def test_a_faster_machine_has_the_same_best_count(make_bundle, slowdown):
    bundle = with_steps(make_bundle(pairs=6), alternating)

    assert best(timed(bundle, startup_s=20.0, slowdown=slowdown)) == best(
        timed(bundle, startup_s=20.0)
    )


def test_interleaved_runs_have_no_start_up_time(make_bundle):
    steps, reason = best(timed(make_bundle(samples=6), turns=(3, 3)))

    assert steps is None
    assert "interleaved" in reason


@pytest.mark.parametrize("few", [{"samples": 4}, {"samples": 6, "pairs": 4}])
def test_too_few_steps_or_processes_have_no_spread(make_bundle, few):
    steps, reason = best(timed(make_bundle(**few)))

    assert steps is None
    assert reason.startswith("too few processes or steps")


def test_five_steps_of_five_processes_have_a_spread(make_bundle):
    steps, reason = best(timed(make_bundle(samples=5, pairs=5)))

    assert steps is not None
    assert not reason


@pytest.mark.parametrize(("bad_steps", "is_known"), [(2, True), (3, False)])
@pytest.mark.parametrize("bad", [0.0, math.nan])
def test_over_a_quarter_of_steps_without_a_time_leave_the_best_count_unknown(
    make_bundle, bad_steps, is_known, bad
):
    def steps_of(run):
        good = run.samples[STEP_TIME.name]
        return (bad,) * bad_steps + good[bad_steps:] if run.pair == 0 else good

    bundle = timed(with_steps(make_bundle(pairs=6), alternating), startup_s=20.0)

    steps, reason = best(with_steps(bundle, steps_of))

    assert (steps is not None) is is_known
    assert ("over a quarter of a process's step times" in reason) is not is_known


def test_runs_that_all_start_at_once_do_not_show_the_start_up(make_bundle):
    steps, reason = best(timed(make_bundle(samples=6), started_at="2026-11-20T11:00:00+00:00"))

    assert steps is None
    assert "do not show how long a process takes to start" in reason


def test_workloads_that_share_a_process_have_a_count_each(make_bundle):
    bundle = timed(make_bundle(workloads=("a:step", "b:step"), samples=20, pairs=10), between=0.02)

    counts = process_steps(match_runs(bundle.runs), beginnings(bundle))

    assert [count.workload for count in counts] == ["a:step", "b:step"]
    assert [count.best for count in counts] == [
        best(bundle, "a:step")[0],
        best(bundle, "b:step")[0],
    ]
    assert all(count.best is not None for count in counts)


def test_the_fewest_and_most_steps_are_those_of_any_process(make_bundle):
    bundle = with_steps(make_bundle(), lambda run: (0.01,) * (7 + run.process))

    (count,) = process_steps(match_runs(bundle.runs), beginnings(bundle))

    assert (count.fewest, count.most, count.best) == (7, 18, None)


def test_a_workload_without_step_times_is_not_counted(make_bundle):
    bundle = make_bundle()
    runs = tuple(replace(run, samples={PEAK_MEMORY.name: (1e6,)}) for run in bundle.runs)

    assert process_steps(match_runs(runs), beginnings(bundle)) == ()
