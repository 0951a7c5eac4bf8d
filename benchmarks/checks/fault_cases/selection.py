"""Faults of what is chosen and judged: tags, settings, names, and the choice of pytest."""

from functools import partial

from fault_cases.case import (
    BENCHMARK,
    NOT_GREEN,
    NOT_MEASURED,
    REGRESSED,
    SILENT,
    FaultCase,
    replaced,
)
from fault_cases.code import CALLER, PACKAGE, SLOW_STEP
from fault_cases.suites import PYTEST, TEST, UNPROVEN
from fault_cases.work import CHECKED

TAGGED = replaced(BENCHMARK, "workload()", "workload(tags=['quick'])")
QUICK = ("-k", "quick")
TOLERANT = replaced(CHECKED, "check=float", "check=float, check_tolerance=1e-6")
SIZES = """
import pytest
def work(rounds):
    return sum(number * number for number in range(rounds))
@pytest.mark.parametrize("rounds", [30_000], ids=["large"])
def test_work(benchmark, rounds):
    benchmark(work, rounds)
"""
REPLACES = """
import pytest
@pytest.fixture(autouse=True)
def quick(request, monkeypatch):
    monkeypatch.setattr(request.module, "work", lambda: 1)
"""
chosen = partial(FaultCase, group="selection")
SELECTION = (
    chosen(
        name="a tag that head removes",
        base={"benchmarks/b.py": TAGGED, "benchmarks/c.py": TAGGED},
        head={"benchmarks/b.py": replaced(SLOW_STEP, "workload()", "workload(tags=['slow'])")},
        options=QUICK,
        expected=NOT_GREEN,
        words="benchmarks.b:steps",
    ),
    chosen(
        name="the only tag, which head removes",
        base={"benchmarks/b.py": TAGGED},
        head={"benchmarks/b.py": SLOW_STEP},
        options=QUICK,
        expected=NOT_GREEN,
        words="benchmarks.b:steps",
    ),
    chosen(
        name="a tag that excludes head's workload",
        base={"benchmarks/b.py": TAGGED, "benchmarks/c.py": TAGGED},
        head={"benchmarks/b.py": replaced(SLOW_STEP, "workload()", "workload(tags=['slow'])")},
        options=("-k", "not slow"),
        expected=NOT_GREEN,
        words="benchmarks.b:steps",
    ),
    chosen(
        name="three times the work in a budget of a second",
        head={"benchmarks/b.py": SLOW_STEP},
        options=("--budget", "1s"),
        expected=NOT_GREEN,
    ),
    chosen(
        name="settings that head moves to pyproject.toml, with a wide margin",
        head={
            "benchmarks/b.py": SLOW_STEP,
            "perfledger.toml": None,
            "pyproject.toml": "[tool.perfledger]\nmargin = 0.95\nfloor = 0.95\nmax_pairs = 1\n",
        },
        expected=REGRESSED,
    ),
    chosen(
        name="another answer within a tolerance that head widens",
        base={"benchmarks/b.py": TOLERANT},
        head={
            "benchmarks/b.py": replaced(TOLERANT, "1e-6", "0.9").replace("work()", "work(20_000)")
        },
        expected=NOT_MEASURED,
        words="the workload's check disagrees",
    ),
    chosen(
        name="a second workload of the same name",
        head={"benchmarks/b.py": SLOW_STEP + BENCHMARK},
        expected=NOT_MEASURED,
        words="steps",
    ),
    chosen(
        name="another version in .python-version",
        base={
            "benchmarks/b.py": CALLER,
            "mypkg/__init__.py": PACKAGE,
            ".python-version": "3.12\n",
        },
        head={".python-version": "3.13\n"},
        expected=SILENT,  # which Python the check uses is the user's choice
        words="another version was not measured",
    ),
    chosen(
        name="pytest: an option that deselects the test",
        base={"tests/test_b.py": TEST, "tests/test_c.py": TEST},
        head={"pytest.ini": "[pytest]\naddopts = --deselect tests/test_b.py\n"},
        options=PYTEST,
        expected=NOT_MEASURED,
        words="tests.test_b:test_work",
    ),
    chosen(
        name="pytest: a fixture that replaces the work",
        base={"tests/test_b.py": TEST},
        head={
            "tests/conftest.py": REPLACES,
            "tests/test_b.py": replaced(TEST, "benchmark(work)", "benchmark(lambda: work())"),
        },
        options=PYTEST,
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    chosen(
        name="pytest: a smaller size of the same name",
        base={"tests/test_b.py": SIZES},
        head={"tests/test_b.py": replaced(SIZES, "[30_000]", "[300]")},
        options=PYTEST,
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
)
