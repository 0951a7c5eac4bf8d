"""Mutates a seeded sample of numbers and comparisons, and counts how many the tests notice.

    python benchmarks/mutation_sample.py --seed 1 [--sites 60] [--kinds constants]
        [--only cost_models baselines service/perfledger_service/errors.py:60:16] [--rounds 3]
        [--jobs 2] [--without-lists]

Each kind has a sample of its own. Constants are the numbers in the value of an upper-case name of a
module or class, and those given to a bound, such as a field's `le` or an option's `minimum`; all
other literals are numbers, mostly the zeros, ones and indices of expressions. Mutants run in copies
of the last commit, one for each job. For each, the fast tests of the module's name run first, then
those that import the module, then the lists of known values, which are quick, then those of its
folder, then the slow tests of all these with those that are left to CI, then what commands write is
compared with the golden files, and last the fast rest runs, of its package and then of the service,
which takes minutes. The first failure ends it, and its test is named. `--rounds` ends it earlier,
for a lower bound in less time; `--only` then judges the survivors fully. `--without-lists` leaves
the lists of known values out. A mutant that equals the original, such as a larger cache or a longer
time limit that no input can reach, survives and counts against the rate too. A test that fails
without the mutant says nothing of it: it is set aside for the rest of the sample and named at the
end.
"""

import argparse
import ast
import compileall
import contextlib
import importlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import islice, repeat
from multiprocessing import get_context
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest
from hypothesis import Phase, settings

from perfledger.rounding import percentage

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("service", "runners", "baselines", "cost_models")
TESTS = {
    "perfledger": "tests/runners/sdk",
    "perfledger_runners": "tests/runners/agent",
    "perfledger_profiles": "tests/runners/profiles",
    "perfledger_baselines": "tests/baselines",
    "perfledger_cost_models": "tests/cost_models",
    "perfledger_service": "tests/service",
}
# Lists of known values: they notice a constant whatever it does.
LIMITS = Path("tests/test_limits.py")  # of every package
BOUNDS = "have_known_bounds_and_defaults"  # of fields and parameters: a test of each package
LISTS = ("stand_on_its_page_with_their_values", "stand_on_their_page_with_their_numbers", BOUNDS)
GOLDEN_FILES = (  # what commands write, and the workbook of a review: of every package
    Path("tests/service/cli/test_golden_outputs.py"),
    Path("tests/service/rendering/review/test_golden_workbook.py"),
)
# A mutant of these could end or delete what is not the tests': the processes of a whole machine.
LEFT_OUT = ("runners/perfledger_runners/children/process_tree.py",)
# A test that a mutant keeps busy for so long hangs: on an idle machine none takes a tenth of it.
HANG_SECONDS = 300
NO_TESTS_RAN = 5  # pytest's exit status
CACHE = ".mutation_cache"
PYTEST = (
    *("-x", "-q", "--no-header", "--tb=no", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-o", f"cache_dir={CACHE}"),
    *("-o", f"faulthandler_timeout={HANG_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"),
)
# What the product and its tests import of others: once, before a run forks.
LIBRARIES = (
    *("alembic.command", "cmarkgfm", "fastapi.testclient", "httpx", "hypothesis.strategies"),
    *("msgspec", "numpy", "openpyxl", "pydantic", "requests", "rich.console", "scipy.optimize"),
    *("scipy.stats", "sqlmodel", "structlog", "typer.testing"),
)
ROUNDS = 8  # of `test_rounds`
FAST, SLOW = "not slow and not gpu and not tpu", "slow and not gpu and not tpu"
SWAPPED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
# Arguments that bound a field, a parameter, an option or a shown text.
BOUND = re.compile(r"ge|gt|le|lt|(max|min)_length|multiple_of|max|min|maximum|minimum|limit")


class SiteKind(StrEnum):
    """What a mutant changes."""

    CONSTANTS = "constants"
    NUMBERS = "numbers"
    COMPARISONS = "comparisons"


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a file where one token is replaced."""

    path: Path  # relative to the repository
    line: int
    start: int  # in bytes, as ast counts
    end: int
    text: str
    kind: SiteKind

    @property
    def place(self) -> str:
        """The file, line and column."""
        return f"{self.path}:{self.line}:{self.start}"

    def mutate(self, source: str) -> str:
        """Return the source with the token replaced."""
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1].encode()
        lines[self.line - 1] = (line[: self.start] + self.text.encode() + line[self.end :]).decode()
        return "".join(lines)


def constant_values(statements: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the values that statements give to upper-case names."""
    for statement in statements:
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        parts = [part for target in targets for part in ast.walk(target)]
        if any(isinstance(part, ast.Name) and CONSTANT.fullmatch(part.id) for part in parts):
            yield value


def parts_of_constants(tree: ast.Module) -> set[ast.AST]:
    """Return all parts of the constants of a module and its classes, and of bounds."""
    values: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=statements) | ast.ClassDef(body=statements):
                values += constant_values(statements)
            case ast.keyword(arg=str(name), value=value) if BOUND.fullmatch(name):
                values.append(value)
            case _:
                pass
    return {part for value in values for part in ast.walk(value)}


def number_site(path: Path, node: ast.Constant, kind: SiteKind) -> Site | None:
    """Return a site that changes a number, or None for a literal that is no number."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    other = value + 1 if isinstance(value, int) else (value * 1.5 or 1.0)
    return Site(path, node.lineno, node.col_offset, node.end_col_offset or 0, repr(other), kind)


def comparison_sites(path: Path, node: ast.Compare, lines: Sequence[str]) -> Iterator[Site]:
    """Yield sites that move or turn a comparison; `in`, `is` and broken lines have none."""
    terms = (node.left, *node.comparators)
    for operator, left, right in zip(node.ops, terms[:-1], terms[1:], strict=True):
        if type(operator) not in SWAPPED or left.end_lineno != right.lineno:
            continue
        token, other = SWAPPED[type(operator)]
        between = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset]
        start = (left.end_col_offset or 0) + between.index(token.encode())
        end = start + len(token)
        yield Site(path, right.lineno, start, end, other, SiteKind.COMPARISONS)


def sites_in(root: Path, path: Path) -> Iterator[Site]:
    """Yield the sites of a file; those in f-strings, where ast has no exact places, left out."""
    source = (root / path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    formatted = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for inner in ast.walk(node)
    }
    constants = parts_of_constants(tree)
    lines = source.splitlines()
    for node in ast.walk(tree):
        if node in formatted:
            continue
        kind = SiteKind.CONSTANTS if node in constants else SiteKind.NUMBERS
        if isinstance(node, ast.Constant) and (site := number_site(path, node, kind)):
            yield site
        elif isinstance(node, ast.Compare):
            yield from comparison_sites(path, node, lines)


def product_sites(root: Path, only: Sequence[str]) -> list[Site]:
    """Return the sites of all product files whose places begin so."""
    paths = sorted(
        path.relative_to(root)
        for source in SOURCES
        for path in (root / source).rglob("*.py")
        if "migrations" not in path.parts
    )
    paths = [path for path in paths if str(path) not in LEFT_OUT]
    sites = (site for path in paths for site in sites_in(root, path))
    return [site for site in sites if site.place.startswith(tuple(only))]


@cache
def text_of(test: Path) -> str:
    """Return the text of a test file, which no mutant changes."""
    return test.read_text(encoding="utf-8")


def test_rounds(root: Path, path: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield marks and test files that could notice a mutant of a file, the nearest first."""
    module = ".".join(path.with_suffix("").parts[1:])
    parent, _, name = module.rpartition(".")
    tests = root / TESTS[module.split(".", maxsplit=1)[0]]
    imports = (f"from {module} import", f"from {parent} import {name}\n", f"import {module}\n")
    named = sorted(tests.rglob(f"test_{path.stem}.py"))
    every = sorted((root / "tests").rglob("test_*.py"))
    direct = [test for test in every if any(line in text_of(test) for line in imports)]
    near = sorted((tests / Path(*path.parts[2:-1])).rglob("test_*.py"))
    rest = sorted(tests.rglob("test_*.py"))
    bounds = [test for test in rest if BOUNDS in text_of(test)]
    groups = [named, direct, [root / LIMITS, *bounds], near]
    yielded_tests: set[Path] = set()
    for group in groups:
        yield FAST, [test for test in group if test not in yielded_tests]
        yielded_tests |= set(group)
    yield SLOW, sorted({*named, *direct, *near})
    yield SLOW, [root / test for test in GOLDEN_FILES]
    for group in (rest, sorted((root / TESTS["perfledger_service"]).rglob("test_*.py"))):
        yield FAST, [test for test in group if test not in yielded_tests]
        yielded_tests |= set(group)


def run_tests(root: Path, marks: str, arguments: Sequence[str | Path]) -> bool:
    """Return whether tests with these marks, as CI runs them, pass in a fork, or none has them."""
    pid = os.fork()
    if pid == 0:
        if marks == SLOW:
            os.environ["PERFLEDGER_ALL_TRIES"] = "1"
        os._exit(_run_tests_here(root, [*PYTEST, "-m", marks, *map(str, arguments)]))
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what a test that ended badly has left
    return os.waitstatus_to_exitcode(status) in {0, NO_TESTS_RAN}


def _run_tests_here(root: Path, arguments: list[str]) -> int:
    """Run pytest in this process, which is the caller's to end, as `python -m pytest` would."""
    os.setsid()
    sources = [str(root), *(str(root / source) for source in (*SOURCES, "templates"))]
    sys.path[:0] = sources
    os.environ |= {"PYTHONPATH": os.pathsep.join(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    os.chdir(root)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        return pytest.main(arguments)
    except BaseException:  # even of a mutant that leaves pytest: it is noticed
        return 1


def test_that_notices(root: Path, site: Site, rounds: int, set_aside: set[str]) -> str:
    """Return the first test of so many rounds that fails in the copy with the mutant, not without.

    It is "" for a mutant that survives. Adds the tests that fail without it to those that are set
    aside.
    """
    target = root / site.path
    original = target.read_text(encoding="utf-8")
    for marks, tests in islice(test_rounds(root, site.path), rounds):
        while remaining := [test for test in tests if node_id(root, test) not in set_aside]:
            shutil.rmtree(root / CACHE, ignore_errors=True)
            arguments = [f"--deselect={name}" for name in sorted(set_aside)]
            target.write_text(site.mutate(original), encoding="utf-8")
            passed = run_tests(root, marks, [*arguments, *remaining])
            target.write_text(original, encoding="utf-8")
            if passed:
                break
            # Tests that end without a result, such as hanging ones, leave no name.
            failing = failed_tests(root) or [node_id(root, test) for test in remaining]
            if run_tests(root, marks, [*arguments, *failing]):
                return failing[0]
            set_aside |= set(failing)
    return ""


def node_id(root: Path, test: Path) -> str:
    """Return the name by which pytest selects a test file."""
    return test.relative_to(root).as_posix()


def failed_tests(root: Path) -> list[str]:
    """Return the names of the tests or files that failed last."""
    cached = root / CACHE / "v/cache/lastfailed"
    return list(json.loads(cached.read_text(encoding="utf-8"))) if cached.exists() else []


def copy_last_commit(root: Path) -> None:
    """Write the files of the last commit to a folder."""
    command = ["git", "archive", "HEAD"]
    archive = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(root, filter="data")
    # A module whose text a mutant has changed is compiled again, whatever its size and time.
    hashed = PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(root, quiet=2, workers=0, invalidation_mode=hashed)


def judge_sites(
    root: Path, sites: Sequence[tuple[int, Site]], rounds: int
) -> tuple[list[str], set[str]]:
    """Judge each mutant in one copy and print a line for it, with its number.

    Returns the test that notices each, "" for those that survive, and the tests that were set
    aside.
    """
    tests: list[str] = []
    set_aside: set[str] = set()
    for number, site in sites:
        test = test_that_notices(root, site, rounds, set_aside)
        tests.append(test)
        line = (root / site.path).read_text(encoding="utf-8").splitlines()[site.line - 1]
        outcome = f"noticed by {test}" if test else "SURVIVED"
        print(f"{number:3} {site.place} -> {site.text}   {line.strip()}\n    {outcome}", flush=True)
    return tests, set_aside


def judge_side_by_side(roots: Sequence[Path], sites: Sequence[Site], rounds: int) -> list[str]:
    """Judge the mutants in turn in as many processes as there are copies.

    Returns the test that notices each, "" for those that survive.
    """
    numbered = list(enumerate(sites, 1))
    shares = [numbered[first :: len(roots)] for first in range(len(roots))]
    with ProcessPoolExecutor(len(roots), mp_context=get_context("fork")) as pool:
        results = list(pool.map(judge_sites, roots, shares, repeat(rounds)))
    for name in sorted(set[str]().union(*(set_aside for _, set_aside in results))):
        print(f"fails without a mutant, and was set aside: {name}")
    return [test for tests, _ in results for test in tests]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sites", type=int, default=60, help="of each kind")
    parser.add_argument("--kinds", nargs="+", type=SiteKind, default=list(SiteKind))
    parser.add_argument("--only", nargs="+", default=SOURCES, help="how places begin")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of tests, the nearest first")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are judged at once")
    parser.add_argument("--without-lists", action="store_true", help="of known values")
    arguments = parser.parse_args()
    if arguments.without_lists:
        os.environ["PYTEST_ADDOPTS"] = f"-k 'not ({' or '.join(LISTS)})'"
    # The first example that fails is enough: none is made smaller.
    settings.register_profile("first failure", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("first failure")
    with tempfile.TemporaryDirectory(prefix="perfledger-mutants-") as name:
        roots = [Path(name) / f"copy-{number}" for number in range(max(1, arguments.jobs))]
        for root in roots:
            root.mkdir()
            copy_last_commit(root)
        for library in LIBRARIES:
            importlib.import_module(library)
        sites = product_sites(roots[0], arguments.only)
        for kind in arguments.kinds:
            of_kind = [site for site in sites if site.kind is kind]
            count = min(arguments.sites, len(of_kind))
            sampled_sites = random.Random(arguments.seed).sample(of_kind, count)
            tests = judge_side_by_side(roots, sampled_sites, arguments.rounds)
            noticed = sum(map(bool, tests))
            by_lists = sum(name in test for test in tests for name in LISTS)
            print(
                f"seed {arguments.seed}: {noticed} of {count} {kind} noticed "
                f"({percentage(noticed / max(1, count))}), {by_lists} of them first by a "
                "list of known "
                f"values; the product has {len(of_kind)}"
            )


if __name__ == "__main__":
    main()
