"""Faults of what runs, in further forms: zipped and older copies, editable installs, bytecode."""

import importlib.util
import io
import py_compile
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from fault_cases.case import NOT_GREEN, NOT_MEASURED, REGRESSED, FaultCase, replaced
from fault_cases.code import CALLER, EXTENSION, PACKAGE, SLOW_PACKAGE, extension

COPY_RAN = "the installed copy of mypkg.* ran, not this commit"
OWN_CHECKOUT = "which is your own checkout and not the measured revision"
NAMESPACE_CALLER = replaced(CALLER, "from mypkg ", "from mypkg.core ")
NAMESPACE = {"benchmarks/b.py": NAMESPACE_CALLER, "src/mypkg/core.py": PACKAGE}
# What was installed before the base commit.
OLDER_PACKAGE = PACKAGE + "OLDER = True\n"
ODD_FOLDER = {"benchmarks/b.py": CALLER, "code/mypkg/__init__.py": PACKAGE}
# As the editable installs of meson-python and scikit-build-core, it comes before other finders.
FINDER = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "mypkg":
            return importlib.util.spec_from_file_location(name, {file!r})
sys.meta_path.insert(0, Finder)
"""
SHADOWED_CALLER = """
import perfledger
from mypkg import _csv
@perfledger.workload()
def steps():
    lines = ["1,2,3"] * 20_000
    return lambda: list(_csv.reader(lines))
"""
READER = """
def reader(lines):
    return [[line.split(",") for _ in range(1)] for line in lines]
"""


def copied(root: Path, beside: Path, *, files: Mapping[str, str]) -> Mapping[str, str]:
    """Write installed files, which some older commit of the repository had."""
    for text in files.values():
        command = ("git", "hash-object", "-w", "--stdin")
        subprocess.run(command, cwd=root, input=text.encode(), check=True, capture_output=True)
    site = beside / "site-packages"
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    return {"PYTHONPATH": str(site)}


def zipped(_: Path, beside: Path, *, files: Mapping[str, str]) -> Mapping[str, str]:
    """Write installed files into an archive that Python imports from."""
    archive = beside / "mypkg.egg"
    archive.write_bytes(archive_of(files))
    return {"PYTHONPATH": str(archive)}


def archive_of(files: Mapping[str, str]) -> bytes:
    """Return a ZIP archive of the files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def with_finder(root: Path, beside: Path) -> Mapping[str, str]:
    """Install a finder that imports the package from the user's clone."""
    site = beside / "site-packages"
    site.mkdir()
    file = str(root / "src" / "mypkg" / "__init__.py")
    (site / "sitecustomize.py").write_text(FINDER.format(file=file), encoding="utf-8")
    return {"PYTHONPATH": str(site)}


def with_path_file(
    root: Path, beside: Path, *, line: str, files: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Make an environment whose packages have a .pth file with this line."""
    environment = beside / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "mypkg.pth").write_text(line.format(root=root) + "\n", encoding="utf-8")
    for name, text in (files or {}).items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    return {"PERFLEDGER_PYTHON": str(environment / "bin" / "python")}


def unchecked_bytecode(source: str) -> bytes:
    """Return bytecode that Python uses without looking at its source."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.py")
        file.write_text(source, encoding="utf-8")
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(file), cfile=f"{file}c", invalidation_mode=mode)
        return Path(f"{file}c").read_bytes()


BYTECODE = Path(importlib.util.cache_from_source("__init__.py")).name
COPIES = (
    FaultCase(
        name="a namespace package, an older copy",
        group="other copies",
        base=NAMESPACE,
        head={"src/mypkg/core.py": SLOW_PACKAGE},
        prepare=partial(copied, files={"mypkg/core.py": OLDER_PACKAGE}),
        expected=NOT_GREEN,
    ),
    FaultCase(
        name="a namespace package, a zipped copy",
        group="other copies",
        base=NAMESPACE,
        head={"src/mypkg/core.py": SLOW_PACKAGE},
        prepare=partial(zipped, files={"mypkg/core.py": PACKAGE}),
        expected=NOT_GREEN,
    ),
    FaultCase(
        name="src layout, a zipped copy",
        group="other copies",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(zipped, files={"mypkg/__init__.py": PACKAGE}),
        expected=REGRESSED,
    ),
    FaultCase(
        name="a folder that nothing declares, an older copy",
        group="other copies",
        base=ODD_FOLDER,
        head={"code/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(copied, files={"mypkg/__init__.py": OLDER_PACKAGE}),
        expected=NOT_MEASURED,
        words=COPY_RAN,
    ),
    FaultCase(
        name="a package that setup.py gives another name",
        group="other copies",
        base={
            "benchmarks/b.py": CALLER,
            "setup.py": "from setuptools import setup\n"
            "setup(name='mypkg', packages=['mypkg'], package_dir={'mypkg': 'impl'})\n",
            "impl/__init__.py": PACKAGE,
        },
        head={"impl/__init__.py": SLOW_PACKAGE},
        prepare=partial(copied, files={"mypkg/__init__.py": PACKAGE}),
        expected=NOT_MEASURED,
        words=COPY_RAN,
    ),
    FaultCase(
        name="a package that pyproject.toml gives another name",
        group="other copies",
        base={
            "benchmarks/b.py": CALLER,
            "pyproject.toml": "[project]\nname = 'mypkg'\nversion = '1'\n"
            "[tool.setuptools]\npackages = ['mypkg']\n"
            "[tool.setuptools.package-dir]\nmypkg = 'impl'\n",
            "impl/__init__.py": PACKAGE,
        },
        head={"impl/__init__.py": SLOW_PACKAGE},
        prepare=partial(copied, files={"mypkg/__init__.py": OLDER_PACKAGE}),
        expected=NOT_MEASURED,
        words=COPY_RAN,
    ),
    FaultCase(
        name="an editable install's finder",
        group="other copies",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=with_finder,
        expected=NOT_MEASURED,
        words=OWN_CHECKOUT,
    ),
    FaultCase(
        name="an editable install's .pth file",
        group="other copies",
        base=ODD_FOLDER,
        head={"code/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(with_path_file, line="{root}/code"),
        expected=NOT_MEASURED,
        words=OWN_CHECKOUT,
    ),
    FaultCase(
        name="a .pth file that imports the copy first",
        group="other copies",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=partial(with_path_file, line="import mypkg", files={"mypkg/__init__.py": PACKAGE}),
        expected=NOT_MEASURED,
        words=COPY_RAN,
    ),
    FaultCase(
        name="a compiled module beside its Python file",
        group="other copies",
        base={
            "benchmarks/b.py": SHADOWED_CALLER,
            "src/mypkg/__init__.py": "",
            "src/mypkg/_csv.py": READER,
            f"src/mypkg/_csv{EXTENSION}": extension(),
        },
        head={"src/mypkg/_csv.py": replaced(READER, "range(1)", "range(9)")},
        expected=NOT_MEASURED,
        words="_csv.py",
    ),
    FaultCase(
        name="bytecode of base that Python does not check",
        group="other copies",
        base={
            "benchmarks/b.py": CALLER,
            "src/mypkg/__init__.py": PACKAGE,
            f"src/mypkg/__pycache__/{BYTECODE}": unchecked_bytecode(PACKAGE),
        },
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        expected=REGRESSED,
    ),
    FaultCase(
        name="Fortran sources that nobody compiles",
        group="other copies",
        base={
            "benchmarks/b.py": replaced(CALLER, "from mypkg", "import mypkg._csv\nfrom mypkg"),
            "src/mypkg/__init__.py": PACKAGE,
            f"src/mypkg/_csv{EXTENSION}": extension(),
            "src/mypkg/kernel.f90": "! fast\n",
        },
        head={"src/mypkg/kernel.f90": "! slow\n"},
        expected=NOT_MEASURED,
        words="kernel.f90",
    ),
)
