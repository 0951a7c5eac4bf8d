"""Processes that do more at their end are compared with ones of few steps, once in a check."""

from dataclasses import replace

import pytest

from perfledger.records import Run, Side
from perfledger.step_evidence import EndCost, StepEvidence
from perfledger_runners.measuring.rounds.end_costs import (
    FEW_STEPS,
    UNHEARD,
    names_to_compare,
    with_end_cost,
    with_short_end_costs,
    with_unheard_ends,
)


def run(side, cpu_s=None, *, steps=100, step_s=0.01, **values):
    cost = None if cpu_s is None else EndCost(steps=steps, cpu_s=cpu_s, **values)
    return Run(
        workload="w",
        side=side,
        pair=0,
        position=0,
        process=0,
        started_at="",
        samples={"step_time_p50": (step_s,)},
        evidence=StepEvidence(end_cost=cost),
    )


@pytest.mark.parametrize(
    ("base", "head", "is_compared"),
    [
        pytest.param(run(Side.BASE, 0.1), run(Side.HEAD, 0.13), True, id="a fiftieth more"),
        pytest.param(run(Side.BASE, 0.1), run(Side.HEAD, 0.115), False, id="less"),
        pytest.param(run(Side.BASE, 0.5), run(Side.HEAD, 0.1), False, id="base does more"),
        pytest.param(
            run(Side.BASE, 0.0), run(Side.HEAD, 0.004, step_s=1e-5), False, id="milliseconds"
        ),
        pytest.param(run(Side.BASE), run(Side.HEAD, 0.5), False, id="base is unknown"),
        pytest.param(run(Side.BASE, 0), run(Side.HEAD, 0, tasks=10), True, id="threads that stay"),
        pytest.param(run(Side.BASE, 0), run(Side.HEAD, 0, tasks=9), False, id="a pool of threads"),
        pytest.param(run(Side.BASE, 0.1), run(Side.HEAD), False, id="head is unknown"),
    ],
)
def test_a_head_that_does_more_at_its_end_is_compared(base, head, is_compared):
    assert names_to_compare([(base, head)], []) == (("w",) if is_compared else ())


def test_a_workload_is_compared_once():
    base, head = run(Side.BASE, 0.0), run(Side.HEAD, 0.5)
    (_, done) = with_short_end_costs([base, head], [run(Side.HEAD, 0.1, steps=3)])

    assert done.evidence.short_end_cost == EndCost(steps=3, cpu_s=0.1)
    assert names_to_compare([(base, head)], [done]) == ()


def test_a_head_that_sleeps_longer_at_its_end_is_compared_three_times():
    base, head = run(Side.BASE, 0.1), run(Side.HEAD, 0.1, asleep_s=0.5)
    (done,) = with_short_end_costs([head], [run(Side.HEAD, 0.1, steps=3)])

    for pairs, is_compared in enumerate((True, True, True, False)):
        assert names_to_compare([(base, head)], [done] * pairs) == (("w",) if is_compared else ())


def test_a_process_that_ends_unheard_is_noted():
    heard, unheard, other = run(Side.BASE, 0.2), run(Side.HEAD), replace(run(Side.HEAD), process=1)

    assert with_unheard_ends([heard, unheard, other], 0) == [
        heard,
        replace(unheard, left_out={UNHEARD: 1}),
        other,
    ]


def test_few_steps_change_only_what_they_tell():
    runs = (run(Side.BASE, 0.2), run(Side.HEAD, 0.5))

    assert with_short_end_costs(runs, [run(Side.HEAD)]) == runs
    assert FEW_STEPS.max_turns == 1


def test_the_end_of_a_process_is_added_to_its_run_alone():
    runs = [run(Side.BASE), run(Side.HEAD), replace(run(Side.HEAD), workload="v")]
    cost = EndCost(steps=7, cpu_s=0.3)

    base, head, other = with_end_cost(runs, "w", Side.HEAD, cost)

    assert head.evidence.end_cost == cost
    assert (base, other) == (runs[0], runs[2])
