"""Faults of what a step returns, of what is judged, and of changes that a check might not see."""

from fault_cases.case import (
    BENCHMARK,
    NOT_GREEN,
    NOT_MEASURED,
    WORK,
    FaultCase,
    benchmark,
    replaced,
    step,
)
from fault_cases.code import CALLER, PACKAGE, SLOW_PACKAGE

NAN = "returns a NaN or an infinity"
EARLY = "returns before its work is done"
POOL = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)"
GENERATOR = """    rows = list(range(1000))
    def step():
        total = sum(rows)
        return (work(ROUNDS) + total for _ in range(1))
    return step"""
CHECKED = """
import itertools, perfledger
count = itertools.count()
{work}
@perfledger.workload(check=float)
def steps():
    def step():
        total = float(work())
        return total
    return step
"""
SHORT = """
import perfledger
{work}
@perfledger.workload(metrics=["cpu_time", "peak_memory"])
def steps():
    return lambda: work(ROUNDS)
"""


def not_finite(name: str, result: str, *, before: str = "") -> FaultCase:
    """Return a fault whose step still works on head, and returns a NaN somewhere."""
    return FaultCase(
        name=name,
        group="not finite",
        base={"benchmarks/b.py": step("return [float(work())]", before=before)},
        head={"benchmarks/b.py": step(f"work()\nreturn {result}", before=before)},
        expected=NOT_MEASURED,
        words=NAN,
    )


def started(name: str, body: str, *, before: str = "") -> FaultCase:
    """Return a fault whose step only starts its work, on both sides; head's is three times more."""
    base, head = (body.replace("ROUNDS", rounds) for rounds in ("30_000", "90_000"))
    return FaultCase(
        name=name,
        group="no work",
        base={"benchmarks/b.py": benchmark(base, before=before)},
        head={"benchmarks/b.py": benchmark(head, before=before)},
        expected=NOT_MEASURED,
        words=EARLY,
    )


RESULTS = (
    not_finite("NaN before 4999 numbers", "[float('nan')] + [1.0] * 4999"),
    not_finite("NaN in a deque", "collections.deque([float('nan')])", before="import collections"),
    not_finite(
        "NaN in a namespace", "types.SimpleNamespace(loss=float('nan'))", before="import types"
    ),
    not_finite("NaN as a decimal", "decimal.Decimal('nan')", before="import decimal"),
    not_finite(
        "NaN in an array of objects",
        "numpy.array([float('nan'), 1], dtype=object)",
        before="import numpy",
    ),
    FaultCase(
        name="NaN after the result that the check confirmed",
        group="not finite",
        base={"benchmarks/b.py": CHECKED.format(work=WORK)},
        head={
            "benchmarks/b.py": replaced(
                CHECKED.format(work=WORK),
                "return total\n    return step",
                "return total if next(count) < 10 else float('nan')\n    return step",
            )
        },
        expected=NOT_MEASURED,
        words="a later result",
    ),
    started("a future on both sides", "    return lambda: pool.submit(work, ROUNDS)", before=POOL),
    started(
        "a coroutine on both sides",
        "    async def later():\n        return work(ROUNDS)\n    return lambda: later()",
    ),
    started("a generator on both sides", GENERATOR),
    FaultCase(
        name="work when the result is freed",
        group="slow",
        base={"benchmarks/b.py": step("work()\nreturn Result()", before="class Result:\n    pass")},
        head={
            "benchmarks/b.py": step(
                "work()\nreturn Result()",
                before="class Result:\n    def __del__(self):\n        work(90_000)",
            )
        },
        expected=NOT_GREEN,
    ),
    FaultCase(
        name="steps too short for the CPU time that judges them",
        group="slow",
        base={"benchmarks/b.py": SHORT.format(work=WORK).replace("ROUNDS", "20")},
        head={"benchmarks/b.py": SHORT.format(work=WORK).replace("ROUNDS", "60")},
        expected=NOT_GREEN,
        words="step_time_p50|cpu_time",
    ),
    FaultCase(
        name="a package that --workloads-from replaces on both sides",
        group="changed inputs",
        base={
            "mypkg/__init__.py": "",
            "mypkg/core.py": PACKAGE,
            "mypkg/speed.py": replaced(CALLER, "from mypkg ", "from mypkg.core "),
        },
        head={"mypkg/core.py": SLOW_PACKAGE},
        settings='paths = ["mypkg"]\n',
        options=("--workloads-from", "HEAD"),
        expected=NOT_MEASURED,
        words="this change cannot be measured",
    ),
    FaultCase(
        name="another wheel of the same version",
        group="changed inputs",
        base={
            "benchmarks/b.py": BENCHMARK,
            "requirements.txt": "./libs/other-1.0-py3-none-any.whl\n",
            "libs/other-1.0-py3-none-any.whl": b"1",
        },
        head={"libs/other-1.0-py3-none-any.whl": b"2"},
        expected=NOT_MEASURED,
        words="libs/other-1.0-py3-none-any.whl",
    ),
)
