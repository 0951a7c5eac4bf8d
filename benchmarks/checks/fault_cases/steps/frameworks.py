"""Faults of frameworks: what they read when they are imported, and compiling again and again."""

from functools import partial

from fault_cases.case import REGRESSED, SILENT, FaultCase, replaced
from fault_cases.work import JAX, TORCH

NUMBA = """
import perfledger
from numba import njit
@njit
def work(rounds):
    total = 0
    for number in range(rounds):
        total += (number * number) % 7
    return total
@perfledger.workload()
def steps():
    return lambda: work(20_000)
"""
TANH = """
import perfledger, torch
@perfledger.workload()
def steps():
    torch.set_num_threads(1)
    rows = torch.rand(400_000)
    def step():
        return rows.tanh().exp().sum()
    return step
"""
NEW_JIT = """    def step():
        return jax.jit(lambda x: (x @ x @ x @ x).sum())(a)
"""
GROWING = """    sizes = itertools.count(400)
    def step():
        size = next(sizes)
        return run(jnp.ones((size, size)))
"""
DROPOUT = """
import perfledger, torch
@perfledger.workload()
def steps():
    layer = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Dropout(0.5))
    def step():
        return layer(torch.randn(64, 256)).sum()
    return step
"""


def case(name: str, base: str, head: str, expected: str = REGRESSED) -> FaultCase:
    """Return a case of this group, whose sides are files of workloads."""
    return FaultCase(
        name=name,
        group="frameworks",
        base={"benchmarks/b.py": base},
        head={"benchmarks/b.py": head},
        expected=expected,
    )


def sets(variable: str, value: str, text: str) -> str:
    """Return a file that sets a variable before its imports."""
    return f"import os\nos.environ[{variable!r}] = {value!r}\n{text}"


STEP = "    def step():\n        return run(a)\n"
slower = partial(case, expected=REGRESSED)
FRAMEWORKS = (
    slower("jax: a variable that switches compiling off", JAX, sets("JAX_DISABLE_JIT", "1", JAX)),
    slower("numba: a variable that switches it off", NUMBA, sets("NUMBA_DISABLE_JIT", "1", NUMBA)),
    slower(
        "torch: a variable that chooses older instructions",
        TANH,
        sets("ATEN_CPU_CAPABILITY", "default", TANH),
    ),
    slower("jax: a function that each step compiles", JAX, replaced(JAX, STEP, NEW_JIT)),
    slower(
        "jax: a shape that differs in each step",
        JAX,
        replaced(JAX, STEP, GROWING).replace("import perf", "import itertools, perf", 1),
    ),
    slower(
        "torch: anomaly detection that head leaves on",
        replaced(
            TORCH, "return a @", "return (a.requires_grad_() @ a).tanh().sum().backward() or a @"
        ),
        replaced(
            TORCH, "return a @", "return (a.requires_grad_() @ a).tanh().sum().backward() or a @"
        ).replace(
            "    torch.manual", "    torch.autograd.set_detect_anomaly(True)\n    torch.manual"
        ),
    ),
    case("torch: random numbers without a seed", DROPOUT, f"import sys\n{DROPOUT}", SILENT),
)
