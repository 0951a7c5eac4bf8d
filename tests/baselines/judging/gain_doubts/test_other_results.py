from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger.step_evidence import StepEvidence
from perfledger_baselines.judging.gain_doubts.other_results import other_result
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.work_evidence import gain_warnings


def outline(numbers=30, largest=1.0, types="float64"):
    return StepEvidence(
        outline={"numbers": numbers, "smallest": 0.0, "largest": largest, "types": types}
    )


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (outline(), ""),
        (outline(largest=1.0005), ""),
        (outline(largest=1.01), "largest 1 → 1.01"),
        (outline(numbers=20), "numbers 30 → 20"),
        (outline(types="float32"), "types float64 → float32"),
        (StepEvidence(), ""),
    ],
)
def test_another_result_of_a_faster_head_is_named(checked, head, words):
    bundle = checked(ratio=0.7, base=outline(), head=head)

    warnings = gain_warnings(bundle, judge_bundle(bundle))
    assert [words in each for each in warnings] == ([True] if words else [])


def test_results_that_differ_from_process_to_process_tell_nothing(checked):
    bundle = checked(base=outline(), head=outline(largest=2.0))
    bases = [run for run in bundle.runs if run.side is Side.BASE]
    runs = [
        replace(run, evidence=outline(largest=5.0)) if run is bases[1] else run
        for run in bundle.runs
    ]

    assert other_result(pairs_of_workloads(replace(bundle, runs=tuple(runs)))["m:f"]) == ""


def test_one_pair_tells_nothing(checked):
    bundle = checked(base=outline(), head=outline(largest=2.0))
    pairs = pairs_of_workloads(bundle)["m:f"]

    assert other_result(pairs)
    assert other_result(dict([next(iter(pairs.items()))])) == ""
