"""Faults and controls of configuration files, metadata, and what git makes of a commit's files."""

import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from scratch_repository import git

from fault_cases.case import (
    BENCHMARK,
    NOT_GREEN,
    NOT_MEASURED,
    REGRESSED,
    SILENT,
    FaultCase,
    replaced,
)
from fault_cases.code import CALLER, PACKAGE, SLOW_PACKAGE, SLOW_STEP, install
from fault_cases.steps.frameworks import NUMBA

PLUGINS = """
import perfledger
from importlib.metadata import entry_points
@perfledger.workload()
def steps():
    (point,) = entry_points(group="mypkg.backends", name="usual")
    return point.load()
"""
PROJECT = """
[project]
name = "mypkg"
version = "1"
[project.entry-points."mypkg.backends"]
usual = "mypkg.fast:work"
"""
METADATA = {
    "METADATA": "Metadata-Version: 2.1\nName: mypkg\nVersion: 1\n",
    "entry_points.txt": "[mypkg.backends]\nusual = mypkg.fast:work\n",
    "RECORD": "",
}
DATA_SIZE = """
import perfledger
from pathlib import Path
from mypkg import work
@perfledger.workload()
def steps():
    size = len((Path(__file__).parents[1] / "data" / "rows.txt").read_bytes())
    return lambda: work(size)
"""
TOOL = """
import os, perfledger
from pathlib import Path
from mypkg import work
@perfledger.workload()
def steps():
    tool = Path(__file__).parents[1] / "tools" / "count.sh"
    return lambda: work(90_000 if os.access(tool, os.X_OK) else 30_000)
"""
DESCRIBED = '''
ROUNDS = 30_000
def work():
    """rounds: 30000"""
    rounds = int(work.__doc__.rpartition(" ")[2])
    return sum(number * number for number in range(rounds))
'''
OWN_COMMIT = """
import perfledger, subprocess
from pathlib import Path
from mypkg import work
@perfledger.workload()
def steps():
    here = Path(__file__).parent
    for words in ("rev-parse HEAD", "status --porcelain", "rev-parse --show-toplevel"):
        subprocess.check_output(("git", *words.split()), cwd=here)
    return lambda: work(30_000)
"""
NUMPY = """
import perfledger, numpy
@perfledger.workload()
def steps():
    rows = numpy.random.default_rng(0).normal(size=(300, 300))
    return lambda: rows @ rows
"""
# Beside other load a check would measure on one core, where two threads gain nothing.
ALL_CORES = 'cores = "all"\n'
THREADS = """
import perfledger, torch
@perfledger.workload()
def steps():
    torch.set_num_threads(2)
    rows = torch.ones(700, 700)
    return lambda: rows @ rows
"""
TEST = "from mypkg import work\ndef test_work(benchmark):\n    benchmark(work)\n"


def with_metadata(root: Path, beside: Path) -> Mapping[str, str]:
    """Install what an editable installation does: the metadata, and a link to the clone."""
    place = beside / "site-packages" / "mypkg-1.dist-info"
    place.mkdir(parents=True)
    for name, text in METADATA.items():
        (place / name).write_text(text, encoding="utf-8")
    del root
    return {"PYTHONPATH": str(place.parent)}


def replace_object(root: Path, beside: Path) -> Mapping[str, str]:
    """Have git read the fast package wherever a commit has the slow one."""
    del beside
    names: list[str] = []
    for text in (SLOW_PACKAGE, PACKAGE):
        command = ("git", "hash-object", "-w", "--stdin")
        done = subprocess.run(
            command, cwd=root, input=text.encode(), check=True, capture_output=True
        )
        names.append(done.stdout.decode().strip())
    git(root, "replace", *names)
    return {}


def link_module(root: Path, beside: Path) -> Mapping[str, str]:
    """Commit a module that is a link, beside the two files that it may lead to."""
    del beside
    (root / "src" / "mypkg" / "__init__.py").symlink_to("fast.py")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "link")
    return {}


def make_executable(root: Path, beside: Path) -> Mapping[str, str]:
    """Have the next commit make a file executable."""
    del beside
    (root / "tools" / "count.sh").chmod(0o755)
    return {}


def turn_link(root: Path, beside: Path) -> Mapping[str, str]:
    """Commit a link, and have the next commit turn it to the slower file."""
    link_module(root, beside)
    (root / "src" / "mypkg" / "__init__.py").unlink()
    (root / "src" / "mypkg" / "__init__.py").symlink_to("slow.py")
    return {}


configured = partial(FaultCase, group="configuration")
CONFIGURATION_FILES = (
    configured(
        name="numba: a file of settings that switches it off",
        base={"benchmarks/b.py": NUMBA},
        head={".numba_config.yaml": "disable_jit: 1\n"},
        expected=REGRESSED,
    ),
    configured(
        name="an entry point that head moves, and the installed metadata does not",
        base={
            "benchmarks/b.py": PLUGINS,
            "pyproject.toml": PROJECT,
            "src/mypkg/__init__.py": "",
            "src/mypkg/fast.py": PACKAGE,
            "src/mypkg/slow.py": SLOW_PACKAGE,
        },
        head={"pyproject.toml": replaced(PROJECT, "mypkg.fast", "mypkg.slow")},
        prepare=with_metadata,
        expected=NOT_GREEN,  # an environment of each side has its own metadata
    ),
    configured(
        name="an entry point of installed metadata",
        base={
            "benchmarks/b.py": PLUGINS,
            "pyproject.toml": PROJECT,
            "src/mypkg/__init__.py": "",
            "src/mypkg/fast.py": PACKAGE,
        },
        head={"src/mypkg/__init__.py": "import sys\n"},
        prepare=with_metadata,
        expected=SILENT,
    ),
    configured(
        name="a module that head removes, and an installed copy has",
        base={"benchmarks/b.py": CALLER, "mypkg.py": PACKAGE},
        head={"mypkg.py": None, "README.md": "words"},
        prepare=partial(install, name="mypkg.py"),
        expected=NOT_MEASURED,
        words="mypkg",
    ),
    configured(
        name="attributes that make data larger",
        base={
            "benchmarks/b.py": DATA_SIZE,
            "src/mypkg/__init__.py": PACKAGE,
            "data/rows.txt": "\n" * 30_000,
        },
        head={".gitattributes": "*.txt text eol=crlf\n"},
        expected=REGRESSED,
    ),
    configured(
        name="attributes that leave files out of archives",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={".gitattributes": "src export-ignore\n*.py text eol=lf\n"},
        expected=SILENT,
    ),
    configured(
        name="a file that becomes executable",
        base={
            "benchmarks/b.py": TOOL,
            "src/mypkg/__init__.py": PACKAGE,
            "tools/count.sh": "#!/bin/sh\n",
        },
        head={},
        prepare=make_executable,
        expected=REGRESSED,
    ),
    configured(
        name="a link that head turns to slower code",
        base={
            "benchmarks/b.py": CALLER,
            "src/mypkg/fast.py": PACKAGE,
            "src/mypkg/slow.py": SLOW_PACKAGE,
        },
        head={},
        prepare=turn_link,
        expected=REGRESSED,
    ),
    configured(
        name="three times the work in a docstring",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": DESCRIBED},
        head={"src/mypkg/__init__.py": replaced(DESCRIBED, "rounds: 30000", "rounds: 90000")},
        expected=REGRESSED,
    ),
    configured(
        name="an object that git replaces in this clone",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=replace_object,
        expected=REGRESSED,
    ),
    configured(
        name="a workload that asks git for its commit",
        base={"benchmarks/b.py": OWN_COMMIT, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": f"import sys\n{PACKAGE}"},
        expected=SILENT,
    ),
    configured(
        name="settings that put an older copy first",
        base={
            "benchmarks/b.py": CALLER,
            "src/mypkg/__init__.py": PACKAGE,
            "older/mypkg/__init__.py": PACKAGE,
        },
        head={
            "src/mypkg/__init__.py": SLOW_PACKAGE,
            "perfledger.toml": 'import_paths = ["older"]\n',
        },
        expected=NOT_GREEN,
    ),
    configured(
        name="folders of workloads that head narrows",
        base={"benchmarks/b.py": BENCHMARK, "quick/c.py": BENCHMARK},
        head={"benchmarks/b.py": SLOW_STEP, "perfledger.toml": 'paths = ["quick"]\n'},
        settings='paths = ["benchmarks", "quick"]\n',
        expected=NOT_GREEN,
        words="benchmarks.b:steps",
    ),
    configured(
        name="metrics that head narrows to memory",
        head={
            "benchmarks/b.py": replaced(
                SLOW_STEP, "workload()", "workload(metrics=['peak_memory'], margin=0.9)"
            ),
            "perfledger.toml": 'metrics = ["peak_memory"]\nundecided = "neutral"\n',
        },
        expected=REGRESSED,
    ),
    configured(
        name="pytest: a setting that puts an older copy first",
        base={
            "tests/test_b.py": TEST,
            "pytest.ini": "[pytest]\npythonpath = src\n",
            "src/mypkg/__init__.py": PACKAGE,
            "older/mypkg/__init__.py": PACKAGE,
        },
        head={
            "src/mypkg/__init__.py": SLOW_PACKAGE,
            "pytest.ini": "[pytest]\npythonpath = older\n",
        },
        options=("--pytest",),
        expected=NOT_GREEN,
    ),
    configured(
        name="numpy: a variable that chooses older kernels of OpenBLAS",
        base={"benchmarks/b.py": NUMPY},
        head={
            "benchmarks/b.py": f"import os\nos.environ['OPENBLAS_CORETYPE'] = 'Prescott'\n{NUMPY}"
        },
        expected=REGRESSED,
    ),
    configured(
        name="torch: one thread instead of two",
        base={"benchmarks/b.py": THREADS},
        head={"benchmarks/b.py": replaced(THREADS, "threads(2)", "threads(1)")},
        settings=ALL_CORES,
        expected=NOT_GREEN,
    ),
    configured(
        name="torch: two threads on one core",
        base={"benchmarks/b.py": THREADS},
        head={
            "benchmarks/b.py": "import os\n"
            f"os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n{THREADS}"
        },
        settings=ALL_CORES,
        expected=NOT_GREEN,
    ),
    configured(
        name="three times the work at a higher priority, beside foreign load",
        head={"benchmarks/b.py": f"import os\nos.nice(-10)\n{SLOW_STEP}"},
        expected=REGRESSED,
        loops=3,
    ),
)
