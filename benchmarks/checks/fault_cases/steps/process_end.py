"""Faults whose steps leave work to the end of their process, and controls that end slowly."""

from functools import partial

from fault_cases.case import NOT_MEASURED, SILENT, FaultCase, replaced

SQUARES = """
import asyncio, atexit, contextlib, gc, os, subprocess, sys, threading, weakref
import perfledger
def work(rounds):
    return sum(number * number for number in range(rounds))
late, stack = [], contextlib.ExitStack()
class Late:
    def __init__(self, rounds):
        self.rounds = rounds
    def __del__(self):
        work(self.rounds)
async def work_later(rounds):
    await asyncio.sleep(0)
    work(rounds)
def finish(step=None):
    while late:
        work(late.pop())
{before}
@perfledger.workload({arguments})
def steps():
    {set_up}
    def step():
        return work(60_000)
    return step
"""
STEP = "        return work(60_000)"
WORDS = "is done after the last step"
SLEEP = "lambda step=None: work(1_500_000)"


def squares(*, before: str = "", arguments: str = "", set_up: str = "") -> str:
    """Return a file of a workload, with lines before it and in its set-up."""
    return SQUARES.format(before=before, arguments=arguments, set_up=set_up)


def leaving(base: str, left: str, *, here: str = "40_000") -> str:
    """Return base with a step that does a part of its work, and leaves the rest by this line."""
    return replaced(base, STEP, f"        {left}\n        return work({here})")


end = partial(FaultCase, group="end of the process")


def fault(name: str, base: str, head: str) -> FaultCase:
    """Return a fault of this group, whose sides are files of workloads."""
    files = ({"benchmarks/b.py": base}, {"benchmarks/b.py": head})
    return end(name=name, base=files[0], head=files[1], expected=NOT_MEASURED, words=WORDS)


def control(name: str, base: str, head: str) -> FaultCase:
    """Return a control of this group."""
    files = ({"benchmarks/b.py": base}, {"benchmarks/b.py": head})
    return end(name=name, base=files[0], head=files[1], expected=SILENT)


AT_EXIT = squares(before="atexit.register(finish)")
IN_SET_UP = squares(set_up="atexit.register(finish)")
TEARDOWN = squares(arguments="teardown=finish")
SET_UPS = squares(arguments="teardown=finish, set_ups=3")
PLAIN = squares()
IN_LOOP = replaced(
    squares(arguments="teardown=lambda step: step.loop.run_until_complete(asyncio.sleep(0))"),
    "    return step\n",
    "    step.loop = asyncio.new_event_loop()\n    return step\n",
)
ENDS_AT_ONCE = "atexit.register(lambda: (finish(), os._exit(0)))"
TWO = AT_EXIT + AT_EXIT[AT_EXIT.index("@perfledger") :].replace("def steps", "def more_steps")
COLLECTING = squares(
    before="gc.callbacks.append(lambda phase, facts: finish() if phase == 'stop' else None)"
)
STARTING = replaced(
    PLAIN,
    STEP,
    "        subprocess.run([sys.executable, '-S', '-c', 'sum(n * n for n in range(600_000))'])\n"
    "        return work(20_000)",
)
FASTER = replaced(PLAIN, "60_000", "45_000")
TORCH = """
import atexit, perfledger, torch
a = torch.ones(300, 300)
{before}
@perfledger.workload({arguments})
def steps():
    model = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters())
    def step():
        optimizer.zero_grad()
        loss = model(a).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step
"""
JAX = """
import atexit, perfledger, jax, jax.numpy as jnp
{before}
@perfledger.workload({arguments})
def steps():
    a = jnp.ones((300, 300))
    product = jax.jit(lambda a: (a @ a @ a).sum())
    return lambda: product(a)
"""

PROCESS_END = (
    fault(
        "a third for an exit function of the file", AT_EXIT, leaving(AT_EXIT, "late.append(20_000)")
    ),
    fault(
        "a third for an exit function of the set-up",
        IN_SET_UP,
        leaving(IN_SET_UP, "late.append(20_000)"),
    ),
    fault("a third for the teardown", TEARDOWN, leaving(TEARDOWN, "late.append(20_000)")),
    fault(
        "a third for the teardowns of three set-ups",
        SET_UPS,
        leaving(SET_UPS, "late.append(20_000)"),
    ),
    fault("a third for finalizers", PLAIN, leaving(PLAIN, "late.append(Late(20_000))")),
    fault(
        "a third for finalizers of cycles, without collections",
        squares(before="gc.disable()"),
        leaving(
            squares(before="gc.disable()"), "node = Late(20_000); node.itself = node; del node"
        ),
    ),
    fault(
        "a third for weakref.finalize",
        PLAIN,
        leaving(PLAIN, "late.append(set()); weakref.finalize(late[-1], work, 20_000)"),
    ),
    fault(
        "a third for a stack of contexts that exit closes",
        squares(before="atexit.register(stack.close)"),
        leaving(squares(before="atexit.register(stack.close)"), "stack.callback(work, 20_000)"),
    ),
    fault(
        "a third for tasks of a loop that the teardown runs",
        IN_LOOP,
        leaving(
            IN_LOOP,
            "step.loop.create_task(work_later(20_000))",
        ),
    ),
    fault(
        "a half more work, which the exit function hides",
        AT_EXIT,
        leaving(AT_EXIT, "late.append(30_000)", here="60_000"),
    ),
    fault(
        "a third for an exit function, in two workloads", TWO, leaving(TWO, "late.append(20_000)")
    ),
    fault(
        "a third for callbacks of the collector, which never runs",
        COLLECTING,
        leaving(
            replaced(COLLECTING, "import perf", "gc.disable()\nimport perf"), "late.append(20_000)"
        ),
    ),
    fault(
        "a third for a process that exit starts",
        squares(before="atexit.register(lambda: os.fork() or (finish(), os._exit(0)))"),
        leaving(
            squares(before="atexit.register(lambda: os.fork() or (finish(), os._exit(0)))"),
            "late.append(20_000)",
        ),
    ),
    end(
        name="a third for an exit function that ends the process unheard",
        base={"benchmarks/b.py": PLAIN},
        head={
            "benchmarks/b.py": leaving(
                squares(before="leave = os._exit\natexit.register(lambda: (finish(), leave(0)))"),
                "late.append(20_000)",
            )
        },
        expected=NOT_MEASURED,
        words="does not report the work at its end",
    ),
    fault(
        "a third for exit functions of both sides that end the process at once",
        squares(before=ENDS_AT_ONCE),
        leaving(squares(before=ENDS_AT_ONCE), "late.append(20_000)"),
    ),
    end(
        name="a sleep of half a step for each step, in the exit function",
        base={"benchmarks/b.py": PLAIN},
        head={
            "benchmarks/b.py": leaving(
                squares(before="atexit.register(lambda: time.sleep(0.001 * len(late)))"),
                "late.append(1)",
            ).replace("import asyncio, ", "import asyncio, time, ")
        },
        expected=NOT_MEASURED,
        words="longer after more of them",
    ),
    end(
        name="a third for timers that fire later",
        base={"benchmarks/b.py": PLAIN},
        head={"benchmarks/b.py": leaving(PLAIN, "threading.Timer(60, work, (20_000,)).start()")},
        expected=NOT_MEASURED,
        words="threads or processes that do not end",
    ),
    end(
        name="a process per step that nobody waits for",
        base={"benchmarks/b.py": STARTING},
        head={"benchmarks/b.py": replaced(STARTING, "subprocess.run", "subprocess.Popen")},
        expected=NOT_MEASURED,
        words="cannot tell whether head still does the work",
    ),
    control(
        "faster steps, and a report at exit",
        PLAIN,
        replaced(FASTER, "late, stack", f"atexit.register({SLEEP})\nlate, stack"),
    ),
    control(
        "faster steps, and a sleep of half a second at exit",
        PLAIN,
        replaced(
            FASTER, "late, stack", "import time\natexit.register(time.sleep, 0.5)\nlate, stack"
        ),
    ),
    control(
        "faster steps, and exit functions that end the process at once",
        squares(before=ENDS_AT_ONCE),
        replaced(squares(before=ENDS_AT_ONCE), "60_000", "45_000"),
    ),
    control(
        "faster steps, and a teardown that takes long",
        TEARDOWN,
        replaced(FASTER, "perfledger.workload()", f"perfledger.workload(teardown={SLEEP})"),
    ),
    control(
        "three set-ups whose teardowns take long",
        SET_UPS,
        squares(arguments=f"teardown={SLEEP}, set_ups=3"),
    ),
    control(
        "torch: a report at exit",
        TORCH.format(before="", arguments=""),
        TORCH.format(before="atexit.register(lambda: [a @ a for _ in range(500)])", arguments=""),
    ),
    control(
        "JAX: a report at exit",
        JAX.format(before="", arguments=""),
        JAX.format(
            before="atexit.register(lambda: jax.jit(lambda a: a @ a)(jnp.ones((900, 900))))",
            arguments="",
        ),
    ),
)
