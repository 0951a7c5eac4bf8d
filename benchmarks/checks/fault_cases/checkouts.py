"""Faults and controls of what a checkout holds: pointers, links, copies, submodules."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from scratch_repository import commit, git

from fault_cases.case import NOT_GREEN, NOT_MEASURED, REGRESSED, SILENT, WORK, FaultCase, replaced
from fault_cases.code import CALLER, PACKAGE, SLOW_PACKAGE

IN_LFS = "*.dat filter=lfs diff=lfs merge=lfs -text\n*.png filter=lfs diff=lfs merge=lfs -text\n"
READS_DATA = f"""
import perfledger
from pathlib import Path
{WORK}
@perfledger.workload()
def steps():
    data = (Path(__file__).parent / "rows.dat").read_bytes()
    return lambda: work() + len(data)
"""
READS_ANOTHER = READS_DATA.replace("rows.dat", "b.py")
POINTERS = {
    ".gitattributes": IN_LFS,
    "benchmarks/b.py": READS_DATA,
    "benchmarks/rows.dat": "",
    "docs/speed.png": "",
}
SPARSE_PACKAGE = """
MANY = 30_000
def work(rows):
    return sum(n * n for n in range(MANY if len(rows) > 1 else 30_000))
"""
SPARSE_CALLER = """
import perfledger
from pathlib import Path
from mypkg import work
@perfledger.workload()
def steps():
    file = Path(__file__).parents[1] / "data" / "rows.txt"
    rows = file.read_text().split() if file.exists() else ["a"]
    return lambda: work(rows)
"""
OWN_PATH = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parents[1] / "dep"))
"""
MAPPED = f"""
import mmap, perfledger
from pathlib import Path
{WORK}
@perfledger.workload()
def steps():
    with open(Path(__file__).parent / "corpus.md", "rb") as file:
        text = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    return lambda: work(len(text))
"""


IN_GIT_FOLDER = f"""
import subprocess, perfledger
from pathlib import Path
{WORK}
def say(*words):
    here = Path(__file__).parent
    command = ["git", "-C", str(here), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
@perfledger.workload()
def steps():
    folder = (Path(__file__).parent / say("rev-parse", "--git-common-dir")).parent
    rounds = int((folder / "rounds.txt").read_text())
    return lambda: work(rounds)
"""
ASKS_GIT = replaced(
    IN_GIT_FOLDER,
    "    return lambda: work(rounds)",
    '    say("log", "-1"), say("status"), say("describe", "--always"), say("branch", "--list")\n'
    "    return lambda: work(rounds)",
)


def pointer(number: int) -> str:
    """Return the text that Git LFS commits in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{number:064x}\nsize 734003200\n"


def with_pointers(**numbers: int) -> dict[str, str | bytes]:
    """Return a base commit whose large files are pointers."""
    paths = {"rows": "benchmarks/rows.dat", "picture": "docs/speed.png"}
    return {**POINTERS, **{paths[name]: pointer(number) for name, number in numbers.items()}}


def link_package(root: Path, beside: Path) -> Mapping[str, str]:
    """Commit a relative link to the package's folder, and install a copy of the package."""
    (root / "mypkg").symlink_to("impl")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "link")
    copy = beside / "site-packages" / "mypkg"
    copy.mkdir(parents=True)
    (copy / "__init__.py").write_bytes((root / "impl" / "__init__.py").read_bytes())
    return {"PYTHONPATH": str(copy.parent)}


def leave_out_data(root: Path, beside: Path) -> Mapping[str, str]:
    """Make the clone a sparse checkout without its data."""
    del beside
    git(root, "sparse-checkout", "set", "benchmarks", "src")
    return {}


def as_in_a_hook(root: Path, beside: Path) -> Mapping[str, str]:
    """Return the variables that git sets for a hook."""
    del beside
    folder = root / ".git"
    return {
        "GIT_DIR": str(folder),
        "GIT_INDEX_FILE": str(folder / "index"),
        "GIT_WORK_TREE": str(root),
        "GIT_PREFIX": "",
    }


def change_submodule(root: Path, beside: Path) -> Mapping[str, str]:
    """Add a submodule to base, with changes that are not committed."""
    source = beside / "dep"
    source.mkdir()
    git(source, "init", "--quiet")
    commit(source, {"mypkg/__init__.py": PACKAGE}, "package")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", str(source), "dep")
    git(root, "commit", "--quiet", "--message", "submodule")
    (root / "dep" / "mypkg" / "__init__.py").write_text(SLOW_PACKAGE, encoding="utf-8")
    return {}


def copy_beside(name: str, folder: str, expected: str) -> FaultCase:
    """Return a package that becomes slower beside an old copy of it in the same commit."""
    return FaultCase(
        name=name,
        group="checkouts",
        base={
            "benchmarks/b.py": CALLER,
            "mypkg/__init__.py": PACKAGE,
            f"{folder}/mypkg/__init__.py": PACKAGE,
        },
        head={"mypkg/__init__.py": SLOW_PACKAGE},
        expected=expected,
    )


SUBMODULE = {"benchmarks/b.py": f"{OWN_PATH}{CALLER}"}
checkout = partial(FaultCase, group="checkouts")
CHECKOUTS = (
    checkout(
        name="data in Git LFS that the clone does not have",
        base=with_pointers(rows=1, picture=1),
        head={"benchmarks/rows.dat": pointer(2)},
        expected=NOT_MEASURED,
        words="rows.dat changed",
    ),
    checkout(
        name="unchanged data in Git LFS that the clone does not have",
        base=with_pointers(rows=1, picture=1),
        head={"benchmarks/b.py": f"import sys\n{READS_DATA}"},
        expected=NOT_MEASURED,
        words="opened benchmarks/rows.dat",
    ),
    checkout(
        name="data in Git LFS that head declares no longer",
        base={**with_pointers(rows=1, picture=1), "benchmarks/b.py": READS_ANOTHER},
        head={".gitattributes": ""},
        expected=SILENT,
        words="git lfs pull",
    ),
    checkout(
        name="a picture of the documentation in Git LFS",
        base={**with_pointers(rows=1, picture=1), "benchmarks/b.py": READS_ANOTHER},
        head={"docs/speed.png": pointer(2)},
        expected=SILENT,
    ),
    checkout(
        name="data that a sparse checkout leaves out",
        base={
            "benchmarks/b.py": SPARSE_CALLER,
            "src/mypkg/__init__.py": SPARSE_PACKAGE,
            "data/rows.txt": "a b c",
        },
        head={"src/mypkg/__init__.py": replaced(SPARSE_PACKAGE, "MANY = 30", "MANY = 90")},
        prepare=leave_out_data,
        expected=SILENT,  # neither side has the data, nor has the user
        words="data/rows.txt: left out",
    ),
    checkout(
        name="a package that is a link, an installed copy",
        base={"benchmarks/b.py": CALLER, "impl/__init__.py": PACKAGE},
        head={"impl/__init__.py": SLOW_PACKAGE},
        prepare=link_package,
        expected=NOT_GREEN,
    ),
    copy_beside("a copy that setuptools left in build/lib", "build/lib", REGRESSED),
    copy_beside("a copy in lib", "lib", NOT_GREEN),
    copy_beside("a copy in a folder of another project", "third_party/other/src", REGRESSED),
    checkout(
        name="three times the work, checked in a hook of git",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        prepare=as_in_a_hook,
        expected=REGRESSED,
    ),
    checkout(
        name="other names, checked in a hook of git",
        base={"benchmarks/b.py": CALLER, "src/mypkg/__init__.py": PACKAGE},
        head={"src/mypkg/__init__.py": PACKAGE.replace("total", "amount")},
        prepare=as_in_a_hook,
        expected=SILENT,
    ),
    checkout(
        name="changes of a submodule that are not committed",
        base=SUBMODULE,
        head={"README.md": "words"},
        prepare=change_submodule,
        expected=NOT_GREEN,
    ),
    checkout(
        name="three times the prose that a step maps into memory",
        base={"benchmarks/b.py": MAPPED, "benchmarks/corpus.md": "word " * 6_000},
        head={"benchmarks/corpus.md": "word " * 18_000},
        expected=REGRESSED,
    ),
    checkout(
        name="three times the data, found beside git's folder",
        base={"benchmarks/b.py": IN_GIT_FOLDER, "rounds.txt": "30000"},
        head={"rounds.txt": "90000"},
        expected=REGRESSED,
    ),
    checkout(
        name="a set-up that asks git for its commit and state",
        base={"benchmarks/b.py": ASKS_GIT, "rounds.txt": "30000"},
        head={"benchmarks/b.py": f"import sys\n{ASKS_GIT}"},
        expected=SILENT,
    ),
)
