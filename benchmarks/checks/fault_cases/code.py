"""Faults of what runs: installed copies, swapped environments, load, and a clock held down."""

import importlib.machinery
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from scratch_repository import git

from fault_cases import gpu
from fault_cases.case import (
    BENCHMARK,
    NOT_GREEN,
    NOT_MEASURED,
    REGRESSED,
    SILENT,
    WORK,
    FaultCase,
    replaced,
    step,
)

PACKAGE = replaced(WORK, "30_000", "ROUNDS").replace("\ndef", "\nROUNDS = 30_000\ndef", 1)
SLOW_PACKAGE = replaced(PACKAGE, "= 30_000", "= 90_000")
CALLER = """
import perfledger
from mypkg import work
@perfledger.workload()
def steps():
    return work
"""
COMPILED = replaced(PACKAGE, "\nROUNDS", "\nfrom mypkg import _csv\nROUNDS")
COMPILED_CALLER = replaced(CALLER, "from mypkg", "import mypkg._csv\nfrom mypkg")
EXTENSION = importlib.machinery.EXTENSION_SUFFIXES[0]


def install(root: Path, beside: Path, *, name: str, compiled: bool = False) -> Mapping[str, str]:
    """Copy the base commit's module or package to where the check's Python finds it."""
    source = root / name
    site = beside / "site-packages"
    if source.is_file():
        site.mkdir()
        (site / source.name).write_bytes(source.read_bytes())
    else:
        (site / "mypkg").mkdir(parents=True)
        for file in source.glob("*.py"):
            (site / "mypkg" / file.name).write_bytes(file.read_bytes())
        (site / "mypkg" / "__init__.py").touch()
    if compiled:
        (site / "mypkg" / f"_csv{EXTENSION}").write_bytes(extension())
    return {"PYTHONPATH": str(site)}


def link(root: Path, beside: Path) -> Mapping[str, str]:  # noqa: ARG001 - as all that prepare
    """Commit a module that is a link to a file of this clone, by its full path."""
    (root / "mypkg.py").symlink_to(root / "real.py")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "link")
    return {}


def extension() -> bytes:
    """Return a compiled module of this Python, for a package that wants one called `_csv`."""
    folders = [Path(path) for path in sys.path if path.endswith("lib-dynload")]
    return next(file for folder in folders for file in folder.glob("_csv.*.so")).read_bytes()


INSTALLED = (
    FaultCase(
        name="src layout, installed copy",
        group="installed copies",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=REGRESSED,
    ),
    FaultCase(
        name="python/ layout, installed copy",
        group="installed copies",
        base={"benchmarks/b.py": CALLER, "python/mypkg/__init__.py": PACKAGE},
        head={"python/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="python/mypkg"),
        expected=REGRESSED,
    ),
    FaultCase(
        name="package without __init__.py, installed copy",
        group="installed copies",
        base={
            "benchmarks/b.py": replaced(CALLER, "from mypkg ", "from mypkg.core "),
            "src/mypkg/core.py": PACKAGE,
        },
        head={"src/mypkg/core.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=NOT_MEASURED,
        words="the installed copy of mypkg.core .* ran, not this commit",
    ),
    FaultCase(
        name="single module in python/, installed copy",
        group="installed copies",
        base={"benchmarks/b.py": CALLER, "python/mypkg.py": PACKAGE},
        head={"python/mypkg.py": SLOW_PACKAGE},
        prepare=partial(install, name="python/mypkg.py"),
        expected=REGRESSED,
    ),
    FaultCase(
        name="compiled module in the installed copy alone",
        group="installed copies",
        base={"benchmarks/b.py": COMPILED_CALLER, "src/mypkg/__init__.py": COMPILED},
        head={"src/mypkg/__init__.py": replaced(COMPILED, "= 30_000", "= 90_000")},
        prepare=partial(install, name="src/mypkg", compiled=True),
        expected=NOT_MEASURED,
        words="the installed copy of mypkg .* ran, not this commit",
    ),
    FaultCase(
        name="sources of a compiled module that nobody builds",
        group="installed copies",
        base={
            "benchmarks/b.py": COMPILED_CALLER,
            "src/mypkg/__init__.py": COMPILED,
            "csrc/kernel.cu": "__global__ void fast() {}\n",
        },
        head={"csrc/kernel.cu": "__global__ void slow() {}\n"},
        prepare=partial(install, name="src/mypkg", compiled=True),
        expected=NOT_MEASURED,
        words="csrc/kernel.cu",
    ),
    FaultCase(
        name="a path put before the checkout by the benchmark",
        group="installed copies",
        base={
            "benchmarks/b.py": replaced(
                CALLER,
                "from mypkg",
                "import os, sys\nfor name in [n for n in sys.modules if n == 'mypkg']:\n"
                "    del sys.modules[name]\nsys.meta_path[:] = [f for f in sys.meta_path if "
                "'perfledger' not in type(f).__module__]\n"
                "sys.path.insert(0, os.environ['PYTHONPATH'].split(':')[-1])\nfrom mypkg",
            ),
            "src/mypkg/__init__.py": PACKAGE,
        },
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=NOT_MEASURED,
        words="the installed copy of mypkg .* ran, not this commit",
    ),
    FaultCase(
        name="a program of the installed copy",
        group="installed copies",
        base={
            "benchmarks/b.py": """
import perfledger, subprocess, sys
@perfledger.workload()
def steps():
    code = "from mypkg import work; print(sum(work() for _ in range(60)))"
    return lambda: int(subprocess.check_output((sys.executable, "-c", code)))
""",
            "src/mypkg/__init__.py": PACKAGE,
        },
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(install, name="src/mypkg"),
        expected=REGRESSED,
    ),
    FaultCase(
        name="a module that is a link into the clone",
        group="installed copies",
        base={"benchmarks/b.py": CALLER, "real.py": PACKAGE},
        head={"real.py": SLOW_PACKAGE},
        prepare=link,
        expected=NOT_MEASURED,
        words="which is your own checkout and not the measured revision",
    ),
)

SLOW_STEP = replaced(BENCHMARK, "return work\n", "return lambda: work(90_000)\n")
ENVIRONMENT = (
    FaultCase(
        name="a fast path for the folder of head",
        group="swapped environments",
        head={
            "benchmarks/b.py": step(
                "return work(30_000 if is_checked else 90_000)",
                before="import os\nis_checked = 'head' in os.getcwd() + __file__",
            )
        },
        expected=REGRESSED,
    ),
    FaultCase(
        name="a clock that runs slower on head",
        group="swapped environments",
        head={
            "benchmarks/b.py": "import time\nreal = time.perf_counter\n"
            "time.perf_counter = lambda: real() / 3\n" + SLOW_STEP
        },
        expected=REGRESSED,
    ),
    FaultCase(
        name="sitecustomize in the repository",
        group="swapped environments",
        head={
            "benchmarks/b.py": SLOW_STEP,
            "sitecustomize.py": "import time\nreal = time.perf_counter\n"
            "time.perf_counter = lambda: real() / 3\n",
        },
        expected=REGRESSED,
    ),
    FaultCase(
        name="a module that shadows the standard library",
        group="swapped environments",
        head={
            "benchmarks/b.py": SLOW_STEP,
            "time.py": "perf_counter = process_time = lambda: 0.0\n",
            "statistics.py": "median = lambda values: 0.0\n",
        },
        expected=NOT_MEASURED,
        words="statistics.py changed",
    ),
    FaultCase(
        name="results of other processes in a shared file",
        group="swapped environments",
        head={
            "benchmarks/b.py": step(
                "if cache.exists():\n    return total\ncache.touch()\nreturn work()",
                before="from pathlib import Path\ntotal = 1\n"
                "cache = Path(__file__).parents[3] / 'faults-cache'",
            )
        },
        expected=NOT_MEASURED,
        words="cannot tell whether head still does the work",
    ),
    FaultCase(
        name="a variable that head's settings ask for",
        group="swapped environments",
        base={
            "benchmarks/b.py": replaced(
                BENCHMARK, "    return work", "    os.environ['WANDB_API_KEY']\n    return work"
            ).replace("import perf", "import os\nimport perf")
        },
        head={"perfledger.toml": 'env = ["WANDB_API_KEY"]\n'},
        prepare=lambda _root, _beside: {"WANDB_API_KEY": "canary"},
        expected=NOT_MEASURED,
        words="WANDB_API_KEY is set here but not passed on",
    ),
    FaultCase(
        name="a margin that head widens",
        group="swapped environments",
        head={"benchmarks/b.py": SLOW_STEP, "perfledger.toml": "margin = 0.9\nfloor = 0.9\n"},
        expected=REGRESSED,
    ),
    FaultCase(
        name="head accepts its own empty step",
        group="swapped environments",
        head={
            "benchmarks/b.py": step("pass"),
            "perfledger.toml": 'accepted_work = ["*"]\n',
        },
        expected=NOT_MEASURED,
        words="cannot tell whether head still does the work",
    ),
    FaultCase(
        name="an interpreter that is not there",
        group="swapped environments",
        settings='python = "no/such/python"\n',
        head={"benchmarks/b.py": SLOW_STEP},
        expected=NOT_MEASURED,
        words="no/such/python is not a working Python",
    ),
    FaultCase(
        name="a build that fails on head",
        group="swapped environments",
        settings='build = "sh build.sh"\n',
        base={"benchmarks/b.py": BENCHMARK, "build.sh": "exit 0\n"},
        head={"build.sh": "echo no compiler >&2; exit 3\n"},
        expected=NOT_MEASURED,
        words="exit status 3",
    ),
)

# It slows the steps, or is work that may be theirs.
BUSY = r'cores between its steps|"outcome":\s*"regressed"'
DAEMONS = """
import os, sys
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-c", "while True: pass"], {})
        os._exit(0)
    os.wait()
"""
SHORT_STEP = replaced(BENCHMARK, "30_000", "15_000")
DISTURBANCE = (
    FaultCase(
        name="three times the work beside foreign load",
        group="load",
        head={"benchmarks/b.py": SLOW_STEP},
        loops=3,
        expected=REGRESSED,
    ),
    FaultCase(
        name="unchanged steps of a millisecond beside much foreign load",
        group="load",
        base={"benchmarks/b.py": SHORT_STEP},
        head={"benchmarks/b.py": f"import sys\n{SHORT_STEP}"},
        loops=16,
        expected=SILENT,
    ),
    FaultCase(
        name="busy threads that head starts",
        group="load",
        head={
            "benchmarks/b.py": replaced(
                BENCHMARK,
                "    return work\n",
                "    threading.Thread(target=spin, daemon=True).start()\n    return work\n",
            )
            + "\nimport threading\ndef spin():\n    while True:\n        pass\n"
        },
        expected=NOT_GREEN,
        words=BUSY,
    ),
    FaultCase(
        name="busy daemons without an environment that head starts",
        group="load",
        head={"benchmarks/b.py": BENCHMARK + DAEMONS},
        expected=NOT_GREEN,
        words=BUSY,
    ),
    FaultCase(
        name="a busy process that head starts",
        group="load",
        head={
            "benchmarks/b.py": BENCHMARK
            + "\nimport subprocess, sys\n"
            + "spinner = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        },
        expected=NOT_GREEN,
        words=BUSY,
    ),
    *(
        FaultCase(
            name=f"a GPU that {cause} slows down",
            group="throttling",
            base=gpu.FILES,
            head={"benchmarks/b.py": replaced(gpu.BENCHMARK, "0.002", "0.0021")},
            settings='device = "cuda"\n',
            prepare=partial(gpu.prepare, reasons=reasons),
            expected=NOT_MEASURED,
            words="slowed|throttled",
        )
        for cause, reasons in (("heat", 0x40), ("the power supply", 0x80))
    ),
)
