"""Faults of the process and of the repository: hanging, dying, missing parts; and the controls."""

from fault_cases.case import BENCHMARK, NOT_MEASURED, SILENT, FaultCase, replaced, step
from fault_cases.code import CALLER, PACKAGE
from fault_cases.work import CHECKED, TORCH

IMPORTS = "import ctypes, itertools, os, signal, sys\ncount = itertools.count()\n"
# The descriptor on which the harness answers, as a workload can find it.
ANSWERS = """
fds = [int(each) for each in os.listdir("/proc/self/fd")]
fd = max(each for each in fds if os.path.exists(f"/proc/self/fd/{each}"))
"""
LOOP = """    total = 0
    for number in range(rounds):
        total += number * number
    return total"""
ENDLESS = "it did not end within|it was not done after|the budget ended it"
HANGING = (
    FaultCase(
        name="a step that hangs",
        group="hanging",
        head={"benchmarks/b.py": step("time.sleep(3600)", before="import time")},
        expected=NOT_MEASURED,
        words=ENDLESS,
    ),
    FaultCase(
        name="a set-up that hangs and ignores signals",
        group="hanging",
        head={
            "benchmarks/b.py": replaced(
                BENCHMARK,
                "    return work\n",
                "    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\n    signal.pause()\n",
            ).replace("import perf", "import signal\nimport perf")
        },
        expected=NOT_MEASURED,
        words=ENDLESS,
    ),
    FaultCase(
        name="an import that hangs",
        group="hanging",
        head={"benchmarks/b.py": "import time\ntime.sleep(3600)\n" + BENCHMARK},
        expected=NOT_MEASURED,
        words=ENDLESS,
    ),
)


def dying(name: str, lines: str, words: str, before: str = "") -> FaultCase:
    """Return a fault whose step does this from the sixth time on."""
    return FaultCase(
        name=name,
        group="dying",
        head={
            "benchmarks/b.py": step(
                f"if next(count) > 5:\n    {lines}\nreturn work()",
                before=IMPORTS + before,
            )
        },
        expected=NOT_MEASURED,
        words=words,
    )


DYING = (
    dying("an exception", "raise KeyError('no such weight')", "KeyError: 'no such weight'"),
    dying("an exit as if all were well", "os._exit(0)", "exit status 0 before it was done"),
    dying("an exit from a library", "sys.exit(0)", "SystemExit|sys.exit|exit"),
    dying("a crash", "ctypes.string_at(0)", "SIGSEGV"),
    dying("a kill", "os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    dying(
        "a forged answer",
        'os.write(fd, b\'{"version": 2, "event": "done"}\\\\n\'); os._exit(0)',
        "out of order|descriptor|exit status",
        before=ANSWERS,
    ),
    dying("an error of memory", "bytearray(2**62)", "memory"),
)

MISSING = (
    FaultCase(
        name="a workload that is gone",
        group="missing parts",
        base={"benchmarks/b.py": BENCHMARK, "benchmarks/c.py": BENCHMARK},
        head={"benchmarks/c.py": None},
        expected=NOT_MEASURED,
        words="benchmarks.c:steps",
    ),
    FaultCase(
        name="a workload with another name",
        group="missing parts",
        head={"benchmarks/b.py": replaced(BENCHMARK, "def steps", "def other_steps")},
        expected=NOT_MEASURED,
        words="benchmarks.b:steps",
    ),
    FaultCase(
        name="all workloads are gone",
        group="missing parts",
        head={"benchmarks/b.py": None, "README": "no benchmarks"},
        expected=NOT_MEASURED,
        words="benchmarks.b:steps|registered",
    ),
    FaultCase(
        name="a module that head forgot to add",
        group="missing parts",
        head={"benchmarks/b.py": "import forgotten_module\n" + BENCHMARK},
        expected=NOT_MEASURED,
        words="forgotten_module",
    ),
    FaultCase(
        name="a file of data that is gone",
        group="missing parts",
        base={
            "benchmarks/b.py": replaced(
                BENCHMARK, "    return work\n", "    open('data.txt').read()\n    return work\n"
            ),
            "data.txt": "x",
        },
        head={"data.txt": None},
        expected=NOT_MEASURED,
        words="data.txt",
    ),
    FaultCase(
        name="a file that -k may choose from, and that neither side can import",
        group="missing parts",
        base={"benchmarks/b.py": BENCHMARK, "benchmarks/c.py": f"import gone\n{BENCHMARK}"},
        head={
            "benchmarks/b.py": f"import sys\n{BENCHMARK}",
            "benchmarks/c.py": f"import gone\n{replaced(BENCHMARK, '30_000', '90_000')}",
        },
        options=("-k", "steps"),
        expected=NOT_MEASURED,
        words="benchmarks/c.py`? cannot be imported",
    ),
)


def control(name: str, head: str, base: str = BENCHMARK) -> FaultCase:
    """Return a control: its head does the same work as its base, or the same faster."""
    return FaultCase(
        name=name,
        group="controls",
        base={"benchmarks/b.py": base},
        head={"benchmarks/b.py": head},
        expected=SILENT,
    )


CONTROLS = (
    control("unchanged steps", BENCHMARK + "UNUSED = 1\n"),
    control("renamed local variables", BENCHMARK.replace("total", "amount").replace("number", "n")),
    control(
        "a function taken out",
        replaced(BENCHMARK, "number * number", "square(number)").replace(
            "def work", "def square(x):\n    return x * x\ndef work"
        ),
        base=replaced(BENCHMARK, "number * number", "square(number)").replace(
            "def work", "def square(value):\n    return value * value\ndef work"
        ),
    ),
    control(
        "the same work in half of the time",
        replaced(BENCHMARK, "30_000", "60_000"),
        base=replaced(BENCHMARK, "30_000", "120_000"),
    ),
    control(
        "a faster way to the checked answer",
        replaced(
            CHECKED,
            LOOP,
            "    return (rounds - 1) * rounds * (2 * rounds - 1) // 6",
        ),
        base=CHECKED,
    ),
    control(
        "an exit function that waits",
        BENCHMARK + "import atexit, time\natexit.register(time.sleep, 0.5)\n",
    ),
    control(
        "a thread that never ends",
        BENCHMARK + "import threading\nthreading.Thread(target=threading.Event().wait).start()\n",
    ),
    control("more that is printed", BENCHMARK + "print('hello ' * 1000)\n"),
    control(
        "torch: a temporary variable",
        replaced(TORCH, "return a @ a @ a @ a", "b = a @ a\n        return b @ a @ a"),
        base=TORCH,
    ),
    FaultCase(
        name="a package that moves within the checkout",
        group="controls",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={
            "src/mypkg/__init__.py": "from mypkg.core import work\n",
            "src/mypkg/core.py": PACKAGE,
        },
        expected=SILENT,
    ),
    FaultCase(
        name="words in the README",
        group="controls",
        head={"README.md": "words"},
        expected=SILENT,
    ),
)
