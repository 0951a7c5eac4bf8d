"""Faults and controls of what a workload does to its process, and of work that it only plans."""

from functools import partial

from fault_cases.case import BENCHMARK, NOT_MEASURED, REGRESSED, SILENT, FaultCase, replaced, step
from fault_cases.code import COMPILED, PACKAGE, SLOW_PACKAGE, install

EARLY = "returns before its work is done"
FORKED = """
import multiprocessing, perfledger
def call(_):
    from mypkg import work
    return work()
@perfledger.workload(teardown=lambda step: step.pool.terminate())
def steps():
    pool = multiprocessing.get_context("fork").Pool(1)
    def step():
        return pool.apply(call, (0,))
    step.pool = pool
    return step
"""
SERVED = """
import multiprocessing, perfledger
from mypkg import work
@perfledger.workload(teardown=lambda step: step.pool.terminate())
def steps():
    pool = multiprocessing.get_context("forkserver").Pool(1)
    def step():
        return pool.apply(work)
    step.pool = pool
    return step
"""
PLANNED = """
import perfledger
class Plan:
    def __init__(self, rounds):
        self.tasks = {number: (sum, range(rounds)) for number in range(200)}
    def __dask_graph__(self):
        return self.tasks
    def compute(self):
        return sum(function(argument) for function, argument in self.tasks.values())
@perfledger.workload()
def steps():
    return lambda: Plan(300)
"""
FRAME = """
import perfledger
class LazyFrame:
    def __init__(self, rounds):
        self.plan = [("square", rounds)] * 200
    def collect(self):
        return [number * number for _, rounds in self.plan for number in range(rounds)]
@perfledger.workload()
def steps():
    return lambda: LazyFrame(300)
"""
PENDING = """
import multiprocessing, perfledger
def work(rounds):
    return sum(number * number for number in range(rounds))
@perfledger.workload(teardown=lambda step: step.pool.terminate())
def steps():
    pool = multiprocessing.get_context("fork").Pool(1)
    def step():
        return pool.apply_async(work, (30_000,))
    step.pool = pool
    return step
"""
HEARTBEAT = """
import asyncio, perfledger
def work(rounds=30_000):
    return sum(number * number for number in range(rounds))
async def beat():
    while True:
        await asyncio.sleep(0.01)
@perfledger.workload(teardown=lambda step: step.loop.close())
def steps():
    loop = asyncio.new_event_loop()
    task = loop.create_task(beat())
    async def main():
        await asyncio.sleep(0)
        return work()
    def step():
        return loop.run_until_complete(main())
    step.loop, step.task = loop, task
    return step
"""
STOPPED = """
import os, subprocess, sys, perfledger
CODE = '''
import os, signal, sys, time
while os.getppid() == int(sys.argv[1]):
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(0.02)
    os.kill(int(sys.argv[1]), signal.SIGCONT)
    time.sleep(0.02)
'''
@perfledger.workload(teardown=lambda step: step.helper.kill())
def steps():
    helper = subprocess.Popen([sys.executable, "-c", CODE, str(os.getpid())])
    def step():
        return sum(number * number for number in range(30_000))
    step.helper = helper
    return step
"""
own = partial(FaultCase, group="own process")


def set_up(name: str, lines: str, expected: str, words: str = "", before: str = "") -> FaultCase:
    """Return a case whose set-up has these lines on head, indented by four blanks."""
    text = replaced(BENCHMARK, "    return work\n", f"{lines}\n    return work\n")
    return own(
        name=name,
        head={"benchmarks/b.py": f"{before}\n{text}"},
        expected=expected,
        words=words,
    )


def planned(name: str, text: str, old: str, new: str) -> FaultCase:
    """Return a fault whose step only plans its work, on both sides; head's is three times more."""
    return own(
        name=name,
        base={"benchmarks/b.py": text},
        head={"benchmarks/b.py": replaced(text, old, new)},
        expected=NOT_MEASURED,
        words=EARLY,
    )


OWN_PROCESS = (
    set_up(
        "a tracer that head leaves on",
        "    sys.settrace(lambda *_: (lambda *_: None))",
        REGRESSED,
        before="import sys",
    ),
    own(
        name="memory tracing that head leaves on",
        base={"benchmarks/b.py": step("return len([str(number) for number in range(9_000)])")},
        head={
            "benchmarks/b.py": step(
                "return len([str(number) for number in range(9_000)])",
                before="import tracemalloc\ntracemalloc.start(20)",
            )
        },
        expected=REGRESSED,
    ),
    set_up(
        "a set-up that closes all descriptors",
        "    os.closerange(3, 256)",
        NOT_MEASURED,
        "descriptor|exit status|Bad file",
        before="import os",
    ),
    set_up(
        "a set-up that allows no more files",
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
        NOT_MEASURED,
        "open files|exit status|Too many|undecided",
        before="import resource",
    ),
    set_up(
        "a signal to the group of its processes",
        "    os.killpg(0, signal.SIGTERM)",
        NOT_MEASURED,
        "SIGTERM",
        before="import os, signal",
    ),
    own(
        name="an installed copy with a compiled module, in forks alone",
        base={"benchmarks/b.py": FORKED, "src/mypkg/__init__.py": COMPILED},
        head={"src/mypkg/__init__.py": replaced(COMPILED, "= 30_000", "= 90_000")},
        prepare=partial(install, name="src/mypkg", compiled=True),
        expected=NOT_MEASURED,
        words="the installed copy of mypkg",
    ),
    own(
        name="three times the work in forks alone",
        base={"benchmarks/b.py": FORKED, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=REGRESSED,
    ),
    own(
        name="a pool of a server's processes, an installed copy",
        base={"benchmarks/b.py": SERVED, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=REGRESSED,
    ),
    planned("a graph of tasks on both sides", PLANNED, "Plan(300)", "Plan(900)"),
    planned("a lazy table on both sides", FRAME, "LazyFrame(300)", "LazyFrame(900)"),
    planned("a pool's pending result on both sides", PENDING, "(30_000,)", "(90_000,)"),
    set_up(
        "a process without garbage collection, in another time zone",
        "    gc.disable()\n    os.environ['TZ'] = 'Asia/Tokyo'\n    time.tzset()",
        SILENT,
        before="import gc, os, time",
    ),
    own(
        name="an event loop with another task",
        base={"benchmarks/b.py": HEARTBEAT},
        head={"benchmarks/b.py": f"import sys\n{HEARTBEAT}"},
        expected=SILENT,
    ),
    own(
        name="processes that are stopped for half of the time",
        base={"benchmarks/b.py": STOPPED},
        head={"benchmarks/b.py": f"import gc\n{STOPPED}"},
        expected=SILENT,
    ),
)
