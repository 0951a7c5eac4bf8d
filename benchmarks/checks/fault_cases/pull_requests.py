"""Faults of everyday pull requests: a part of the work is gone, kept or done before the steps.

None of them is slower, and each may be what its author wanted: the report has to say what it saw.
"""

from functools import partial

from fault_cases.case import NOT_MEASURED, REGRESSED, SILENT, FaultCase, replaced

CALLER = """
import perfledger
from mypkg import work
@perfledger.workload()
def steps():
    return work
"""
PACKAGE = """
import functools, itertools, json
from pathlib import Path
def squares(rounds):
    return sum(number * number for number in range(rounds))
def load(count=30):
    return [1_500 + (number % 3) for number in range(count)]
def work():
    return sum(squares(rounds) for rounds in load())
"""
READS_CACHE = """
import json
from pathlib import Path
FILE = Path(__file__).with_name("cache.json")
def squares(rounds):
    return sum(number * number for number in range(rounds))
def table():
    return json.loads(FILE.read_text()) if FILE.exists() else squares(20_000)
def work():
    return table() + squares(40_000)
"""
SOLVER = """
def work(tolerance=1e-9):
    value, before = 1.0, 0.0
    for _ in range(40_000):
        value, before = 0.9997 * value + 0.0006, value
        if abs(value - before) < tolerance:
            break
    return value
"""
KEYED = """
import itertools
rows = itertools.cycle([[number + shift for number in range(200_000)] for shift in range(7)])
def features(values):
    return sum(value * value for value in values)
def work():
    values = next(rows)
    return features(values) + sum(value * value % 7 for value in values)
"""
TENSORS = """
import torch
torch.manual_seed(0)
A = torch.randn(600, 600, dtype=torch.float64)
def work():
    return A @ A
"""
AHEAD = """
import itertools
import perfledger
def squares(rounds):
    return sum(number * number for number in range(rounds))
@perfledger.workload()
def steps():
    ready = itertools.repeat(None)
    def step():
        return (next(ready) or squares(20_000)) + squares(40_000)
    return step
"""
FALLBACK = """
import sys
try:
    import numpy
except ImportError:
    numpy = None
def work(rounds=60_000):
    if numpy is None:
        return sum(number * number for number in range(rounds))
    return int((numpy.arange(rounds) ** 2).sum())
"""
OTHER = "the result of its first step differs from base's"
KEPT = "its first step is as long as base's"


def fault(name: str, package: str, old: str, new: str, words: str, **values: str) -> FaultCase:
    """Return a case whose package has one change on head."""
    return FaultCase(
        name=name,
        group="pull requests",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": package},
        head={"src/mypkg/__init__.py": replaced(package, old, new)},
        words=words,
        expected=values.get("expected", SILENT),
    )


other = partial(fault, words=OTHER)
PULL_REQUESTS = (
    other("a smaller data set by default", PACKAGE, "count=30", "count=20"),
    other("a loop that reads fewer batches", PACKAGE, "in load())", "in load()[:20])"),
    other(
        "an error that is swallowed after two thirds",
        PACKAGE,
        "    return sum(squares(rounds) for rounds in load())",
        "    total = 0\n    try:\n        for place, rounds in enumerate(load()):\n"
        "            total += squares(rounds) if place < 20 else rounds['size']\n"
        "    except TypeError:\n        pass\n    return total",
    ),
    other(
        "a small size where no GPU is found",
        PACKAGE,
        "def load(count=30):",
        "def load(count=None):\n    count = count or (30 if Path('/dev/nvidia9').exists() else 20)",
    ),
    other("a solver that stops early", SOLVER, "1e-9", "1e-5"),
    fault(
        "torch: inputs of half the precision",
        TENSORS,
        "float64",
        "float32",
        "types torch.float64|was not counted on",
    ),
    fault(
        "a part of each step that is kept from the first",
        PACKAGE,
        "def squares",
        "@functools.lru_cache\ndef squares",
        "cannot tell whether head still does the work",
        expected=NOT_MEASURED,
    ),
    fault(
        "a cache whose key has only the length",
        KEYED,
        "def features(values):\n    return sum(value * value for value in values)",
        "found = {}\ndef features(values):\n    if len(values) not in found:\n"
        "        found[len(values)] = sum(value * value for value in values)\n"
        "    return found[len(values)]",
        KEPT,
    ),
    FaultCase(
        name="a cache that is committed by mistake",
        group="pull requests",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": READS_CACHE},
        head={"src/mypkg/cache.json": "2666466670000"},
        words=r"cache\.json",
        expected=SILENT,
    ),
    FaultCase(
        name="a third of 2,000 steps that the set-up does",
        group="pull requests",
        base={"benchmarks/b.py": AHEAD},
        head={
            "benchmarks/b.py": replaced(
                AHEAD, "itertools.repeat(None)", "iter([squares(20_000) for _ in range(2_000)])"
            )
        },
        words="its set-up and first step take",
        expected=SILENT,
    ),
    fault(
        "a compiled package that head cannot import",
        FALLBACK,
        "    import numpy\n",
        "    import numpy, numpy_of_old\n",
        "",
        expected=REGRESSED,
    ),
)
