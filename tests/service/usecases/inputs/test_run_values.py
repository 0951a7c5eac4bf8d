"""Tests the grouping of a bundle's runs, and their values of a metric."""

import math
from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY, STEP_TIME, STEP_TIME_P95, MetricScale
from perfledger.records import Side
from perfledger_service.usecases.inputs.run_values import (
    UsableValues,
    left_out_text,
    run_values,
    runs_of,
    usable_values,
)


def measured(runs, *readings, metric=STEP_TIME):
    """Return runs with one reading of a metric each; none where the reading is None."""
    return [
        replace(run, samples={"other": (1.0,)} if one is None else {metric.name: (one,)})
        for run, one in zip(runs, readings, strict=False)
    ]


@pytest.fixture
def runs(make_bundle):
    return make_bundle().runs


def test_runs_are_grouped_by_workload_one_side_at_a_time(make_bundle):
    grouped = runs_of(make_bundle(workloads=("a:step", "b:step"), pairs=3), Side.BASE)

    assert {workload: len(runs) for workload, runs in grouped.items()} == {"a:step": 3, "b:step": 3}
    assert {run.side for runs in grouped.values() for run in runs} == {Side.BASE}


def test_runs_are_in_the_order_of_their_start_then_of_their_process(make_bundle):
    bundle = make_bundle(pairs=3)
    hours = {0: "12", 2: "11", 4: "11"}
    runs = tuple(
        replace(run, started_at=f"2026-11-20T{hours.get(run.process, '10')}:00:00+00:00")
        for run in reversed(bundle.runs)
    )

    (ordered,) = runs_of(replace(bundle, runs=runs), Side.BASE).values()

    assert [run.process for run in ordered] == [2, 4, 0]


def test_a_bundle_without_runs_has_no_groups(make_bundle):
    assert runs_of(make_bundle(runs=()), Side.HEAD) == {}


def test_each_run_has_one_value(runs):
    read = run_values([run for run in runs if run.side is Side.BASE], STEP_TIME)

    assert read.left_out == 0
    assert read.values == pytest.approx((0.01,) * 6, rel=0.01)


def test_a_run_without_the_metric_has_no_value(runs):
    assert run_values(measured(runs, 1.0, None, 2.0), STEP_TIME) == UsableValues((1.0, 2.0))
    assert run_values(measured(runs, 1.0), PEAK_MEMORY) == UsableValues(())


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(("good", "comparable"), [(3, (1.0,) * 3), (2, ())])
def test_up_to_a_quarter_of_the_runs_may_have_no_ratio(runs, bad, good, comparable):
    read = run_values(measured(runs, *(1.0,) * good, bad), STEP_TIME)

    assert (read.values, read.left_out) == ((1.0,) * good, 1)
    assert read.comparable == comparable


def test_a_tail_needs_enough_steps_in_every_run(runs):
    long = replace(runs[0], samples={STEP_TIME.name: (0.01,) * 100})
    short = replace(runs[1], samples={STEP_TIME.name: (0.01,)})

    assert run_values([long, long], STEP_TIME_P95).values == pytest.approx((0.01, 0.01))
    assert run_values([long, short], STEP_TIME_P95) == UsableValues(())


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_values_without_a_ratio_are_left_out_and_counted(value):
    assert usable_values((1.0, value, 2.0), STEP_TIME) == UsableValues((1.0, 2.0), 1)


def test_a_count_of_zero_is_a_value_that_has_no_ratio():
    count = replace(PEAK_MEMORY, name="launches", scale=MetricScale.EXACT)

    assert usable_values((1.0, 2.0), count) == UsableValues((1.0, 2.0))
    assert usable_values((1.0, 0.0, 2.0, 1.0, 1.0), count) == UsableValues((), 5)


@pytest.mark.parametrize(
    ("values", "left_out", "flaw"),
    [
        ((1.0,) * 3, 1, ""),
        (
            (1.0,) * 5,
            2,
            "over a quarter of the runs (2 of 7) are zero, negative or not a number",
        ),
        ((), 0, "a reading is missing, so there is no ratio"),
    ],
)
def test_up_to_a_quarter_may_be_left_out(values, left_out, flaw):
    assert UsableValues(values, left_out).flaw == flaw


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ([UsableValues((1.0, 2.0))], ""),
        (
            [UsableValues((1.0,) * 3, 1), UsableValues((1.0,) * 8)],
            "1 of 12 runs (zero, negative or not a number)",
        ),
        (
            [UsableValues((1.0,) * 2, 1), UsableValues((1.0,) * 3, 1), UsableValues((1.0,) * 4)],
            (
                "2 of 11 runs (zero, negative or not a number), "
                "and 1 of 3 points with over a quarter of such runs"
            ),
        ),
    ],
)
def test_what_is_left_out_is_counted_in_runs_and_in_groups(groups, text):
    assert left_out_text(groups, "points") == text
