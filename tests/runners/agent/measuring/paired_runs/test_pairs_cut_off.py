"""What the end of the budget cuts off: a workload that hangs is told from one without time."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from perfledger.records import FailureReason, Side, WorkloadSpec
from perfledger_runners.measuring.paired_runs import measure_pairs
from tests.suite.without_kernels import WithoutKernels

TWO = """
@perfledger.workload()
def a():
    return lambda: sum(range(100))

@perfledger.workload()
def b():
    return lambda: sum(range(100))
"""
A, B, C = (
    WorkloadSpec(id=f"benchmarks.w:{name}", module="benchmarks.w", function=name) for name in "abc"
)


class More(WithoutKernels):
    """Always asks for another round."""

    def start(self, workloads):
        self.workloads = frozenset(workloads)

    def add(self, base, head):
        pass

    def unfinished(self):
        return self.workloads

    def next_pair(self, _):
        return None

    def futile(self, _):
        return frozenset()

    def changes(self):
        return frozenset()


@pytest.mark.slow(ci_only=True)
def test_the_budget_ends_a_step_that_hangs_and_keeps_what_was_measured(harness, hang, sides):
    text = f"{TWO}{hang}@perfledger.workload()\ndef c():\n    return hang\n"
    budget_s = harness.limits.workload_s / 2  # the clock runs ahead of it once a step hangs

    measured = measure_pairs(
        replace(harness, ends_at=harness.clock() + budget_s),
        {side: replace(each, is_interleaved=True) for side, each in sides(text).items()},
        [A, B, C],
        More(),
        seed=1,
        max_pairs=9,
        budget_s=budget_s,
        clock=harness.clock,
    )

    (failure,) = measured.failures
    assert (failure.workload, failure.why) == (C.id, FailureReason.BUDGET)
    # The budget may end before the agent has heard that the workload started.
    assert re.fullmatch(
        r"the budget ended it while setting up or warming up, after [\d,]+ s: raise the budget"
        r"|the budget of [\d,]+ s was spent before its first pair: raise it",
        failure.detail,
    )
    assert Counter(run.workload for run in measured.runs) == {A.id: 2, B.id: 2}


LATER_HANG = """
from pathlib import Path
@perfledger.workload()
def a():
    starts = Path(HANG_NOTE).with_name("starts")
    starts.open("a").write("x")
    return hang if starts.stat().st_size > 2 else lambda: sum(range(100))
"""


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_hangs_after_its_first_pair_is_not_taken_for_one_cut_off(
    harness, hang, sides
):
    budget_s = harness.limits.workload_s / 2

    measured = measure_pairs(
        replace(harness, ends_at=harness.clock() + budget_s),
        sides(hang + LATER_HANG),
        [A],
        More(),
        seed=1,
        max_pairs=9,
        budget_s=budget_s,
        clock=harness.clock,
    )

    (failure,) = measured.failures
    assert (failure.workload, failure.why) == (A.id, FailureReason.BUDGET)
    assert "(earlier pairs took " in failure.detail
    assert len(measured.runs) == 2


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_hangs_on_both_sides_says_both_and_leaves_time_for_others(
    harness, hang, sides
):
    text = f"{hang}@perfledger.workload()\ndef c():\n    return hang\n{TWO}"
    budget_s = 100 * harness.limits.workload_s
    limits = replace(harness.limits, workload_s=budget_s)

    measured = measure_pairs(
        replace(harness, limits=limits, ends_at=harness.clock() + budget_s),
        sides(text),
        [C, A, B],
        More(),
        seed=1,
        max_pairs=1,
        budget_s=budget_s,
        clock=harness.clock,
    )

    assert {(each.workload, each.side, each.why) for each in measured.failures} == {
        (C.id, side, FailureReason.BUDGET) for side in Side
    }
    assert all("25 % of what was left of the budget" in each.detail for each in measured.failures)
    assert Counter(run.workload for run in measured.runs) == {A.id: 2, B.id: 2}
