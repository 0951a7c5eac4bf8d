"""Finds changed code of the product that workloads from elsewhere replace on both sides."""

import ast
import re
from collections.abc import Iterable

from perfledger.protocol import BenchmarkSuite
from perfledger_runners.checkouts.difference import PROSE_SUFFIXES
from perfledger_runners.checkouts.importing_files import importing_files
from perfledger_runners.checkouts.python_code import MAX_SOURCE_BYTES
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.source_tree import first_few, is_below
from perfledger_runners.checkouts.workload_overlay import WorkloadOverlay, overlaid_changes
from perfledger_service.errors import NotMeasuredError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.sources import CONFIG_FILES

# Files of pytest: tests, and the fixtures that they share.
TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
# In names of files and folders that hold workloads and nothing of the product.
WORKLOAD_WORDS = ("bench", "perf", "workload", "test", "example", "speed")
DECORATOR = "workload"


def hidden_change_notes(
    repository: Repository,
    base: str,
    head: str,
    *,
    overlay: WorkloadOverlay,
    settings: CheckSettings,
) -> tuple[str, ...]:
    """Return a note on changed code that is no workload and is the overlay's on both sides.

    Raises NotMeasuredError if nothing else changed between the commits, or if it is code of the
    product: other code imports it, or neither its file nor a folder above it is named after
    benchmarks. asv keeps its benchmarks apart from other code.
    """
    if settings.suite == BenchmarkSuite.ASV.value:
        return ()
    changes = overlaid_changes(repository, overlay, base=base, head=head)
    workloads = {file for sha in (base, head) for file in repository.files_with_workloads(sha)}
    candidates = [
        path
        for path in changes.replaced_paths
        if path.endswith(".py") and not TEST_FILE.fullmatch(path.rpartition("/")[2])
    ]
    hidden = [path for path in candidates if path not in workloads]
    _refuse_product_code(repository, (base, head), candidates, overlay)
    if not hidden:
        return ()
    text = (
        f"{first_few(hidden)} changed and is no file of workloads, but --workloads-from replaces "
        "it on both sides"
    )
    advice = f"set `paths` (now {', '.join(settings.paths)}) to the files of workloads alone"
    if all(path in CONFIG_FILES or path.endswith(PROSE_SUFFIXES) for path in changes.other_paths):
        msg = f"nothing of this change can be measured: {text}; {advice}"
        raise NotMeasuredError(msg)
    return (f"{text}, so that this change is not measured: {advice}",)


def _refuse_product_code(
    repository: Repository,
    commits: tuple[str, str],
    paths: Iterable[str],
    overlay: WorkloadOverlay,
) -> None:
    """Raise NotMeasuredError if one of the replaced files has changed code of the product."""
    for path in paths:
        if not _differs_beside_workloads(repository, commits, path):
            continue
        users = {
            user
            for sha in commits
            for user in importing_files(repository, sha, path)
            if not any(is_below(user, top) for top in overlay.paths)
            and not TEST_FILE.fullmatch(user.rpartition("/")[2])
        }
        if not (users or _is_of_product(path)):
            continue
        why = f", which {first_few(sorted(users))} imports," if users else ""
        msg = (
            f"this change cannot be measured: code of {path}{why} changed, but --workloads-from "
            "replaces it on both sides; keep workloads in files of their own, and set `paths` to "
            f"these (now {', '.join(overlay.paths)})"
        )
        raise NotMeasuredError(msg)


def _is_of_product(path: str) -> bool:
    """Return whether neither the file nor a folder above it is named after benchmarks."""
    return not any(word in part.lower() for part in path.split("/") for word in WORKLOAD_WORDS)


def _differs_beside_workloads(repository: Repository, commits: tuple[str, str], path: str) -> bool:
    """Return whether more than the functions of workloads differ between two commits of a file."""
    base, head = (
        _code_beside_workloads(repository.read_file(sha, path, max_bytes=MAX_SOURCE_BYTES) or b"")
        for sha in commits
    )
    return base != head


def _code_beside_workloads(content: bytes) -> str:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return content.decode(errors="replace")
    tree.body = [each for each in tree.body if not _is_workload(each)]
    return ast.dump(tree)


def _is_workload(statement: ast.stmt) -> bool:
    """Return whether this defines a workload, or imports something."""
    match statement:
        case ast.FunctionDef(decorator_list=decorators):
            return any(_name(each) == DECORATOR for each in decorators)
        case ast.Import() | ast.ImportFrom():
            return True
        case _:
            return False


def _name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return str(getattr(target, "attr", getattr(target, "id", "")))
