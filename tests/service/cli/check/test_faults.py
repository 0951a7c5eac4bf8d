"""Real checks of some of the faults that benchmarks/checks/faults.py plants."""

from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Whole checks: the tests of `check` run one in `make test`, too.
IN_CI = (
    "a variable that head's settings ask for",
    "a crash",
    "sources of a compiled module that nobody builds",
    "NaN after ten steps",
    "a module that head forgot to add",
)


@pytest.fixture
def faults(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[4] / "benchmarks" / "checks")
    return import_module("faults")


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("name", IN_CI)
def test_a_planted_fault_is_not_green_and_is_named(faults, tmp_path, name):
    (case,) = [each for each in faults.CASES if each.name == name]

    outcome = faults.run_case(case, tmp_path)

    assert outcome.exit_status == 3
    assert outcome.is_named


CARRY_OVER = (
    "memory that another workload keeps",
    "more memory beside memory that base's workload keeps",
    "precision that another workload sets in JAX",
    "twice the work beside base's precision of JAX",
    "a variable of the environment that another workload sets",
    "numpy's error state that another workload sets",
    "torch's anomaly detection that another workload switches on",
    "a cache of a module that head's other workload does not fill",
    "a thread that another workload leaves at work",
)


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
@pytest.mark.parametrize("name", CARRY_OVER)
def test_what_a_workload_leaves_reddens_and_hides_nothing_in_the_next_one(faults, tmp_path, name):
    """A busy machine may leave it undecided; it is never green with a change, or red without."""
    (case,) = [each for each in faults.CASES if each.name == name]

    outcome = faults.run_case(case, tmp_path)

    assert outcome.mark in {"right", "unsure"}, outcome.outcomes


def test_there_are_enough_faults_of_every_kind_and_each_has_a_name_of_its_own(faults):
    names = [case.name for case in faults.CASES]
    groups = {case.group for case in faults.CASES}

    assert len(names) == len(set(names))
    assert set(IN_CI) <= set(names)
    assert sum(case.expected != faults.SILENT for case in faults.CASES) >= 34
    assert groups == {
        *("installed copies", "no work", "wrong work", "not finite", "swapped environments"),
        *("load", "throttling", "hanging", "dying", "changed inputs", "missing parts"),
        *("slow", "carry-over", "controls", "dependencies", "suites", "other copies"),
        *("one at a time", "unseen code", "evasions", "leftover work", "later steps"),
        *("checkouts", "selection", "habits", "own process", "native code", "frameworks"),
        *("mistakes", "shared state", "configuration", "deferred work", "pull requests"),
        "end of the process",
    }


def test_the_last_line_counts_and_a_green_fault_fails(faults, capsys):
    fault = faults.CASES[0]
    control = next(each for each in faults.CASES if each.expected == faults.SILENT)
    fields = {"outcomes": "unchanged", "report": "{}", "seconds": 1.0}
    green = faults.FaultOutcome(case=fault, exit_status=0, **fields)
    silent = faults.FaultOutcome(case=control, exit_status=0, **fields)

    assert faults.summary([green, silent]) == 1
    assert faults.summary([silent]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 faults: 1 green, 1 named; 1 controls: 0 accused; 0 rows unsure, 1 wrong",
        "0 faults: 0 green, 0 named; 1 controls: 0 accused; 0 rows unsure, 0 wrong",
    ]
