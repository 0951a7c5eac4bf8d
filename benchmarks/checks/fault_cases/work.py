"""Faults of the step itself: no work, wrong work, results that are not finite, changed inputs."""

from fault_cases.case import (
    BENCHMARK,
    NOT_MEASURED,
    REGRESSED,
    FaultCase,
    benchmark,
    replaced,
    step,
)

SLOWER = {"benchmarks/b.py": replaced(BENCHMARK, "return work\n", "return lambda: work(90_000)\n")}
UNPROVEN = "cannot tell whether head still does the work"
TORCH = """
import perfledger, torch
@perfledger.workload()
def steps():
    torch.manual_seed(0)
    a = torch.randn(256, 256)
    def step():
        return a @ a @ a @ a
    return step
"""
PRECISE = """
import perfledger, torch
@perfledger.workload(check=lambda result: float(result.sum()), check_tolerance=1e-4)
def steps():
    torch.manual_seed(0)
    a = torch.rand(256, 256, dtype=torch.float32)
    def step():
        return a @ a
    return step
"""
JAX = """
import perfledger, jax, jax.numpy as jnp
@perfledger.workload()
def steps():
    a = jnp.ones((400, 400))
    run = jax.jit(lambda x: (x @ x @ x @ x).sum())
    def step():
        return run(a)
    return step
"""
CHECKED = """
import perfledger
def work(rounds=30_000):
    total = 0
    for number in range(rounds):
        total += number * number
    return total
@perfledger.workload(check=float)
def steps():
    return lambda: work()
"""
POOL = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
"""
DATA = """
import perfledger
from pathlib import Path
@perfledger.workload()
def steps():
    rows = (Path(__file__).parent / "rows.txt").read_text().split()
    def step():
        return sum(int(row) ** 2 for row in rows)
    return step
"""
ROWS = "17 " * 8000
HOLDER = """
    command = "block = b'1' * 2**28; print(flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", command], stdin=-1, stdout=-1)
    holder.stdout.readline()
    steps.holder = holder
    return work
"""

SLOW = (
    FaultCase(name="three times the work", group="slow", head=SLOWER, expected=REGRESSED),
    FaultCase(
        name="a wait in every step",
        group="slow",
        head={"benchmarks/b.py": step("time.sleep(0.004)\nreturn work()", before="import time")},
        expected=REGRESSED,
    ),
    FaultCase(
        name="a wait in every third step",
        group="slow",
        head={
            "benchmarks/b.py": step(
                "if next(count) % 3 == 0:\n    time.sleep(0.012)\nreturn work()",
                before="import itertools, time\ncount = itertools.count()",
            )
        },
        expected=REGRESSED,
    ),
    FaultCase(
        name="work in every third step",
        group="slow",
        head={
            "benchmarks/b.py": step(
                "return work(180_000 if next(count) % 3 == 0 else 30_000)",
                before="import itertools\ncount = itertools.count()",
            )
        },
        expected=REGRESSED,
    ),
    FaultCase(
        name="three times the memory",
        group="slow",
        base={"benchmarks/b.py": benchmark("    keep = bytearray(2**26)\n    return work")},
        head={
            "benchmarks/b.py": benchmark(
                "    keep = bytearray(b'1') * 2**28\n    def step():\n"
                "        return work() + len(keep)\n    return step"
            )
        },
        expected=REGRESSED,
        words="peak_memory",
    ),
    FaultCase(
        name="memory of another process",
        group="slow",
        head={"benchmarks/b.py": benchmark(HOLDER, before="import subprocess, sys")},
        expected=REGRESSED,
        words="peak_memory",
    ),
    FaultCase(
        name="work for another process",
        group="slow",
        head={
            "benchmarks/b.py": step(
                "if os.fork() == 0:\n    work(90_000)\n    os._exit(0)\nos.wait()\nreturn 1",
                before="import os",
            )
        },
        expected=REGRESSED,
    ),
)

NO_WORK = (
    FaultCase(
        name="an empty step",
        group="no work",
        head={"benchmarks/b.py": step("pass")},
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="a result cached across steps",
        group="no work",
        head={
            "benchmarks/b.py": replaced(
                BENCHMARK, "def work", "import functools\n@functools.cache\ndef work"
            )
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="work in the warm-up alone",
        group="no work",
        head={
            "benchmarks/b.py": step(
                "return work() if next(count) < 3 else 1",
                before="import itertools\ncount = itertools.count()",
            )
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="work at import",
        group="no work",
        head={
            "benchmarks/b.py": BENCHMARK.replace("    return work\n", "    return lambda: TOTAL\n")
            + "\nTOTAL = work()\n"
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="work in the set-up",
        group="no work",
        head={"benchmarks/b.py": benchmark("    total = work()\n    return lambda: total")},
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="a generator that nobody runs",
        group="no work",
        head={"benchmarks/b.py": step("return (work() for _ in range(1))")},
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="an error that is swallowed",
        group="no work",
        head={
            "benchmarks/b.py": step(
                "try:\n    return work(None)\nexcept TypeError:\n    return None"
            )
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="work for a thread that nobody joins",
        group="no work",
        head={
            "benchmarks/b.py": step(
                "pool.submit(work)\nreturn 1",
                before=POOL,
            )
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="a future instead of a result",
        group="no work",
        head={
            "benchmarks/b.py": step(
                "return pool.submit(work)",
                before=POOL,
            )
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="work for a process that nobody waits for",
        group="no work",
        base={"benchmarks/b.py": step("return work(120_000)")},
        head={
            "benchmarks/b.py": step(
                "if os.fork() == 0:\n    work(120_000)\n    os._exit(0)\nreturn 1",
                before="import os",
            )
        },
        expected=NOT_MEASURED,
    ),
    FaultCase(
        name="torch: a hundredth of the batch",
        group="no work",
        base={"benchmarks/b.py": TORCH},
        head={
            "benchmarks/b.py": replaced(
                TORCH, "return a @", "a = a0[:2]\n        return a @ a0 @ a0 @ a0 #"
            ).replace("    a = torch.randn", "    a0 = torch.randn")
        },
        expected=NOT_MEASURED,
        words="counted work fell|not counted: budget",
    ),
    FaultCase(
        name="torch: a result cached across steps",
        group="no work",
        base={"benchmarks/b.py": TORCH},
        head={
            "benchmarks/b.py": replaced(
                TORCH,
                "return a @ a @ a @ a",
                "return memo[0] if memo else (memo.append(a @ a @ a @ a) or memo[0])",
            ).replace("    def step", "    memo = []\n    def step")
        },
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
    FaultCase(
        name="jax: a result that is not awaited",
        group="no work",
        base={"benchmarks/b.py": JAX},
        head={"benchmarks/b.py": replaced(JAX, "return run(a)", "run(a)")},
        expected=NOT_MEASURED,
    ),
)

WRONG_WORK = (
    FaultCase(
        name="another answer to the workload's check",
        group="wrong work",
        base={"benchmarks/b.py": CHECKED},
        head={"benchmarks/b.py": replaced(CHECKED, "number * number", "number")},
        expected=NOT_MEASURED,
        words="the workload's check disagrees",
    ),
    FaultCase(
        name="torch: a lower precision",
        group="wrong work",
        base={"benchmarks/b.py": PRECISE},
        head={"benchmarks/b.py": replaced(PRECISE, "torch.float32", "torch.bfloat16")},
        expected=NOT_MEASURED,
        words="the workload's check disagrees",
    ),
    FaultCase(
        name="a check that head removes with half of the work",
        group="wrong work",
        base={"benchmarks/b.py": CHECKED},
        head={
            "benchmarks/b.py": replaced(CHECKED, "(check=float)", "").replace(
                "work()\n", "work(9_000)\n"
            )
        },
        expected=NOT_MEASURED,
        words="check",
    ),
    FaultCase(
        name="NaN",
        group="not finite",
        head={"benchmarks/b.py": step("work()\nreturn float('nan')")},
        expected=NOT_MEASURED,
        words="returns a NaN or an infinity",
    ),
    FaultCase(
        name="an infinity deep in the result",
        group="not finite",
        base={"benchmarks/b.py": step("return {'loss': [float(work())]}")},
        head={"benchmarks/b.py": step("return {'loss': [work() * float('inf')]}")},
        expected=NOT_MEASURED,
        words="returns a NaN or an infinity",
    ),
    FaultCase(
        name="NaN after ten steps",
        group="not finite",
        head={
            "benchmarks/b.py": step(
                "total = work()\nreturn total if next(count) < 10 else float('nan')",
                before="import itertools\ncount = itertools.count()",
            )
        },
        expected=NOT_MEASURED,
        words="returns a NaN or an infinity",
    ),
    FaultCase(
        name="torch: NaN",
        group="not finite",
        base={"benchmarks/b.py": TORCH},
        head={
            "benchmarks/b.py": replaced(
                TORCH, "return a @ a @ a @ a", "return a @ a @ a @ a * float('nan')"
            )
        },
        expected=NOT_MEASURED,
        words="returns a NaN or an infinity",
    ),
    FaultCase(
        name="half the units in a step",
        group="changed inputs",
        base={"benchmarks/b.py": replaced(BENCHMARK, "workload()", "workload(units_per_step=8)")},
        head={"benchmarks/b.py": replaced(BENCHMARK, "workload()", "workload(units_per_step=4)")},
        expected=NOT_MEASURED,
        words="unit",
    ),
    FaultCase(
        name="another unit",
        group="changed inputs",
        base={"benchmarks/b.py": replaced(BENCHMARK, "workload()", "workload(unit='tokens')")},
        head={"benchmarks/b.py": replaced(BENCHMARK, "workload()", "workload(unit='samples')")},
        expected=NOT_MEASURED,
        words="unit",
    ),
    FaultCase(
        name="another point of the grid",
        group="changed inputs",
        base={
            "benchmarks/b.py": replaced(
                BENCHMARK, "workload()", "workload(params={'n': [8]})"
            ).replace("steps()", "steps(n)")
        },
        head={
            "benchmarks/b.py": replaced(
                BENCHMARK, "workload()", "workload(params={'n': [4]})"
            ).replace("steps()", "steps(n)")
        },
        expected=NOT_MEASURED,
        words="missing|only in base|removed",
    ),
    FaultCase(
        name="three times the data",
        group="changed inputs",
        base={"benchmarks/b.py": DATA, "benchmarks/rows.txt": ROWS},
        head={"benchmarks/rows.txt": ROWS * 3},
        expected=REGRESSED,
    ),
    FaultCase(
        name="no data",
        group="changed inputs",
        base={"benchmarks/b.py": DATA, "benchmarks/rows.txt": ROWS},
        head={"benchmarks/rows.txt": ""},
        expected=NOT_MEASURED,
        words=UNPROVEN,
    ),
)
