"""What the first step of a process costs more than a steady one, and what it compiles."""

import math
from dataclasses import replace

import pytest

from perfledger.compile_record import CompileRecord
from perfledger.metrics import COLD_START, COMPILE_TIME, STEP_TIME
from perfledger.records import Run, Side
from perfledger_baselines.estimation.clock_states import follows_clocks
from perfledger_baselines.estimation.estimators import (
    cold_start_s,
    compile_time_s,
    point_estimates,
)
from perfledger_baselines.estimation.pairing import estimate_pairs, tests_of as paired


def run(warmups, *, steps=(0.25, 0.5, 0.25), side=Side.BASE, process=0):
    return Run(
        workload="m:f",
        side=side,
        pair=process,
        position=0 if side is Side.BASE else 1,
        process=process,
        started_at="2026-11-01T00:00:00Z",
        warmups_s=warmups,
        samples={STEP_TIME.name: steps} if steps else {"peak_memory": (1.0,)},
    )


@pytest.mark.parametrize(
    ("warmups", "steps", "seconds"),
    [
        pytest.param((4.25, 0.5), (0.25, 0.5, 0.25), 4.0, id="less the median step"),
        pytest.param((0.25, 9.0), (0.25, 0.25), None, id="no longer than a steady one"),
        pytest.param((0.5, 9.0), (0.25, 0.25), 0.25, id="less than a second longer"),
        pytest.param((), (0.25,), None, id="no warm-up was recorded"),
        pytest.param((4.0,), (), None, id="no step was timed"),
    ],
)
def test_a_start_is_what_the_first_step_costs_more(warmups, steps, seconds):
    assert cold_start_s(run(warmups, steps=steps)) == seconds


@pytest.mark.parametrize("time_s", [math.nan, math.inf, -1.0, 0.0])
def test_a_time_that_is_none_is_not_hidden(time_s):
    found_cold_start_s = cold_start_s(run((time_s, 1.0)))

    assert found_cold_start_s is not None
    assert math.isnan(found_cold_start_s)


def test_it_is_located_like_any_metric_and_does_not_follow_the_devices_clock():
    assert point_estimates([run((4.25,)), run(())], COLD_START) == (4.0, None)
    assert not follows_clocks(COLD_START)


def test_a_start_that_no_process_has_is_not_measured_and_says_why():
    pairs = [(run((0.25,), process=n), run((9.0,), side=Side.HEAD, process=n)) for n in range(3)]

    metrics = [STEP_TIME, COLD_START]
    (_, start) = paired("m:f", estimate_pairs(pairs, metrics), metrics)

    assert start.pairs == ()
    assert start.flaw == (
        "cold_start was not read on base: no process's first step was longer than the others"
    )


def compiled(seconds, **place):
    phases_s = {"tracing": seconds / 4, "backend compile": 3 * seconds / 4}
    return replace(run((1.0,), **place), compiled=CompileRecord(phases_s=phases_s))


def test_the_compile_time_is_that_of_all_phases():
    assert compile_time_s(compiled(2.0)) == 2.0
    assert point_estimates([compiled(2.0), run(())], COMPILE_TIME) == (2.0, None)
    assert not follows_clocks(COMPILE_TIME)


def test_a_process_that_compiled_nothing_has_no_compile_time():
    assert compile_time_s(run((1.0,))) is None
    assert compile_time_s(replace(run((1.0,)), compiled=CompileRecord())) is None


def test_a_side_that_compiled_nothing_is_not_measured_and_says_why():
    pairs = [(compiled(2.0, process=n), run((1.0,), side=Side.HEAD, process=n)) for n in range(3)]
    metrics = [STEP_TIME, COMPILE_TIME]

    (_, compiling) = paired("m:f", estimate_pairs(pairs, metrics), metrics)

    assert compiling.flaw == (
        "compile_time was not read on head: neither torch.compile nor JAX compiled anything there"
    )
