"""Tests that a child's evidence is kept, and refused where it cannot be."""

import msgspec
import pytest

from perfledger.step_evidence import MAX_STEPS_PER_READING, ResultState, StepEvidence
from perfledger_runners.children.evidence_parser import Evidence


def decoded(**fields):
    return msgspec.json.decode(msgspec.json.encode(fields), type=Evidence)


def test_evidence_is_kept_with_clean_texts():
    evidence = decoded(
        result="finite",
        answer={"loss\x1b": 1.5, "steps": 3, "is_done": True, "name": "a\x07"},
        tolerance=0.01,
        steps_per_reading=20,
        empty_step_s=2e-8,
        paused_cores=0.5,
        leftover_s=0.25,
        ends_by_clock=True,
        has_unseen_programs=True,
    )

    assert evidence.step_evidence() == StepEvidence(
        result=ResultState.FINITE,
        answer={"loss\ufffd": 1.5, "steps": 3, "is_done": True, "name": "a\ufffd"},
        tolerance=0.01,
        steps_per_reading=20,
        empty_step_s=2e-8,
        paused_cores=0.5,
        leftover_s=0.25,
        ends_by_clock=True,
        has_unseen_programs=True,
    )


def test_a_child_that_says_nothing_has_no_evidence():
    assert decoded().step_evidence() == StepEvidence()


@pytest.mark.parametrize(
    "fields",
    [
        {"result": "fine"},
        {"result": None},
        {"answer": [1.0]},
        {"answer": {"loss": None}},
        {"answer": {"loss": [1.0]}},
        {"answer": {"loss": 1e39}},
        {"answer": {"loss": "x" * 301}},
        {"answer": {"x" * 301: 1.0}},
        {"answer": {str(number): 1 for number in range(101)}},
        {"tolerance": 1.0},
        {"tolerance": -0.1},
        {"steps_per_reading": 0},
        {"steps_per_reading": MAX_STEPS_PER_READING + 1},
        {"steps_per_reading": 1.5},
        {"empty_step_s": -1.0},
        {"empty_step_s": 1e39},
        {"paused_cores": -1.0},
        {"leftover_s": -1.0},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_what_cannot_be_is_refused(fields):
    with pytest.raises(msgspec.ValidationError):
        decoded(**fields)
