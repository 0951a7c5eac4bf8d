"""Controls: habits of real repositories that must not be accused."""

from functools import partial
from typing import Any

from fault_cases.case import BENCHMARK, SILENT, FaultCase, step
from fault_cases.suites import PYTEST, TEST

APPENDS = """
import os, tempfile, perfledger
PLACE = os.path.join(os.environ.get("XDG_CACHE_HOME", tempfile.gettempdir()), "rows.txt")
@perfledger.workload()
def steps():
    def step():
        with open(PLACE, "a") as file:
            file.write("row\\n" * 1000)
        return sum(number * number for number in range(20_000))
    return step
"""
AT_RANDOM = """
import perfledger
@perfledger.workload()
def steps():
    rounds = 30_000 + hash("a name") % 10_000
    return lambda: sum(number * number for number in range(rounds))
"""
LAZY = """
import importlib
def __getattr__(name):
    if name == "work":
        return importlib.import_module("mypkg.core").work
    raise AttributeError(name)
"""
CORE = "def work(rounds=30_000):\n    return sum(number * number for number in range(rounds))\n"
LAZY_CALLER = """
import mypkg, perfledger
@perfledger.workload()
def steps():
    return lambda: mypkg.work()
"""


def unchanged(name: str, files: dict[str, str], path: str, **options: Any) -> FaultCase:
    """Return a control whose head imports one more module in the file at the path."""
    return FaultCase(
        name=name,
        group="habits",
        base=files,
        head={path: f"import sys\n{files[path]}"},
        expected=SILENT,
        **options,
    )


in_pytest = partial(unchanged, path="tests/test_b.py", options=PYTEST)
HABITS = (
    in_pytest(
        "pytest: options of xdist",
        {"pytest.ini": "[pytest]\naddopts = -n 2 -q\n", "tests/test_b.py": TEST},
    ),
    unchanged(
        "files with names of the standard library",
        {
            "benchmarks/json.py": BENCHMARK,
            "benchmarks/queue.py": BENCHMARK,
            "benchmarks/io/csv.py": BENCHMARK,
        },
        "benchmarks/json.py",
    ),
    unchanged(
        "files whose names are not identifiers",
        {"bench-marks/01-first.py": BENCHMARK},
        "bench-marks/01-first.py",
        settings='paths = ["bench-marks"]\n',
    ),
    unchanged("a file that both sides append to", {"benchmarks/b.py": APPENDS}, "benchmarks/b.py"),
    unchanged(
        "a size that differs in each process", {"benchmarks/b.py": AT_RANDOM}, "benchmarks/b.py"
    ),
    unchanged(
        "a package that imports its modules late",
        {
            "benchmarks/b.py": LAZY_CALLER,
            "src/mypkg/__init__.py": LAZY,
            "src/mypkg/core.py": CORE,
        },
        "src/mypkg/core.py",
    ),
    unchanged(
        "much that is logged",
        {
            "benchmarks/b.py": step(
                "logging.warning('step')\nreturn work()",
                before="import logging",
            )
        },
        "benchmarks/b.py",
    ),
)
