from dataclasses import replace

import pytest

from perfledger.step_evidence import StepEvidence
from perfledger_baselines.judging.gain_doubts.check_answers import (
    agrees,
    differing_paths,
    unsteady_answers,
)
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads


@pytest.mark.parametrize(
    ("base", "head", "paths"),
    [
        ({"loss": 1.0}, {"loss": 1.0}, []),
        ({"loss": 1.0}, {"loss": 1.005}, []),
        ({"loss": 1.0}, {"loss": 1.1}, ["loss"]),
        ({"loss": 1.0, "size": 3}, {"loss": 1.0}, ["size"]),
    ],
)
def test_answers_agree_within_the_tolerance_of_the_check(checked, base, head, paths):
    sides = (StepEvidence(answer=each, tolerance=0.01) for each in (base, head))
    pairs = pairs_of_workloads(checked(**dict(zip(("base", "head"), sides, strict=True))))["m:f"]

    assert differing_paths(pairs) == paths
    assert agrees(pairs) is not bool(paths)


def test_no_answer_is_no_agreement(checked):
    pairs = pairs_of_workloads(checked(base=StepEvidence(answer={"loss": 1.0})))["m:f"]

    assert not agrees(pairs)
    assert differing_paths(pairs) == []


def test_answers_that_differ_on_base_alone_are_unsteady(checked):
    bundle = checked(base=StepEvidence(answer={"loss": 1.0}), head=StepEvidence(answer={"loss": 2}))
    first, *others = bundle.runs
    unsteady = replace(first, evidence=StepEvidence(answer={"loss": 3.0}))

    pairs = pairs_of_workloads(replace(bundle, runs=(unsteady, *others)))["m:f"]
    assert unsteady_answers(pairs, ["loss"])
    assert not unsteady_answers(pairs_of_workloads(bundle)["m:f"], ["loss"])
