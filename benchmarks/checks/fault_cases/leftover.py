"""Faults that leave work for later or for others, and controls that only seem to."""

from functools import partial

from fault_cases.case import NOT_GREEN, NOT_MEASURED, SILENT, FaultCase, replaced
from fault_cases.evasions import LATER, MIXED, THREAD

STEP = "        return work(60_000)"
HANDED = "        calls.put(40_000)\n        return work(15_000)"
LOW = "    import os; os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)\n"
LOW_THREAD = replaced(THREAD, "def serve(calls):\n", f"def serve(calls):\n{LOW}")
SIGNAL = """
import signal
import perfledger
def work(rounds):
    return sum(n * n for n in range(rounds))
@perfledger.workload()
def steps():
    late = []
    def finish(*_):
        while late:
            work(late.pop())
    signal.signal(signal.SIGALRM, finish)
    def step():
        return work(300_000)
    return step
"""
LONG = replaced(replaced(LATER, "    os.nice(19)\n", ""), "60_000", "3_000_000")
SHORT = replaced(THREAD, "60_000", "13_400")
HASHES = """
import concurrent.futures, hashlib, queue, threading
import perfledger
DATA = memoryview(bytes(2_000_000))
PART, REST = DATA[:500_000], DATA[500_000:]
def serve(calls):
    while True:
        hashlib.sha256(calls.get())
@perfledger.workload()
def steps():
    calls = queue.Queue()
    threading.Thread(target=serve, args=(calls,), daemon=True).start()
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.submit(int).result()
    def step():
        return hashlib.sha256(DATA).hexdigest()
    return step
"""
HASH = "        return hashlib.sha256(DATA).hexdigest()"
POOL = """
import concurrent.futures
import perfledger
@perfledger.workload()
def steps():
    pool = concurrent.futures.ThreadPoolExecutor(4)
    list(pool.map(abs, range(100)))
    return lambda: sum(n * n for n in range(30_000))
"""
TICKING = """
import threading, time
import perfledger
def tick():
    while True:
        time.sleep(0.02)
        sum(range(200))
@perfledger.workload()
def steps():
    threading.Thread(target=tick, daemon=True).start()
    return lambda: sum(n * n for n in range(60_000))
"""
BESIDE_JAX = """
import jax, jax.numpy as jnp, numpy, perfledger
@perfledger.workload()
def steps():
    a, large = jnp.ones((64, 64)), numpy.random.default_rng(0).normal(size=(300, 300))
    product = jax.jit(lambda a: (a @ a).sum())
    def step():
        return product(a) + float((large @ large).sum())
    return step
"""
TABLE_OF_JAX = """
import jax, jax.numpy as jnp, numpy, perfledger
@perfledger.workload()
def steps():
    a = jnp.ones((400, 400))
    @jax.jit
    def product(a):
        return (a @ a + numpy.sin(numpy.arange(160_000.0).reshape(400, 400))).sum()
    return lambda: product(a)
"""


def case(name: str, base: str, head: str, *, expected: str, loops: int = 0) -> FaultCase:
    """Return a case of this group, whose sides are files of workloads."""
    return FaultCase(
        name=name,
        group="leftover work",
        base={"benchmarks/b.py": base},
        head={"benchmarks/b.py": head},
        expected=expected,
        loops=loops,
    )


leftover = partial(case, expected=NOT_GREEN)
control = partial(case, expected=SILENT)
unproven = partial(case, expected=NOT_MEASURED)

LEFTOVER = (
    leftover("work for a thread", THREAD, replaced(THREAD, STEP, HANDED)),
    leftover(
        "work for a thread of low priority, beside foreign load",
        LOW_THREAD,
        replaced(LOW_THREAD, STEP, HANDED),
        loops=8,
    ),
    leftover(
        "work for a signal handler between steps",
        SIGNAL,
        replaced(
            SIGNAL,
            "        return work(300_000)",
            "        late.append(150_000)\n"
            "        signal.setitimer(signal.ITIMER_REAL, 0.012)\n"
            "        return work(100_000)",
        ),
    ),
    leftover(
        "long steps that leave a third of theirs to a process",
        LONG,
        replaced(
            LONG,
            "        return work(3_000_000)",
            "        calls.send(600_000)\n        return work(300_000)",
        ),
    ),
    leftover(
        "short steps that leave a fifth of theirs to a thread",
        SHORT,
        replaced(
            SHORT,
            "        return work(13_400)",
            "        calls.put(2_700)\n        return work(10_700)",
        ),
    ),
    leftover(
        "short steps that leave a quarter of theirs to a thread beside Python",
        HASHES,
        replaced(
            HASHES,
            HASH,
            # A part that is handed over before the rest is hashed is done first on an idle machine:
            # nothing is left then.
            "        rest = hashlib.sha256(REST).hexdigest()\n"
            "        calls.put(PART)\n"
            "        return rest",
        ),
    ),
    unproven(
        "JAX: NumPy's part of the work is gone",
        BESIDE_JAX,
        replaced(BESIDE_JAX, "large @ large", "large[0]"),
    ),
    unproven(
        "torch: NumPy's part of the work is a tenth",
        MIXED,
        replaced(MIXED, "large @ large", "large[:30] @ large[:, :30]"),
    ),
    control("a pool of threads at rest, beside foreign load", POOL, f"import sys\n{POOL}", loops=8),
    control(
        "a pool of threads that only head has",
        replaced(POOL, "    list(pool", "    0 and list(pool"),
        POOL,
    ),
    control(
        "short steps with half of theirs in a pool that they wait for",
        replaced(HASHES, HASH, f"        hashlib.sha256(DATA)\n{HASH}"),
        replaced(
            HASHES,
            HASH,
            "        half = pool.submit(hashlib.sha256, DATA)\n"
            "        whole = hashlib.sha256(DATA).hexdigest()\n"
            "        half.result()\n"
            "        return whole",
        ),
    ),
    control("a thread that wakes up now and then", TICKING, f"import sys\n{TICKING}", loops=8),
    control("JAX: constants that NumPy makes", TABLE_OF_JAX, f"import sys\n{TABLE_OF_JAX}"),
)
