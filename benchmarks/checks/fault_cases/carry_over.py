"""Faults and controls of what one workload of a process would leave to the next.

In each, `first` leaves something on one side alone, and `second` is unchanged or twice as slow. In
some it is not `first` that leaves it but the top of its file, and `second` is in another file.
"""

from fault_cases.case import REGRESSED, SILENT, WORK, FaultCase, replaced

TWO = """
import os, perfledger
{imports}
{work}
@perfledger.workload({arguments})
def first():
{leave}
    return lambda: work()

@perfledger.workload()
def second():
{body}
"""
ONE = """
{top}
import os, perfledger
{imports}
{work}
@perfledger.workload({arguments})
def {name}():
{body}
"""
HOST_STEP = "    return lambda: work(ROUNDS)"
JAX_STEP = """    rows = jnp.ones((WIDTH, 400))
    product = jax.jit(lambda rows: jnp.tanh(rows @ rows.T).mean())
    return lambda: product(rows)"""
JAX = "import jax, jax.numpy as jnp\nROUNDS = 30_000\nWIDTH = 400"
JAX_WORK = WORK.replace("return total", "return jnp.float32(total % 7)")
SETS_X64 = "jax.config.update('jax_enable_x64', True)"


def two(
    leave: str = "pass",
    *,
    imports: str = "ROUNDS = 30_000",
    body: str = HOST_STEP,
    work: str = WORK,
    arguments: str = "",
) -> str:
    """Return a file with both workloads."""
    return TWO.format(
        imports=imports, work=work, arguments=arguments, leave=f"    {leave}", body=body
    )


def carried(name: str, leave: str, **parts: str) -> FaultCase:
    """Return a control: head's first workload leaves what would make the second one red."""
    return FaultCase(
        name=name,
        group="carry-over",
        base={"benchmarks/b.py": two(**parts)},
        head={"benchmarks/b.py": two(leave, **parts)},
        expected=SILENT,
    )


def masked(name: str, leave: str, doubled: tuple[str, str], **parts: str) -> FaultCase:
    """Return a fault: base's first workload leaves what would hide that the second one doubles."""
    return FaultCase(
        name=name,
        group="carry-over",
        base={"benchmarks/b.py": two(leave, **parts)},
        head={"benchmarks/b.py": replaced(two(**parts), *doubled)},
        expected=REGRESSED,
        words="benchmarks.b:second",
    )


def file_of(name: str, top: str = "", *, arguments: str = "", **parts: str) -> str:
    """Return a file with one workload, and `top` as its first line."""
    usual = {"imports": "ROUNDS = 30_000", "body": HOST_STEP, "work": WORK, **parts}
    return ONE.format(name=name, top=top, arguments=arguments, **usual)


def carried_at_import(name: str, top: str, *, arguments: str = "", **parts: str) -> FaultCase:
    """Return a control: the top of head's first file sets what would make the other file red."""
    own_parts = {**parts, "arguments": arguments, "body": "    return lambda: work()"}
    return FaultCase(
        name=name,
        group="carry-over",
        base={
            "benchmarks/a.py": file_of("first", **own_parts),
            "benchmarks/b.py": file_of("second", **parts),
        },
        head={"benchmarks/a.py": file_of("first", top, **own_parts)},
        expected=SILENT,
    )


IN_JAX = {"imports": JAX, "body": JAX_STEP, "work": JAX_WORK}
HOST_JAX = {**IN_JAX, "body": HOST_STEP}
KEEPS = "KEPT.append(bytearray(b'1' * 300_000_000))"
# Judged by its step time alone, first may keep what it likes.
KEEPING = {
    "imports": "ROUNDS = 30_000\nKEPT = []",
    "arguments": "metrics=['step_time_p50']",
}
CACHED = {
    "imports": "CACHE = {}",
    "body": "    return lambda: work(1000) if CACHE else work()",
}
# After the last step of first.
LEAKING = {
    "imports": """
import threading
ROUNDS = 30_000
def spin(_):
    while True:
        pass
def leave(step):
    threading.Thread(target=len, args=("",), daemon=True).start()
""",
    "arguments": "teardown=leave",
}
ROWS = "    rows = bytearray(b'1' * SIZE)\n    return lambda: (work(), len(rows))"
CARRY_OVER = (
    carried("memory that another workload keeps", KEEPS, **KEEPING),
    carried("precision that another workload sets in JAX", SETS_X64, **IN_JAX),
    masked(
        "twice the work beside base's precision of JAX",
        SETS_X64,
        ("WIDTH = 400", "WIDTH = 600"),
        **IN_JAX,
    ),
    masked(
        "more memory beside memory that base's workload keeps",
        KEEPS,
        ("SIZE = 15_000_000", "SIZE = 60_000_000"),
        imports="SIZE = 15_000_000\nKEPT = []",
        arguments=KEEPING["arguments"],
        body=ROWS,
    ),
    carried(
        "a variable of the environment that another workload sets",
        "os.environ['CAREFUL'] = '1'",
        body="    return lambda: work(60_000 if os.environ.get('CAREFUL') else 30_000)",
    ),
    carried(
        "numpy's error state that another workload sets",
        "np.seterr(all='raise')",
        imports="import numpy as np",
        body="    return lambda: (work(), np.float64(1) / np.zeros(1))",
    ),
    carried(
        "torch's anomaly detection that another workload switches on",
        "torch.autograd.set_detect_anomaly(True)",
        imports="import torch",
        work=WORK.replace("return total", "return torch.tensor(total % 7)"),
        body=(
            "    rows = torch.ones(64, 64, requires_grad=True)\n"
            "    def step():\n"
            "        total = rows\n"
            "        for _ in range(30):\n"
            "            total = (total @ rows).tanh()\n"
            "        total.sum().backward()\n"
            "        return total\n"
            "    return step"
        ),
    ),
    FaultCase(
        name="a cache of a module that head's other workload does not fill",
        group="carry-over",
        base={"benchmarks/b.py": two("CACHE[0] = work()", **CACHED)},
        head={"benchmarks/b.py": two(**CACHED)},
        expected=SILENT,
    ),
    FaultCase(
        name="a thread that another workload leaves at work",
        group="carry-over",
        base={"benchmarks/b.py": two(**LEAKING)},
        head={"benchmarks/b.py": two(**LEAKING).replace("(target=len, ", "(target=spin, ")},
        expected=SILENT,
    ),
    carried_at_import(
        "precision that another file sets in JAX", f"import jax; {SETS_X64}", **IN_JAX
    ),
    FaultCase(
        name="twice the work beside another file's precision of JAX on base",
        group="carry-over",
        base={
            "benchmarks/a.py": file_of("first", f"import jax; {SETS_X64}", **HOST_JAX),
            "benchmarks/b.py": file_of("second", **IN_JAX),
        },
        head={
            "benchmarks/a.py": file_of("first", "import jax", **HOST_JAX),
            "benchmarks/b.py": replaced(file_of("second", **IN_JAX), "WIDTH = 400", "WIDTH = 600"),
        },
        expected=REGRESSED,
        words="benchmarks.b:second",
    ),
    FaultCase(
        name="precision that a file sets for its own workload in JAX",
        group="carry-over",
        base={
            "benchmarks/a.py": file_of("first", **IN_JAX),
            "benchmarks/b.py": file_of("second", **IN_JAX),
        },
        head={"benchmarks/a.py": file_of("first", f"import jax; {SETS_X64}", **IN_JAX)},
        expected=REGRESSED,
        words="benchmarks.a:first",
    ),
    carried_at_import(
        "a variable of the environment that another file sets",
        "import os; os.environ['CAREFUL'] = '1'",
        body="    return lambda: work(60_000 if os.environ.get('CAREFUL') else 30_000)",
    ),
    carried_at_import(
        "a variable that another file sets before it imports torch",
        "import os; os.environ['CAREFUL'] = '1'",
        imports="import torch",
        work=WORK.replace("return total", "return torch.tensor(total % 7)"),
        body="    return lambda: work(60_000 if os.environ.get('CAREFUL') else 30_000)",
    ),
    carried_at_import(
        "numpy's error state that another file sets",
        "import numpy as np; np.seterr(all='raise')",
        imports="import numpy as np",
        body="    return lambda: (work(), np.float64(1) / np.zeros(1))",
    ),
    carried_at_import(
        "torch's default precision that another file sets",
        "import torch; torch.set_default_dtype(torch.float64)",
        imports="import torch",
        work=WORK.replace("return total", "return torch.tensor(total % 7)"),
        body="    rows = torch.ones(800, 800)\n    return lambda: rows @ rows",
    ),
    carried_at_import(
        "memory that another file keeps",
        "KEPT = bytearray(b'1') * 300_000_000",
        arguments=KEEPING["arguments"],
    ),
    carried_at_import(
        "a function of the standard library that another file replaces",
        "import textwrap; textwrap.dedent = lambda text: [work() for _ in range(2)]",
        imports="import textwrap",
        body="    return lambda: (work(), textwrap.dedent('a'))",
    ),
)
