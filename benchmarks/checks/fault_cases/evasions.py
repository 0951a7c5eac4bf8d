"""Faults that hide from the evidence of work: results, counts and pauses."""

from fault_cases.case import NOT_GREEN, NOT_MEASURED, SILENT, FaultCase, replaced, step

LIST = step("return [float(n) for n in range(200_000)]")
PARTS = step("return [(float(n), 'a') for n in range(150_000)]")
MIXED = """
import perfledger, torch, numpy
@perfledger.workload()
def steps():
    torch.manual_seed(0)
    a, large = torch.randn(64, 64), numpy.random.default_rng(0).normal(size=(300, 300))
    def step():
        return (a @ a).sum() + float((large @ large).sum())
    return step
"""
LATER = """
import multiprocessing, os
import perfledger
def work(rounds):
    return sum(n * n for n in range(rounds))
def serve(calls):
    os.nice(19)
    while True:
        work(calls.recv())
@perfledger.workload(teardown=lambda step: step.server.kill())
def steps():
    calls, other = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(other,), daemon=True)
    server.start()
    def step():
        return work(60_000)
    step.server = server
    return step
"""
THREAD = """
import queue, threading
import perfledger
def work(rounds):
    return sum(n * n for n in range(rounds))
def serve(calls):
    while True:
        work(calls.get())
@perfledger.workload()
def steps():
    calls = queue.Queue()
    threading.Thread(target=serve, args=(calls,), daemon=True).start()
    def step():
        return work(60_000)
    return step
"""
PYTEST = """
def work():
    return sum(n * n for n in range(30_000))
def test_work(benchmark):
    benchmark(work)
"""
NO_FIXTURE = (
    "import pytest\n@pytest.fixture\ndef benchmark():\n    return lambda f, *a, **k: None\n"
)
EVASIONS = (
    FaultCase(
        name="NaN at the end of a long list",
        group="evasions",
        base={"benchmarks/b.py": LIST},
        head={"benchmarks/b.py": replaced(LIST, "200_000)]", "199_999)] + [float('nan')]")},
        expected=NOT_MEASURED,
        words="NaN",
    ),
    FaultCase(
        name="much less work, and a result of too many parts",
        group="evasions",
        base={"benchmarks/b.py": replaced(PARTS, "return", "sum(range(6_000_000)); return")},
        head={"benchmarks/b.py": PARTS},
        expected=NOT_MEASURED,
        words="more than is examined",
    ),
    FaultCase(
        name="torch: NumPy's part of the work is gone",
        group="evasions",
        base={"benchmarks/b.py": MIXED},
        head={"benchmarks/b.py": replaced(MIXED, "large @ large", "large[0]")},
        expected=NOT_MEASURED,
    ),
    FaultCase(
        name="work for a process of low priority, beside foreign load",
        group="evasions",
        base={"benchmarks/b.py": LATER},
        head={
            "benchmarks/b.py": replaced(
                LATER, "        return work(60_000)", "        calls.send(60_000)\n        return 1"
            )
        },
        expected=NOT_GREEN,
        loops=6,
    ),
    FaultCase(
        name="work for a thread, beside foreign load",
        group="evasions",
        base={"benchmarks/b.py": THREAD},
        head={
            "benchmarks/b.py": replaced(
                THREAD,
                "        return work(60_000)",
                "        calls.put(40_000)\n        return work(15_000)",
            )
        },
        expected=NOT_GREEN,
        loops=6,
    ),
    FaultCase(
        name="a process and a thread that wait, beside foreign load",
        group="evasions",
        base={"benchmarks/b.py": THREAD},
        head={"benchmarks/b.py": f"import sys\n{THREAD}"},
        expected=SILENT,
        loops=6,
    ),
    FaultCase(
        name="pytest: a conftest.py that replaces the fixture",
        group="evasions",
        base={"tests/test_b.py": PYTEST},
        head={"tests/conftest.py": NO_FIXTURE},
        settings='suite = "pytest"\npaths = ["tests"]\n',
        expected=NOT_GREEN,
    ),
)
