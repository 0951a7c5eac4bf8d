"""Faults of C that a package compiles when it is imported."""

from functools import partial

from fault_cases.case import NOT_GREEN, NOT_MEASURED, REGRESSED, FaultCase, replaced
from fault_cases.code import CALLER

SOURCE = """
/* Adds squares. */
#define ROUNDS 1000000
long work(void) {
    volatile long total = 0;
    for (long number = 0; number < ROUNDS; number++)
        total += number * number;
    return total;
}
"""
PROGRAM_SOURCE = f"{SOURCE}int main(void) {{ return work() == 1; }}\n"
SLOW = ("ROUNDS 1000000", "ROUNDS 3000000")
# As packages do that compile themselves when they are first used.
BUILDS = """
import ctypes, os, subprocess, tempfile
from pathlib import Path
SOURCE = Path(__file__).with_name("fast.c")
FOLDER = {folder}
BUILT = FOLDER / {name!r}
def build():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        made = Path(folder) / "made"
        subprocess.run(["cc", "-O1", {option}"-o", str(made), str(SOURCE)], check=True)
        os.replace(made, BUILT)
if not BUILT.exists():
    build()
"""
LOADS = "work = ctypes.CDLL(str(BUILT)).work\nwork.restype = ctypes.c_long\n"
RUNS = "def work():\n    return subprocess.run([str(BUILT)]).returncode\n"
IN_CACHE = "Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'mypkg'"
IN_CHECKOUT = "Path(__file__).parent / 'built'"


def library(folder: str) -> str:
    """Return a package that loads the library which it compiles into a folder."""
    return BUILDS.format(folder=folder, name="fast.so", option="'-shared', '-fPIC', ") + LOADS


def program(folder: str) -> str:
    """Return a package that runs the program which it compiles into a folder."""
    return BUILDS.format(folder=folder, name="fast", option="") + RUNS


def case(
    name: str, package: str, change: tuple[str, str], expected: str, source: str = SOURCE
) -> FaultCase:
    """Return a case whose head changes the C source."""
    return FaultCase(
        name=name,
        group="native code",
        base={
            "benchmarks/b.py": CALLER,
            "src/mypkg/__init__.py": package,
            "src/mypkg/fast.c": source,
        },
        head={"src/mypkg/fast.c": replaced(source, *change)},
        expected=expected,
        words="fast.c" if expected is NOT_MEASURED else "",
    )


slower = partial(case, change=SLOW)
NATIVE_CODE = (
    slower("a library compiled once into a cache", library(IN_CACHE), expected=NOT_MEASURED),
    slower("a library compiled in each checkout", library(IN_CHECKOUT), expected=REGRESSED),
    slower(
        "a program compiled once into a cache",
        program(IN_CACHE),
        expected=NOT_MEASURED,
        source=PROGRAM_SOURCE,
    ),
    slower(
        "a program compiled in each checkout",
        program(IN_CHECKOUT),
        expected=NOT_GREEN,
        source=PROGRAM_SOURCE,
    ),
)
