"""Faults in code that a check may not see: of other programs, other requirements, overlays."""

from dataclasses import replace
from functools import partial
from typing import Any

from fault_cases.case import (
    BENCHMARK,
    NOT_GREEN,
    NOT_MEASURED,
    REGRESSED,
    SILENT,
    FaultCase,
    replaced,
    step,
)
from fault_cases.code import PACKAGE, SLOW_PACKAGE, install
from fault_cases.copies import copied
from fault_cases.dependencies import CALLER, REQUIREMENTS, WHEELS, wheel

PROGRAM = (
    "import sys\nfrom mypkg import work\nif __name__ == '__main__':\n    print(work(9 * ROUNDS))\n"
)
MAIN = "from mypkg import work, ROUNDS\nprint(work(9 * ROUNDS))\n"
COPY = "the installed copy of mypkg at .* ran, not this commit"


def program(words: str, options: str = "") -> str:
    """Return a benchmark whose step runs Python with these words."""
    return step(
        f"return subprocess.check_output([sys.executable, {words}]{options})",
        before="import os, subprocess, sys",
    )


SERVER = '''
import os, subprocess, sys
import perfledger
CODE = """
import sys
from mypkg import work, ROUNDS
for line in sys.stdin:
    print(work(ROUNDS), flush=True)
"""
@perfledger.workload(teardown=lambda step: step.server.kill())
def steps():
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ["PYTHONPATH"].split(":")[-1]}
    server = subprocess.Popen([sys.executable, "-c", CODE], env=variables, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def step():
        server.stdin.write("\\n")
        server.stdin.flush()
        return int(server.stdout.readline())
    step.server = server
    return step
'''
NESTED = """
import os, subprocess, sys
path = os.environ["PYTHONPATH"].split(":")[-1]
subprocess.run([sys.executable, "-m", "mypkg"], check=True, env={"PYTHONPATH": path})
"""
NESTED_WITH_PATH = replaced(NESTED, ', env={"PYTHONPATH": path}', "")
ENVIRONMENT = ", env={'PYTHONPATH': os.environ['PYTHONPATH'].split(':')[-1]}"
SPAWNED = """
import multiprocessing
import perfledger
from mypkg import work
@perfledger.workload(teardown=lambda step: step.pool.terminate())
def steps():
    pool = multiprocessing.get_context("spawn").Pool(1)
    def step():
        return pool.apply(work)
    step.pool = pool
    return step
"""
MIXED = f"{PACKAGE}\nimport perfledger\n@perfledger.workload()\ndef steps():\n    return work\n"
USER = {"app.py": "from core import work\n", "other.py": "A = 1\n"}
HELPER = """
import perfledger
def steps():
    return lambda: sum(n * n for n in range(30_000))
def register_all():
    perfledger.workload(steps)
"""
CALLS = "from helper import register_all\nregister_all()\n"
INCLUDED = replaced(REQUIREMENTS, "wheels", "../wheels")
READ_BY_SETUP = (
    "from setuptools import setup\n"
    "setup(name='mine', py_modules=[], install_requires=open('deps.in').read().split())\n"
)
DYNAMIC = (
    "[project]\nname = 'mine'\nversion = '1'\ndynamic = ['dependencies']\n"
    "[tool.setuptools]\npy-modules = []\n"
    "[tool.setuptools.dynamic]\ndependencies = {file = ['deps.in']}\n"
)


def from_program(name: str, text: str, *, script: str = "", **options: Any) -> FaultCase:
    """Return a package that becomes slower, in a program that a step starts, with a script."""
    case = FaultCase(
        name=name,
        group="unseen code",
        base={
            "benchmarks/b.py": text,
            "src/mypkg/__init__.py": PACKAGE,
            "src/mypkg/__main__.py": MAIN,
            "run.sh": script,
            "nested.py": NESTED,
        },
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=NOT_MEASURED,
        words=COPY,
    )
    return replace(case, **options)


def requirements(name: str, base: dict[str, str], head: dict[str, str]) -> FaultCase:
    """Return requirements that become slower in a file of another name."""
    return FaultCase(
        name=name,
        group="unseen code",
        base={"benchmarks/b.py": CALLER, **WHEELS, **base},
        head=head,
        prepare=partial(copied, files={"dep/__init__.py": PACKAGE}),
        expected=NOT_GREEN,
    )


UNSEEN_CODE = (
    from_program("a program with an environment of its own", program("'-m', 'mypkg'", ENVIRONMENT)),
    from_program("a server with an environment of its own", SERVER),
    from_program("a program that a program starts without its path", program(f"'-c', {NESTED!r}")),
    from_program(
        "a program that a shell's script starts without its path",
        replaced(program("'run.sh'"), "[sys.executable, ", "['sh', "),
        script="echo begin\npython nested.py\n",
    ),
    from_program(
        "a program that a program starts",
        program(f"'-c', {NESTED_WITH_PATH!r}"),
        expected=REGRESSED,
        words="",
    ),
    from_program("a pool of new processes", SPAWNED, expected=REGRESSED, words=""),
    from_program(
        "a program with the side's path", program("'-m', 'mypkg'"), expected=REGRESSED, words=""
    ),
    FaultCase(
        name="code of the product that --workloads-from replaces",
        group="unseen code",
        base={"core.py": MIXED, **USER},
        head={"core.py": replaced(MIXED, "= 30_000", "= 90_000"), "other.py": "A = 2\n"},
        settings="paths = ['core.py']\n",
        options=("--workloads-from", "main"),
        expected=NOT_MEASURED,
        words="this change cannot be measured",
    ),
    FaultCase(
        name="a helper that two files call",
        group="unseen code",
        base={
            "benchmarks/helper.py": HELPER,
            "benchmarks/a.py": CALLS,
            "benchmarks/b.py": CALLS,
        },
        head={"benchmarks/b.py": f"{CALLS}A = 1\n"},
        expected=SILENT,
    ),
    requirements(
        "requirements in a file that another one includes",
        {"requirements.txt": "-r pins/run.list\n", "pins/run.list": INCLUDED},
        {"pins/run.list": replaced(INCLUDED, "1.0", "2.0")},
    ),
    requirements(
        "requirements that setup.py reads",
        {"setup.py": READ_BY_SETUP, "deps.in": "dep==1.0\n"},
        {"deps.in": "dep==2.0\n"},
    ),
    requirements(
        "requirements that pyproject.toml reads",
        {"pyproject.toml": DYNAMIC, "deps.in": "dep==1.0\n"},
        {"deps.in": "dep==2.0\n"},
    ),
    FaultCase(
        name="a new wheel in a linked folder",
        group="unseen code",
        base={
            "benchmarks/b.py": CALLER,
            "requirements.txt": replaced(REQUIREMENTS, "==1.0", ""),
            "wheels/dep-1.0-py3-none-any.whl": wheel("1.0", PACKAGE),
        },
        head={"wheels/dep-2.0-py3-none-any.whl": wheel("2.0", SLOW_PACKAGE)},
        expected=REGRESSED,
        words=r"dep 1.0 (→|\\u2192) 2.0",
    ),
    FaultCase(
        name="another module that poses as the workload's",
        group="unseen code",
        head={
            "benchmarks/b.py": "",
            "benchmarks/a.py": "import perfledger\ndef steps():\n    return lambda: 8999550005000\n"
            "steps.__module__ = 'benchmarks.b'\nperfledger.workload(steps)\n",
        },
        base={"benchmarks/b.py": BENCHMARK},
        expected=NOT_MEASURED,
    ),
)
