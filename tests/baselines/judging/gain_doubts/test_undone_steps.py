"""Tests of workloads whose steps do little, or end when a clock says so."""

from dataclasses import replace

import pytest

from perfledger.records import CoreTimes, Side
from perfledger.step_evidence import StepEvidence
from perfledger_baselines.judging.gain_doubts.undone_steps import (
    clock_doubt,
    undone_doubt,
)
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads
from perfledger_baselines.judging.judge import judgement_of
from tests.baselines.judging.work_evidence.example_work import outcome


@pytest.mark.parametrize("ratio", [1.0, 0.8])
def test_a_workload_of_which_both_sides_steps_do_little_is_not_measured(checked, ratio):
    bundle = checked(ratio=ratio)
    times = {Side.BASE: 20, Side.HEAD: 15}
    runs = [
        replace(run, warmups_s=(times[run.side] * run.samples["step_time_p50"][0],) * 6)
        for run in bundle.runs
    ]

    undone = replace(bundle, runs=tuple(runs))

    assert outcome(undone) == "not measured"
    (failure,) = judgement_of(undone).failures
    assert (
        "steps of both sides take at most 0.067 times as long as their warm-up steps: make sure "
        "that what they work on has not run out"
    ) in failure.detail
    assert outcome(replace(undone, accepted_work=("m:*",))) != "not measured"


@pytest.mark.parametrize(
    ("base", "head", "is_doubted"), [(True, True, True), (False, True, True), (True, False, False)]
)
def test_a_head_whose_steps_a_clock_ends_is_not_measured(checked, base, head, is_doubted):
    sides = {"base": base, "head": head}
    evidence = {side: StepEvidence(ends_by_clock=each) for side, each in sides.items()}

    bundle = checked(ratio=0.8, **evidence)

    assert (outcome(bundle) == "not measured") is is_doubted
    details = "".join(failure.detail for failure in judgement_of(bundle).failures)
    assert ("its steps work until a clock says so" in details) is is_doubted


def test_a_clock_must_end_the_steps_of_most_processes(checked):
    bundle = checked(head=StepEvidence(ends_by_clock=True))
    (pairs,) = pairs_of_workloads(bundle).values()
    heads = [number for number, sides in pairs.items() if len(sides) == len(Side)]
    without = {number: dict(sides) for number, sides in pairs.items()}
    for number in heads[: len(heads) - len(heads) // 2]:
        run = without[number][Side.HEAD]
        without[number][Side.HEAD] = replace(run, evidence=StepEvidence())

    assert clock_doubt(pairs)
    assert clock_doubt(without) == ""
    assert clock_doubt({}) == ""


@pytest.mark.parametrize(
    ("waited", "doubt"),
    [
        # Steps of head that did not wait are a tenth of base's that did.
        pytest.param(0.75, "", id="beside other programs"),
        pytest.param(
            0.0,
            "40 % of its steps take less than a tenth of base's time, and others do not: some may "
            "be skipped",
            id="on idle cores",
        ),
    ],
)
def test_a_faster_step_that_does_not_wait_for_a_core_is_not_skipped(build, waited, doubt):
    times = {Side.BASE: (0.01,) * 20, Side.HEAD: (0.0009,) * 8 + (0.006,) * 12}

    def run_of(side):
        run = build.run(side=side, step_time_p50=times[side])
        elapsed_s = sum(times[side])
        waits = CoreTimes(elapsed_s=(elapsed_s,), queued_s=(waited * elapsed_s,), helpers_s=(0.0,))
        return replace(run, core_times=waits)

    assert undone_doubt({0: {side: run_of(side) for side in Side}}) == doubt


def test_a_step_that_is_skipped_beside_other_programs_is_found(build):
    times = {Side.BASE: (0.01,) * 20, Side.HEAD: (0.0001,) * 8 + (0.01,) * 12}
    runs = {side: build.run(side=side, step_time_p50=times[side]) for side in Side}
    waits = CoreTimes(elapsed_s=(0.2,), queued_s=(0.15,), helpers_s=(0.0,))

    doubt = undone_doubt({0: {side: replace(run, core_times=waits) for side, run in runs.items()}})

    assert "40 % of its steps take less than a tenth" in doubt
