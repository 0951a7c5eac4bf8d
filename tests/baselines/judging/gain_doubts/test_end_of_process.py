"""Tests when head is doubted because its steps leave work to the end of their process."""

from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger.step_evidence import EndCost, StepEvidence
from perfledger_baselines.judging.gain_doubts.end_of_process import end_cost_doubt
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads
from perfledger_baselines.judging.judge import judgement_of
from tests.baselines.judging.gain_doubts.test_leftover_work import with_steps


def asleep(seconds, short_s=None):
    """Return evidence of a process that slept so long at its end, and after ten steps so long."""
    short = None if short_s is None else EndCost(steps=10, cpu_s=0.0, asleep_s=short_s)
    cost = EndCost(steps=100, cpu_s=0.0, asleep_s=seconds)
    return StepEvidence(end_cost=cost, short_end_cost=short)


def ending(cpu_s, short_s=None, *, steps=100, tasks=0, short_tasks=0):
    """Return evidence of a process that did so much at its end, and after ten steps so much."""
    short = None if short_s is None else EndCost(steps=10, cpu_s=short_s, tasks=short_tasks)
    return StepEvidence(
        end_cost=EndCost(steps=steps, cpu_s=cpu_s, tasks=tasks), short_end_cost=short
    )


SLEPT = "of the time of its steps after the last one, and longer after more of them"
LEFT = "of its work is done after the last step"
GOES_ON = "a step leaves 1 threads or processes that do not end"
SILENT = "its process does not report the work at its end, unlike base's"
UNCLEAR = "it is not known whether its steps leave that: raise the budget"


@pytest.mark.parametrize(
    ("base", "head", "doubt"),
    [
        pytest.param(ending(0.0, 0.0), ending(50.0, 5.0), f"33 % {LEFT}", id="each step leaves it"),
        pytest.param(ending(0.0, 0.0), ending(50.0, 50.0), "", id="a fixed size"),
        pytest.param(ending(0.0, 0.0), ending(50.0, 30.0), "", id="most is of a fixed size"),
        pytest.param(ending(50.0, 5.0), ending(54.0, 5.4), "", id="base leaves as much"),
        pytest.param(ending(50.0, 5.0), ending(125.0, 5.0, steps=250), "", id="more steps"),
        pytest.param(ending(0.0, 0.0), ending(4.0, 0.4), "", id="less than a twentieth"),
        pytest.param(ending(0.0), ending(50.0), UNCLEAR, id="without few steps"),
        pytest.param(ending(0.0), ending(4.0), "", id="little, without few steps"),
        pytest.param(ending(0.0, 0.0), ending(50.0, 5.0, steps=10), UNCLEAR, id="no more steps"),
        pytest.param(
            ending(0, 0), ending(0, 0, tasks=91, short_tasks=1), GOES_ON, id="threads that stay"
        ),
        pytest.param(
            ending(0, 0), ending(0, 0, tasks=8, short_tasks=8), "", id="a pool of threads"
        ),
        pytest.param(
            ending(0, 0, tasks=90), ending(0, 0, tasks=90), "", id="threads of both sides"
        ),
        pytest.param(asleep(0, 0), asleep(50.0, 5.0), f"sleeps 50 % {SLEPT}", id="each sleeps"),
        pytest.param(asleep(0, 0), asleep(50.0, 50.0), "", id="a sleep of a fixed length"),
        pytest.param(asleep(50.0, 5.0), asleep(52.0, 5.0), "", id="base sleeps, too"),
        pytest.param(asleep(0), asleep(50.0), "sleeps 50 % more of", id="a sleep, unclear"),
        pytest.param(StepEvidence(), ending(50.0, 5.0), "", id="base is unknown"),
        pytest.param(ending(0.0, 0.0), StepEvidence(), SILENT, id="head is unknown"),
        pytest.param(StepEvidence(), StepEvidence(), "", id="both are unknown"),
    ],
)
def test_a_head_is_doubted_if_its_steps_leave_work_to_the_end_of_their_process(
    checked, base, head, doubt
):
    bundle = with_steps(checked(base=base, head=head), Side.HEAD, 1.0)

    reason = end_cost_doubt(pairs_of_workloads(bundle)["m:f"])

    assert doubt in reason
    assert bool(reason) is bool(doubt)


def test_a_sleep_that_once_does_not_grow_with_the_steps_is_chance(checked):
    bundle = with_steps(checked(base=asleep(0, 0), head=asleep(50.0, 5.0)), Side.HEAD, 1.0)
    *others, last = bundle.runs
    runs = (*others, replace(last, evidence=asleep(50.0, 40.0)))

    assert end_cost_doubt(pairs_of_workloads(replace(bundle, runs=runs))["m:f"]) == ""


def test_work_that_is_left_to_the_end_of_a_process_is_no_gain(checked):
    (failure,) = judgement_of(checked(ratio=0.67, base=ending(0, 0), head=ending(20, 2))).failures

    assert failure.detail.startswith(
        "cannot tell whether head still does the work: it is 33 % faster, and "
    )
    assert LEFT in failure.detail
