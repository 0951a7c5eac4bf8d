"""Faults and controls of work that is left for later, and of steps that a clock ends."""

from functools import partial

from fault_cases.case import (
    NOT_GREEN,
    NOT_MEASURED,
    REGRESSED,
    SILENT,
    FaultCase,
    replaced,
)

SQUARES = """
import perfledger
def work(rounds):
    return sum(number * number for number in range(rounds))
late = []
{before}
@perfledger.workload({arguments})
def steps():
    def step():
        return work(60_000)
    return step
"""
STEP = "        return work(60_000)"
LATER = "        late.append(20_000)\n        return work(40_000)"
AT_EXIT = SQUARES.format(
    before="import atexit\natexit.register(lambda: [work(each) for each in late])", arguments=""
)
TEARDOWN = SQUARES.format(
    before="def finish(step):\n    for each in late:\n        work(each)\n    late.clear()",
    arguments="teardown=finish",
)
GARBAGE = """
import perfledger
class Node:
    def __init__(self, rows):
        self.itself, self.rows = self, rows
@perfledger.workload()
def steps():
    def step():
        nodes = [Node(bytearray(b"1" * 2_000)) for _ in range(2_000)]
        return len(nodes)
    return step
"""
SHARED_MEMORY = """
import perfledger
from multiprocessing import shared_memory
SIZE = 20_000_000
@perfledger.workload(teardown=lambda step: step.block.unlink())
def steps():
    block = shared_memory.SharedMemory(create=True, size=SIZE)
    block.buf[:] = b"1" * SIZE
    def step():
        return sum(number * number for number in range(30_000))
    step.block = block
    return step
"""
UNTIL = """
import perfledger, time
def search(rounds, seconds):
    ends_at, best = time.perf_counter() + seconds, 0
    while time.perf_counter() < ends_at:
        best = max(best, sum(number * number for number in range(rounds)))
    return best
@perfledger.workload()
def steps():
    return lambda: search(300, 0.004)
"""
LIMITED = """
import perfledger, time
def search(seconds):
    ends_at, total = time.perf_counter() + seconds, 0
    for _ in range(200):
        if time.perf_counter() > ends_at:
            raise TimeoutError
        total += sum(number * number for number in range(300))
    return total
@perfledger.workload()
def steps():
    return lambda: search(60.0)
"""
IN_ATTRIBUTE = """
import perfledger
class Result:
    def __init__(self, rounds):
        self.rows = (number * number for number in range(rounds))
@perfledger.workload()
def steps():
    def step():
        sum(range(20_000))
        return Result(30_000)
    return step
"""
HANDLE = """
import os, tempfile
import perfledger, torch, torch.distributed as dist
@perfledger.workload()
def steps():
    if not dist.is_initialized():
        store = dist.FileStore(os.path.join(tempfile.mkdtemp(), "store"), 1)
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    rows = torch.ones(1_000_000)
    def step():
        return dist.all_reduce(rows, async_op=True)
    return step
"""
READS_ARRAY = """
import tempfile
from pathlib import Path
import numpy, perfledger
@perfledger.workload()
def steps():
    file = Path(tempfile.mkdtemp()) / "rows.npy"
    numpy.save(file, numpy.ones((500, 500)))
    def step():
        return numpy.load(file)
    return step
"""
CHECKPOINT = """
import perfledger, jax
@perfledger.workload()
def steps():
    a = jax.random.normal(jax.random.key(0), (400, 400))
    b = a + 1
    run = jax.jit(lambda x, b: jax.checkpoint(lambda c: x @ x @ x @ x @ c)(b).sum())
    def step():
        return run(a, b)
    return step
"""
FOLDED = replaced(replaced(CHECKPOINT, "lambda x, b:", "lambda b:"), "run(a, b)", "run(b)").replace(
    "x @ x @ x @ x @ c", "a @ a @ a @ a @ c"
)
TIMED_OUT = """
import queue, threading
import perfledger
@perfledger.workload()
def steps():
    answers = queue.Queue()
    def serve():
        while True:
            answers.put(sum(number * number for number in range(30_000)))
            wake.wait(); wake.clear()
    wake = threading.Event()
    threading.Thread(target=serve, daemon=True).start()
    def step():
        answer = answers.get(timeout=30)
        wake.set()
        return answer
    return step
"""


def case(name: str, base: str, head: str, expected: str, words: str = "") -> FaultCase:
    """Return a case of this group, whose sides are files of workloads."""
    return FaultCase(
        name=name,
        group="deferred work",
        base={"benchmarks/b.py": base},
        head={"benchmarks/b.py": head},
        expected=expected,
        words=words,
    )


deferred = partial(case, expected=NOT_GREEN)
control = partial(case, expected=SILENT)
DEFERRED = (
    case(
        "garbage collection that head switches off, with cycles",
        GARBAGE,
        f"import gc\ngc.disable()\n{GARBAGE}",
        REGRESSED,
        "peak_memory",
    ),
    case(
        "three times the memory in shared memory",
        SHARED_MEMORY,
        replaced(SHARED_MEMORY, "20_000_000", "60_000_000"),
        REGRESSED,
        "peak_memory",
    ),
    deferred(
        "slower code in a search that a clock ends",
        UNTIL,
        replaced(UNTIL, "sum(number * number", "sum(3 * number * number // 3 % 7"),
        words="until",
    ),
    case(
        "a generator in an attribute of the result, on both sides",
        IN_ATTRIBUTE,
        replaced(IN_ATTRIBUTE, "30_000", "90_000"),
        NOT_MEASURED,
        "returns before its work is done",
    ),
    case(
        "torch: a handle of a collective operation, on both sides",
        HANDLE,
        replaced(HANDLE, "1_000_000", "3_000_000"),
        NOT_MEASURED,
        "returns before its work is done",
    ),
    case(
        "jax: inputs that become constants of a checkpoint",
        CHECKPOINT,
        FOLDED,
        NOT_MEASURED,
        "cannot tell whether head still does the work",
    ),
    case(
        "numpy: an array of a file that nobody has read",
        READS_ARRAY,
        replaced(READS_ARRAY, "load(file)", "load(file, mmap_mode='r')"),
        SILENT,  # it may be all that is needed, and a note asks
        "check that",
    ),
    control("a time limit that is not reached", LIMITED, f"import sys\n{LIMITED}"),
    control("a wait with a time limit", TIMED_OUT, f"import sys\n{TIMED_OUT}"),
    control(
        "an exit function and a teardown that do what they did",
        replaced(TEARDOWN, STEP, LATER),
        f"import sys\n{replaced(TEARDOWN, STEP, LATER)}",
    ),
    control(
        "a report that head writes at exit",
        AT_EXIT,
        f"{AT_EXIT}\natexit.register(lambda: work(400_000))\n",
    ),
)
